"""A model as one SQL query, for SQLite (from 3.35, with its mathematical functions) or DuckDB.

The query reads a table with the feature columns and gives these, columns to keep, and the prediction. Steps that are
used more than once are columns of intermediate tables; members' sums are built up in portions, because a table of
SQLite has at most 2,000 columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from symgrove.export.sql_columns import features_of, literal, number
from symgrove.export.sql_texts import with_numbers
from symgrove.export.writing import Undoing, Written, fill, repeating, step_templates, used_primitives, write_steps
from symgrove.forest.templates import DIALECTS, repeats_an_operand
from symgrove.models.plan import MemberBlock, Plan, Row, Step

COLUMNS_AT_A_TIME = 1400  # named steps and values of one part of a block
MOST_CARRIED = 300  # steps that later tables need; beyond that, they are computed again
MOST_COLUMNS = {"sqlite": 1900, "duckdb": 100_000}
MOST_TABLES = {"sqlite": 80, "duckdb": 10_000}  # SQLite refuses longer chains: expressions nested too deeply
_LARGEST = "1.7976931348623157e308"

# Steps that are no primitives.
_CALLS = {
    "quotient": "({0} / {1})",
    "within": "(CASE WHEN {0} < {n0} THEN {n0} WHEN {0} > {n1} THEN {n1} ELSE {0} END)",
}
_OWN = {
    "sqlite": {**_CALLS, "finite": "(CASE WHEN abs({0}) <= " + _LARGEST + " THEN {0} ELSE {n0} END)"},
    "duckdb": {
        **_CALLS,
        "finite": "(CASE WHEN isfinite({0}) THEN {0} ELSE {n0} END)",
        "within": "(CASE WHEN isnan({0}) THEN {0} WHEN {0} < {n0} THEN {n0} WHEN {0} > {n1} THEN {n1} ELSE {0} END)",
    },
}


_UNDOING = Undoing(_CALLS["within"].replace("n0", "1").replace("n1", "2"), "exp({0})", "pow({0}, {1})", number)


def _repeating(plan: Plan) -> set[str]:
    """Names of the steps whose text repeats an operand in some dialect: queries have the same columns in both."""
    found = set().union(*(repeating(own) for own in _OWN.values()))
    for name, row in used_primitives(plan).items():
        texts = [*(row.templates.of(dialect) for dialect in DIALECTS), row.templates.sqlite_without_epsilon]
        if any(text is not None and repeats_an_operand(text) for text in texts):
            found.add(name)
    return found


def quote(name: str) -> str:
    """An identifier."""
    return '"' + name.replace('"', '""') + '"'


def to_sql(plan: Plan, version: str, table: str = "data", dialect: str = "sqlite", keep: Sequence[str] = ()) -> str:
    """A query that reads `table`; columns in `keep`, such as a key, are passed on."""
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}.")
    _check_names(plan, dialect)
    keep = [keep] if isinstance(keep, str) else list(keep)
    return _Query(plan, table, dialect, _prefix([*(c.name for c in plan.columns), *keep]), tuple(keep)).write(version)


def _check_names(plan: Plan, dialect: str) -> None:
    seen: dict[str, str] = {}
    for i, column in enumerate(plan.columns):
        name = column.name
        if "\0" in name or any("\0" in c for c in column.categories or ()):
            raise ValueError(f"SQL has no texts with a character of code 0; rename the feature {name!r} or its values.")
        if name == "" and dialect == "duckdb":
            raise ValueError(
                f"feature {i} has an empty name, and DuckDB has no such columns. Fit with a name for it, or choose "
                "dialect='sqlite', which has them."
            )
        other = seen.setdefault(name.lower(), name)
        if other is not name:
            raise ValueError(f"SQL does not tell the columns {other!r} and {name!r} apart; rename one of them.")


def _advice(dialect: str) -> str:
    """What to do about a model that is too large."""
    other = "Choose DuckDB (dialect='duckdb', --dialect duckdb), or make" if dialect == "sqlite" else "Make"
    return f"{other} the model smaller first (simplify_ensemble, --max-error-increase 0.01 --data rows.csv)."


def _prefix(names: Sequence[str]) -> str:
    """A beginning that none of the names has."""
    prefix = "sg_"
    while any(name.lower().startswith(prefix) for name in names):
        prefix += "_"
    return prefix


@dataclass
class _Query:
    """The query under construction: a chain of tables, each with what later ones need."""

    plan: Plan
    table: str
    dialect: str
    prefix: str
    keep: tuple[str, ...]
    tables: list[str] = field(default_factory=list)
    made: list[int] = field(default_factory=list)  # steps that are columns of the last table
    others: list[str] = field(default_factory=list)  # sums and results that are columns of the last table

    def write(self, version: str) -> str:
        p = self.prefix
        n = len(self.plan.features)
        given = ", ".join(self._given())
        made = ", ".join(f"{text} AS {p}x{i}" for i, text in enumerate(features_of(self.plan, self.dialect, p)))
        kept = "".join(f"{p}in.{quote(name)} AS {p}k{i}, " for i, name in enumerate(self.keep))
        self.tables.append(f"SELECT row_number() OVER () AS {p}row, {kept}{given} FROM {self._source()} AS {p}in")
        self.tables.append(f"SELECT {p}row, {made} FROM {p}0")
        self.inputs = [f"{p}row", *(f"{p}x{i}" for i in range(n))]
        name = f"{p}t{{}}".format
        self.templates = step_templates(self.plan, self.dialect, _OWN[self.dialect])
        self.written = write_steps(self.plan, self._write, name, _repeating(self.plan), 1500, 100, names_values=True)
        self._plan_uses()
        results = []
        for k, target in enumerate(self.plan.targets):
            if len(target.blocks) > 1 and all(len(block.values) == 1 for block in target.blocks):
                self._add_small_blocks(k, target.blocks)
            else:
                for level, block in enumerate(target.blocks):
                    self._add_block(f"{k}_{level}", block)
            results.append(self._target(k, target.base, target.weights))
        self._next([f"{text} AS {p}y{k}" for k, text in enumerate(results)], keep=[])
        if any(target.inverse for target in self.plan.targets):  # once more: limits repeat what they are for
            units = [_UNDOING.write(target.inverse, f"{p}y{k}") for k, target in enumerate(self.plan.targets)]
            self._next([f"{text} AS {p}y{k}" for k, text in enumerate(units)], keep=[])
        self.others = [f"{p}y{k}" for k in range(len(results))]
        if len(self.tables) > MOST_TABLES[self.dialect]:
            raise ValueError(
                f"this model is too large for one query of {self.dialect}: {len(self.tables)} steps of tables, at most "
                f"{MOST_TABLES[self.dialect]}. {_advice(self.dialect)}"
            )
        return self._finish(version)

    def _source(self) -> str:
        """The table, or a query of it that reads numbers in texts."""
        formats = {j: (self._given_name(j), c.text_format) for j, c in enumerate(self.plan.columns) if c.text_format}
        if not formats:
            return quote(self.table)
        return f"({with_numbers(quote(self.table), formats, self.dialect, self.prefix)})"

    def _given_name(self, j: int) -> str:
        """With the table: SQLite takes an unknown name alone for a text."""
        return f"{self.prefix}in.{quote(self.plan.columns.columns[j].name)}"

    def _given(self) -> list[str]:
        """The columns as they are given back."""
        found = []
        for j, column in enumerate(self.plan.columns):
            p, name = self.prefix, self._given_name(j)
            if column.text_format is not None:
                found += [f"{p}in.{p}n{j} AS {p}c{j}", f"{p}in.{p}u{j} AS {p}u{j}"]
            else:
                found.append(f"{name if column.categories is not None else f'CAST({name} AS DOUBLE)'} AS {p}c{j}")
        return found

    # Expressions

    def _write(self, step: Step, operands: list[str]) -> str:
        if step.name == "input":
            return f"{self.prefix}x{int(step.numbers[0])}"
        if step.name == "constant":
            return number(step.numbers[0])
        template = self.templates[step.name]
        if step.primitive is not None and step.numbers == (0.0,) and self.dialect == "sqlite":
            template = step.primitive.templates.sqlite_without_epsilon or template
        return fill(template, operands, [number(value) for value in step.numbers])

    def _is_finite(self, text: str) -> str:
        return f"isfinite({text})" if self.dialect == "duckdb" else f"abs({text}) <= {_LARGEST}"

    # The chain of tables

    def _plan_uses(self) -> None:
        """After which assignment or block each named step is no longer needed."""
        self.expression_of = {a.step: a for a in self.written.assignments}
        blocks = self.plan.blocks
        self.last_block: dict[int, int] = {}
        for b, block in enumerate(blocks):
            for value in block.values:
                for step in self._ancestors(self.written, value):
                    self.last_block[step] = b
        self.block_number = 0

    def _ancestors(self, written: Written, value: int) -> set[int]:
        found: set[int] = set()
        waiting = list(written.needs_of[value])
        while waiting:
            step = waiting.pop()
            if step not in found:
                found.add(step)
                waiting += self.expression_of[step].needs
        return found

    def _next(self, columns: list[str], keep: Sequence[int], others: Sequence[str] = ()) -> None:
        """One more table: inputs, the named steps and other columns that are kept, and new columns."""
        p = self.prefix
        kept = [*self.inputs, *(f"{p}t{i}" for i in keep), *others]
        n_columns = len(kept) + len(columns)
        if n_columns > MOST_COLUMNS[self.dialect]:
            raise ValueError(
                f"this model needs a table of {n_columns} columns; {self.dialect} has room for "
                f"{MOST_COLUMNS[self.dialect]}. {_advice(self.dialect)}"
            )
        self.tables.append(f"SELECT {', '.join([*kept, *columns])} FROM {p}{len(self.tables) - 1}")

    def _make(self, wanted: set[int], pending: set[int]) -> None:
        """Columns for the named steps that are wanted, one table for each depth; keeps those that are pending too."""
        p = self.prefix
        missing = wanted - set(self.made)
        while missing:
            ready = sorted(s for s in missing if not (self.expression_of[s].needs & missing))
            columns = [f"{self.expression_of[s].expression} AS {p}t{s}" for s in ready]
            missing -= set(ready)
            keep = self._carried(wanted, pending)
            self._next(columns, keep, self.others)
            self.made = [*keep, *ready]

    def _carried(self, wanted: set[int], pending: set[int]) -> list[int]:
        """Steps that the next table keeps: all that are wanted at once, and some that are wanted later."""
        later = [s for s in self.made if s in pending and s not in wanted][:MOST_CARRIED]
        return sorted([*(s for s in self.made if s in wanted), *later])

    def _add_block(self, label: str, block: MemberBlock) -> None:
        p, n_values = self.prefix, len(block.values)
        later = {s for s, last in self.last_block.items() if last > self.block_number}
        kept_results = list(self.others)
        sums: list[str] = []
        for part in self._portions(block.values):
            start = part.start
            wanted = set().union(*(self._ancestors(self.written, block.values[i]) for i in part)) if part else set()
            rest = range(part.stop if part else 0, n_values)
            pending = later.union(*(self._ancestors(self.written, block.values[i]) for i in rest))
            self._make(wanted, pending)
            texts = {i: self.written.text_of[block.values[i]] for i in part}
            columns, names = self._sums(label, block, texts, is_first=start == 0)
            keep = self._carried(set(), pending)
            self._next(columns, keep, kept_results)
            self.made, self.others, sums = keep, [*kept_results, *names], names
        result = f"{self._combined(block, sums)} AS {p}b{label}"
        self._next([result], self.made, kept_results)
        self.others = [*kept_results, f"{p}b{label}"]
        self.block_number += 1

    def _add_small_blocks(self, k: int, blocks: Sequence[MemberBlock]) -> None:
        """Blocks of one value each, together: a table for each of them would be too many."""
        values = [block.values[0] for block in blocks]
        number = self.block_number + len(blocks) - 1
        later = {s for s, last in self.last_block.items() if last > number}
        for part in self._portions(values):
            wanted = set().union(*(self._ancestors(self.written, values[i]) for i in part))
            pending = later.union(*(self._ancestors(self.written, value) for value in values[part.stop :]))
            self._make(wanted, pending)
            keep, kept_results = self._carried(set(), pending), list(self.others)
            columns, results = [], []
            for i in part:
                text = {0: self.written.text_of[values[i]]}
                own, names = self._sums(f"{k}_{i}", blocks[i], text, is_first=True)
                columns += own
                results.append(f"{self._combined(blocks[i], names)} AS {self.prefix}b{k}_{i}")
            self._next(columns, keep, kept_results)
            self._next(results, keep, kept_results)
            self.made = keep
            self.others = [*kept_results, *(f"{self.prefix}b{k}_{i}" for i in part)]
        self.block_number += len(blocks)

    def _portions(self, values: Sequence[int]) -> list[range]:
        """Values that are computed together: as many as there are columns for."""
        portions, start, wanted = [], 0, set[int]()
        for i, value in enumerate(values):
            more = wanted | self._ancestors(self.written, value)
            if len(more) > COLUMNS_AT_A_TIME and i > start:
                portions.append(range(start, i))
                start, more = i, self._ancestors(self.written, value)
            wanted = more
        return [*portions, range(start, len(values))]

    def _sums(
        self, label: str, block: MemberBlock, texts: dict[int, str], *, is_first: bool
    ) -> tuple[list[str], list[str]]:
        """Columns that add the values in `texts` to the members' sums, and their names."""
        p = self.prefix
        if block.combine == "pooled":
            names = [f"{p}s{label}", f"{p}k{label}"]
            totals: list[list[str]] = [[], []]
            for i, text in texts.items():
                row, test = block.rows[i], self._is_finite(text)
                scaled = f"{number(row.coefficients[0])} * {text} + {number(row.intercept)}"
                totals[0].append(f"CASE WHEN {test} THEN {scaled} ELSE 0e0 END")
                totals[1].append(f"CASE WHEN {test} THEN {number(block.counts[i])} ELSE 0e0 END")
            starts = ["0e0", "0e0"] if is_first else names
            return [f"{_add([s, *t])} AS {n}" for s, t, n in zip(starts, totals, names, strict=True)], names
        names = [f"{p}m{label}_{j}" for j in range(len(block.rows))]
        columns = []
        for row, name in zip(block.rows, names, strict=True):
            start = number(row.intercept) if is_first else name
            columns.append(f"{_add([start, *_products(row, texts)])} AS {name}")
        return columns, names

    def _combined(self, block: MemberBlock, sums: list[str]) -> str:
        """The result of a block from its members' sums."""
        if block.combine == "pooled":
            total, count = sums
            mean = f"({total} / {count})"
            test = f"{count} > 0e0 AND {self._is_finite(mean)}"
            return f"CASE WHEN {test} THEN {mean} ELSE {number(block.fallback or 0.0)} END"
        members = [self._headed(block, name) for name in sums]
        if block.combine == "trimmed" and block.fallback is not None:
            other = number(block.fallback)
            members = [f"CASE WHEN {self._is_finite(m)} THEN {m} ELSE {other} END" for m in members]
        n = len(members)
        if block.combine == "mean" and block.fallback is None:
            return f"({_add(members)} / {number(n)})"
        if n == 1 and block.fallback is not None:
            return f"CASE WHEN {self._is_finite(members[0])} THEN {members[0]} ELSE {number(block.fallback)} END"
        if self.dialect == "duckdb":
            source = f"(SELECT unnest([{', '.join(members)}]) AS m)"
        else:
            source = _union(members)
        if block.combine == "trimmed":
            ranks = f"r > {block.n_outer} AND r <= {n - block.n_outer}"
            ordered = f"(SELECT m, row_number() OVER (ORDER BY m) AS r FROM {source})"
            return f"(SELECT avg(m) FROM {ordered} WHERE {ranks})"
        source = f"(SELECT m FROM {source} WHERE {self._is_finite('m')})"
        other = number(block.fallback or 0.0)
        if block.combine == "median":
            numbered = f"(SELECT m, row_number() OVER (ORDER BY m) AS r, count(*) OVER () AS n FROM {source})"
            return f"coalesce((SELECT avg(m) FROM {numbered} WHERE 2 * r BETWEEN n AND n + 2), {other})"
        return f"coalesce((SELECT avg(m) FROM {source}), {other})"

    def _headed(self, block: MemberBlock, name: str) -> str:
        low, high, threshold = (number(v) for v in (*block.limits, block.threshold))
        shifted = f"({name} - {number(block.threshold - 0.5)})"
        # A member that is not finite is neither above nor below: NULL, or a number that is not finite, as it is.
        test = self._is_finite(name)
        return {
            "plain": name,
            "within": f"CASE WHEN {name} < {low} THEN {low} WHEN {name} > {high} THEN {high} ELSE {name} END",
            "vote": f"CASE WHEN {test} THEN CASE WHEN {name} > {threshold} THEN 1e0 ELSE 0e0 END END",
            "share": f"CASE WHEN {test} THEN CASE WHEN {shifted} < 0e0 THEN 0e0 WHEN {shifted} > 1e0 THEN 1e0 "
            f"ELSE {shifted} END END",
            "logistic": f"1e0 / (1e0 + exp(-(CASE WHEN {name} < {low} THEN {low} WHEN {name} > {high} THEN {high} "
            f"ELSE {name} END)))",
            "exponential": f"exp(CASE WHEN {name} < {low} THEN {low} WHEN {name} > {high} THEN {high} ELSE {name} END)",
        }[block.head]

    def _target(self, k: int, base: float | None, weights: tuple[float, ...]) -> str:
        p = self.prefix
        if base is None:
            return f"{p}b{k}_0"
        terms = [f"{number(w)} * ({p}b{k}_{level} - {number(base)})" for level, w in enumerate(weights)]
        return "(" + " + ".join([number(base), *terms]) + ")"

    # The answer

    def _finish(self, version: str) -> str:
        p, classes = self.prefix, self.plan.classes
        columns = self._answers(classes)
        last = f"{p}{len(self.tables) - 1}"
        chain = ",\n".join(f"{p}{i} AS MATERIALIZED (\n  {text}\n)" for i, text in enumerate(self.tables))
        notes = (
            f"-- Made by symgrove {version} from a {self.plan.origin}, for {self.dialect}.\n"
            "-- Gives the columns to keep, the features and the prediction, row by row of the table.\n"
            f"-- {self._note()}\n"
        )
        names = [column.name for column in self.plan.columns]
        taken = {name.lower() for name in names}
        given = ", ".join(
            [f"{p}k{i} AS {quote(name)}" for i, name in enumerate(self.keep) if name.lower() not in taken]
            + [f"{p}c{j} AS {quote(name)}" for j, name in enumerate(names)]
        )
        both = f"{last} JOIN {p}0 ON {last}.{p}row = {p}0.{p}row"
        return f"{notes}WITH {chain}\nSELECT {given}, {', '.join(columns)} FROM {both} ORDER BY {last}.{p}row;\n"

    def _answers(self, classes: Sequence[object] | None) -> list[str]:
        p = self.prefix
        if classes is None:
            names = [f"prediction of {name}" for name in self.plan.target_names] or ["prediction"]
            numbers = [self._if_complete(f"{p}y{k}") for k in range(len(names))]
            return [f"{text} AS {quote(self._free(name))}" for text, name in zip(numbers, names, strict=True)]
        if len(classes) == 2:
            shares = [f"(1e0 - {p}y0)", f"{p}y0"]
        else:
            scores = [f"{p}y{k}" for k in range(len(classes))]
            total = f"({' + '.join(scores)})"
            shares = [
                f"(CASE WHEN {total} = 0e0 THEN {number(1 / len(classes))} ELSE {s} / {total} END)" for s in scores
            ]
        if self.plan.correction is not None:
            shares = self._corrected(shares)
        cases = []
        for k, share in enumerate(shares[:-1]):
            tests = [f"{share} >= {other}" for other in shares[k + 1 :]]
            cases.append(f"WHEN {' AND '.join(tests)} THEN {literal(classes[k])}")
        label = f"CASE {' '.join(cases)} ELSE {literal(classes[-1])} END"
        names = [self._free("prediction"), *(self._free(f"probability of {c}") for c in classes)]
        answers = zip([label, *shares], names, strict=True)
        return [f"{self._if_complete(text)} AS {quote(name)}" for text, name in answers]

    def _corrected(self, shares: list[str]) -> list[str]:
        """Columns of one more table hold the raised shares, so that they are written once."""
        assert self.plan.correction is not None
        power, weights, floor = self.plan.correction
        p, f = self.prefix, number(floor)
        last = f"{p}{len(self.tables) - 1}"
        raised = ", ".join(
            f"{number(w)} * pow(CASE WHEN {s} > {f} THEN {s} ELSE {f} END, {number(power)}) AS {p}r{k}"
            for k, (s, w) in enumerate(zip(shares, weights.tolist(), strict=True))
        )
        self.tables.append(f"SELECT *, {raised} FROM {last}")
        total = " + ".join(f"{p}r{k}" for k in range(len(shares)))
        return [f"({p}r{k} / ({total}))" for k in range(len(shares))]

    def _note(self) -> str:
        if all(c.categories is None and math.isnan(c.fill) for c in self.plan.columns):
            return "A row without one of the features has no prediction."
        if any(c.text_format for c in self.plan.columns):
            return "NULL is a missing value. Where a text is no number, there is no prediction."
        return "NULL is a missing value."

    def _if_complete(self, text: str) -> str:
        """NULL where a feature is, if nothing stands in for it."""
        has_fill = [c.categories is not None or not math.isnan(c.fill) for c in self.plan.columns]
        given = {int(step.numbers[0]) for step in self.plan.steps if step.name == "input"}
        used = sorted(i for i in given if not has_fill[self.plan.columns.owners[i]])
        tests = [f"{self.prefix}x{i} IS NULL" for i in used]
        tests += [f"{self.prefix}0.{self.prefix}u{j} = 1" for j, c in enumerate(self.plan.columns) if c.text_format]
        return f"CASE WHEN {' OR '.join(tests)} THEN NULL ELSE {text} END" if tests else text

    def _free(self, name: str) -> str:
        """The name, longer if a feature has it."""
        taken = {name.lower() for name in (*(c.name for c in self.plan.columns), *self.keep)}
        while name.lower() in taken:
            name += "_"
        return name


def _products(row: Row, texts: dict[int, str]) -> list[str]:
    pairs = zip(row.indices, row.coefficients, strict=True)
    return [f"{number(coefficient)} * {texts[i]}" for i, coefficient in pairs if i in texts]


def _union(members: list[str]) -> str:
    """Members as the rows of a table; SQLite joins at most 500 at once."""
    rows = [f"SELECT {member} AS m" for member in members]
    while len(rows) > 400:
        rows = [f"SELECT m FROM ({' UNION ALL '.join(rows[i : i + 400])})" for i in range(0, len(rows), 400)]
    return f"({' UNION ALL '.join(rows)})"


def _add(terms: list[str]) -> str:
    """A sum in brackets, in groups, so that it is not nested deeply."""
    while len(terms) > 20:
        terms = [_add(terms[i : i + 20]) for i in range(0, len(terms), 20)]
    return "(" + " + ".join(terms) + ")" if len(terms) > 1 else terms[0]
