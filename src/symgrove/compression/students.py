"""What can be taught: a Law, or for two classes a Grove of one team with one formula, which is a Law of log odds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from symgrove.compression.fewer_terms import LARGEST_LOG_ODDS
from symgrove.compression.smaller import with_stack
from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.fitted import feature_names_of, table_of
from symgrove.estimators.grove import GroveClassifier, GroveEstimator
from symgrove.estimators.input import columns_of, names_of
from symgrove.estimators.law import LawRegressor
from symgrove.models.program_model import ProgramModel
from symgrove.models.stack import Stack
from symgrove.models.standardization import no_standardization
from symgrove.models.teams import Teams

Matrix = NDArray[np.float64]
Kind = TypeVar("Kind", bound=Estimator)


class NothingToTeachError(ValueError):
    """The model predicts the same class for all rows."""


def log_odds(shares: Matrix) -> Matrix:
    """Of probabilities, within limits."""
    least = 1 / (1 + np.exp(LARGEST_LOG_ODDS))
    shares = np.clip(shares, least, 1 - least)
    return np.asarray(np.log(shares / (1 - shares)))


def law_student(law: LawRegressor, size: int, model: Estimator, X: Matrix) -> LawRegressor:
    """A Law of features as one of the model's columns, which predicts with its formula of a size."""
    columns = columns_of(model)
    law = _with_columns_of(law, model)
    owners = [] if columns.is_plain else [columns.owners]
    assert law._searched is not None
    importances = np.array([point.model.importances(X, 0, *owners) for point in law.front_])
    law._set_front(law._searched._replace(importances=[importances], held_out_target=None))
    return law.use(size)


def logistic_models(law: LawRegressor, shares: Matrix, classes: NDArray[Any], X: Matrix) -> list[Stack]:
    """The formulas of a Law of log odds, each as the only team of a model of classes.

    `shares` are the probabilities that were taught on the rows.
    """
    template = _grove(classes, X, shares).model_
    assert isinstance(template, Stack)
    base, middle = np.array([shares.mean()]), float(log_odds(shares).mean())
    found = []
    for point in law.front_:
        teams = _team(point.model, middle)
        primitives = teams.forest.primitives
        stack = replace(
            template, levels=(teams,), weights=np.ones(1), base=base, primitives=primitives, labels=("smaller",)
        )
        said = np.clip(stack.predict(X)[0], 1e-15, 1 - 1e-15)
        error = -np.mean(shares * np.log(said) + (1 - shares) * np.log1p(-said))
        found.append(replace(stack, levels=(replace(teams, errors=np.array([error])),)))
    return found


def _team(model: ProgramModel, middle: float) -> Teams:
    """Where the formula has no value, log odds are `middle`."""
    (ensemble,) = model.ensembles
    return Teams(
        forest=ensemble.forest,
        programs=ensemble.programs,
        centre=np.array([middle]),
        spread=np.ones(1),
        coefficients=np.ones((1, 1)),
        intercept=np.array([middle]),
        target_of=np.zeros(1, dtype=np.intp),
        standardization=no_standardization(model.n_features),
        features=None,
        terms=None,
        predictions=None,
        aggregation="mean",
        loss="logistic",
        errors=np.full(1, np.nan),
    )


def logistic_student(stacks: Sequence[Stack], model: Classifier, shares: Matrix, X: Matrix) -> GroveEstimator:
    """A Grove that predicts with the last of the models; the others are its path to smaller ones."""
    grove = _with_columns_of(_grove(model.classes_, X, shares), model)
    student = with_stack(stacks[-1], grove, X)
    path = replace(stacks[-1], smaller=tuple(reversed(stacks))).with_reading(grove.model_.reading)
    student.model_, student.size_path_ = path, path.front(feature_names_of(student), columns_of(student))
    return student


def _grove(classes: NDArray[Any], X: Matrix, shares: Matrix) -> GroveClassifier:
    """A Grove that has not evolved, on features as the model reads them."""
    labels = classes[(shares > 0.5).astype(int)]
    if np.unique(labels).size < 2:
        raise NothingToTeachError("the model predicts the same class for all rows: there is nothing to teach.")
    settings: dict[str, Any] = {"n_estimators": 1, "n_populations": 1, "strength": "fixed", "sampling": 1.0}
    return GroveClassifier(**settings, population_size=2, generations=0, random_state=0).fit(X, labels)


def _with_columns_of(student: Kind, model: Estimator) -> Kind:
    """The student, fitted on features, as one of the columns that the model was fitted on."""
    student.columns_, student.n_features_in_ = columns_of(model), model.n_features_in_
    if names_of(model) is not None:
        student.feature_names_in_ = model.feature_names_in_
    table = table_of(model)
    if table is not None:
        student.table_ = table
    return student
