"""What differs between regression and classification: how targets are encoded, what is minimised, what members say.

A class label becomes a number here: of two classes, the second is 1; of more, each class has a target of its own.
Numbers may have several targets too, the columns of y.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from symgrove.blas import product
from symgrove.fitness.losses import THRESHOLD, ClassificationError, Loss, MeanSquaredError
from symgrove.models.checked_rows import class_places, class_targets
from symgrove.models.ensemble import clipped, votes_of
from symgrove.models.target_transform import TargetTransform

Matrix = NDArray[np.float64]
# What is done with members' outputs before they are combined; None: nothing.
Head = Callable[[Matrix], Matrix] | None


class Task(ABC):
    """What a target means.

    Examples
    --------
    >>> from symgrove.extending import Regression, Task
    >>> isinstance(Regression(), Task), Regression().n_targets
    (True, 1)
    """

    @property
    @abstractmethod
    def classes(self) -> NDArray[Any] | None:
        """Labels, sorted; None for numbers."""

    @property
    @abstractmethod
    def n_targets(self) -> int:
        """How many numbers are predicted: one, one for each of more than two classes, or one for each column of y."""

    @property
    @abstractmethod
    def targets(self) -> NDArray[Any] | None:
        """The class or the name of each target, if there are several."""

    @abstractmethod
    def loss(self, *, linear_scaling: bool, threshold: float = THRESHOLD) -> Loss:
        """What programs are scored by."""

    @abstractmethod
    def head(self, threshold: float = THRESHOLD) -> Head:
        """What is done with members' outputs before they are combined."""

    @abstractmethod
    def strata(self, targets: Matrix) -> NDArray[np.intp] | None:
        """Groups that must keep their shares when rows are split; None: there are none."""

    @abstractmethod
    def row_losses(self, predictions: Matrix, targets: Matrix) -> Matrix:
        """Loss on every row, of what members predict together, (n_targets, n_rows): squares, or wrong labels."""

    @abstractmethod
    def out_of_bag_score(self, prediction: Matrix, targets: Matrix, weight: Matrix | None) -> float:
        """R² or accuracy of predictions, (n_targets, n_rows), on the rows where they are known; NaN elsewhere."""

    @abstractmethod
    def as_users_see(self, prediction: Matrix) -> Matrix:
        """Predictions of every target as `predict` or `predict_proba` give them: a row for each row."""

    @property
    def transforms(self) -> tuple[TargetTransform, ...]:
        """What each target was transformed by for the fit; none if they were not."""
        return ()

    def transformed(self, targets: Matrix) -> Matrix:
        """Targets, (n_targets, n_rows), as models learn and predict them."""
        return _each(TargetTransform.apply, self.transforms, targets)

    def in_units(self, predictions: Matrix) -> Matrix:
        """Predictions of models, (n_targets, ..., n_rows), in the targets' own units."""
        return _each(TargetTransform.undo, self.transforms, predictions)

    def inverse_of(self, target: int) -> TargetTransform | None:
        """What predictions of a target are to be brought back by."""
        return self.transforms[target] if self.transforms else None


@dataclass(frozen=True)
class Regression(Task):
    """The target is a number, or several: then `target_names` are their names.

    With `transforms`, one for each target, models know transformed targets only.

    Examples
    --------
    >>> from symgrove.extending import Regression
    >>> Regression(("height", "weight")).n_targets
    2
    """

    target_names: tuple[str, ...] = ()
    transforms: tuple[TargetTransform, ...] = ()  # type: ignore[misc]  # a property of those that have none

    @property
    def classes(self) -> None:
        return None

    @property
    def n_targets(self) -> int:
        return len(self.target_names) or 1

    @property
    def targets(self) -> NDArray[Any] | None:
        return np.array(self.target_names, dtype=object) if self.target_names else None

    def loss(self, *, linear_scaling: bool, threshold: float = THRESHOLD) -> Loss:
        return MeanSquaredError(linear_scaling)

    def head(self, threshold: float = THRESHOLD) -> Head:
        return None

    def strata(self, targets: Matrix) -> None:
        return None

    def row_losses(self, predictions: Matrix, targets: Matrix) -> Matrix:
        squares: Matrix = (predictions - targets) ** 2
        return squares[0] if len(squares) == 1 else squares.mean(axis=0)

    def out_of_bag_score(self, prediction: Matrix, targets: Matrix, weight: Matrix | None) -> float:
        pairs = zip(self.in_units(prediction), self.in_units(targets), strict=True)
        return float(np.mean([_r2(*each, weight) for each in pairs]))

    def as_users_see(self, prediction: Matrix) -> Matrix:
        prediction = self.in_units(prediction)
        return prediction[0] if len(prediction) == 1 else np.ascontiguousarray(prediction.T)

    def of_one(self, target: int) -> Regression:
        """The task of one of several targets."""
        return Regression(transforms=self.transforms[target : target + 1])


@dataclass(frozen=True)
class Classification(Task):
    """The target is one of several classes.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove.extending import Classification
    >>> task = Classification(np.array(["cat", "dog", "fish"]))
    >>> task.n_targets, task.classes.tolist()
    (3, ['cat', 'dog', 'fish'])
    """

    labels: NDArray[Any]

    @property
    def classes(self) -> NDArray[Any]:
        return self.labels

    @property
    def n_targets(self) -> int:
        return 1 if self.labels.size == 2 else self.labels.size

    @property
    def targets(self) -> NDArray[Any] | None:
        return self.labels if self.n_targets > 1 else None

    def loss(self, *, linear_scaling: bool, threshold: float = THRESHOLD) -> Loss:
        return ClassificationError(linear_scaling, threshold)

    def head(self, threshold: float = THRESHOLD) -> Head:
        return partial(votes_of if self.n_targets == 1 else clipped, threshold=threshold)

    def strata(self, targets: Matrix) -> NDArray[np.intp]:
        return class_places(targets)

    def row_losses(self, predictions: Matrix, targets: Matrix) -> Matrix:
        if len(predictions) == 1:
            return ((predictions[0] > THRESHOLD) != targets[0]).astype(np.float64)
        return (predictions.argmax(axis=0) != targets.argmax(axis=0)).astype(np.float64)

    def out_of_bag_score(self, prediction: Matrix, targets: Matrix, weight: Matrix | None) -> float:
        shares = self.as_users_see(prediction)
        is_known = ~np.isnan(shares).any(axis=1)
        if not is_known.any():
            return float("nan")
        w = None if weight is None else weight[is_known]
        labels = class_places(targets)
        return float(np.average(shares[is_known].argmax(axis=1) == labels[is_known], weights=w))

    def as_users_see(self, prediction: Matrix) -> Matrix:
        if len(prediction) == 1:
            return np.stack([1 - prediction[0], prediction[0]], axis=1)
        total = prediction.sum(axis=0)
        shares = prediction / np.where(total == 0, 1.0, total)
        shares[:, total == 0] = 1.0 / len(prediction)
        return shares.T


def _each(
    function: Callable[[TargetTransform, Matrix], Matrix], transforms: tuple[TargetTransform, ...], values: Matrix
) -> Matrix:
    """Of every target by its transform; without any, the very values."""
    return np.stack([function(*each) for each in zip(transforms, values, strict=True)]) if transforms else values


def _r2(prediction: Matrix, y: Matrix, weight: Matrix | None) -> float:
    """Of one target, on the rows where its prediction is known."""
    is_known = ~np.isnan(prediction)
    if is_known.sum() < 2:
        return float("nan")
    w = np.ones(is_known.sum()) if weight is None else weight[is_known]
    y = y[is_known]
    with np.errstate(all="ignore"):
        variation = product(w, (y - np.average(y, weights=w)) ** 2)
        if not variation > 1e-24 * product(w, y**2):  # a constant target has no score
            return float("nan")
        return float(1.0 - product(w, (y - prediction[is_known]) ** 2) / variation)


def encode_numbers(y: NDArray[Any], names: tuple[str, ...] = ()) -> tuple[Regression, Matrix]:
    """Targets of numbers, (n_targets, n_rows); `names` are those of several."""
    numbers = np.asarray(y, dtype=np.float64)
    if not names:
        return Regression(), numbers[None, :]
    return Regression(names), np.ascontiguousarray(numbers.T)


def encode_labels(y: NDArray[Any]) -> tuple[Classification, Matrix]:
    """Targets of 0 and 1, (n_targets, n_rows): one for two classes, else one for each class."""
    check_classification_targets(y)
    classes, labels = np.unique(y, return_inverse=True)
    if classes.size < 2:
        only = classes.tolist()[0]
        raise ValueError(f"y holds only one class, {only!r}; a classifier needs rows of at least two classes.")
    return Classification(classes), class_targets(labels, classes.size)
