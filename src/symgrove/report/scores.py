"""Scores of the model beside those of a linear model, a random forest and gradient boosting on the same rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from symgrove._workers import n_workers
from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.fitted import classes_of, features_of, intervals_of, score_left_out
from symgrove.estimators.regressor import Regressor
from symgrove.inspection._input import some_rows
from symgrove.inspection.scores import OF_CLASSES as CLASS_SCORES
from symgrove.inspection.scores import OF_NUMBERS as NUMBER_SCORES
from symgrove.inspection.scores import of_classes, of_numbers
from symgrove.report.rows import MOST_TO_TRAIN, ReportRows
from symgrove.report.words import number, percent

Matrix = NDArray[np.float64]
Measure = Callable[[NDArray[Any], Matrix], list[float]]  # of targets and predictions
N_FOLDS = 5
BASELINES = {True: "always the most frequent class", False: "always the mean"}
LEFT_OUT = {
    True: "that were made without it",
    False: "that did not learn from it but were bred with others that did, so this is too good",
}
OF_NUMBERS = (
    "R²: the share of the variation of {0} that is predicted; 1 is perfect, 0 no better than its mean. RMSE, the root "
    "mean squared error, counts large errors more. Both errors are in the units of {0}."
)
OF_CLASSES = (
    "Accuracy: the share of rows with the right class. Balanced accuracy: its mean over the classes, so that rare ones "
    "count as much. Log loss: how surprising the true classes are to the probabilities; 0 is perfect."
)
MOST_ROWS_FOR_FOLDS = 2500  # with more, one fifth is judged: five forests would take longer than the rest of the page


class Score(NamedTuple):
    """A line of the table: a model, its numbers (also as texts), how many rows it was trained on, and how the numbers
    came about."""

    name: str
    numbers: list[float]
    values: list[str]
    n_trained: str
    how: str
    is_own: bool


class ScoreTable(NamedTuple):
    """The table, what makes it unequal, what intervals do on the rows, and what the columns mean."""

    columns: list[str]
    lines: list[Score]
    caution: str
    intervals: str
    legend: str


def score_all(model: Estimator, rows: ReportRows, coverage: float) -> ScoreTable:
    """Score the model and the others."""
    if isinstance(model, Classifier):
        measure: Measure = partial(of_classes, model.classes_)
        columns = list(CLASS_SCORES)
        predicted = model.predict_proba(rows.X_test)
    else:
        measure = of_numbers
        columns = list(NUMBER_SCORES)
        predicted = model.predict(rows.X_test)
    how = "new rows" if rows.is_new else "rows that it may have been fitted on"
    own = type(model).__name__
    n_own = "not known" if rows.n_fitted is None else str(rows.n_fitted)
    numbers = measure(rows.y_test, predicted)
    lines = [Score(own, numbers, _as_texts(model, numbers), n_own, how, True), *_out_of_sample(model, own)]
    others = [_score_other(name, other, model, rows, measure) for name, other in _others(model).items()]
    caution = _caution(rows, n_own, next((line.n_trained for line in others if line.n_trained), ""))
    intervals = _intervals(model, rows, coverage) if isinstance(model, Regressor) else ""
    legend = OF_CLASSES if isinstance(model, Classifier) else OF_NUMBERS.format(rows.target.name)
    return ScoreTable(columns, lines + others, caution, intervals, legend)


def _caution(rows: ReportRows, n_own: str, n_others: str) -> str:
    """What a reader must know before comparing lines."""
    if not n_others or (n_own == n_others and rows.is_same_training):
        return ""
    if rows.n_fitted is None or n_own == n_others:
        text = "The other models were trained on other rows than this one."
    elif int(n_others) < rows.n_fitted:
        text = f"The other models were trained on {n_others} rows, this one on {n_own}: that favours it."
    else:
        text = f"The other models were trained on {n_others} rows, this one on {n_own}: that favours them."
    if rows.X_train is None and rows.is_new:
        text += " With the rows of the fit (train=, on the command line --train) all are trained on the same."
    return text


def _out_of_sample(model: Estimator, name: str) -> list[Score]:
    """What the model knows of itself from rows that were left out."""
    value, is_held_out, is_of_loss = score_left_out(model)
    if not np.isfinite(value):
        return []
    how = f"rows of the fit, each predicted by formulas {LEFT_OUT[is_held_out]}"
    how += "; of the loss that was minimised, not of squares" if is_of_loss else ""
    numbers = [float(value), np.nan, np.nan]
    return [Score(f"{name}, during the fit", numbers, _as_texts(model, numbers), "", how, True)]


def _others(model: Estimator) -> dict[str, Any]:
    if isinstance(model, Classifier):
        return {
            BASELINES[True]: DummyClassifier(strategy="prior"),
            "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
            "random forest": RandomForestClassifier(n_jobs=model.n_jobs, random_state=0),
            "gradient boosting": HistGradientBoostingClassifier(random_state=0),
        }
    return {
        BASELINES[False]: DummyRegressor(),
        "linear regression": make_pipeline(StandardScaler(), LinearRegression()),
        "random forest": RandomForestRegressor(n_jobs=model.n_jobs, random_state=0),
        "gradient boosting": HistGradientBoostingRegressor(random_state=0),
    }


def _score_other(name: str, other: Any, model: Estimator, rows: ReportRows, measure: Measure) -> Score:
    """Train and score another model; rows that it cannot take (one class, very few) make an empty line."""
    how = "the same rows, each predicted after training on the others"
    if rows.X_train is not None:
        is_same = rows.is_same_training and len(rows.X_train) <= MOST_TO_TRAIN
        how = "the same rows, trained on the same rows too" if is_same else "the same rows"
    try:
        if rows.X_train is None and len(rows.X_test) > MOST_ROWS_FOR_FOLDS:
            rows, how = _one_fifth(model, rows), "one fifth of the same rows, trained on the others"
        with threadpool_limits(n_workers(model.n_jobs)):
            found = _predictions(model, other, _with_features(model, rows))
        numbers = measure(rows.y_test, found)
        return Score(name, numbers, _as_texts(model, numbers), str(_n_trained(rows)), how, False)
    except ValueError:
        return Score(name, [np.nan] * 3, [""] * 3, "", "these rows are too few, or of one class", False)


def _with_features(model: Estimator, rows: ReportRows) -> ReportRows:
    """Rows as the model itself reads them: other models get the same features."""
    train = None if rows.X_train is None else features_of(model, rows.X_train)
    return rows._replace(X_test=features_of(model, rows.X_test), X_train=train)


def _n_trained(rows: ReportRows) -> int:
    """Rows that another model is trained on, each time."""
    if rows.X_train is not None:
        return min(len(rows.X_train), MOST_TO_TRAIN)
    n = len(rows.X_test)
    return n - round(n / min(N_FOLDS, n))


def _one_fifth(model: Estimator, rows: ReportRows) -> ReportRows:
    """Of the test rows, four fifths to train on; of labels, each gets its share if it can."""
    some = some_rows(len(rows.X_test), MOST_TO_TRAIN, 0)
    X, y = np.asarray(rows.X_test)[some], rows.y_test[some]
    labels = y if isinstance(model, Classifier) and _smallest_class(y) >= N_FOLDS else None
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0, stratify=labels)
    return rows._replace(X_test=X_test, y_test=y_test, X_train=X_train, y_train=y_train)


def _predictions(model: Estimator, other: Any, rows: ReportRows) -> Matrix:
    """Of another model, for test rows."""
    classes = classes_of(model)
    method = "predict" if classes is None else "predict_proba"
    X, y = np.asarray(rows.X_test), rows.y_test
    if rows.X_train is not None and rows.y_train is not None:
        some = some_rows(len(rows.X_train), MOST_TO_TRAIN, 0)
        other.fit(np.asarray(rows.X_train)[some], rows.y_train[some])
        found = getattr(other, method)(X)
        return found if classes is None else _as_own_classes(classes, other.classes_, found)
    kind = StratifiedKFold if classes is not None and _smallest_class(y) >= N_FOLDS else KFold
    folds = kind(min(N_FOLDS, len(X)), shuffle=True, random_state=0)
    found = cross_val_predict(other, X, y, cv=folds, method=method)
    return found if classes is None else _as_own_classes(classes, np.unique(y), found)


def _smallest_class(y: NDArray[Any]) -> int:
    return int(np.unique(y, return_counts=True)[1].min())


def _as_own_classes(own: NDArray[Any], classes: NDArray[Any], found: Matrix) -> Matrix:
    """Columns in the order of the model's classes; zero for classes that the rows did not have."""
    shares = np.zeros((len(found), own.size))
    shares[:, np.searchsorted(own, classes)] = found
    return shares


def _as_texts(model: Estimator, numbers: list[float]) -> list[str]:
    """Shares and R² with three digits after the point, errors as people write them."""
    n_errors = 2 if isinstance(model, Regressor) else 0
    return [
        ""
        if np.isnan(value)
        else number(value)
        if place >= len(numbers) - n_errors
        else f"{value + 0.0:.3f}".replace("-0.000", "0.000")
        for place, value in enumerate(numbers)
    ]


def _intervals(model: Regressor, rows: ReportRows, coverage: float) -> str:
    known = intervals_of(model).known
    if not known:
        return "No intervals: no rows were kept out of the fit (calibration=0.2)."
    low, high = model.predict_interval(rows.X_test, coverage).T
    inside = float(np.mean((low <= rows.y_test) & (rows.y_test <= high)))
    width = float(np.mean(high - low))
    method = (
        "from rows kept out of the fit"
        if "conformal" in known
        else "from rows of the fit that were left out in turn, no guarantee"
    )
    size = rows.target.with_unit(number(width))
    found = f"hold the true value of {percent(inside)} of these rows and are {size} wide on average."
    return f"Intervals for {100 * coverage:g} % ({method}) {found}"
