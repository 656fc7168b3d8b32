"""Whether what the paper concludes from its results holds in ours: claim by claim, and mark by mark."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import combinations
from typing import Any, NamedTuple

from symgrove.experiments.runner import Row
from symgrove.experiments.statistics import SIGNIFICANT, CorrectedComparison
from symgrove.experiments.study import PARTS, Study, published_marks
from symgrove.experiments.tables import Page, ResultTable, make_table

TITLE = "Do the paper's conclusions hold?"
HOLDS, FAILS, UNTESTED = "holds", "does not hold", "not tested"
# Classic GP that differs from 2SEGP in what the paper is about and in nothing else, by table.
LIKE_FOR_LIKE = {"table1": "cgp-like-for-like", "table2": "cgp"}
LEGEND = (
    "Each cell: what the paper says of the first method compared with the second, whether it holds in our runs, and "
    'what was found (p-values corrected within the systems that the paper compares there; "alone": not corrected). '
    "Level: no significant difference, which is not the same as equal. An underlined cell depends on all systems of "
    "its table: while some have no runs, more cells are best."
)
MARKS_HEAD = ["table", "part", "data", "best in the paper and here", "only in the paper", "only here", "not tested"]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper on one pair of methods (or all pairs of some), one part and one data set."""

    says: str
    methods: tuple[str, ...]
    is_said: str
    part: str
    dataset: str


class Judgement(NamedTuple):
    """What has become of a claim, and what was found."""

    verdict: str
    found: str = ""


def load_claims() -> dict[str, dict[str, Any]]:
    """The statements of claims.toml by study."""
    return tomllib.loads((files("symgrove.experiments") / "claims.toml").read_text(encoding="utf-8"))


def claims_of(entries: Sequence[Mapping[str, Any]]) -> Iterator[Claim]:
    """One claim for each pair, part and data set."""
    for entry in entries:
        groups = [tuple(entry["among"])] if "among" in entry else [(entry["of"], other) for other in entry["than"]]
        for methods in groups:
            for part in PARTS:
                for dataset, is_said in entry.get(part, {}).items():
                    yield Claim(entry["says"], methods, is_said, part, dataset)


def judge(claim: Claim, table: ResultTable, *, lower_is_better: bool) -> Judgement:
    """Compare what is said with what was found."""
    if claim.is_said == "mostly level":
        tests = [_test(table, claim.part, claim.dataset, a, b) for a, b in combinations(claim.methods, 2)]
        told = [test.p_value >= SIGNIFICANT for test in tests if test is not None]
        if not told:
            return Judgement(UNTESTED)
        return _verdict(2 * sum(told) > len(told), f"{sum(told)} of {len(told)} pairs")
    a, b = claim.methods
    if claim.is_said in ("better median", "worse median"):
        cells = [table.cells[claim.part, name, claim.dataset] for name in (a, b)]
        medians = [cell.ours.median for cell in cells if cell.ours is not None and not cell.is_unfinished]
        if len(medians) < 2:
            return Judgement(UNTESTED)
        is_better = (medians[0] < medians[1]) == lower_is_better and medians[0] != medians[1]
        is_worse = not is_better and medians[0] != medians[1]
        holds = is_better if claim.is_said == "better median" else is_worse
        return _verdict(holds, f"{medians[0]:.3f}, {medians[1]:.3f}")
    test = _test(table, claim.part, claim.dataset, a, b)
    if test is None:
        return Judgement(UNTESTED)
    found = _relation(test, lower_is_better=lower_is_better)
    holds = found != "worse" if claim.is_said == "not worse" else found == claim.is_said
    return _verdict(holds, f"{found}, {_p_value(test)}")


def _verdict(holds: bool, found: str) -> Judgement:
    return Judgement(HOLDS if holds else FAILS, found)


def _test(table: ResultTable, part: str, dataset: str, a: str, b: str) -> CorrectedComparison | None:
    """The test of a with b, in this order; None if one has too few runs."""
    pairs = table.pairs[part, dataset]
    if (a, b) in pairs:
        return pairs[a, b]
    turned = pairs.get((b, a))
    return turned._replace(is_larger=not turned.is_larger) if turned is not None else None


def _relation(test: CorrectedComparison, *, lower_is_better: bool) -> str:
    if test.p_value >= SIGNIFICANT:
        return "level"
    return "worse" if test.is_larger == lower_is_better else "better"


def _p_value(test: CorrectedComparison) -> str:
    """The corrected p-value, and that of the test alone where it decides otherwise."""

    def told(p: float) -> str:
        return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"

    alone = f", {told(test.alone)} alone" if test.alone < SIGNIFICANT <= test.p_value else ""
    return told(test.p_value) + alone


def page_of_conclusions(
    studies: Sequence[Study], rows: Mapping[str, Row], tasks: Mapping[str, str], n_runs: int | None = None
) -> Page:
    """Claims of the text, study by study; then the underlined cells of all tables."""
    known = {study.name: study for study in studies}
    shown, judged = [], []
    tables = {name: make_table(study, rows, tasks, n_runs) for name, study in known.items() if published_marks(name)}
    for name, entry in load_claims().items():
        study = known.get(entry.get("study", name))
        if study is None:
            continue
        table = tables[name] if name in tables else _table_of_family(study, entry, rows, tasks, n_runs)
        found = {
            claim: judge(claim, table, lower_is_better=tasks[claim.dataset] == "regression")
            for claim in claims_of(entry["claims"])
            if all((claim.part, method, claim.dataset) in table.cells for method in claim.methods)
        }
        judged += [(table, claim, judgement) for claim, judgement in found.items()]
        shown.append((table.study.title, _lines(table, found)))
    marks = {(_short(t.study), part, d): _marks_of(t, part, d) for t in tables.values() for part, d in _marked(t)}
    lines = [[table, part, d.upper(), *map(", ".join, of.values())] for (table, part, d), of in marks.items()]
    shown.append(("Best (underlined) cells: not significantly worse than any other system", [MARKS_HEAD, *lines]))
    paragraphs = [*_like_for_like(tables, tasks), _summary(judged), _summary_of_marks(tables, marks.values()), LEGEND]
    return Page(TITLE, paragraphs, [("What does not hold", _failures(judged)), *shown], [])


def _table_of_family(
    study: Study, entry: Mapping[str, Any], rows: Mapping[str, Row], tasks: Mapping[str, str], n_runs: int | None
) -> ResultTable:
    """Tests of some methods of a study, all pairs of which are corrected together."""
    chosen = [method for method in study.methods if method.name in entry["family"]]
    n_first = entry.get("members", 0)
    if n_first:
        rows = {
            key: {**row, "test": row["prefix_test"][n_first - 1]} if len(row.get("prefix_test", ())) >= n_first else row
            for key, row in rows.items()
        }
    study = replace(study, title=entry.get("title", study.title), methods=chosen, published=())
    return make_table(study, rows, tasks, n_runs)


def _lines(table: ResultTable, found: Mapping[Claim, Judgement]) -> list[list[str]]:
    """A line for each claim and part, a column for each data set."""
    datasets = list(table.study.datasets)
    lines: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
    for claim, (verdict, what) in found.items():
        key = (claim.says, claim.methods, claim.part)
        line = lines.setdefault(key, [claim.says, _pair(table, claim), claim.part, *[""] * len(datasets)])
        told = f" ({what})" if what else ""
        line[3 + datasets.index(claim.dataset)] = f"{claim.is_said}: {verdict}{told}"
    return [["the paper says", "methods", "part", *(name.upper() for name in datasets)], *lines.values()]


def _pair(table: ResultTable, claim: Claim) -> str:
    labels = {method.name: method.label for method in table.study.methods}
    if len(claim.methods) > 2:
        return f"all pairs of {len(claim.methods)}"
    return " against ".join(labels[name] for name in claim.methods)


def _marked(table: ResultTable) -> list[tuple[str, str]]:
    marks = published_marks(table.study.name)["best"]
    return [(part, dataset) for part in PARTS for dataset in table.study.datasets if dataset in marks.get(part, {})]


def _marks_of(table: ResultTable, part: str, dataset: str) -> dict[str, list[str]]:
    """Which systems are best in the paper, here, or in both; and which have too few runs."""
    best = published_marks(table.study.name)["best"][part][dataset]
    groups: dict[str, list[str]] = {name: [] for name in ("both", "paper", "here", UNTESTED)}
    for method in table.study.methods:
        if method.name not in table.family[dataset]:
            continue
        cell = table.cells[part, method.name, dataset]
        if cell.ours is None or cell.is_unfinished:
            groups[UNTESTED].append(f"{method.label} (best)" if method.name in best else method.label)
        elif method.name in best or cell.is_best:
            where = "both" if method.name in best and cell.is_best else "paper" if method.name in best else "here"
            groups[where].append(method.label)
    return groups


def _short(study: Study) -> str:
    """Table 1 of `Table 1: accuracy`, a whole title without a number."""
    head, colon, _ = study.title.partition(":")
    return head if colon and head.startswith("Table") else study.title


def _summary_of_marks(tables: Mapping[str, ResultTable], marks: Collection[Mapping[str, Sequence[str]]]) -> str:
    n_cells = sum(len(table.family[dataset]) for table in tables.values() for _, dataset in _marked(table))
    counts = {name: sum(len(of[name]) for of in marks) for name in ("both", "paper", "here", UNTESTED)}
    tested = n_cells - counts[UNTESTED]
    same = tested - counts["paper"] - counts["here"]
    return (
        f"Of {n_cells} cells that the paper underlines or does not, {tested} can be compared: {same} are the same "
        f"here, {counts['paper']} are best only in the paper and {counts['here']} only here."
    )


def _summary(judged: Sequence[tuple[ResultTable, Claim, Judgement]]) -> str:
    verdicts = [judgement.verdict for _, _, judgement in judged]
    on_test = [judgement.verdict for _, claim, judgement in judged if claim.part == "test"]

    def told(own: Sequence[str]) -> str:
        tested = len(own) - own.count(UNTESTED)
        return (
            f"{own.count(HOLDS)} of {tested} hold and {own.count(FAILS)} do not, {own.count(UNTESTED)} are not tested"
        )

    return (
        f"The paper's text comes to {len(verdicts)} statements, each on two methods (or the sizes of 2SEGP) and a data "
        f"set: {told(verdicts)} (too few runs of a method). Of the {len(on_test)} on test rows {told(on_test)}."
    )


def _failures(judged: Sequence[tuple[ResultTable, Claim, Judgement]]) -> list[list[str]]:
    """A line for each pair of which something does not hold."""
    told: dict[tuple[str, str, str], list[str]] = {}
    for table, claim, (verdict, what) in judged:
        if verdict == FAILS:
            key = (_short(table.study), _pair(table, claim), claim.is_said)
            told.setdefault(key, []).append(f"{claim.dataset.upper()} {claim.part} ({what})")
    lines = [[*key, ", ".join(where)] for key, where in told.items()]
    return [["study", "methods", "the paper says", "where, and what was found"], *lines]


def _like_for_like(tables: Mapping[str, ResultTable], tasks: Mapping[str, str]) -> Iterator[str]:
    """Where classic GP with the settings of 2SEGP is level with it, in plain words."""
    for name, other in LIKE_FOR_LIKE.items():
        table = tables.get(name)
        labels = {method.name: method.label for method in table.study.methods} if table is not None else {}
        if table is None or other not in labels:
            continue
        first, label = table.study.methods[0], labels[other]
        told: dict[str, list[str]] = {"level": [], "better": [], "worse": []}
        for dataset in table.study.datasets:
            test = _test(table, "test", dataset, other, first.name)
            cells = [table.cells["test", n, dataset].ours for n in (other, first.name)]
            if test is None or cells[0] is None or cells[1] is None:
                continue
            medians = f"{cells[0].median:.3f} against {cells[1].median:.3f}"
            found = _relation(test, lower_is_better=tasks[dataset] == "regression")
            told[found].append(f"{dataset.upper()} ({medians}, {_p_value(test)})")
        if not any(told.values()):
            continue
        what = {
            "level": f"is level with {first.label} (not significantly different on test rows) on",
            "worse": "is significantly worse on",
            "better": "is significantly better on",
        }
        n_sets = sum(map(len, told.values()))
        parts = [
            f"{text} {len(told[of])} of {n_sets} data sets: {', '.join(told[of])}"
            for of, text in what.items()
            if told[of]
        ]
        yield (
            f"Classic GP with the settings of {first.label} ({label!r} in {_short(table.study).lower()}: one program, "
            f"tournaments, everything else the same) {'; it '.join(parts)}. Medians are those of classic GP against "
            f"{first.label}."
        )
