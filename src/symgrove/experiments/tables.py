"""Tables in the paper's layout, our numbers beside the published ones, as Markdown or HTML."""

from __future__ import annotations

import html
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from symgrove.experiments.runner import Row
from symgrove.experiments.statistics import (
    SIGNIFICANT,
    CorrectedComparison,
    Summary,
    agrees,
    compare,
    median_interval,
    not_worse,
    summarise,
)
from symgrove.experiments.study import PARTS, Study, StudyMethod, family_of_the_paper, published

RUNS_FOR_A_VERDICT = 10  # with fewer it would mean nothing
FAMILIES = (
    "The systems that the paper compares by tests are compared, and corrected, among themselves, as there. All pairs "
    "with another row (variants of ours, and systems of which the paper has medians only) are a second family, so that "
    "more rows change nothing in the first."
)
# tools/notch_rule.py
BY_CHANCE = "By chance alone the rule calls about one cell in ten different, with 10 runs one in seven or eight."


@dataclass(frozen=True)
class Cell:
    """One number of a table: ours, the paper's, and what comes of comparing them.

    `interval` is that of our median; what is unfinished has too few runs to be compared.
    """

    ours: Summary | None
    theirs: Sequence[float]
    is_best: bool
    n_failed: int
    interval: tuple[float, float] = (-np.inf, np.inf)
    is_unfinished: bool = False

    @property
    def verdict(self) -> str:
        """Whether our median agrees with the paper's; empty if that cannot be told."""
        if self.ours is None or len(self.theirs) < 2 or self.ours.n_runs < RUNS_FOR_A_VERDICT:
            return ""
        return "agrees" if agrees(self.ours, self.theirs[0], self.theirs[1]) else "differs"

    @property
    def ratio(self) -> str:
        """Of our median to one that is published without a range, and whether that lies within our interval."""
        if self.ours is None or len(self.theirs) != 1 or self.ours.n_runs < RUNS_FOR_A_VERDICT:
            return ""
        is_within = self.interval[0] <= self.theirs[0] <= self.interval[1]
        return f"×{self.ours.median / self.theirs[0]:.2f}, {'within' if is_within else 'outside'}"

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return self.ours is None and not self.theirs and not self.n_failed


@dataclass(frozen=True)
class ResultTable:
    """All cells of a study: part (train, test), method, data set.

    `pairs` has the tests of two methods, by part and data set. Those among the paper's own systems, `family`, are
    corrected for each other only.
    """

    study: Study
    cells: Mapping[tuple[str, str, str], Cell]
    pairs: Mapping[tuple[str, str], Mapping[tuple[str, str], CorrectedComparison]]
    family: Mapping[str, Collection[str]]

    @property
    def level(self) -> dict[str, list[str]]:
        """Labels of the methods that do not differ significantly from the first on test rows, by data set."""
        first, *others = self.study.methods
        found = {}
        for dataset in self.study.datasets:
            cell = self.cells["test", first.name, dataset]
            if cell.ours is None or cell.is_unfinished:
                continue
            tests = {b: test for (a, b), test in self.pairs["test", dataset].items() if a == first.name}
            found[dataset] = [m.label for m in others if m.name in tests and tests[m.name].p_value >= SIGNIFICANT]
        return found

    @property
    def verdicts(self) -> tuple[int, int]:
        """How many cells agree with the paper, and of how many."""
        return self.verdicts_of(*(method.name for method in self.study.methods))

    def verdicts_of(self, *methods: str) -> tuple[int, int]:
        """The same of some methods."""
        told = [cell.verdict for (_, name, _), cell in self.cells.items() if name in methods and cell.verdict]
        return told.count("agrees"), len(told)


class Page(NamedTuple):
    """Text and tables as they are shown, whatever the format; a table is a caption and lines of cells, header first."""

    title: str
    paragraphs: Sequence[str]
    tables: Sequence[tuple[str, Sequence[Sequence[str]]]]
    notes: Sequence[str]


def make_table(
    study: Study, rows: Mapping[str, Row], tasks: Mapping[str, str], n_runs: int | None = None
) -> ResultTable:
    """Collect the runs of a study and compare them."""
    cells, pairs = {}, {}
    families = {dataset: family_of_the_paper(study, dataset) for dataset in study.datasets}
    for part in PARTS:
        their = published() if part in study.published else {}
        for dataset in study.datasets:
            values = {m.name: values_of(study, m, dataset, part, rows, tasks, n_runs) for m in study.methods}
            enough = min(RUNS_FOR_A_VERDICT, n_runs or study.runs)
            done = {name: found for name, (found, _) in values.items() if len(found) >= enough}
            best = not_worse(done, families[dataset], lower_is_better=tasks[dataset] == "regression")
            pairs[part, dataset] = compare(done, families[dataset])
            for method in study.methods:
                found, n_failed = values[method.name]
                theirs = their.get(method.published or method.name, {}).get(dataset, {}).get(part, ())
                summary, interval = (summarise(found), median_interval(found)) if found else (None, (-np.inf, np.inf))
                is_unfinished = 0 < len(found) < min(enough, method.runs or enough)
                cells[part, method.name, dataset] = Cell(
                    summary, theirs, method.name in best, n_failed, interval, is_unfinished
                )
    return ResultTable(study, cells, pairs, families)


def values_of(
    study: Study,
    method: StudyMethod,
    dataset: str,
    column: str,
    rows: Mapping[str, Row],
    tasks: Mapping[str, str],
    n_runs: int | None = None,
) -> tuple[list[Any], int]:
    """A column of the runs of a method on a data set, and how many failed."""
    values, n_failed = [], 0
    for split in range(n_runs or study.runs):
        run = study.run_of(method, dataset, split, tasks)
        row = rows.get(run.key) if run is not None else None
        if row is None:
            continue
        if row["error"] is not None:
            n_failed += 1
        elif column not in row:
            raise ValueError(
                f"{study.name}: runs of {method.label} do not have {column!r}, which the kind {study.kind!r} shows; "
                "name another kind, record or estimator."
            )
        else:
            values.append(row[column])
    return values, n_failed


def page_of_table(table: ResultTable) -> Page:
    """A study of kind "table": one table for each part that has numbers."""
    study = table.study
    shown = []
    for part in PARTS:
        lines = [["method", *(name.upper() for name in study.datasets)]]
        for method in study.methods:
            cells = [table.cells[part, method.name, dataset] for dataset in study.datasets]
            if not all(cell.is_empty for cell in cells):
                lines.append([method.label, *(_text(cell) for cell in cells)])
        shown.append((part, lines))
    notes = [f"{m.label}: {m.note}" for m in study.methods if m.note]
    return Page(study.title, [*filter(None, [_legend(table), _level(table), study.text])], shown, notes)


def _text(cell: Cell) -> str:
    parts = []
    if cell.ours is not None:
        mark = "*" if cell.is_best else ""
        few = f"; {cell.ours.n_runs} runs so far" if cell.is_unfinished else ""
        parts.append(f"{cell.ours.median:.3f}{mark} ({cell.ours.iqr:.3f}{few})")
    if cell.theirs:
        theirs = f"{cell.theirs[0]:.3f}" + (f" ({cell.theirs[1]:.3f})" if len(cell.theirs) > 1 else "")
        sign = {"agrees": " =", "differs": " ≠", "": ""}[cell.verdict]
        parts.append(f"[{theirs}]{sign}" + (f" ({cell.ratio})" if cell.ratio else ""))
    if cell.n_failed:
        parts.append(f"{cell.n_failed} failed")
    return " ".join(parts)


def _level(table: ResultTable) -> str:
    """Which methods are level with the first on test rows."""
    told = [f"{dataset.upper()}: {' · '.join(labels) or 'none'}" for dataset, labels in table.level.items()]
    first = table.study.methods[0].label
    return f"Not significantly different from {first} on test rows: {'; '.join(told)}." if told else ""


def _legend(table: ResultTable) -> str:
    """What the numbers and signs mean."""
    counts = sorted({cell.ours.n_runs for cell in table.cells.values() if cell.ours is not None})
    n_runs = "no" if not counts else f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    text = (
        f"Median (interquartile range) of {n_runs} runs. * not significantly worse than any other method in this table "
        "(Mann-Whitney U, Holm-Bonferroni, 0.05)."
    )
    if any(table.family.values()):
        text += f" {FAMILIES}"
    if any(cell.theirs for cell in table.cells.values()):
        n_agree, n_told = table.verdicts
        text += " In brackets the published number"
        text += "; rows with brackets only are methods that are not here yet." if _has_rows_to_come(table) else "."
        if n_told:
            text += f" = agrees, ≠ differs (notch rule): {n_agree} of {n_told} cells agree."
            own = [(m.label, *table.verdicts_of(m.name)) for m in table.study.methods]
            shown = [f"{label} {n} of {told}" for label, n, told in own if told]
            text += f" By row: {'; '.join(shown)}." if len(shown) > 1 else ""
            text += f" {BY_CHANCE}"
        if any(cell.ratio for cell in table.cells.values()):
            text += (
                " Where no range is published: our median over the published one, and whether that lies within the "
                "95 % interval of our median (order statistics)."
            )
    return text


def _has_rows_to_come(table: ResultTable) -> bool:
    """Whether a row has numbers of the paper only."""
    for method in table.study.methods:
        own = [cell for (_, name, _), cell in table.cells.items() if name == method.name]
        if any(cell.theirs for cell in own) and all(cell.ours is None and not cell.n_failed for cell in own):
            return True
    return False


def page_of_pruning(study: Study, rows: Mapping[str, Row], tasks: Mapping[str, str], n_runs: int | None) -> Page:
    """Members that are left when duplicates are removed, for every data set."""
    lines = [["data", "members", "different ones, median", "left, median"]]
    (method,) = study.methods
    for dataset in study.datasets:
        kept, n_failed = values_of(study, method, dataset, "n_distinct_members", rows, tasks, n_runs)
        before, _ = values_of(study, method, dataset, "n_members", rows, tasks, n_runs)
        if kept:
            left = float(np.median([k / b for k, b in zip(kept, before, strict=True)]))
            failed = f", {n_failed} failed" if n_failed else ""
            numbers = [f"{np.median(before):.0f}", f"{np.median(kept):.0f}", f"{left:.0%}{failed}"]
            lines.append([dataset.upper(), *numbers])
    return Page(study.title, [study.text], [("", lines)], [])


def to_markdown(page: Page) -> str:
    """Markdown."""
    blocks = [f"## {page.title}", *page.paragraphs]
    for caption, (header, *body) in page.tables:
        lines = [[cell.replace("|", "\\|") for cell in line] for line in (header, *body)]
        lines.insert(1, ["---"] * len(header))
        text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        blocks += [f"**{caption}**", text] if caption else [text]
    blocks += ["\n".join(f"- {note}" for note in page.notes)] if page.notes else []
    return "\n\n".join(blocks) + "\n"


_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color-scheme:light dark}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:.25em .8em;text-align:right;border-bottom:thin solid}"
    "td:first-child,th:first-child{text-align:left}caption{text-align:left;font-weight:bold}"
)


def to_html(page: Page) -> str:
    """A self-contained HTML page."""
    title = html.escape(page.title)
    blocks = [f"<h1>{title}</h1>", *(f"<p>{html.escape(text)}</p>" for text in page.paragraphs)]
    for caption, (header, *body) in page.tables:
        head = "".join(f"<th scope='col'>{html.escape(text)}</th>" for text in header)
        lines = ["".join(f"<td>{html.escape(text)}</td>" for text in row) for row in body]
        rows = "\n".join(f"<tr>{line}</tr>" for line in lines)
        blocks.append(f"<table><caption>{html.escape(caption)}</caption>\n<tr>{head}</tr>\n{rows}\n</table>")
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in page.notes)
    blocks += [f"<ul>{notes}</ul>"] if notes else []
    head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{title}</title>"
    page_head = f"<head>{head}<style>{_STYLE}</style></head>"
    content = "\n".join(blocks)
    return f"<!doctype html>\n<html lang='en'>{page_head}\n<body>\n{content}\n</body></html>\n"
