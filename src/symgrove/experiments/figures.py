"""The paper's figures from result rows, as PNG and SVG, for a journal of two columns.

Lines are told apart by colour, shape and dash, so that they are in grey too; legends stand outside the axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from symgrove.experiments import heat_maps
from symgrove.experiments.records import FIRST_GENERATIONS
from symgrove.experiments.runner import NoRowsError, Row
from symgrove.experiments.study import Study, StudyMethod
from symgrove.experiments.tables import values_of

Rows = Mapping[str, Row]
Tasks = Mapping[str, str]
ONE_COLUMN, TWO_COLUMNS = 3.5, 7.2  # widths in inches
DOTS_PER_INCH = 300
STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.0,
    "lines.markersize": 4,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.5,
    "figure.constrained_layout.use": True,
}
# Colours that colour-blind people can tell apart (Okabe and Ito).
COLOURS = {"2segp": "#D55E00", "independent": "#0072B2", "divnichgp": "#009E73", "ss+be": "#CC79A7", "cgp": "black"}
MARKERS = {"2segp": "x", "independent": "o", "divnichgp": "^", "ss+be": "s", "cgp": "D"}
LABELS = {
    "2segp": "2SEGP (β on the upper axis)",
    "independent": "independent runs, 1 to 10",
    "divnichgp": "DivNichGP",
    "ss+be": "SS+BE",
    "cgp": "cGP",
}
ORDER = ("#000000", "#E69F00", "#0072B2", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")
SHAPES = ("o", "s", "^", "D", "v", "x", "+")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)))
GAP = 0.055  # between labels of β, as a share of the axis


def draw(study: Study, rows: Rows, tasks: Tasks, out: Path, n_runs: int | None = None) -> list[Path]:
    """Draw a study's figure into `out`; returns the files."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": study.name, **STYLE}):
        from matplotlib.figure import Figure

        return save(FIGURES[study.kind](Figure, study, rows, tasks, n_runs), out / study.name)


def save(figure: Any, path: Path) -> list[Path]:
    """Write a figure as PNG and SVG, without the time in it; returns the files."""
    files = [path.with_name(f"{path.name}.{suffix}") for suffix in ("png", "svg")]
    path.parent.mkdir(parents=True, exist_ok=True)
    for file in files:
        metadata = {"Date": None} if file.suffix == ".svg" else None
        figure.savefig(file, dpi=DOTS_PER_INCH, metadata=metadata)
    return files


def _column(study: Study, method: StudyMethod, column: str, rows: Rows, tasks: Tasks, n_runs: int | None) -> list[Any]:
    """A column of the runs of a method on the study's first data set."""
    values, _ = values_of(study, method, study.datasets[0], column, rows, tasks, n_runs)
    if not values:
        raise NoRowsError(f"{study.name}: there is no run of {method.label} yet; run the study first.")
    return values


def scaling(Figure: Any, study: Study, rows: Rows, tasks: Tasks, n_runs: int | None) -> Any:
    """Cost of scoring a program against its size."""
    (method,) = study.methods
    size = np.array(_column(study, method, "sizes", rows, tasks, n_runs)[0])
    computed = np.array(_column(study, method, "computed", rows, tasks, n_runs)[0])
    n_samples = _column(study, method, "n_members", rows, tasks, n_runs)[0]
    figure = Figure(figsize=(ONE_COLUMN, 3.0))
    axes = figure.subplots()
    line = np.linspace(1, size.max(), 200)
    axes.plot(line, n_samples * line, "--", color=ORDER[0], label="β × ℓ: each sample on its own")
    axes.plot(line, n_samples + line, "-", color=ORDER[2], label="β + ℓ: one evaluation for all samples")
    measured = "measured: subtrees shared between programs"
    axes.plot(size, n_samples + computed, "x", color=COLOURS["2segp"], markeredgewidth=0.8, label=measured)
    axes.set(xlabel="ℓ, mean size of new programs (nodes)", ylabel="passes over the rows per program")
    axes.set(yscale="log", xlim=(0, None))
    figure.legend(loc="outside upper left", ncols=1)
    return figure


def beta(Figure: Any, study: Study, rows: Rows, tasks: Tasks, n_runs: int | None) -> Any:
    """Test error against time; the sizes of 2SEGP's ensembles stand on an axis of their own."""
    n_columns = min(2, len(study.datasets))
    n_lines = -(-len(study.datasets) // n_columns)
    figure = Figure(figsize=(TWO_COLUMNS if n_columns > 1 else ONE_COLUMN, 0.5 + 2.55 * n_lines))
    grid = figure.subplots(n_lines, n_columns, squeeze=False)
    for unused in grid.ravel()[len(study.datasets) :]:
        unused.set_visible(False)
    handles: dict[str, Any] = {}
    for axes, dataset in zip(grid.ravel(), study.datasets, strict=False):
        lines, sizes = _lines_of_beta(study, dataset, rows, tasks, n_runs)
        for kind, points in lines.items():
            label = LABELS.get(kind, kind)
            handles[label] = _draw_line(axes, kind, np.array(points).T)
        axes.set(xscale="log")
        axes.set_title(dataset.upper(), loc="left", pad=18, fontweight="bold")  # above the names of sizes
        for axis_format in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
            axis_format(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "125" else "")
        _name_sizes(axes, sizes)
    for axes in grid[:, 0]:
        axes.set(ylabel="test RMSE")
    for axes in grid[-1]:
        axes.set(xlabel="mean time of a run (s)")
    figure.legend(handles.values(), handles, loc="outside upper center", ncols=n_columns * 3 - 1)
    return figure


def _lines_of_beta(
    study: Study, dataset: str, rows: Rows, tasks: Tasks, n_runs: int | None
) -> tuple[dict[str, list[tuple[float, ...]]], dict[int, float]]:
    """For each kind of method: time, and quartiles of the test error; and the times of 2SEGP's sizes."""
    lines: dict[str, list[tuple[float, ...]]] = {}
    sizes: dict[int, float] = {}
    for method in study.methods:
        kind = method.name.partition("-")[0]
        times, _ = values_of(study, method, dataset, "seconds", rows, tasks, n_runs)
        if not times:
            continue
        seconds, line = float(np.mean(times)), lines.setdefault(kind, [])
        if method.record == "prefixes":
            found, _ = values_of(study, method, dataset, "prefix_test", rows, tasks, n_runs)
            for k, errors in enumerate(np.array(found).T, start=1):
                line.append((seconds * k / len(found[0]), *np.percentile(errors, [25, 50, 75])))
        else:
            errors, _ = values_of(study, method, dataset, "test", rows, tasks, n_runs)
            line.append((seconds, *np.percentile(errors, [25, 50, 75])))
            if kind == "2segp":
                sizes[int(method.parameters.get("n_estimators", 50))] = seconds
    if not lines:
        raise NoRowsError(f"{study.name}: there is no run on {dataset} yet; run the study first.")
    return lines, sizes


def _draw_line(axes: Any, kind: str, points: Any) -> Any:
    time, low, middle, high = points
    return axes.errorbar(
        time,
        middle,
        yerr=np.stack([middle - low, high - middle]),
        fmt=MARKERS.get(kind, "v") + ("-" if len(time) > 1 else ""),
        color=COLOURS.get(kind, "grey"),
        capsize=1.5,
        elinewidth=0.7,
        capthick=0.7,
        zorder=3 if kind == "2segp" else 2,
    )


def _name_sizes(axes: Any, sizes: Mapping[int, float]) -> None:
    """Name β above the axes, with a line down to its place; labels that would touch are moved apart."""
    if not sizes:
        return
    low, high = np.log(axes.get_xlim())
    in_order = sorted(sizes, key=lambda size: sizes[size])
    places = [(np.log(sizes[size]) - low) / (high - low) for size in in_order]
    labels = spread(places, GAP)
    look = {"xycoords": "axes fraction", "va": "bottom", "fontsize": 7, "color": COLOURS["2segp"]}
    line = {"arrowstyle": "-", "linewidth": 0.6, "color": COLOURS["2segp"], "shrinkA": 0, "shrinkB": 0}
    for size, place, label in zip(in_order, places, labels, strict=True):
        axes.annotate(f"{size}", (place, 0.985), (label, 1.03), ha="center", arrowprops=line, **look)
    axes.annotate("β = ", (labels[0] - GAP / 2, 1.03), ha="right", **look)


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Ascending places, moved as little as needed to be at least `gap` apart: each crowd around its own middle."""
    crowds: list[list[float]] = []
    for place in places:
        crowds.append([place])
        while len(crowds) > 1 and _ends(crowds[-2], gap)[1] + gap > _ends(crowds[-1], gap)[0]:
            last = crowds.pop()
            crowds[-1] += last
    return [_ends(crowd, gap)[0] + gap * i for crowd in crowds for i in range(len(crowd))]


def _ends(crowd: Sequence[float], gap: float) -> tuple[float, float]:
    middle, half = float(np.mean(crowd)), gap * (len(crowd) - 1) / 2
    return middle - half, middle + half


def diversity(Figure: Any, study: Study, rows: Rows, tasks: Tasks, n_runs: int | None) -> Any:
    """Distinct programs, and the most frequent one, in ensemble and population.

    The first generations have room of their own; distinct programs have a logarithmic scale, on which both the loss in
    the first generation and the gain in the last ones can be read.
    """
    columns = ("share of the ensemble", "share of the population")
    names = ("distinct_elites", "distinct_programs", "frequent_elite", "frequent_program")
    figure = Figure(figsize=(TWO_COLUMNS, 4.6))
    grid = figure.subplots(2, 2, sharex=True, sharey="row")
    for axes, column in zip(grid.ravel(), names, strict=True):
        for k, method in enumerate(study.methods):
            values = np.array(_column(study, method, column, rows, tasks, n_runs))
            generation = _column(study, method, "generation", rows, tasks, n_runs)[0]
            _draw_mean(axes, generation, values, k, method.label)
    for axes, column in zip(grid[0], columns, strict=True):
        axes.set(title=column, yscale="log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    for axes in grid[1]:
        axes.set(xlabel="generation", ylim=(0, 1))
        _stretch_first(axes, generation[-1])
    grid[0, 0].set(ylabel="distinct programs")
    grid[1, 0].set(ylabel="most frequent program")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    figure.align_ylabels()
    return figure


def _stretch_first(axes: Any, last: int) -> None:
    """Two scales on one axis: the first generations, all of which are recorded, take two fifths of it."""
    if last <= FIRST_GENERATIONS:
        return
    ends = np.array([0, FIRST_GENERATIONS, last]), np.array([0.0, 0.4, 1.0])
    slopes = np.diff(ends[1]) / np.diff(ends[0])

    def forward(value: Any) -> Any:
        first, second = (ends[1][1] + slope * (np.asarray(value) - FIRST_GENERATIONS) for slope in slopes)
        return np.where(np.asarray(value) < FIRST_GENERATIONS, first, second)

    def inverse(value: Any) -> Any:
        first, second = (FIRST_GENERATIONS + (np.asarray(value) - ends[1][1]) / slope for slope in slopes)
        return np.where(np.asarray(value) < ends[1][1], first, second)

    axes.set_xscale("function", functions=(forward, inverse))
    later = np.linspace(FIRST_GENERATIONS, last, 4)[1:]
    axes.set_xticks([*range(0, FIRST_GENERATIONS + 1, 2), *later])
    axes.set_xlim(inverse(-0.02), inverse(1.02))
    for shown in axes.figure.axes:
        shown.axvline(FIRST_GENERATIONS, color="0.5", linewidth=0.6)


def _draw_mean(axes: Any, generation: Sequence[int], values: Any, k: int, label: str) -> None:
    """Mean over the runs with its 95 % interval."""
    mean = values.mean(axis=0)
    half = np.zeros_like(mean)
    if len(values) > 1:
        half = student.ppf(0.975, len(values) - 1) * values.std(axis=0, ddof=1) / np.sqrt(len(values))
    look = {"color": ORDER[k % len(ORDER)], "linestyle": LINES[k % len(LINES)], "marker": SHAPES[k % len(SHAPES)]}
    axes.plot(generation, mean, **look, markersize=3, markerfacecolor="none", markeredgewidth=0.7, label=label)
    low, high = np.clip([mean - half, mean + half], mean.min() / 2, 1)
    axes.fill_between(generation, low, high, color=look["color"], alpha=0.15, linewidth=0)


def elites(Figure: Any, study: Study, rows: Rows, tasks: Tasks, n_runs: int | None) -> Any:
    """Errors of every sample's elite, generation by generation."""
    maps = {m.label: np.array(_column(study, m, "elite_errors", rows, tasks, n_runs)[0]) for m in study.methods}
    return heat_maps.of_errors(Figure, maps, TWO_COLUMNS)


def evolvability(Figure: Any, study: Study, rows: Rows, tasks: Tasks, n_runs: int | None) -> Any:
    """How often children are better, on the same sample and on others."""
    (method,) = study.methods
    same, other = (np.array(_column(study, method, name, rows, tasks, n_runs)[0]) for name in ("same", "other"))
    return heat_maps.of_improvements(Figure, same, other, TWO_COLUMNS)


FIGURES: dict[str, Callable[..., Any]] = {
    "figure-scaling": scaling,
    "figure-beta": beta,
    "figure-diversity": diversity,
    "figure-elites": elites,
    "figure-evolvability": evolvability,
}
