"""The interface of models: what a fitted estimator predicts, shows, exports and saves with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet
from symgrove.models.columns import TableColumns, plain_columns
from symgrove.models.conformal import ConformalScores
from symgrove.models.consensus import Recurring
from symgrove.models.document import Document
from symgrove.models.front import Front
from symgrove.models.plan import Graph, Plan, PlanTarget, plain_labels
from symgrove.models.probabilities import Correction
from symgrove.models.reading import Reading, reading_of, some_rows
from symgrove.models.standardization import Standardization
from symgrove.models.task import Task
from symgrove.models.team_members import SharedTerm

Matrix = NDArray[np.float64]
Names = Sequence[str] | None
RowLossOf = Callable[[Matrix, Matrix], Matrix]  # of targets and predictions, on every row


class LeftOut(NamedTuple):
    """What members say of training rows that they did not train on; NaN where there is nothing.

    Attributes
    ----------
    prediction : (n_targets, n_rows)
    spread : (n_rows,)
        Standard deviation of the members; of the first target.
    errors : tuple of arrays (n_members,)
        For each target the members' errors on those rows; empty if they are not known.
    """

    prediction: Matrix
    spread: Matrix
    errors: tuple[Matrix, ...] = ()


class MeanOfMembers(NamedTuple):
    """A program in a forest of its own, on features as `standardization` makes them."""

    forest: Forest
    root: int
    standardization: Standardization


class Model(ABC):
    """What a fitted estimator is made of.

    Predictions of classes are shares before they are corrected and divided by their sum; of a target that was
    transformed they are transformed, as the task knows. `names` are those of the features, or None.

    Attributes
    ----------
    kind : str
        Its name in files.
    task : Task
    primitives : PrimitiveSet
    n_features : int

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, extending as ex
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> isinstance(model.model_, ex.Model), model.model_.predict(X).shape  # targets in front
    (True, (1, 60))
    """

    kind: ClassVar[str]
    task: Task
    primitives: PrimitiveSet
    n_features: int

    reading: Reading | None

    @abstractmethod
    def with_reading(self, reading: Reading | None) -> Self:
        """The model, knowing this of its training rows."""

    @property
    def has_link(self) -> bool:
        """Whether formulas are log odds, or logarithms of predictions."""
        return False

    def having_seen(self, X: Matrix, targets: Matrix, part_of: int | None = None) -> Self:
        """The model, knowing of its training rows what showing formulas takes; `targets` is (n_targets, n_rows).

        `part_of`: how many rows there were, if these are only some.
        """
        rows = some_rows(len(X))
        residuals = None
        if self.task.classes is None and not self.has_link:
            residuals = targets[:, rows] - self.predict(X[rows])
        known = 1.0 if self.has_link else 0.5
        return self.with_reading(reading_of(X[rows], targets[:, rows], residuals, known, part_of or len(X)))

    @abstractmethod
    def predict(self, X: Matrix, n_threads: int = 1) -> Matrix:
        """What the members predict together, (n_targets, n_rows)."""

    @abstractmethod
    def predict_with_spread(self, X: Matrix, n_threads: int = 1, target: int = 0) -> tuple[Matrix, Matrix]:
        """Prediction of one target, a number, and standard deviation of the members', on every row."""

    @abstractmethod
    def predict_members(self, X: Matrix, n_threads: int = 1) -> Matrix:
        """What each member predicts, (n_targets, n_members, n_rows)."""

    @abstractmethod
    def left_out(
        self,
        X: Matrix,
        targets: Matrix,
        outside: Sequence[NDArray[np.bool_]],
        weight: Matrix | None,
        row_losses: Sequence[RowLossOf] | None = None,
        n_threads: int = 1,
    ) -> LeftOut:
        """What members say of training rows that they did not train on: `outside`, (n_members, n_rows) for a target.

        Their errors are means of `row_losses`, one for each target, by default of squares.
        """

    def with_left_out(self, left_out: LeftOut) -> Model:
        """The model, its members knowing their errors on those rows."""
        return self

    @abstractmethod
    def members(self, names: Names) -> list[Any]:
        """The members as people read them."""

    @property
    @abstractmethod
    def parts(self) -> str:
        """What it is made of, in words."""

    @abstractmethod
    def count_members(self) -> dict[str, int]:
        """How many members there are, and how many different ones if they may repeat."""

    @abstractmethod
    def importances(self, X: Matrix, seed: int, owners: NDArray[np.intp] | None = None) -> Matrix:
        """How strongly each feature acts, (n_features,), or each column, if `owners` says whose the features are."""

    @abstractmethod
    def recurring(self, names: Names, n_most: int | None) -> list[Recurring]:
        """Parts of formulas that several members have, the most frequent first."""

    @abstractmethod
    def as_sum(self) -> tuple[Forest, int] | None:
        """The model as one simplified program in the user's units, if it is one."""

    @abstractmethod
    def sums(self) -> list[MeanOfMembers]:
        """For each target the mean of the members as one sum."""

    @property
    @abstractmethod
    def aggregation(self) -> str:
        """How members' predictions are combined: mean, median, interquartile or weighted."""

    @abstractmethod
    def plan_targets(self, graph: Graph) -> tuple[PlanTarget, ...]:
        """What it computes for one row; steps are added to the graph."""

    @abstractmethod
    def document(self) -> Document:
        """The model as plain values, for files."""

    def front(self, names: Names, columns: TableColumns) -> Front:
        """Smaller models, sizes against errors, where there are any; `columns` say how they read a user's rows."""
        return Front()

    def shared_terms(self, names: Names, n_most: int | None) -> list[SharedTerm]:
        """Members as one sum of terms, where they are sums."""
        return []

    def plan(
        self,
        origin: str,
        columns: TableColumns | list[str],
        correction: Correction | None = None,
        intervals: ConformalScores | None = None,
    ) -> Plan:
        """What the model computes for one row, for exports; `origin` is the name of the estimator.

        Names instead of columns: of features that are columns, never missing.
        """
        columns = columns if isinstance(columns, TableColumns) else plain_columns(columns)
        graph = Graph()
        made = enumerate(self.plan_targets(graph))
        targets = tuple(target._replace(inverse=self.task.inverse_of(k)) for k, target in made)
        classes = plain_labels(self.task.classes)
        steps, features = graph.steps, columns.labels
        names = [] if classes is not None or self.task.targets is None else self.task.targets.tolist()
        return Plan(origin, features, classes, steps, targets, correction, intervals, graph.names, columns, names)
