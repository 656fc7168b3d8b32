"""The plots of the page, as SVG that takes its colours of text and lines from the page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from symgrove import inspection
from symgrove._style import plain
from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.fitted import has_generations, intervals_of, plan_of
from symgrove.estimators.regressor import Regressor
from symgrove.inspection._input import some_rows
from symgrove.inspection.derivatives import unknown_derivatives
from symgrove.report.classes import CLASS_COLOURS, plots_of_classes
from symgrove.report.features import Looked, some_test_rows
from symgrove.report.rows import ReportRows
from symgrove.report.words import number

INK = "#123456"  # stands for the colour of the page's text
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "symgrove",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "boxplot.boxprops.color"), INK
    ),
    **{f"boxplot.{part}props.color": INK for part in ("whisker", "cap", "median")},
}
ROWS_FOR_PAIRS = 25
LEAST_STRENGTH = 1e-6  # of interactions: less is rounding


class Figure(NamedTuple):
    """A plot: its place on the page, title, SVG, and what it shows."""

    section: str
    title: str
    svg: str
    text: str


def draw_all(model: Estimator, rows: ReportRows, coverage: float, looked: Looked) -> list[Figure]:
    """All plots that the model allows."""
    X, y = some_test_rows(rows)
    found = _of_errors(model, X, y, coverage) if isinstance(model, Regressor) else []
    if isinstance(model, Classifier):
        found += [Figure("errors", title, _draw(plot), text) for title, plot, text in plots_of_classes(model, X, y)]
    if not isinstance(model, Regressor) or intervals_of(model).known:
        found += [_calibration(model, X, y, rows, label) for label in looked.classes or [None]]
    if has_generations(model):
        found.append(_convergence(model))
    if model.predict_members(X[:1]).shape[-2] > 1:
        found.append(_agreement(model, X, y))
    found += [_importances(model, looked), *_curves(model, looked, rows.target.name)]
    if not unknown_derivatives(plan_of(model)):
        found.append(_derivatives(model, X))
    if X.shape[1] > 1:
        found += _interactions(model, X)
    return found


def _draw(plot: Callable[[Any], Any], width: float = 4.2, height: float = 3.0) -> str:
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    with matplotlib.rc_context(STYLE):
        figure = Canvas(figsize=(width, height), layout="constrained")
        ax = figure.subplots()
        plot(ax)
        _write_numbers(ax)
        file = io.StringIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    return re.sub(r' (width|height)="[^"]*"', "", svg, count=2)  # the page decides how large it is


def _write_numbers(ax: Any) -> None:
    """Numbers at the axes as people write them."""
    from matplotlib.ticker import AutoLocator, FuncFormatter, LogFormatterSciNotation, MaxNLocator, ScalarFormatter

    for axis in (ax.xaxis, ax.yaxis):
        if isinstance(axis.get_major_formatter(), LogFormatterSciNotation):
            axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
            chosen = axis.get_minor_formatter()
            axis.set_minor_formatter(FuncFormatter(lambda value, _, own=chosen: number(value) if own(value) else ""))
        elif isinstance(axis.get_major_formatter(), ScalarFormatter) and max(map(abs, axis.get_view_interval())) >= 1e4:
            axis.set_major_formatter(FuncFormatter(lambda value, _: number(value, 6)))
            if axis is ax.xaxis and isinstance(axis.get_major_locator(), AutoLocator):
                axis.set_major_locator(MaxNLocator(4))  # long numbers side by side


def _of_errors(model: Regressor, X: Any, y: Any, coverage: float) -> list[Figure]:
    some = some_rows(len(X), 300, 0)
    intervals = model.predict_interval(X[some], coverage) if intervals_of(model).known else None
    display = inspection.PredictionErrorDisplay(y[some], model.predict(X[some]), intervals)
    text = "Each point is a row." + ("" if intervals is None else f" Grey bars are intervals for {100 * coverage:g} %.")
    return [
        Figure("errors", "Predicted against actual", _draw(display.plot), text),
        Figure("errors", "Residuals", _draw(partial(display.plot, kind="residual_vs_predicted")), text),
    ]


def _calibration(model: Estimator, X: Any, y: Any, rows: ReportRows, target: Any) -> Figure:
    svg = _draw(lambda ax: inspection.CalibrationDisplay.from_estimator(model, X, y, target=target, ax=ax))
    text = "On the line, promises hold; the grey band is what chance does to a perfect model."
    if rows.is_calibrated_on:
        text += " Some of these rows calibrated the model, which brings it near the line."
    title = "Probabilities against frequencies" if isinstance(model, Classifier) else "Coverage of intervals"
    return Figure("errors", title, svg, text)


def _convergence(model: Estimator) -> Figure:
    svg = _draw(lambda ax: inspection.ConvergenceDisplay.from_estimator(model, ax=ax))
    return Figure(
        "evolution", "Convergence", svg, "Errors of the members on their own samples: median, lowest, highest."
    )


def _agreement(model: Estimator, X: Any, y: Any) -> Figure:
    found = inspection.agreement(model, X, y)
    svg = _draw(lambda ax: inspection.AgreementDisplay(found).plot(ax=ax))
    text = f"Correlations of the members' predictions, {found.mean_correlation:.2f} on average. Root mean squared "
    text += f"error of a member {number(found.member_error**0.5)}, of all together {number(found.ensemble_error**0.5)}."
    return Figure("evolution", "Agreement of the members", svg, text)


def _importances(model: Estimator, looked: Looked) -> Figure:
    height = 1.2 + 0.22 * min(len(looked.importance.features), 15)
    svg = _draw(inspection.ImportanceDisplay(looked.importance).plot, height=height)
    score = "accuracy" if isinstance(model, Classifier) else "R²"
    text = f"How much {score} falls when the values of a column are shuffled. Lines: from shuffle to shuffle."
    return Figure("features", "Importance", svg, text)


def _curves(model: Estimator, looked: Looked, target: str) -> list[Figure]:
    found = []
    for curves in looked.curves.values():
        label = f"prediction of {target}"
        if isinstance(model, Classifier):
            label = "probability" if looked.classes else f"probability of {model.classes_[-1]}"
        if looked.classes:
            svg = _draw(partial(_plot_classes, curves, [str(label) for label in looked.classes]))
        else:
            svg = _draw(inspection.PartialDependenceDisplay(curves, label).plot)
        found.append(Figure("curves", curves[0].feature, svg, ""))
    return found


def _plot_classes(curves: list[inspection.Curve], labels: list[str], ax: Any) -> None:
    """Mean probabilities of several classes: lines, or bars side by side for categories."""
    width = 0.8 / len(curves)
    for k, (curve, label) in enumerate(zip(curves, labels, strict=True)):
        look = {"color": CLASS_COLOURS[k % len(CLASS_COLOURS)], "label": plain(label)}
        if curve.labels:
            ax.bar(curve.grid + (k - (len(curves) - 1) / 2) * width, curve.average, width, **look)
        else:
            ax.fill_between(curve.grid, curve.low, curve.high, alpha=0.2, linewidth=0, color=look["color"])
            ax.plot(curve.grid, curve.average, **look)
    if curves[0].labels:
        ax.set_xticks(curves[0].grid, [plain(label) for label in curves[0].labels], rotation=30, ha="right")
    ax.set_xlabel(plain(curves[0].feature))
    ax.set_ylabel("probability")
    ax.legend(frameon=False, fontsize="small")


def _derivatives(model: Estimator, X: Any) -> Figure:
    height = 1.2 + 0.22 * min(X.shape[1], 15)
    some = some_rows(len(X), 200, 0)
    svg = _draw(lambda ax: inspection.DerivativeDisplay.from_estimator(model, X[some], ax=ax), height=height)
    text = (
        "Exact derivatives on the rows, for a move by one standard deviation: half of them are in the box, nine tenths "
    )
    return Figure("features", "Sensitivity", svg, text + "between the whiskers.")


def _interactions(model: Estimator, X: Any) -> list[Figure]:
    pairs = inspection.interactions(model, X, n_most=5, n_rows=ROWS_FOR_PAIRS)
    if max(pair.strength for pair in pairs) < LEAST_STRENGTH:
        return []  # a sum of what each feature does
    height = 1.2 + 0.22 * min(len(pairs), 10)
    svg = _draw(lambda ax: inspection.InteractionDisplay(pairs).plot(ax=ax), height=height)
    text = (
        "What two features do together beyond the sum of what each does: its standard deviation, in units of the "
        "prediction. H² is its share in the square of what they do together."
    )
    return [Figure("features", "Interactions", svg, text)]
