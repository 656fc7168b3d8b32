"""Tables in the paper's layout, our numbers beside the published ones, as Markdown, LaTeX or HTML."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symgrove.experiments.runner import Row
from symgrove.experiments.statistics import Summary, agrees, not_worse, summarise
from symgrove.experiments.study import Method, Study, published

PARTS = ("train", "test")


@dataclass(frozen=True)
class Cell:
    """One number of a table: ours, the paper's, and what comes of comparing them."""

    ours: Summary | None
    theirs: Sequence[float]
    is_best: bool
    n_failed: int

    @property
    def verdict(self) -> str:
        """Whether our median agrees with the paper's; empty if one of them is missing or has no range."""
        if self.ours is None or len(self.theirs) < 2:
            return ""
        return "agrees" if agrees(self.ours, self.theirs[0], self.theirs[1]) else "differs"


@dataclass(frozen=True)
class Table:
    """All cells of a study: part (train, test), method, data set."""

    study: Study
    cells: Mapping[tuple[str, str, str], Cell]
    parts: Sequence[str]

    @property
    def verdicts(self) -> tuple[int, int]:
        """How many cells agree with the paper, and of how many."""
        told = [cell.verdict for cell in self.cells.values() if cell.verdict]
        return told.count("agrees"), len(told)


def make_table(study: Study, rows: Mapping[str, Row], tasks: Mapping[str, str], n_runs: int | None = None) -> Table:
    """Collect the runs of a study and compare them."""
    their = published()
    cells = {}
    for part in PARTS:
        for dataset in study.datasets:
            values = {m.name: values_of(study, m, dataset, part, rows, tasks, n_runs) for m in study.methods}
            done = {name: found for name, (found, _) in values.items() if found}
            best = not_worse(done, lower_is_better=tasks[dataset] == "regression")
            for method in study.methods:
                found, n_failed = values[method.name]
                theirs = their.get(method.published or method.name, {}).get(dataset, {}).get(part, ())
                summary = summarise(found) if found else None
                cells[part, method.name, dataset] = Cell(summary, theirs, method.name in best, n_failed)
    parts = [p for p in PARTS if any(c.ours or c.theirs for (q, _, _), c in cells.items() if q == p)]
    return Table(study, cells, parts)


def values_of(
    study: Study,
    method: Method,
    dataset: str,
    column: str,
    rows: Mapping[str, Row],
    tasks: Mapping[str, str],
    n_runs: int | None = None,
) -> tuple[list[Any], int]:
    """A column of the runs of a method on a data set, and how many failed."""
    values, n_failed = [], 0
    for split in range(study.runs if n_runs is None else min(n_runs, study.runs)):
        run = study.run_of(method, dataset, split, tasks)
        row = rows.get(run.key) if run is not None else None
        if row is None:
            continue
        if row["error"] is not None:
            n_failed += 1
        else:
            values.append(row[column])
    return values, n_failed


def _grid(table: Table, part: str) -> list[list[str]]:
    """Header and rows of one part as plain text; the best are marked with an asterisk."""
    study = table.study
    lines = [["method", *(name.upper() for name in study.datasets)]]
    for method in study.methods:
        cells = [table.cells[part, method.name, dataset] for dataset in study.datasets]
        if any(cell.ours or cell.theirs for cell in cells):
            lines.append([method.label, *(_text(cell) for cell in cells)])
    return lines


def _text(cell: Cell) -> str:
    parts = []
    if cell.ours is not None:
        mark = "*" if cell.is_best else ""
        parts.append(f"{cell.ours.median:.3f}{mark} ({cell.ours.iqr:.3f})")
    if cell.theirs:
        theirs = f"{cell.theirs[0]:.3f}" + (f" ({cell.theirs[1]:.3f})" if len(cell.theirs) > 1 else "")
        sign = {"agrees": " =", "differs": " ≠", "": ""}[cell.verdict]
        parts.append(f"[{theirs}]{sign}")
    if cell.n_failed:
        parts.append(f"{cell.n_failed} failed")
    return " ".join(parts)


def legend(table: Table, n_runs: int) -> str:
    """What the numbers and signs mean."""
    n_agree, n_told = table.verdicts
    text = (
        f"Median (interquartile range) of {n_runs} runs. * not significantly worse than any other method here "
        "(Mann-Whitney U, Holm-Bonferroni, 0.05)."
    )
    if any(cell.theirs for cell in table.cells.values()):
        text += (
            f" In brackets the published number; = agrees, ≠ differs (notch rule). {n_agree} of {n_told} cells agree."
            " Rows with brackets only are methods that are not here yet."
        )
    return text


def to_markdown(table: Table, n_runs: int) -> str:
    """Markdown, one table for each part."""
    blocks = [f"## {table.study.title}", legend(table, n_runs)]
    if table.study.text:
        blocks.append(table.study.text)
    for part in table.parts:
        header, *body = _grid(table, part)
        lines = [header, ["---"] * len(header), *body]
        blocks += [f"**{part}**", "\n".join("| " + " | ".join(line) + " |" for line in lines)]
    notes = [f"- {m.label}: {m.note}" for m in table.study.methods if m.note]
    return "\n\n".join([*blocks, *(["\n".join(notes)] if notes else [])]) + "\n"


_LATEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "±": r"$\pm$", "×": r"$\times$", "−": "$-$", "β": r"$\beta$"}
_LATEX |= {"ε": r"$\varepsilon$", "≠": r"$\neq$", "=": "$=$", "*": "$^*$"}


def to_latex(table: Table, n_runs: int) -> str:
    """LaTeX (booktabs), one tabular for each part."""

    def escape(text: str) -> str:
        return "".join(_LATEX.get(character, character) for character in text)

    blocks = [f"% {table.study.title}"]
    for part in table.parts:
        header, *body = _grid(table, part)
        lines = [r"\begin{tabular}{l" + "r" * (len(header) - 1) + "}", r"\toprule"]
        lines += [" & ".join(map(escape, [part, *header[1:]])) + r" \\", r"\midrule"]
        lines += [" & ".join(map(escape, row)) + r" \\" for row in body]
        blocks.append("\n".join([*lines, r"\bottomrule", r"\end{tabular}"]))
    return "\n\n".join([*blocks, f"% {legend(table, n_runs)}"]) + "\n"


_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color-scheme:light dark}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:.25em .8em;text-align:right;border-bottom:thin solid}"
    "td:first-child,th:first-child{text-align:left}caption{text-align:left;font-weight:bold}"
)


def to_html(table: Table, n_runs: int) -> str:
    """A self-contained HTML page."""
    title = html.escape(table.study.title)
    blocks = [f"<h1>{title}</h1>", f"<p>{html.escape(legend(table, n_runs))}</p>"]
    blocks += [f"<p>{html.escape(table.study.text)}</p>"] if table.study.text else []
    for part in table.parts:
        header, *body = _grid(table, part)
        head = "".join(f"<th scope='col'>{html.escape(text)}</th>" for text in header)
        lines = ["".join(f"<td>{html.escape(text)}</td>" for text in row) for row in body]
        rows = "\n".join(f"<tr>{line}</tr>" for line in lines)
        blocks.append(f"<table><caption>{part}</caption>\n<tr>{head}</tr>\n{rows}\n</table>")
    notes = [f"<li>{html.escape(m.label)}: {html.escape(m.note)}</li>" for m in table.study.methods if m.note]
    blocks += ["<ul>" + "".join(notes) + "</ul>"] if notes else []
    head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{title}</title>"
    return f"<!doctype html>\n<html lang='en'><head>{head}<style>{_STYLE}</style></head>\n<body>\n" + "\n".join(
        [*blocks, "</body></html>\n"]
    )


def pruning_table(study: Study, rows: Mapping[str, Row], tasks: Mapping[str, str], n_runs: int | None) -> str:
    """Share of the members that duplicates make up, for every data set, as Markdown."""
    lines = ["| data | members kept of 50, median | removed |", "|---|---|---|"]
    (method,) = study.methods
    for dataset in study.datasets:
        kept, _ = values_of(study, method, dataset, "n_distinct_members", rows, tasks, n_runs)
        before, _ = values_of(study, method, dataset, "n_members", rows, tasks, n_runs)
        if kept:
            removed = float(np.median([1 - k / b for k, b in zip(kept, before, strict=True)]))
            lines.append(f"| {dataset.upper()} | {np.median(kept):.0f} | {removed:.0%} |")
    return "\n\n".join([f"## {study.title}", study.text, "\n".join(lines)]) + "\n"
