"""A problem: what is to be learned, and from which rows. Plain values, which can be sent to other processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from symgrove.models.seen_rows import seen_rows
from symgrove.models.standardization import Standardization, standardization_by_blocks, standardization_of
from symgrove.models.task import Task
from symgrove.rng import stream

Matrix = NDArray[np.float64]
Places = NDArray[np.intp]
Sum = TypeVar("Sum")
# For each purpose of rows held out: the parameter that sets their share, and how to do without.
_PARAMETERS = {
    "validation": ("validation_fraction", "early_stopping=False"),
    "calibration": ("calibration", "calibration=None"),
}


def _nothing(*_: Any) -> None:
    pass


@dataclass(frozen=True)
class HowToPass:
    """How a pass over all rows is made.

    Attributes
    ----------
    n_threads : int
    check : callable
        Called often; it may raise.
    tell : callable
        Of rows elsewhere: called with the share of the pass that is done.
    """

    n_threads: int = 1
    check: Callable[[], None] = _nothing
    tell: Callable[[float], None] = _nothing


class TrainingRows(Protocol):
    """What methods for many rows ask of rows to train on, here (`Rows`) or elsewhere (methods/spread_rows.py).

    Attributes
    ----------
    n_rows, n_features, n_targets : int
    is_here : bool
        Whether they are in the memory of this process.
    bytes_of_a_row : int
        That is.
    """

    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_targets(self) -> int: ...
    @property
    def is_here(self) -> bool: ...
    @property
    def bytes_of_a_row(self) -> int: ...

    def take(self, rows: Places) -> Rows:
        """Some of the rows, by place."""
        ...

    def announce(self, name: str, key: Any, rows: Callable[[], Places]) -> None:
        """These rows will be taken, all or some of them at a time; of a name, those of the last key alone are kept."""
        ...

    def fold(self, function: Callable[..., Sum], *arguments: Any, how: HowToPass) -> Sum:
        """The sum of what `function(rows, *arguments, how)` is of blocks of rows, in their order."""
        ...

    def standardization(self, *, by_blocks: bool) -> Standardization:
        """Of the features."""
        ...

    def feature_range(self, standardization: Standardization) -> tuple[Matrix, Matrix]:
        """The least and the largest of every standardised feature."""
        ...

    def target_ends(self, k: int) -> tuple[float, float]:
        """The least and the largest of a target."""
        ...

    def target_points(self, k: int) -> tuple[Matrix, Matrix | None]:
        """Values and weights with the quantiles of a target: its own, or those of a sketch (models/block_sums.py)."""
        ...

    def mean_of_target(self, k: int) -> float:
        """With weights."""
        ...

    def means_of_targets(self) -> Matrix:
        """The same of all targets, summed so that huge numbers do not overflow."""
        ...

    def centre_and_spread(self, k: int) -> tuple[float, float]:
        """Mean and standard deviation of a target."""
        ...


class Rows(NamedTuple):
    """Checked rows of data: targets is (n_targets, n_rows), `positions` are those in what the user gave.

    `own_targets` are in the user's units, where `targets` are transformed.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import PrimitiveSet, extending as ex
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2))
    >>> rows = ex.Rows(X, (X[:, 0] * X[:, 1])[None], None, np.arange(40))
    >>> problem = ex.Problem(rows, ex.Regression(), seed=0)
    >>> evaluation = ex.Evaluation(PrimitiveSet(("add", "mul")), "float64", False, 1 << 28)
    >>> rows.take(np.array([3, 5])).X.shape
    (2, 2)
    """

    X: Matrix
    targets: Matrix
    weight: Matrix | None
    positions: NDArray[np.intp]
    own_targets: Matrix | None = None

    @property
    def given_targets(self) -> Matrix:
        """In the user's units."""
        return self.targets if self.own_targets is None else self.own_targets

    def transformed(self, task: Task) -> Rows:
        """With targets as the task transforms them."""
        return (
            self._replace(targets=task.transformed(self.targets), own_targets=self.targets) if task.transforms else self
        )

    def in_units(self) -> Rows:
        """Undo `transformed`."""
        return self._replace(targets=self.given_targets, own_targets=None)

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        own = None if self.own_targets is None else self.own_targets[:, rows]
        return Rows(self.X[rows], self.targets[:, rows], weight, self.positions[rows], own)

    # What TrainingRows says

    @property
    def n_rows(self) -> int:
        return len(self.X)

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    @property
    def n_targets(self) -> int:
        return len(self.targets)

    @property
    def is_here(self) -> bool:
        return True

    @property
    def bytes_of_a_row(self) -> int:
        return sum(array.nbytes for array in self if array is not None) // max(len(self.X), 1)

    def announce(self, name: str, key: Any, rows: Callable[[], Places]) -> None:
        """They are here."""

    def fold(self, function: Callable[..., Sum], *arguments: Any, how: HowToPass) -> Sum:
        return function(self, *arguments, how)

    def standardization(self, *, by_blocks: bool) -> Standardization:
        return (standardization_by_blocks if by_blocks else standardization_of)(self.X, self.weight)

    def feature_range(self, standardization: Standardization) -> tuple[Matrix, Matrix]:
        # The largest stays the largest when it is rounded.
        return standardization.apply(self.X.min(axis=0)), standardization.apply(self.X.max(axis=0))

    def target_ends(self, k: int) -> tuple[float, float]:
        return float(self.targets[k].min()), float(self.targets[k].max())

    def target_points(self, k: int) -> tuple[Matrix, Matrix | None]:
        return self.targets[k], self.weight

    def mean_of_target(self, k: int) -> float:
        return float(np.average(self.targets[k], weights=self.weight))

    def means_of_targets(self) -> Matrix:
        reach = np.maximum(np.abs(self.targets).max(axis=1, keepdims=True), 1e-300)
        return np.asarray(reach[:, 0] * np.average(self.targets / reach, axis=1, weights=self.weight))

    def centre_and_spread(self, k: int) -> tuple[float, float]:
        y = self.targets[k]
        reach = float(np.abs(y).max()) or 1.0  # squares of what is divided by it do not overflow
        centre = reach * float(np.average(y / reach, weights=self.weight))
        return centre, reach * float(np.sqrt(np.average((y / reach - centre / reach) ** 2, weights=self.weight)))


class Problem(NamedTuple):
    """What a method is to solve.

    Attributes
    ----------
    training : Rows
        To train on.
    task : Task
    seed : int
    member : int
        Which of several independent runs this is.
    n_threads : int
        Of one evolution.
    held_out, kept_out : Rows or None
        Rows for early stopping, and for `calibration`.
    n_given : int
        Rows that the user gave.
    n_copied : int
        Bytes of these rows that are not the user's own arrays.
    hidden : (n_hidden,) or None
        Training rows, by place, that an evolution is to be judged by and does not see.
    part_of : int or None
        How many rows the fit had to train on, if these are only some of them.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import PrimitiveSet, extending as ex
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2))
    >>> rows = ex.Rows(X, (X[:, 0] * X[:, 1])[None], None, np.arange(40))
    >>> problem = ex.Problem(rows, ex.Regression(), seed=0)
    >>> evaluation = ex.Evaluation(PrimitiveSet(("add", "mul")), "float64", False, 1 << 28)
    >>> problem.task.n_targets, len(problem.training.X)
    (1, 40)
    """

    training: Rows
    task: Task
    seed: int
    member: int = 0
    n_threads: int = 1
    held_out: Rows | None = None
    kept_out: Rows | None = None
    n_given: int = 0
    n_copied: int = 0
    hidden: NDArray[np.intp] | None = None
    part_of: int | None = None


def split(rows: Rows, fraction: float, seed: int, purpose: str, task: Task) -> tuple[Rows, Rows]:
    """Rows to train on, and rows held out of them; every class keeps its share, and a row to train on.

    The purpose is "validation" or "calibration".
    """
    n_rows = len(rows.X)
    order = stream(seed, purpose).permutation(n_rows)
    groups = [order]
    labels = task.strata(rows.targets)
    if labels is not None:
        groups = [order[labels[order] == label] for label in np.unique(labels)]
    held_out = np.concatenate([group[: min(int(np.ceil(fraction * group.size)), group.size - 1)] for group in groups])
    if held_out.size == 0:
        name, off = _PARAMETERS[purpose]
        raise ValueError(f"{name}={fraction} of {n_rows} rows leaves none to hold out, or none to train on. Set {off}.")
    is_held_out = np.isin(np.arange(n_rows), held_out)
    return rows.take(np.flatnonzero(~is_held_out)), rows.take(np.flatnonzero(is_held_out))


def rows_seen(problem: Problem) -> dict[str, Any]:
    """Marks of the rows that the model has seen, by what they were for."""
    used = [problem.training, *([problem.held_out] if problem.held_out is not None else [])]
    kept_out = problem.kept_out
    return {
        "fit": None if problem.part_of is not None else seen_rows([(rows.X, rows.given_targets) for rows in used]),
        "calibration": None if kept_out is None else seen_rows([(kept_out.X, kept_out.given_targets)]),
    }
