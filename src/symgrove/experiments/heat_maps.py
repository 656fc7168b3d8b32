"""Heat maps of generations and samples, each with its middle and range over the samples beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
# Darker is more; both can be told apart by colour-blind people, and in grey.
SEQUENTIAL = "viridis_r"
DIVERGING = "PuOr"
LINE = "#0072B2"
WIDTHS = (4.4, 1.5)  # of a map and of what is beside it


def of_errors(Figure: Any, maps: Mapping[str, Matrix], width: float) -> Any:
    """One map for each method, on one scale; generations are counted from 0."""
    figure = Figure(figsize=(width, 0.7 + 1.35 * len(maps)))
    grid = figure.subplots(len(maps), 2, sharex="col", squeeze=False, width_ratios=WIDTHS)
    limits = min(m.min() for m in maps.values()), max(m.max() for m in maps.values())
    image = None
    for (left, right), (title, values) in zip(grid, maps.items(), strict=True):
        image = _draw_map(left, values, title, first=0, cmap=SEQUENTIAL, vmin=limits[0], vmax=limits[1])
        _draw_middle(right, values, first=0)
    _name_columns(grid, "training RMSE")
    figure.colorbar(image, ax=grid, label="training RMSE on the sample", aspect=35, pad=0.015)
    return figure


def of_improvements(Figure: Any, same: Matrix, other: Matrix, width: float) -> Any:
    """Both shares on one logarithmic scale, because the first generation is far above the rest; then their ratio."""
    from matplotlib.colors import LogNorm, TwoSlopeNorm

    figure = Figure(figsize=(width, 4.75))
    grid = figure.subplots(3, 2, width_ratios=WIDTHS)
    shares = np.concatenate([same, other])
    least = shares[shares > 0].min(initial=1.0)
    norm = LogNorm(least, max(shares.max(), least * 1.01))
    images = []
    for (left, right), title, values in zip(
        grid[:2], ("better on the same sample", "not on the same, but on another"), (same, other), strict=True
    ):
        images.append(_draw_map(left, np.maximum(values, least), title, first=1, cmap=SEQUENTIAL, norm=norm))
        _draw_middle(right, np.maximum(values, least), first=1)
        right.set(xscale="log", xlim=(norm.vmin, norm.vmax))
    ratio = np.log2(np.maximum(other, least) / np.maximum(same, least))
    most = max(np.abs(ratio).max(), 0.1)
    title = "ratio: another to the same"
    images.append(_draw_map(grid[2, 0], ratio, title, first=1, cmap=DIVERGING, norm=TwoSlopeNorm(0, -most, most)))
    _draw_middle(grid[2, 1], ratio, first=1)
    grid[2, 1].axvline(0, color="black", linewidth=0.6)
    grid[2, 1].set(xlim=(-most, most))
    _name_columns(grid, "")
    for axes, label in ((grid[1, 1], "share of children"), (grid[2, 1], "ratio")):
        axes.set(xlabel=label)
    _as_numbers(figure.colorbar(images[0], ax=grid[:2], label="share of children", aspect=25, pad=0.015).ax.yaxis)
    for axes in grid[:2, 1]:
        _as_numbers(axes.xaxis)
    grid[0, 1].tick_params(labelbottom=False)
    bar = figure.colorbar(images[2], ax=grid[2:], label="ratio", aspect=12, pad=0.015)
    for axis in (bar.ax.yaxis, grid[2, 1].xaxis):
        axis.set_major_formatter(lambda value, _: f"{2.0**value:.2g}")
    return figure


def _as_numbers(axis: Any) -> None:
    """Plain numbers on a logarithmic axis: 0.05, 0.1, 0.2, 0.5."""
    from matplotlib.ticker import LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:g}")


def _draw_map(axes: Any, values: Matrix, title: str, first: int, **options: Any) -> Any:
    n_generations, n_samples = values.shape
    extent = (0.5, n_samples + 0.5, n_generations + first - 0.5, first - 0.5)
    image = axes.imshow(values, aspect="auto", extent=extent, interpolation="nearest", **options)
    axes.set_title(title, loc="left")
    axes.set(ylabel="generation", yticks=range(first, first + n_generations, 2))
    axes.set_xticks([1, *range(10, n_samples + 1, 10)])
    axes.grid(visible=False)
    return image


def _draw_middle(axes: Any, values: Matrix, first: int) -> None:
    """Median and range over the samples, with generations running down as in the map."""
    generation = np.arange(first, first + len(values))
    axes.fill_betweenx(generation, values.min(axis=1), values.max(axis=1), color=LINE, alpha=0.2, linewidth=0)
    axes.plot(np.median(values, axis=1), generation, "o-", color=LINE, markersize=2.5)
    axes.set(ylim=(first + len(values) - 0.5, first - 0.5), yticks=range(first, first + len(values), 2))
    axes.tick_params(labelleft=False)


def _name_columns(grid: Any, label: str) -> None:
    """Labels at the bottom, and what the right column shows at its top."""
    for axes in grid[:-1, 0]:
        axes.tick_params(labelbottom=False)
    grid[-1, 0].set(xlabel="bootstrap sample")
    grid[-1, 1].set(xlabel=label)
    grid[0, 1].set_title("median and range", loc="left")
