"""The paper's figures from result rows, as PNG and SVG; told apart by shape and line, not by colour alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from symgrove.experiments.runner import Row
from symgrove.experiments.study import Study, StudyMethod
from symgrove.experiments.tables import values_of

Rows = Mapping[str, Row]
Tasks = Mapping[str, str]
# Colours that colour-blind people can tell apart (Okabe and Ito).
COLOURS = {"2segp": "#D55E00", "independent": "#0072B2", "divnichgp": "#009E73", "ss+be": "#CC79A7", "cgp": "black"}
MARKERS = {"2segp": "x", "independent": "o", "divnichgp": "^", "ss+be": "s", "cgp": "D"}
LABELS = {"2segp": "2SEGP", "independent": "independent", "divnichgp": "DivNichGP", "ss+be": "SS+BE", "cgp": "cGP"}
LINES = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 4))]


def draw(study: Study, rows: Rows, tasks: Tasks, out: Path, n_runs: int | None = None) -> list[Path]:
    """Draw a study's figure into `out`; returns the files."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": study.name, "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}):
        from matplotlib.figure import Figure

        figure = FIGURES[study.kind](Figure, study, rows, tasks, n_runs)
        files = [out / f"{study.name}.{suffix}" for suffix in ("png", "svg")]
        out.mkdir(parents=True, exist_ok=True)
        for file in files:
            metadata = {"Date": None} if file.suffix == ".svg" else None
            figure.savefig(file, dpi=150, bbox_inches="tight", metadata=metadata)
    return files


def _column(study: Study, method: StudyMethod, column: str, rows: Rows, tasks: Tasks, n_runs: int | None) -> list[Any]:
    """A column of the runs of a method on the study's first data set."""
    values, _ = values_of(study, method, study.datasets[0], column, rows, tasks, n_runs)
    if not values:
        raise ValueError(f"{study.name}: there is no run of {method.label} yet; run the study first.")
    return values


def scaling(Figure: Any, study: Study, rows: Rows, tasks: Tasks, n_runs: int | None) -> Any:
    """Cost of scoring a program against its size."""
    (method,) = study.methods
    size = np.array(_column(study, method, "sizes", rows, tasks, n_runs)[0])
    computed = np.array(_column(study, method, "computed", rows, tasks, n_runs)[0])
    n_samples = _column(study, method, "n_members", rows, tasks, n_runs)[0]
    order = np.argsort(size)
    figure = Figure(figsize=(5, 3.5))
    axes = figure.subplots()
    line = np.linspace(1, size.max(), 50)
    axes.plot(line, n_samples * line, "k--", label="β × ℓ: each sample on its own")
    axes.plot(line, n_samples + line, "k-", label="β + ℓ: one evaluation for all samples")
    axes.plot(size[order], (n_samples + computed)[order], "x", color=COLOURS["2segp"], label="measured, shared graph")
    axes.set(xlabel="ℓ, mean size of new programs", ylabel="node and sample passes a program", yscale="log")
    axes.legend()
    return figure


def beta(Figure: Any, study: Study, rows: Rows, tasks: Tasks, n_runs: int | None) -> Any:
    """Test error against time."""
    figure = Figure(figsize=(8, 6.5))
    n_columns = min(2, len(study.datasets))
    grid = figure.subplots(-(-len(study.datasets) // n_columns), n_columns, squeeze=False).ravel()
    for unused in grid[len(study.datasets) :]:
        unused.set_visible(False)
    for axes, dataset in zip(grid, study.datasets, strict=False):
        lines: dict[str, list[tuple[float, float, float, float]]] = {}
        for method in study.methods:
            kind = method.name.partition("-")[0]
            seconds, _ = values_of(study, method, dataset, "seconds", rows, tasks, n_runs)
            if not seconds:
                continue
            if method.record == "prefixes":
                found, _ = values_of(study, method, dataset, "prefix_test", rows, tasks, n_runs)
                for k, errors in enumerate(np.array(found).T, start=1):
                    share = k / len(found[0])
                    lines.setdefault(kind, []).append((share * float(np.mean(seconds)), *_quartiles(errors)))
            else:
                errors, _ = values_of(study, method, dataset, "test", rows, tasks, n_runs)
                lines.setdefault(kind, []).append((float(np.mean(seconds)), *_quartiles(errors)))
                size = method.parameters.get("n_estimators", 50) if kind == "2segp" else None
                if size is not None:
                    axes.annotate(
                        f"{size}", lines[kind][-1][:3:2], textcoords="offset points", xytext=(4, 4), fontsize=7
                    )
        if not lines:
            raise ValueError(f"{study.name}: there is no run on {dataset} yet; run the study first.")
        for kind, points in lines.items():
            time, low, middle, high = np.array(points).T
            axes.errorbar(
                time,
                middle,
                yerr=np.stack([middle - low, high - middle]),
                fmt=MARKERS.get(kind, "v") + ("-" if len(points) > 1 else ""),
                color=COLOURS.get(kind, "grey"),
                capsize=2,
                linewidth=0.8,
                label=LABELS.get(kind, kind),
            )
        axes.set(title=dataset.upper(), xlabel="seconds a run", ylabel="test RMSE", xscale="log")
        for axis_format in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
            axis_format(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "125" else "")
    figure.axes[0].legend()
    figure.tight_layout()
    return figure


def _quartiles(values: Any) -> tuple[float, float, float]:
    low, middle, high = np.percentile(values, [25, 50, 75])
    return float(low), float(middle), float(high)


def diversity(Figure: Any, study: Study, rows: Rows, tasks: Tasks, n_runs: int | None) -> Any:
    """Distinct programs, and the most frequent one, in ensemble and population."""
    panels = [
        ("distinct_elites", "distinct members / β"),
        ("distinct_programs", "distinct programs / population"),
        ("frequent_elite", "most frequent member / β"),
        ("frequent_program", "most frequent program / population"),
    ]
    figure = Figure(figsize=(8, 6))
    for axes, (column, label) in zip(figure.subplots(2, 2, sharex=True).ravel(), panels, strict=True):
        for k, method in enumerate(study.methods):
            values = np.array(_column(study, method, column, rows, tasks, n_runs))
            generation = _column(study, method, "generation", rows, tasks, n_runs)[0]
            mean = values.mean(axis=0)
            half = np.zeros_like(mean)
            if len(values) > 1:
                half = student.ppf(0.975, len(values) - 1) * values.std(axis=0, ddof=1) / np.sqrt(len(values))
            colour = str(0.75 * k / len(study.methods))
            axes.plot(generation, mean, linestyle=LINES[k % len(LINES)], color=colour, label=method.label)
            low, high = np.clip([mean - half, mean + half], 0, 1)
            axes.fill_between(generation, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.set(ylabel=label, ylim=(0, 1))
    for axes in figure.axes[2:]:
        axes.set(xlabel="generation")
    figure.axes[0].legend(fontsize=7)
    figure.tight_layout()
    return figure


def elites(Figure: Any, study: Study, rows: Rows, tasks: Tasks, n_runs: int | None) -> Any:
    """Heat maps of the errors of every sample's elite, generation by generation."""
    maps = {m.label: np.array(_column(study, m, "elite_errors", rows, tasks, n_runs)[0]) for m in study.methods}
    return _heat_maps(Figure, maps, "training RMSE", "Greys", first=0)


def evolvability(Figure: Any, study: Study, rows: Rows, tasks: Tasks, n_runs: int | None) -> Any:
    """Heat maps of how often children are better, on the same sample and on others."""
    (method,) = study.methods
    maps = {
        f"{name} sample": np.array(_column(study, method, name, rows, tasks, n_runs)[0]) for name in ("same", "other")
    }
    return _heat_maps(Figure, maps, "share of children", "Greys", first=1)


def _heat_maps(Figure: Any, maps: Mapping[str, Any], label: str, palette: str, first: int) -> Any:
    low, high = min(m.min() for m in maps.values()), max(m.max() for m in maps.values())
    figure = Figure(figsize=(8, 1.9 * len(maps)))
    image = None
    all_axes = np.atleast_1d(figure.subplots(len(maps), 1, sharex=True))
    for axes, (title, values) in zip(all_axes, maps.items(), strict=True):
        n_generations, n_samples = values.shape
        extent = (0.5, n_samples + 0.5, n_generations + first - 0.5, first - 0.5)
        image = axes.imshow(values, cmap=palette, vmin=low, vmax=high, aspect="auto", extent=extent)
        axes.set(title=title, ylabel="generation", yticks=range(first, first + n_generations, 2))
        axes.grid(visible=False)
    all_axes[-1].set(xlabel="sample")
    figure.colorbar(image, ax=list(all_axes), label=label)
    return figure


FIGURES: dict[str, Callable[..., Any]] = {
    "figure-scaling": scaling,
    "figure-beta": beta,
    "figure-diversity": diversity,
    "figure-elites": elites,
    "figure-evolvability": evolvability,
}
