"""Studies of kind "comparison": each method beside the first, split by split, and ranks over data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from symgrove.experiments.estimators import is_of_other_library
from symgrove.experiments.runner import TEST_SHARE, Row
from symgrove.experiments.statistics import (
    SIGNIFICANT,
    Ranking,
    compare_corrected,
    compare_paired,
    holm,
    rank_methods,
)
from symgrove.experiments.study import Study, StudyMethod
from symgrove.experiments.tables import RUNS_FOR_A_VERDICT, Page

DATASETS_FOR_RANKS = 6  # with five, a signed-rank test cannot be significant
METHODS_FOR_RANKS = 3
WORSE, BETTER, LEVEL = "▽▼", "△▲", "="  # hollow, filled
Rows = Mapping[str, Row]
Tasks = Mapping[str, str]


@dataclass(frozen=True)
class Verdict:
    """A method beside the first on one data set: significantly worse, better (or None) by each of two tests.

    `plain` takes the splits as independent (Wilcoxon), `corrected` does not (Nadeau and Bengio).
    """

    plain: bool | None
    corrected: bool | None

    @property
    def sign(self) -> str:
        """Filled if the corrected test finds it, hollow if only the other does."""
        is_worse = self.plain if self.corrected is None else self.corrected
        if is_worse is None:
            return LEVEL
        return (WORSE if is_worse else BETTER)[self.corrected is not None]


@dataclass(frozen=True)
class RankTable:
    """Methods that have the same splits of all data sets, the number of these splits, and their ranks."""

    methods: Sequence[StudyMethod]
    n_datasets: int
    n_splits: int
    ranking: Ranking


@dataclass(frozen=True)
class ComparisonResult:
    """What a study of this kind has come to: rows by method, data set and split, and a verdict for each cell."""

    study: Study
    tasks: Tasks
    found: Mapping[tuple[str, str], Mapping[int, Row]]
    verdicts: Mapping[tuple[str, str], Verdict]
    ranks: Sequence[RankTable]

    @property
    def n_splits(self) -> int:
        """Of the method that has most."""
        return max((len(own) for own in self.found.values()), default=0)

    @property
    def others(self) -> set[str]:
        """Methods of other libraries."""
        return {m.name for m in self.study.methods if any(map(is_of_other_library, (m.regressor, m.classifier)))}


def compare_methods(study: Study, rows: Rows, tasks: Tasks, n_runs: int | None = None) -> ComparisonResult:
    """Collect the rows of a study and compare each method with the first, where both have enough of them."""
    found = {(m.name, d): _by_split(study, m, d, rows, tasks, n_runs) for m in study.methods for d in study.datasets}
    enough = {m.name: min(RUNS_FOR_A_VERDICT, n_runs or study.runs, m.runs or study.runs) for m in study.methods}
    finished = {cell: own for cell, own in found.items() if len(own) >= enough[cell[0]]}
    return ComparisonResult(
        study, tasks, found, _verdicts(study, finished, tasks), _rank_tables(study, finished, tasks)
    )


def _by_split(
    study: Study, method: StudyMethod, dataset: str, rows: Rows, tasks: Tasks, n_runs: int | None
) -> dict[int, Row]:
    """Rows of a method on a data set that did not fail, by split."""
    found = {}
    for split in range(n_runs or study.runs):
        run = study.run_of(method, dataset, split, tasks)
        row = rows.get(run.key) if run is not None else None
        if row is not None and row["error"] is None:
            found[split] = row
    return found


def _verdicts(
    study: Study, found: Mapping[tuple[str, str], Mapping[int, Row]], tasks: Tasks
) -> dict[tuple[str, str], Verdict]:
    """Both tests of every cell that can be compared with the first method's, corrected over all cells."""
    first = study.methods[0].name
    cells, tests = [], []
    for (name, dataset), rows in found.items():
        splits = sorted(set(rows) & set(found.get((first, dataset), ())))
        if name == first or len(splits) < 2:
            continue
        own, theirs = ([r[s]["test"] for s in splits] for r in (rows, found[first, dataset]))
        cells.append((name, dataset))
        tests.append((compare_paired(own, theirs), compare_corrected(own, theirs, TEST_SHARE / (1 - TEST_SHARE))))
    told: list[list[bool | None]] = []
    for kind in zip(*tests, strict=True):
        is_significant = holm([test.p_value for test in kind]) < SIGNIFICANT
        is_worse = [t.is_larger == (tasks[d] == "regression") for t, (_, d) in zip(kind, cells, strict=True)]
        told.append([worse if sure else None for worse, sure in zip(is_worse, is_significant, strict=True)])
    return {cell: Verdict(*both) for cell, both in zip(cells, zip(*told, strict=True), strict=True)}


def _rank_tables(study: Study, found: Mapping[tuple[str, str], Mapping[int, Row]], tasks: Tasks) -> list[RankTable]:
    """Ranks of the methods with as many splits as the first has, and of all on the splits that these share.

    Means over other splits would compare splits, not methods. A method without enough runs of a data set has no rank.
    """
    if len(study.datasets) < DATASETS_FOR_RANKS:
        return []
    ranked = [m for m in study.methods if m.ranked and all((m.name, dataset) in found for dataset in study.datasets)]
    first = study.methods[0]
    if first not in ranked:
        return []
    whole = [m for m in ranked if all(found[m.name, d].keys() >= found[first.name, d].keys() for d in study.datasets)]
    tables = [_rank(study, chosen, found, tasks) for chosen in ([whole] if whole == ranked else [whole, ranked])]
    return [table for table in tables if table is not None]


def _rank(
    study: Study,
    methods: Sequence[StudyMethod],
    found: Mapping[tuple[str, str], Mapping[int, Row]],
    tasks: Tasks,
) -> RankTable | None:
    """Ranks by the mean error, or share of mistakes, over the splits that all these methods have."""
    errors, n_splits = [], []
    for dataset in study.datasets:
        splits = sorted(set.intersection(*(set(found[m.name, dataset]) for m in methods)))
        if len(methods) < METHODS_FOR_RANKS or not splits:
            return None
        means = [float(np.mean([found[m.name, dataset][s]["test"] for s in splits])) for m in methods]
        errors.append(means if tasks[dataset] == "regression" else [1 - mean for mean in means])
        n_splits.append(len(splits))
    return RankTable(methods, len(study.datasets), min(n_splits), rank_methods(errors))


def page_of_comparison(result: ComparisonResult) -> Page:
    """Test errors of all methods with the signs of both tests; counts of these; ranks; the time of a fit."""
    study, first = result.study, result.study.methods[0]
    errors = [["method", *(name.upper() for name in study.datasets)]]
    seconds = [["method", *(name.upper() for name in study.datasets)]]
    for method in study.methods:
        own = [result.found[method.name, dataset] for dataset in study.datasets]
        if not any(own):
            continue
        medians = [f"{np.median([r['test'] for r in o.values()]):.3f}" if o else "" for o in own]
        medians = [f"{m} ({len(o)})" if 0 < len(o) < result.n_splits else m for m, o in zip(medians, own, strict=True)]
        found = [result.verdicts.get((method.name, dataset)) for dataset in study.datasets]
        marks = [verdict.sign if verdict is not None else "" for verdict in found]
        errors.append([method.label, *(f"{m} {s}".strip() for m, s in zip(medians, marks, strict=True))])
        times = [f"{np.median([r['seconds'] for r in o.values()]):.2f}" if o else "" for o in own]
        seconds.append([method.label, *times])
    legend = (
        f"Median of {result.n_splits} splits, or of as many as stand in parentheses, test rows: root mean squared "
        f"error (regression), accuracy (classification). Compared with {first.label} split by split, 0.05, by two "
        "tests, each with Holm's correction over all cells. Filled signs: a t test whose variance is corrected for "
        "splits that share rows (Nadeau and Bengio 2003; factor 1 / splits + test rows / training rows). Hollow signs: "
        "only Wilcoxon's signed-rank test, which takes splits as independent and so finds too much. "
        f"▼ ▽ significantly worse than {first.label}, ▲ △ significantly better, = neither; no sign: too few splits."
    )
    notes = [f"{m.label}: {m.note}" for m in study.methods if m.note and m.label in {line[0] for line in errors}]
    shown = [("test", errors), *_counts(result), *map(_lines_of_ranks, result.ranks)]
    paragraphs = [legend, _caution(result), _about_ranks(result), study.text]
    return Page(study.title, [*filter(None, paragraphs)], [*shown, ("seconds of a fit on one core", seconds)], notes)


def _counts(result: ComparisonResult) -> list[tuple[str, list[list[str]]]]:
    """For each method, on how many data sets it is worse than the first, level with it or better, by each test."""
    head = ["method", "worse, corrected", "worse, Wilcoxon", "level in both", "better, Wilcoxon", "better, corrected"]
    lines = []
    for method in result.study.methods[1:]:
        own = [verdict for (name, _), verdict in result.verdicts.items() if name == method.name]
        if own:
            plain, corrected = [v.plain for v in own], [v.corrected for v in own]
            n_level = sum(v.sign == LEVEL for v in own)
            counts = [corrected.count(True), plain.count(True), n_level, plain.count(False), corrected.count(False)]
            lines.append([method.label, *map(str, counts)])
    return [("number of data sets by verdict", [head, *lines])] if lines else []


def _caution(result: ComparisonResult) -> str:
    """How many comparisons are significant by each test, and what the corrected one says of other libraries."""
    if not result.verdicts:
        return ""
    own = list(result.verdicts.values())
    corrected, plain = (len(own) - [getattr(v, name) for v in own].count(None) for name in ("corrected", "plain"))
    text = f"{corrected} of {len(own)} comparisons are significant in the corrected test, {plain} in Wilcoxon's."
    claims = [claim for task in dict.fromkeys(result.tasks.values()) if (claim := claim_of(result, task))]
    return " ".join([text, *claims])


def claim_of(result: ComparisonResult, task: str) -> str:
    """What the corrected test says of the first method beside those of other libraries; empty if there are none."""
    names = [m.name for m in result.study.methods if m.name in result.others]
    cells = [(name, d) for name in names for d in result.study.datasets if result.tasks[d] == task]
    own = [result.verdicts[cell].corrected for cell in cells if cell in result.verdicts]
    if not own:
        return ""
    return (
        f"By the corrected test, {task}, {result.study.methods[0].label} is significantly better than methods of other "
        f"libraries in {own.count(True)} of {len(own)} comparisons and significantly worse in {own.count(False)}."
    )


def _about_ranks(result: ComparisonResult) -> str:
    """What the ranks are, how they are tested, and why so."""
    if not result.ranks:
        return ""
    table, first = result.ranks[0], result.study.methods[0].label
    n_others = len(table.methods) - 1
    least, pairs = 2 / 2**table.n_datasets, len(table.methods) * n_others // 2
    return (
        "Ranks over the data sets, 1 is best, by the mean error (share of mistakes) over the splits. Friedman's test "
        f"of all ranks: {_p_value(table.ranking.friedman)}. Then each method is compared with {first} by a signed-rank "
        "test over the data sets, on relative differences, with Holm's correction. Why not by mean ranks (Nemenyi): "
        "what they say of two methods depends on the others (Benavoli, Corani and Mangili 2016). Why not all pairs: "
        f"with {table.n_datasets} data sets a p-value is at least {least:.2g}, corrected for {pairs} pairs "
        f"{min(1.0, least * pairs):.2g}, for the {n_others} beside {first} {min(1.0, least * n_others):.2g}."
    )


def _lines_of_ranks(table: RankTable) -> tuple[str, list[list[str]]]:
    """A table of ranks, best first."""
    first, ranking = table.methods[0], table.ranking
    head = ["method", "mean rank", f"data sets where {first.label} is better", "p-value, Holm", f"beside {first.label}"]
    lines = [[first.label, f"{ranking.mean_ranks[0]:.2f}", "", "", ""]]
    for k, method in enumerate(table.methods[1:]):
        sign = (WORSE if ranking.is_worse[k] else BETTER)[1] if ranking.p_values[k] < SIGNIFICANT else LEVEL
        numbers = [f"{ranking.mean_ranks[k + 1]:.2f}", f"{ranking.n_worse[k]} of {table.n_datasets}"]
        lines.append([method.label, *numbers, f"{ranking.p_values[k]:.3f}", sign])
    order = np.argsort(ranking.mean_ranks, kind="stable")
    return f"mean ranks over data sets, {table.n_splits} splits of each", [head, *(lines[i] for i in order)]


def _p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
