"""LaTeX (booktabs): tables of medians with the paper's marks and layout, and any other page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from symgrove.experiments.study import PARTS, StudyMethod, published_marks
from symgrove.experiments.tables import Cell, Page, ResultTable

TITLES = {"train": "Training", "test": "Test"}
_LATEX = {character: f"\\{character}" for character in "&%_#${}"}
_LATEX |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "*": "$^*$"}
_LATEX |= {"<": "$<$", ">": "$>$", "=": "$=$", "≠": r"$\neq$", "×": r"$\times$", "−": "$-$", "β": r"$\beta$"}
_LATEX |= {"ε": r"$\varepsilon$", "ℓ": r"$\ell$", "▽": r"$\triangledown$", "△": r"$\vartriangle$"}
_LATEX |= {"▼": r"$\blacktriangledown$", "▲": r"$\blacktriangle$", "≥": r"$\geq$", "·": r"$\cdot$", "\n": " "}


def escape(text: str) -> str:
    """Text of any kind as LaTeX."""
    return "".join(_LATEX.get(character, character) for character in text)


def _comment(text: str) -> str:
    return "% " + text.replace("\n", " ")


def to_latex(page: Page) -> str:
    """One tabular for each table of a page."""
    blocks = [_comment(page.title) + "\n" + _comment("needs the packages booktabs and amssymb")]
    for caption, (header, *body) in page.tables:
        lines = [r"\begin{tabular}{l" + "r" * (len(header) - 1) + "}", r"\toprule"]
        lines += [" & ".join(map(escape, [caption or header[0], *header[1:]])) + r" \\", r"\midrule"]
        lines += [" & ".join(map(escape, row)) + r" \\" for row in body]
        blocks.append("\n".join([*lines, r"\bottomrule", r"\end{tabular}"]))
    return "\n\n".join([*blocks, *map(_comment, [*page.paragraphs, *page.notes])]) + "\n"


def table_to_latex(table: ResultTable, notes: Sequence[str] = ()) -> str:
    """A table as the paper prints it: underlined and starred medians, ranges and published numbers in small type."""
    datasets = table.study.datasets
    parts = [part for part in PARTS if any(not table.cells[part, m.name, d].is_empty for m, d in _cells(table))]
    body: list[str] = []
    for part in parts:
        n_columns = 2 * len(datasets)
        names = "".join(rf" & \multicolumn{{2}}{{c}}{{{_name(d)}}}" for d in datasets)
        body += [r"\midrule"] if body else []
        body += [rf" & \multicolumn{{{n_columns}}}{{c}}{{{TITLES[part]}}} \\", rf"\cmidrule(lr){{2-{n_columns + 1}}}"]
        body += [rf"Algorithm{names} \\", r"\midrule", *_lines_of(table, part)]
    tabular = [r"\begin{tabular}{l" + r"r@{\,}l" * len(datasets) + "}", r"\toprule", *body, r"\bottomrule"]
    lines = [_comment("needs the package booktabs"), r"\begin{table*}", r"\centering"]
    lines += [rf"\caption{{{_caption(table)}}}", rf"\label{{tab:{table.study.name}}}"]
    return "\n".join([*lines, *tabular, r"\end{tabular}", r"\end{table*}", *map(_comment, notes)]) + "\n"


def _cells(table: ResultTable) -> list[tuple[StudyMethod, str]]:
    return [(method, dataset) for method in table.study.methods for dataset in table.study.datasets]


def _name(dataset: str) -> str:
    return escape(dataset.upper() if len(dataset) < 4 else dataset.capitalize())  # abbreviations and words


def _lines_of(table: ResultTable, part: str) -> list[str]:
    """The paper's systems, each with its published numbers below: those that it tests, then others; then other rows."""
    study, marks = table.study, published_marks(table.study.name)
    groups: list[list[str]] = [[], [], []]
    for method in study.methods:
        cells = {dataset: table.cells[part, method.name, dataset] for dataset in study.datasets}
        is_system = not method.published and any(
            table.cells[p, method.name, d].theirs for p in PARTS for d in study.datasets
        )
        is_tested = any(method.name in table.family[dataset] for dataset in study.datasets)
        place = 0 if is_tested else 1 if is_system else 2
        if any(cell.ours is not None or cell.n_failed for cell in cells.values()):
            shown = [_ours(table, part, method.name, dataset) for dataset in study.datasets]
            groups[place].append(" & ".join([escape(method.label), *shown]) + r" \\")
        if is_system and any(cell.theirs for cell in cells.values()):
            label = rf"\quad{{\footnotesize {escape(method.label)}, published}}"
            shown = [
                _theirs(cell, *(method.name in marks.get(m, {}).get(part, {}).get(d, ()) for m in ("best", "starred")))
                for d, cell in cells.items()
            ]
            groups[place].append(" & ".join([label, *shown]) + r" \\")
    first, *others = [group for group in groups if group]
    return [*first, *(line for group in others for line in (r"\midrule", *group))]


def _ours(table: ResultTable, part: str, name: str, dataset: str) -> str:
    cell = table.cells[part, name, dataset]
    failed = rf"\textsuperscript{{{cell.n_failed} failed}}" if cell.n_failed else ""
    if cell.ours is None:
        return f"{failed} & "
    few = rf"\textsuperscript{{({cell.ours.n_runs})}}" if cell.is_unfinished else ""
    marks = (r"\star" if _is_starred(table, part, name, dataset) else "") + (r"\dagger" if _differs(cell) else "")
    return (
        _number(cell.ours.median, marks, is_best=cell.is_best)
        + few
        + failed
        + rf" & {{\scriptsize$\pm${cell.ours.iqr:.3f}}}"
    )


def _theirs(cell: Cell, is_best: bool, is_starred: bool) -> str:
    if not cell.theirs:
        return " & "
    number = _number(cell.theirs[0], r"\star" if is_starred else "", is_best=is_best)
    spread = rf"{{\scriptsize$\pm${cell.theirs[1]:.3f}}}" if len(cell.theirs) > 1 else ""
    return rf"{{\footnotesize {number}}} & {spread}"


def _number(value: float, marks: str, *, is_best: bool) -> str:
    shown = rf"\underline{{{value:.3f}}}" if is_best else f"{value:.3f}"
    return shown + (f"$^{{{marks}}}$" if marks else "")


def _differs(cell: Cell) -> bool:
    return cell.verdict == "differs" or cell.ratio.endswith("outside")


def _is_starred(table: ResultTable, part: str, name: str, dataset: str) -> bool:
    """Whether this is the best median of the paper's systems, in tables where the paper has such a mark."""
    if dataset not in published_marks(table.study.name).get("starred", {}).get(part, {}):
        return False
    systems = [m.name for m in table.study.methods if not m.published]
    found = {n: table.cells[part, n, dataset] for n in systems}
    medians = {n: c.ours.median for n, c in found.items() if c.ours is not None and c.theirs and not c.is_unfinished}
    return name in medians and medians[name] == min(medians.values())  # errors: the paper stars no accuracies


def _caption(table: ResultTable) -> str:
    """What the numbers and marks mean; only what is there."""
    cells = list(table.cells.values())
    counts = sorted({cell.ours.n_runs for cell in cells if cell.ours is not None})
    n_runs = "no" if not counts else "--".join(dict.fromkeys(map(str, (counts[0], counts[-1]))))
    whom = "any other system that the paper tests (rows below the first rule: than any other row)"
    whom = whom if any(table.family.values()) else "any other"
    title = re.sub(r"^Table \d+: ", "", table.study.title)
    text = [
        rf"{escape(title[:1].upper() + title[1:])}. Median {{\scriptsize$\pm$interquartile range}} of {n_runs} runs.",
        rf"Underlined: best, i.e., not significantly worse than {whom} (Mann-Whitney $U$, Holm-Bonferroni, 0.05).",
    ]
    if any(cell.theirs for cell in cells):
        text.append("In small type: published.")
    if published_marks(table.study.name).get("starred"):
        text.append(r"$^\star$: best median on test rows.")
    if any(_differs(cell) for cell in cells):
        rule = "notch rule"
        if any(cell.ratio for cell in cells):
            rule += "; where no range is published, outside the 95\\,\\% interval of our median"
        text.append(rf"$^\dagger$: differs from the published median ({rule}).")
    if any(cell.is_unfinished for cell in cells):
        text.append("In parentheses: runs so far, too few to be compared.")
    return " ".join(text)
