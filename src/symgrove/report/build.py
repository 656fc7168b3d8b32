"""The report, from a fitted model and rows to a page."""

from __future__ import annotations

import math
import os
import platform
import sys
import time
import warnings
from datetime import date
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning

from symgrove._checks import check_number
from symgrove.estimators.base import Estimator
from symgrove.estimators.fitted import has_generations, parameters_of, score_left_out, weight_sum_of
from symgrove.estimators.grove import GroveEstimator
from symgrove.report.contributions import parts_script
from symgrove.report.data_summary import summarise
from symgrove.report.exports import all_exports, compressed
from symgrove.report.features import look_at_features
from symgrove.report.figures import draw_all
from symgrove.report.formulas import all_formulas
from symgrove.report.mistakes import find_mistakes
from symgrove.report.page import ReportPage
from symgrove.report.rows import choose_rows
from symgrove.report.scores import score_all
from symgrove.report.summary import summarise_all
from symgrove.report.what_if import controls

LARGEST_COVERAGE = 0.9991  # what the page's script knows
PACKAGES = ("symgrove", "numpy", "numba", "scikit-learn", "scipy", "matplotlib")


def report(
    model: Estimator,
    X: Any,
    y: Any,
    *,
    path: str | os.PathLike[str] | None = None,
    train: tuple[Any, Any] | None = None,
    title: str | None = None,
    coverage: float = 0.9,
    model_file: str | os.PathLike[str] | None = None,
    verbose: int = 0,
) -> ReportPage:
    """A page about a fitted model: one HTML file that needs nothing else.

    Parameters
    ----------
    model : fitted estimator of symgrove
    X, y : array-like
        Rows to judge the model on. Those that it was fitted on are recognised and used as training rows of the models
        it is compared with; if all were, the page says that its scores are optimistic.
    path : path, optional
        Where to write the page.
    train : (X, y), optional
        The rows that the model was fitted on, if they are not among the others.
    title : str, optional
    coverage : float
        Of the intervals that are shown; at most 0.999.
    model_file : path, optional
        Where the model is saved, for commands that the page shows.
    verbose : int
        From 1 on, lines on stderr say what is being done.

    Returns
    -------
    page : str
        The HTML; `page.save(path)` writes it, and a notebook shows it in a frame.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, report
    >>> X, y = make_friedman1(120, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X[:80], y[:80])
    >>> page = report(model, X[80:], y[80:], title="Friedman 1")
    >>> page[:15]
    '<!doctype html>'
    """
    check_number("coverage", coverage, 0, LARGEST_COVERAGE)
    start = time.perf_counter()
    rows = choose_rows(model, X, y, train)
    exports = all_exports(model, None if model_file is None else os.fspath(model_file))
    script = next(export for export in exports if export.name == "javascript")
    with warnings.catch_warnings():
        # Few rows, features that are all alike: the page shows what there is.
        warnings.filterwarnings("ignore", message=".*rows are too few for a coverage")
        warnings.filterwarnings("ignore", message=".*Glyph .* missing from")  # the browser has its own letters
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        told = partial(_say, is_wanted=verbose > 0)
        told(f"scores on {len(rows.X_test):,} rows, beside other models that are trained now")
        data, scores = summarise(model, rows), score_all(model, rows, coverage)
        told("importances and dependence")
        looked = look_at_features(model, rows)
        told("the summary, and one formula if it is not known")
        summary, mistakes = (
            summarise_all(model, rows, scores, looked, data.warnings),
            find_mistakes(model, rows, looked),
        )
        told("plots, with sensitivities and interactions")
        figures = draw_all(model, rows, coverage, looked)
        told("formulas and the page")
        page = _page(
            title=title or type(model).__name__,
            rows=rows,
            summary=summary,
            data=data,
            scores=scores,
            mistakes=mistakes,
            figures=figures,
            formulas=all_formulas(model),
            exports=exports,
            what_if=None if script.problem else controls(model, rows, coverage),
            no_script=script.problem,
            parts="" if script.problem else compressed(parts_script(model)),
            has_evolution=has_generations(model),
            about=_about(model),
            parameters=_parameters(model),
            seconds=time.perf_counter() - start,
        )
    if path is not None:
        page.save(path)
    return page


def _say(text: str, *, is_wanted: bool) -> None:
    if is_wanted:
        sys.stderr.write(f"report: {text}\n")
        sys.stderr.flush()


def _page(**facts: Any) -> ReportPage:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("symgrove.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    own = files("symgrove.report")
    parts = {name: (own / name).read_text(encoding="utf-8") for name in ("page.css", "why.js", "page.js")}
    return ReportPage(
        environment.get_template("page.html").render(
            style=parts["page.css"], script=parts["why.js"] + parts["page.js"], today=date.today().isoformat(), **facts
        )
    )


def _parameters(model: Estimator) -> list[tuple[str, str, bool]]:
    """Name and value at the time of the fit, and whether it is not the default."""
    defaults = type(model)().get_params(deep=False)
    given = parameters_of(model)
    return [(name, _short(value), repr(value) != repr(defaults[name])) for name, value in sorted(given.items())]


def _short(value: Any) -> str:
    text = ", ".join(str(getattr(v, "name", v)) for v in value) if isinstance(value, (list, tuple)) else repr(value)
    return text if len(text) <= 120 else text[:117] + "..."


def _stacked(weight_sum: float, score: float) -> str:
    if weight_sum == 1 and math.isnan(score):
        return "1: the strength was not chosen, so it says nothing about the data"
    return f"{weight_sum:.2f}, at most 1; the rest of the prediction is the target's mean. Not a share of its variation"


def _about(model: Estimator) -> list[tuple[str, str]]:
    told = [("estimator", type(model).__name__), ("members", str(len(model.ensemble_)))]
    seconds = model.history_.get("seconds") if has_generations(model) else None
    if has_generations(model):
        told.append(("generations", f"{model.n_generations_}, stopped by {model.stop_reason_}"))
    else:
        told.append(("search", f"ended by {model.stop_reason_}"))
    if seconds is not None and len(seconds):
        told.append(("time of the evolution", f"{float(seconds[-1]):.1f} s"))
    weight_sum = weight_sum_of(model) if isinstance(model, GroveEstimator) else None
    if weight_sum is not None:
        told.append(("sum of the stacking weights", _stacked(weight_sum, score_left_out(model).value)))
    told += [(name, version(name)) for name in PACKAGES]
    return [*told, ("Python", platform.python_version())]
