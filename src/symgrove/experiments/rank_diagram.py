"""The diagram of mean ranks over data sets: methods on a line, those that differ from the first marked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from symgrove.experiments import figures
from symgrove.experiments.comparison import ComparisonResult, RankTable
from symgrove.experiments.statistics import SIGNIFICANT

FIRST, SAME, DIFFERENT = "#D55E00", "#0072B2", "0.35"
LINE_HEIGHT = 0.16  # inches for a label
REACH = 0.06  # of labels beyond the outermost ranks, as a share of the axis


def draw(result: ComparisonResult, out: Path) -> list[Path]:
    """Draw the first table of ranks, if there is one; returns the files."""
    import matplotlib

    if not result.ranks:
        return []
    name = f"{result.study.name}-ranks"
    with matplotlib.rc_context({"svg.hashsalt": name, **figures.STYLE}):
        from matplotlib.figure import Figure

        return figures.save(diagram(Figure, result.ranks[0]), out / name)


def diagram(Figure: Any, table: RankTable) -> Any:
    """Ranks from the best, left, to the worst; half of the labels stand on each side, as Demšar (2006) draws them."""
    ranks = table.ranking.mean_ranks
    is_different = np.array([False, *(table.ranking.p_values < SIGNIFICANT)])
    order = np.argsort(ranks, kind="stable")
    n_left = (len(order) + 1) // 2
    figure = Figure(figsize=(figures.TWO_COLUMNS, 1.0 + LINE_HEIGHT * n_left))
    axes = figure.subplots()
    low, high = 1.0, float(len(ranks))
    reach = REACH * (high - low)
    for place, method in enumerate(order):
        is_left = place < n_left
        level = place if is_left else len(order) - 1 - place
        end = low - reach if is_left else high + reach
        colour = FIRST if method == 0 else DIFFERENT if is_different[method] else SAME
        rank, line = float(ranks[method]), {"color": colour, "clip_on": False}
        axes.plot([rank, rank, end], [0, -1 - level, -1 - level], "-", linewidth=0.8, **line)
        filling = "white" if is_different[method] else colour
        axes.plot([rank], [0], "s" if method == 0 else "o", markerfacecolor=filling, zorder=3, **line)
        text = f"{table.methods[method].label}  {rank:.2f}"
        shift, side = (-3, "right") if is_left else (3, "left")
        weight = "bold" if method == 0 else "normal"
        look = {"ha": side, "va": "center", "color": colour, "fontweight": weight, "fontsize": 7.5}
        place_of_text = {"xytext": (shift, 0), "textcoords": "offset points", "annotation_clip": False}
        axes.annotate(text, (end, -1 - level), **place_of_text, **look)
    axes.axhline(0, color="black", linewidth=0.8, zorder=1)
    axes.set(xlim=(low, high), ylim=(-0.7 - n_left, 0.0), yticks=[], xticks=range(1, len(ranks) + 1))
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xlabel(f"mean rank over {table.n_datasets} data sets, 1 is best")
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    figure.legend(handles=_legend(table), loc="outside lower center", ncols=3, fontsize=7.5)
    return figure


def _legend(table: RankTable) -> list[Any]:
    from matplotlib.lines import Line2D

    first = table.methods[0].label
    looks = (
        ("s", FIRST, FIRST, first),
        ("o", SAME, SAME, f"not significantly different from {first}"),
        ("o", DIFFERENT, "white", f"significantly different from {first}"),
    )
    return [
        Line2D([], [], marker=shape, color=colour, markerfacecolor=filling, linestyle="", label=label)
        for shape, colour, filling, label in looks
    ]
