"""Classifiers: shares of the classes, corrected on rows kept out of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_sample_weight

from symgrove._checks import numeric_vector
from symgrove.estimators.base import Estimator, Matrix
from symgrove.estimators.input import columns_of
from symgrove.estimators.lazily import lazily
from symgrove.estimators.parameters import with_parameters
from symgrove.estimators.sklearn_types import ClassifierMixin
from symgrove.estimators.told import ShownErrors
from symgrove.fitness.losses import THRESHOLD
from symgrove.methods.problem import Problem
from symgrove.models.checked_rows import class_places
from symgrove.models.model import LeftOut
from symgrove.models.plan import Plan
from symgrove.models.probabilities import Correction, fit_correction
from symgrove.models.task import Task, encode_labels


def _columns_of_shares(estimator: Classifier) -> list[Any]:
    return list(estimator.classes_)


def _columns_of_decision(estimator: Classifier) -> list[Any] | None:
    return None if estimator.classes_.size == 2 else list(estimator.classes_)


@with_parameters
class Classifier(ClassifierMixin, Estimator):
    """Base of the estimators that predict a class. Two classes have one target, more have a target each.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from symgrove import TwoSEGPClassifier, extending as ex
    >>> issubclass(TwoSEGPClassifier, ex.Classifier)
    True
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TwoSEGPClassifier(population_size=20, n_estimators=3, generations=1, random_state=0).fit(X, y)
    >>> model.classes_.tolist()
    [0, 1, 2]
    """

    _has_labels = True
    class_weight: Any = None

    def _encode(self, y: NDArray[Any]) -> tuple[Task, Matrix]:
        task, targets = encode_labels(y)
        self.classes_: NDArray[Any] = task.labels  # before the evolution: callbacks may predict
        return task, targets

    def _weigh(self, y: Any, sample_weight: Any) -> Any:
        labels = np.asarray(y)
        if self.class_weight is None or labels.ndim == 0 or labels.size != len(labels):
            return sample_weight  # no labels, or several columns: refused where y is checked
        own = _weights_of(labels.ravel(), self.class_weight)
        if sample_weight is None:
            return own
        given = numeric_vector("sample_weight", sample_weight)
        return own * given if given.ndim == 0 or given.shape == own.shape else given

    def _weigh_labels(self, labels: NDArray[Any], counts: NDArray[Any]) -> Matrix | None:
        if self.class_weight is None:
            return None
        if self.class_weight == "balanced":
            return np.asarray(counts.sum() / (counts.size * counts), dtype=np.float64)
        return _weights_of(labels, self.class_weight)

    def _check_target(self, y: Any) -> dict[str, Any]:
        return {}

    def _shown_errors(self, problem: Problem, errors: Matrix) -> ShownErrors:
        if getattr(self, "loss", None) is not None:
            return ShownErrors("mean loss", errors)
        return ShownErrors("wrong labels", errors, is_share=True)

    def _learn(self, problem: Problem, left_out: LeftOut | None) -> None:
        self._uncertainty: Correction | None = None
        if problem.kept_out is not None:
            self._calibrate(problem.kept_out.X, problem.kept_out.targets)

    def _calibrate(self, X: Matrix, targets: Matrix) -> None:
        self._uncertainty = fit_correction(self._shares(X), class_places(targets))

    def _shares(self, X: Matrix) -> Matrix:
        """Shares of the classes as the model gives them, (n_rows, n_classes)."""
        return self.model_.task.as_users_see(self.model_.predict(X, self._n_threads()))

    def _plan(self) -> Plan:
        model = self._fitted_model()
        return model.plan(type(self).__name__, columns_of(self), getattr(self, "_uncertainty", None))

    @lazily(_columns_of_shares)
    def predict_proba(self, X: Any) -> Matrix:
        """Shares of the classes: of votes, or of mean scores divided by their sum; corrected if calibrated.

        Returns
        -------
        shares : ndarray of shape (n_rows, n_classes)
            Of members that vote, calibrated probabilities only after a fit with `calibration`, or after `calibrate`.
        """
        shares = self._shares(self._check_predict(X))
        correction = getattr(self, "_uncertainty", None)
        return shares if correction is None else correction.apply(shares)

    @lazily(_columns_of_decision)
    def decision_function(self, X: Any) -> Matrix:
        """Two classes: share of the second class, as `predict_proba` gives it, minus one half. More: as that."""
        shares = self.predict_proba(X)
        return shares[:, 1] - THRESHOLD if self.classes_.size == 2 else shares

    @lazily(lambda *_: None)
    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row."""
        shares = self.predict_proba(X)
        return self.classes_[np.argmax(shares, axis=1)]


def _weights_of(labels: NDArray[Any], class_weight: Any) -> Matrix:
    """A weight for each row, by its class."""
    if isinstance(class_weight, dict):
        known = set(labels.tolist())
        unknown = [label for label in class_weight if label not in known]
        if unknown:
            raise ValueError(
                f"class_weight has labels that y does not hold: {', '.join(map(repr, unknown))}. y has "
                f"{', '.join(map(repr, sorted(known, key=repr)[:10]))}."
            )
        for label, weight in class_weight.items():
            is_number = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
            if not (is_number and np.isfinite(weight) and weight >= 0):
                raise ValueError(f"class_weight[{label!r}] must be a number that is not negative, got {weight!r}.")
    elif not (isinstance(class_weight, str) and class_weight == "balanced"):
        raise ValueError(
            f"class_weight must be a dict from labels to weights, 'balanced' or None, got {class_weight!r}."
        )
    found: Matrix = compute_sample_weight(class_weight, labels)
    return found
