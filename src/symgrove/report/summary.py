"""The report in a few sentences, for people who read no further."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from symgrove.compression.one_formula import one_formula
from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.fitted import classes_of, labels_of, one_formula_of
from symgrove.inspection import Curve
from symgrove.report.features import Looked
from symgrove.report.formulas import Formula, formula_of
from symgrove.report.rows import ReportRows, TargetName
from symgrove.report.scores import BASELINES, Score, ScoreTable
from symgrove.report.words import listed, number, percent

MOST_NAMES = 8
N_FEATURES = 3  # that are described
MONOTONE = 0.9  # share of a curve's range that lies between its ends, if it is said to rise or fall


class SummaryInWords(NamedTuple):
    """Sentences: what is predicted from what, how well, beside what; what matters most; what to be careful about; and
    one formula that the model is, or that says about the same."""

    what: str
    how_well: list[str]
    matters: list[tuple[str, str]]
    warnings: list[str]
    formula: Formula | None


def summarise_all(
    model: Estimator, rows: ReportRows, scores: ScoreTable, looked: Looked, warnings: list[str]
) -> SummaryInWords:
    """In words; `warnings` are those about the data."""
    told = [] if rows.is_new else [rows.note]
    told += [scores.caution] if scores.caution else []
    return SummaryInWords(
        _what(model, rows, looked),
        _how_well(model, rows, scores),
        _matters(model, rows, looked),
        told + warnings,
        _in_one_formula(model, rows),
    )


def _in_one_formula(model: Estimator, rows: ReportRows) -> Formula | None:
    """The model itself, or a formula that says about the same."""
    if len(model.ensemble_) == 1:
        return formula_of(model.ensemble_[0], "The model is one formula:")
    found = one_formula_of(model) or one_formula(model, rows.X, rows.y)
    if found is None:
        return None
    about = f"In one formula ({found.scores}): {found.left_side(rows.target.name)} ="
    return formula_of(found, about)


def _what(model: Estimator, rows: ReportRows, looked: Looked) -> str:
    names = labels_of(model)
    used = [names[j] for j in looked.order]
    unused = len(names) - len(used)
    columns = f"{len(used)} columns" if len(used) != 1 else "one column"
    text = f"The model predicts {rows.target.name} from {columns}: {listed(used, MOST_NAMES)}."
    if not used:
        text = f"The model predicts the same {rows.target.name} for all rows: no column helped."
    elif unused:
        text += (
            f" {unused} more {'was' if unused == 1 else 'were'} given and {'is' if unused == 1 else 'are'} not used."
        )
    return text


def _how_well(model: Estimator, rows: ReportRows, scores: ScoreTable) -> list[str]:
    is_classifier = isinstance(model, Classifier)
    own, others = scores.lines[0], [line for line in scores.lines if not line.is_own]
    kind = "rows that the model was not fitted on" if rows.is_new else "rows that the model may have been fitted on"
    where = f"Of {len(rows.X_test):,} {kind}" if is_classifier else f"On {len(rows.X_test):,} {kind}"
    told = [_classes_right(model, where, own) if is_classifier else _typical_error(rows.target, where, own)]
    baseline = next((line for line in others if line.name == BASELINES[is_classifier]), None)
    if baseline is not None and np.isfinite(baseline.numbers).all():
        told.append(_beside(rows.target, "Without a model,", baseline, is_classifier=is_classifier))
    rivals = [line for line in others if line is not baseline and np.isfinite(line.numbers).all()]
    if rivals and not scores.caution:
        best = max(rivals, key=lambda line: line.numbers[0])
        told.append(
            _beside(rows.target, "Of the other kinds of models, the best is", best, is_classifier=is_classifier)
        )
    return told


def _typical_error(target: TargetName, where: str, own: Score) -> str:
    r2, _, size = own.numbers
    text = f"{where}, predictions of {target.name} are off by {target.with_unit(number(size))} on average."
    if np.isfinite(r2) and r2 > 0:
        text += f" They follow {percent(r2)} of its variation (R²)."
    elif np.isfinite(r2):
        text += " That is no better than its mean (R² is not above 0)."
    return text


def _classes_right(model: Estimator, where: str, own: Score) -> str:
    classes = classes_of(model)
    n = 0 if classes is None else len(classes)
    return (
        f"{where}, {percent(own.numbers[0])} get the right class out of {n}. With all classes counted alike, it is "
        f"{percent(own.numbers[1])}."
    )


def _beside(target: TargetName, start: str, line: Score, *, is_classifier: bool) -> str:
    if is_classifier:
        return f"{start} {line.name}: {percent(line.numbers[0])} right."
    return f"{start} {line.name}: off by {target.with_unit(number(line.numbers[2]))} on average."


def _matters(model: Estimator, rows: ReportRows, looked: Looked) -> list[tuple[str, str]]:
    """Names of the columns that matter most, and in which direction."""
    acts = [
        j for j in looked.order if j in looked.curves and looked.importance.mean[j] > looked.importance.deviation[j]
    ]
    shown = [looked.curves[j] for j in acts[:N_FEATURES]]
    if looked.classes:
        return [(curves[0].feature, _most_likely(curves, looked.classes)) for curves in shown]
    return [(curves[0].feature, _direction(_way_to_write(model, rows.target), curves[0])) for curves in shown]


def _way_to_write(model: Estimator, target: TargetName) -> Callable[[float], str]:
    """Of predictions, or of probabilities of the second class."""
    classes = classes_of(model)
    if classes is None:
        return lambda value: target.with_unit(number(value))
    return lambda value: f"{percent(value)} {classes[-1]}"


def _direction(write: Callable[[float], str], curve: Curve) -> str:
    low, high = int(np.argmin(curve.average)), int(np.argmax(curve.average))
    means = [write(float(value)) for value in curve.average]
    if means[low] == means[high]:
        return "hardly changes the mean prediction"
    if curve.labels or not _is_monotone(curve):
        highest, lowest = (f"{_place(curve, k)} ({means[k]} on average)" for k in (high, low))
        return f"highest at {highest}, lowest at {lowest}"
    word = "higher" if curve.average[-1] > curve.average[0] else "lower"
    ends = f"{means[0]} on average at {_place(curve, 0)}, {means[-1]} at {_place(curve, -1)}"
    return f"the larger it is, the {word} the prediction: {ends}"


def _is_monotone(curve: Curve) -> bool:
    return bool(abs(curve.average[-1] - curve.average[0]) >= MONOTONE * np.ptp(curve.average))


def _place(curve: Curve, k: int) -> str:
    return curve.labels[int(curve.grid[k])] if curve.labels else number(float(curve.grid[k]))


def _most_likely(curves: list[Curve], classes: list[Any]) -> str:
    """Which class each value speaks for: the one whose probability is highest above its mean."""
    lifts = np.stack([curve.average - curve.average.mean() for curve in curves])
    best = lifts.argmax(axis=0)
    first = curves[0]
    if first.labels:
        return "; ".join(f"{_place(first, k)} speaks for {classes[best[k]]}" for k in range(min(len(first.grid), 6)))
    return f"low values speak for {classes[best[0]]}, high ones for {classes[best[-1]]}"
