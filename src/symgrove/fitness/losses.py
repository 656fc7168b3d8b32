"""Losses: what a method minimises on every sample.

A loss is a small value: whether outputs are scaled first, and which sum over rows a second pass has to make, if any.
The mean squared error follows from moments; the classification error (scale, predict 1 above 0.5, count mistakes), the
mean of an absolute, Huber or quantile loss, and that of a user's row loss need the second pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove.fitness.moments import Matrix
from symgrove.fitness.named_losses import Deviation
from symgrove.fitness.row_loss import OwnRowLoss
from symgrove.fitness.scaling import Scaling

THRESHOLD = 0.5  # scaled outputs above it are class 1, and so are shares of votes


class RowLoss(IntEnum):
    """What the second pass adds up over rows of targets y and scaled outputs, if not a `Deviation` or `OwnRowLoss`."""

    SQUARED = 0
    MISCLASSIFIED = 1


class Loss(Protocol):
    """What scoring asks of a loss."""

    @property
    def linear_scaling(self) -> bool:
        """Whether outputs are scaled before they are compared with the target."""
        ...

    @property
    def row_loss(self) -> RowLoss | Deviation | OwnRowLoss:
        """The loss on one row."""
        ...

    @property
    def threshold(self) -> float:
        """Scaled outputs above it are class 1."""
        ...

    def of_rows(self, y: ArrayLike, prediction: ArrayLike) -> NDArray[np.float64]:
        """The loss on every row, of scaled outputs; arrays are broadcast. For few rows, outside engines."""
        ...


@dataclass(frozen=True)
class MeanSquaredError:
    """Weighted mean of squared residuals.

    Examples
    --------
    >>> from symgrove import MeanSquaredError
    >>> MeanSquaredError().of_rows([1.0, 2.0], [1.0, 4.0]).tolist()
    [0.0, 4.0]
    """

    linear_scaling: bool = True
    row_loss = RowLoss.SQUARED
    threshold = THRESHOLD

    def of_rows(self, y: ArrayLike, prediction: ArrayLike) -> NDArray[np.float64]:
        """Squared residuals."""
        with np.errstate(all="ignore"):
            return np.square(np.asarray(prediction, dtype=np.float64) - np.asarray(y, dtype=np.float64))


@dataclass(frozen=True)
class ClassificationError:
    """Weighted share of rows whose thresholded output is not the label, for labels 0 and 1.

    Examples
    --------
    >>> from symgrove import ClassificationError
    >>> ClassificationError(threshold=0.5).of_rows([0, 1], [0.2, 0.3]).tolist()
    [0.0, 1.0]
    """

    linear_scaling: bool = True
    threshold: float = THRESHOLD
    row_loss = RowLoss.MISCLASSIFIED

    def of_rows(self, y: ArrayLike, prediction: ArrayLike) -> NDArray[np.float64]:
        """1 where the thresholded prediction is not the label, else 0."""
        return ((np.asarray(prediction) > self.threshold) != np.asarray(y)).astype(np.float64)


@dataclass(frozen=True)
class MeanRowLoss:
    """Weighted mean of a user's row loss (`symgrove.row_loss`), after linear scaling by least squares if that is on.

    Examples
    --------
    >>> from symgrove import MeanRowLoss, row_loss
    >>> def distance(y, prediction):
    ...     return abs(y - prediction)
    >>> MeanRowLoss(row_loss(distance)).of_rows([1.0, 2.0], [1.0, 4.0]).tolist()
    [0.0, 2.0]
    """

    row_loss: OwnRowLoss
    linear_scaling: bool = True
    threshold = THRESHOLD

    def __post_init__(self) -> None:
        if not isinstance(self.row_loss, OwnRowLoss):
            raise TypeError(f"MeanRowLoss takes what symgrove.row_loss(function) makes, got {self.row_loss!r}.")

    def of_rows(self, y: ArrayLike, prediction: ArrayLike) -> NDArray[np.float64]:
        """What the user's function gives on every row."""
        return self.row_loss(y, prediction)


@dataclass(frozen=True)
class MeanDeviation:
    """Weighted mean of an absolute, Huber or quantile loss, after linear scaling by least squares if that is on."""

    row_loss: Deviation
    linear_scaling: bool = True
    threshold = THRESHOLD

    def of_rows(self, y: ArrayLike, prediction: ArrayLike) -> NDArray[np.float64]:
        """The loss on every row."""
        return self.row_loss.of_rows(y, prediction)


def mask_unusable(error: Matrix, scaling: Scaling) -> Matrix:
    """The one place where what is not finite becomes an error of +inf: it never wins, never sorts wrongly."""
    is_usable = np.isfinite(error) & np.isfinite(scaling.slope) & np.isfinite(scaling.intercept)
    return np.where(is_usable, error, np.inf)
