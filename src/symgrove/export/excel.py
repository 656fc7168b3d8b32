"""A model as an Excel workbook: rows of features go in, predictions come out, helper columns in between.

Sheet "predict" has the features and the prediction; sheet "work" the steps and the members' sums, a column each: a cell
holds at most 8,192 characters. Excel has no infinite numbers: where they would pass through `min`, `max` or a
quotient on the way, the workbook sees an error, which it treats as a result that is not finite. It reads numbers in
formulas to 15 digits.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from openpyxl import Workbook
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE, WriteOnlyCell

from symgrove.export.writing import Undoing, fill, plain_inputs, repeating, step_templates, write_steps
from symgrove.models.plan import MemberBlock, Plan, Step

LONGEST_CELL = 8000
LONGEST_TEXT = 255  # in a formula
MOST_COLUMNS = 16_384
FIRST_DAY = 25569  # 1970-01-01 as Excel counts
MOST_CHARACTERS = 200_000  # of the formulas in a row: 100 rows are a file of 8 MB then
PIECE = 100  # products in one partial sum

_ADVICE = (
    "Make the model smaller first (simplify_ensemble, --max-error-increase 0.01 --data rows.csv), or export to another "
    "language."
)

# Steps that are no primitives.
_CALLS = {
    "quotient": "({0}/{1})",
    "within": "MIN(MAX({0},{n0}),{n1})",
    "finite": "IFERROR({0},{n0})",
}


def to_excel(plan: Plan, version: str, path: str | Path, X: NDArray[Any] | None = None, n_rows: int = 100) -> None:
    """Write a workbook with formulas for the rows of `X`, or for `n_rows` rows to be filled in."""
    n_rows = len(X) if X is not None else n_rows
    book = Workbook(write_only=True)
    sheet, work, about = (book.create_sheet(title) for title in ("predict", "work", "about"))
    layout = _Layout(plan)
    answers = [(name, _of_numbers(plan, formula)) for name, formula in layout.answers()]
    names = [column.name for column in plan.columns]
    sheet.append([*(_text(name) for name in names), *(_text(name) for name, _ in answers)])
    work.append([_text(name) for name, _ in layout.columns])
    given: Any = X.tolist() if X is not None else [[None] * len(names)] * n_rows
    for r, row in enumerate(given, start=2):
        cells = [
            _date(sheet, v) if column.date is not None else _value(sheet, v)
            for v, column in zip(row, plan.columns, strict=True)
        ]
        sheet.append([*cells, *(f"={formula.format(row=r)}" for _, formula in answers)])
        work.append([f"={formula.format(row=r)}" for _, formula in layout.columns])
    for line in _about(plan, version):
        about.append([line])
    book.save(path)


def _of_numbers(plan: Plan, formula: str) -> str:
    """An error where a cell has a text that should be a number."""
    cells = [f"{column_name(j)}{{row}}" for j, column in enumerate(plan.columns) if column.text_format is not None]
    return f"IF(OR({','.join(f'ISTEXT({cell})' for cell in cells)}),NA(),{formula})" if cells else formula


def _about(plan: Plan, version: str) -> list[str]:
    return [
        f"Made by symgrove {version} from a {plan.origin}.",
        "Put values into the feature columns of the sheet 'predict'; copy the last row of both sheets down for more.",
        "An empty cell is a missing value.",
        *(f"{line}." for line in plain_inputs(plan) if "1970-01-01" not in line),
        *(f"{c.name!r} is a date of Excel, from 1900-03-01 on." for c in plan.columns if c.date is not None),
        "Excel has no infinite numbers and takes sines up to 134217728 only: such steps count as not finite.",
        "Excel reads numbers in formulas to 15 digits, so the last digits may differ from symgrove's.",
    ]


def _text(name: str) -> Any:
    """A heading that is not taken for a formula; control characters are left out, files cannot hold them."""
    shown = ILLEGAL_CHARACTERS_RE.sub("", name)
    return "'" + shown if shown.startswith("=") else shown


def _value(sheet: Any, value: Any) -> Any:
    """What a cell holds; empty where a value is missing. A text is never taken for a formula."""
    if isinstance(value, str):
        cell = WriteOnlyCell(sheet, value)
        cell.data_type = "s"
        return cell
    return None if value is None or math.isnan(value) else value


def _date(sheet: Any, days: Any) -> Any:
    """A cell with a date of Excel's own."""
    cell = WriteOnlyCell(sheet, None if days is None or math.isnan(days) else days + FIRST_DAY)
    cell.number_format = "yyyy-mm-dd" if days is None or days % 1 == 0 else "yyyy-mm-dd hh:mm:ss"
    return cell


def column_name(index: int) -> str:
    """A, B, ..., Z, AA, ...; the first is 0."""
    name = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        name = chr(65 + rest) + name
    return name


def _making(plan: Plan) -> list[str]:
    """Formulas of the features."""
    found = []
    for j, column in enumerate(plan.columns):
        cell = f"predict!{column_name(j)}{{row}}"
        if column.date is not None:
            serial = f'IF({cell}="",{_number(column.fill + FIRST_DAY)},{cell})'
            parts = [f"{serial}-{FIRST_DAY}", f"YEAR({serial})", f"MONTH({serial})", f"WEEKDAY({serial},2)"]
            found += [*parts, *([f"24*MOD({serial},1)"] if column.date.has_time else [])]
        elif column.categories is None:
            found.append(cell if math.isnan(column.fill) else f'IF({cell}="",{_number(column.fill)},{cell})')
        else:
            for category in column.categories:
                if not 0 < len(category) <= LONGEST_TEXT or ILLEGAL_CHARACTERS_RE.search(category):
                    raise ValueError(
                        f"a formula of Excel cannot name the category {category!r:.60} of {column.name!r}: it takes "
                        f"texts of 1 to {LONGEST_TEXT} characters without control characters. Rename it."
                    )
            tests = [f"EXACT({cell},{_literal(c)})" for c in column.categories]
            found += [f"IF({test},1,0)" for test in tests]
            if column.has_others:
                found.append(f'IF(OR({cell}="",{",".join(tests)}),0,1)')
        if column.has_indicator:
            found.append(f'IF({cell}="",1,0)')
    return found


class _Layout:
    """Columns of the sheet "work": headings and formulas, in which {row} stands for the number of the row."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.columns: list[tuple[str, str]] = []
        self.place: dict[int, str] = {}
        # Names are given while expressions are written, in the order of the assignments.
        self.features = [self._add(n, text) for n, text in zip(plan.features, _making(plan), strict=True)]
        self.n_named = len(self.features)
        self.templates = step_templates(plan, "excel", _CALLS)
        written = write_steps(plan, self._write, self._name, repeating(self.templates), longest=400)
        for assignment in written.assignments:
            self.columns.append((f"step {assignment.step}", assignment.expression))
        self.text_of = written.text_of
        self.results = []
        for k, target in enumerate(plan.targets):
            levels = [self._block(block) for block in target.blocks]
            if target.base is None:
                result = levels[0]
            else:
                terms = [
                    f"{_number(w)}*({b}-{_number(target.base)})" for w, b in zip(target.weights, levels, strict=True)
                ]
                result = "+".join([_number(target.base), *terms])
            if target.inverse is not None:
                result = _UNDOING.write(target.inverse, self._add(f"target {k}, transformed", result))
            self.results.append(self._add(f"target {k}", result))
        self.raised = []
        if plan.correction is not None:
            power, weights, floor = plan.correction
            for share, weight in zip(_shares(self.results), weights.tolist(), strict=True):
                raised = f"{_number(weight)}*MAX({share},{_number(floor)})^{_number(power)}"
                self.raised.append(self._add("corrected", raised))
        if len(self.columns) > MOST_COLUMNS:
            raise ValueError(
                f"this model needs {len(self.columns)} helper columns; a sheet has {MOST_COLUMNS}. {_ADVICE}"
            )
        n_characters = sum(len(formula) for _, formula in self.columns)
        if n_characters > MOST_CHARACTERS:
            raise ValueError(
                f"this model needs {n_characters} characters of formulas for each row; workbooks take at most "
                f"{MOST_CHARACTERS}. {_ADVICE}"
            )

    def _name(self, step: int) -> str:
        if step not in self.place:
            self.place[step] = f"{column_name(self.n_named)}{{row}}"
            self.n_named += 1
        return self.place[step]

    def _write(self, step: Step, operands: list[str]) -> str:
        if step.name == "input":
            return self.features[int(step.numbers[0])]
        if step.name == "constant":
            return _number(step.numbers[0])
        # Braces that are meant are doubled once more: {row} is filled in later.
        template = self.templates[step.name].replace("{{", "{{{{").replace("}}", "}}}}")
        return fill(template, operands, [_number(value) for value in step.numbers])

    def _add(self, heading: str, formula: str) -> str:
        """A column more; returns the reference to it."""
        if len(formula) > LONGEST_CELL:
            raise ValueError(f"a formula of {len(formula)} characters does not fit into a cell of Excel.")
        self.columns.append((heading, formula))
        return f"{column_name(len(self.columns) - 1)}{{row}}"

    def _block(self, block: MemberBlock) -> str:
        values = [self._value(value) for value in block.values]
        if block.combine == "pooled":
            return self._pooled(block, values)
        members = []
        for j, row in enumerate(block.rows):
            products = [f"{_number(w)}*{values[i]}" for i, w in zip(row.indices, row.coefficients, strict=True)]
            pieces = ["+".join(products[i : i + PIECE]) for i in range(0, len(products), PIECE)]
            if len(pieces) > 1:
                pieces = [self._add(f"part of member {j}", piece) for piece in pieces]
            members.append("+".join([_number(row.intercept), *pieces]))
        headed = [self._headed(block, member) for member in members]
        places = [self._add(f"member {j}", member) for j, member in enumerate(headed)]
        cells = f"{places[0]}:{places[-1]}"
        n = len(places)
        if block.combine == "trimmed":
            # Half a member more, so that rounding does not leave one out.
            found = f"TRIMMEAN({cells},{_number((2 * block.n_outer + 0.5) / n)})"
        else:
            found = f"MEDIAN({cells})" if block.combine == "median" else f"AVERAGE({cells})"
        return self._add("block", found if block.fallback is None else f"IFERROR({found},{_number(block.fallback)})")

    def _value(self, step: int) -> str:
        """A value that members refer to: a column, unless it is short."""
        text = self.text_of[step]
        if len(text) <= 24:
            return text
        if ("value", step) not in self.known:
            self.known["value", step] = self._add(f"step {step}", text)
        return self.known["value", step]

    @property
    def known(self) -> dict[tuple[str, int], str]:
        """Values that have a column already."""
        return self.__dict__.setdefault("_known", {})

    def _headed(self, block: MemberBlock, member: str) -> str:
        low, high = (_number(v) for v in block.limits)
        # Text does not count in averages and medians.
        other = '""' if block.combine != "trimmed" or block.fallback is None else _number(block.fallback)
        return {
            "plain": f"IFERROR({member},{other})" if block.fallback is not None else member,
            "within": f"MIN(MAX({member},{low}),{high})",
            "vote": f'IFERROR(IF({member}>{_number(block.threshold)},1,0),"")',
            "share": f'IFERROR(MIN(MAX({member}-{_number(block.threshold - 0.5)},0),1),"")',
            "logistic": f"1/(1+EXP(-MIN(MAX({member},{low}),{high})))",
            "exponential": f"EXP(MIN(MAX({member},{low}),{high}))",
        }[block.head]

    def _pooled(self, block: MemberBlock, values: list[str]) -> str:
        sums, counts = [], []
        for value, row, n in zip(values, block.rows, block.counts, strict=True):
            sums.append(f"IFERROR({_number(row.coefficients[0])}*{value}+{_number(row.intercept)},0)")
            counts.append(f"IF(ISNUMBER({value}),{_number(n)},0)")
        for texts, what in ((sums, "sum"), (counts, "count")):
            while len(texts) > 1:
                parts = ["+".join(texts[i : i + 50]) for i in range(0, len(texts), 50)]
                texts[:] = [self._add(what, part) for part in parts]
        return self._add("block", f"IFERROR({sums[0]}/{counts[0]},{_number(block.fallback or 0.0)})")

    def answers(self) -> list[tuple[str, str]]:
        """Headings and formulas beside the features."""
        classes = self.plan.classes
        results = [f"work!{place}" for place in self.results]
        if classes is None:
            names = [f"prediction of {name}" for name in self.plan.target_names] or ["prediction"]
            return list(zip(names, results, strict=True))
        shares = _shares(results)
        if self.plan.correction is not None:
            shares = [f"work!{place}/({'+'.join(f'work!{r}' for r in self.raised)})" for place in self.raised]
        label = _literal(classes[-1])
        for k in range(len(classes) - 2, -1, -1):
            tests = ",".join(f"{shares[k]}>={other}" for other in shares[k + 1 :])
            label = f"IF(AND({tests}),{_literal(classes[k])},{label})"
        return [("prediction", label), *((f"probability of {c}", s) for c, s in zip(classes, shares, strict=True))]


def _shares(results: list[str]) -> list[str]:
    """Shares of the classes."""
    if len(results) == 1:
        return [f"(1-{results[0]})", results[0]]
    total = "+".join(results)
    return [f"IF({total}=0,1/{len(results)},{r}/({total}))" for r in results]


def _number(value: float) -> str:
    text = repr(float(value)).upper()
    return f"({text})" if text[0] == "-" else text


_UNDOING = Undoing("MIN(MAX({0},{1}),{2})", "EXP({0})", "{0}^{1}", _number)


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return repr(value)
    return '"' + str(value).replace('"', '""').replace("{", "{{").replace("}", "}}") + '"'
