"""R² and accuracy of rows that lie in blocks: sums of each, which are added in the order of the blocks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.models.block_sums import Spreads
from symgrove.models.checked_rows import class_places
from symgrove.models.task import Task

Matrix = NDArray[np.float64]


class ErrorsLeft(NamedTuple):
    """Of one target, on rows where its prediction is known: how it is spread, and squares of what predictions miss."""

    n_rows: int = 0
    target: Spreads | None = None
    squares: float = 0.0

    @classmethod
    def of(cls, prediction: Matrix, y: Matrix, weight: Matrix | None) -> ErrorsLeft:
        """Of some rows."""
        is_known = ~np.isnan(prediction)
        w = np.ones(len(y)) if weight is None else weight
        prediction, y, w = prediction[is_known], y[is_known], w[is_known]
        if not y.size:
            return cls()
        with np.errstate(all="ignore"):
            return cls(y.size, Spreads.of(y[:, None], w), float((w * (y - prediction) ** 2).sum()))

    def __add__(self, other: ErrorsLeft) -> ErrorsLeft:  # type: ignore[override]
        if self.target is None or other.target is None:
            return other if self.target is None else self
        return ErrorsLeft(self.n_rows + other.n_rows, self.target + other.target, self.squares + other.squares)

    @property
    def r2(self) -> float:
        """NaN of a constant target, or one row."""
        if self.target is None or self.n_rows < 2:
            return float("nan")
        variation = float(self.target.squares[0])
        total = variation + self.target.weight * float(self.target.mean[0]) ** 2
        return 1.0 - self.squares / variation if variation > 1e-24 * total else float("nan")


class ScoreSums(NamedTuple):
    """What a score is made of: of numbers, for each target; of classes, the weight of all rows and of right ones."""

    targets: tuple[ErrorsLeft, ...] = ()
    right: float = 0.0
    weight: float = 0.0

    @classmethod
    def of(cls, task: Task, prediction: Matrix, targets: Matrix, weight: Matrix | None) -> ScoreSums:
        """Of predictions, (n_targets, n_rows), NaN where they are not known, as `Task.out_of_bag_score` takes them."""
        if task.classes is None:
            pairs = zip(task.in_units(prediction), task.in_units(targets), strict=True)
            return cls(tuple(ErrorsLeft.of(*each, weight) for each in pairs))
        shares = task.as_users_see(prediction)
        w = np.where(np.isnan(shares).any(axis=1), 0.0, 1.0 if weight is None else weight)
        is_right = np.nan_to_num(shares).argmax(axis=1) == class_places(targets)
        return cls((), float(w[is_right].sum()), float(w.sum()))

    def __add__(self, other: ScoreSums) -> ScoreSums:  # type: ignore[override]
        targets = tuple(a + b for a, b in zip(self.targets, other.targets, strict=True))
        return ScoreSums(targets, self.right + other.right, self.weight + other.weight)

    @property
    def score(self) -> float:
        """R², the mean of several targets, or accuracy."""
        if self.targets:
            return float(np.mean([own.r2 for own in self.targets]))
        return self.right / self.weight if self.weight > 0 else float("nan")
