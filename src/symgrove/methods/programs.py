"""From a problem to evolutions of programs, one for each target, and from their states to a model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.dataset import Dataset, check_dtype, features_by_column
from symgrove.engines.base import Engine
from symgrove.engines.registry import DEFAULT, ELSEWHERE, is_far, make_engine
from symgrove.fitness.block_bootstrap import SpreadCounts
from symgrove.fitness.bootstrap import bootstrap_sample
from symgrove.fitness.moments import Samples
from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet
from symgrove.methods.elites import Elites
from symgrove.methods.gp import ProgramMethod
from symgrove.methods.problem import Problem
from symgrove.methods.side_by_side import SideBySide, States
from symgrove.methods.spread_evolutions import SpreadEngines, SpreadTarget
from symgrove.methods.spread_rows import SpreadRows
from symgrove.models.ensemble import make_ensemble
from symgrove.models.model import Model, RowLossOf
from symgrove.models.program_model import ProgramModel, unknown_errors
from symgrove.models.standardization import Standardization, no_standardization
from symgrove.models.task import Task
from symgrove.rng import stream

Matrix = NDArray[np.float64]


class Evaluation(NamedTuple):
    """How programs are evaluated: functions, the type of numbers, whether features are z-scored, memory, the engine.

    `reserved` are the bytes of the memory budget that engines leave to others; `bytes_of_a_row` those that workers hold
    of a row where rows are elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import PrimitiveSet, extending as ex
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2))
    >>> rows = ex.Rows(X, (X[:, 0] * X[:, 1])[None], None, np.arange(40))
    >>> problem = ex.Problem(rows, ex.Regression(), seed=0)
    >>> evaluation = ex.Evaluation(PrimitiveSet(("add", "mul")), "float64", False, 1 << 28)
    >>> evaluation.engine, evaluation.standardize
    ('cpu', False)
    """

    primitives: PrimitiveSet
    dtype: str
    standardize: bool
    memory_budget: int
    engine: str = DEFAULT
    reserved: int = 0
    bytes_of_a_row: int = 0


class TargetSetup(NamedTuple):
    """What a method is made from for one target.

    Attributes
    ----------
    engine
        Evaluates programs.
    forest : Forest
        An empty one, of the features and functions.
    task : Task
    weight : (n_rows,) or None
        Sample weights; None also where they are elsewhere, with their rows.
    sample_seed, seed : int
        Of the bootstrap samples, which all targets share, and of everything else.
    member : int
        Which of several independent runs this is.
    elsewhere : SpreadTarget or None
        What is known here of rows that are elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import ClassicGPRegressor, PrimitiveSet, extending as ex
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2))
    >>> rows = ex.Rows(X, (X[:, 0] * X[:, 1])[None], None, np.arange(40))
    >>> problem = ex.Problem(rows, ex.Regression(), seed=0)
    >>> evaluation = ex.Evaluation(PrimitiveSet(("add", "mul")), "float64", False, 1 << 28)
    >>> def make(target):  # a TargetSetup
    ...     print(target.forest.n_features, target.engine.n_rows)
    ...     return ClassicGPRegressor(population_size=20).make_part(target)
    >>> with ex.evolutions_of(problem, evaluation, make) as method:
    ...     state = method.init()
    2 40
    """

    engine: Engine
    forest: Forest
    task: Task
    weight: Matrix | None
    sample_seed: int
    seed: int
    member: int
    elsewhere: SpreadTarget | None = None

    def whole_sample(self) -> Samples:
        """All training rows as one sample."""
        if self.elsewhere is not None:
            return self.engine.prepare(SpreadCounts(self.elsewhere.sizes))
        return self.engine.prepare(np.ones((1, self.engine.n_rows), dtype=np.uint8), self.weight)

    def bootstrap_samples(self, n_samples: int, first: int = 0) -> Samples:
        """Bootstrap samples, by number from the first on; drawn where the rows are."""
        numbers = range(first, first + n_samples)
        if self.elsewhere is not None:
            return self.engine.prepare(SpreadCounts(self.elsewhere.sizes, self.sample_seed, tuple(numbers)))
        counts = np.empty((n_samples, self.engine.n_rows), dtype=np.uint8)
        for i, j in enumerate(numbers):
            counts[i] = bootstrap_sample(self.engine.n_rows, self.sample_seed, j)
        return self.engine.prepare(counts, self.weight)

    def left_out_samples(self, n_samples: int) -> Samples | None:
        """What these bootstrap samples left out, as samples: of rows elsewhere, where counts cannot be looked at."""
        if self.elsewhere is None:
            return None
        numbers = tuple(range(n_samples))
        return self.engine.prepare(SpreadCounts(self.elsewhere.sizes, self.sample_seed, numbers, is_left_out=True))

    def target_points(self) -> tuple[Matrix, Matrix | None]:
        """Values of the target and weights with its quantiles: its own, or those of a sketch."""
        if self.elsewhere is not None:
            return self.elsewhere.points, self.elsewhere.weight
        return self.engine.target, self.weight


def evolutions_of(
    problem: Problem, evaluation: Evaluation, make: Callable[[TargetSetup], ProgramMethod]
) -> SideBySide[ProgramMethod]:
    """An evolution of programs for each target.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import ClassicGPRegressor, PrimitiveSet, extending as ex
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2))
    >>> rows = ex.Rows(X, (X[:, 0] * X[:, 1])[None], None, np.arange(40))
    >>> problem = ex.Problem(rows, ex.Regression(), seed=0)
    >>> evaluation = ex.Evaluation(PrimitiveSet(("add", "mul")), "float64", False, 1 << 28)
    >>> estimator = ClassicGPRegressor(population_size=20)
    >>> with ex.evolutions_of(problem, evaluation, estimator.make_part) as method:
    ...     state = method.step(method.init())
    >>> method.describe(state)["generation"]
    1
    """
    training: Any = problem.training  # here or elsewhere
    n_features, seed = training.n_features, problem.seed
    standardization = no_standardization(n_features)
    if evaluation.standardize:
        standardization = training.standardization(by_blocks=False)
    run_seed = seed if problem.member == 0 else int(stream(seed, "member", problem.member).integers(2**31))
    make_one = _engine_maker(problem, evaluation, standardization)
    weight = training.weight if training.is_here else None
    parts: list[ProgramMethod] = []
    with ExitStack() as on_failure:
        for k in range(training.n_targets):
            engine = on_failure.enter_context(make_one(k))
            own_seed = run_seed if k == 0 else int(stream(run_seed, "class", k).integers(2**31))
            forest = Forest(n_features, evaluation.primitives)
            elsewhere = None if training.is_here else SpreadTarget.of(training, k)
            setup = TargetSetup(engine, forest, problem.task, weight, seed, own_seed, problem.member, elsewhere)
            parts.append(make(setup))
        on_failure.pop_all()  # from now on the method closes the engines
    return SideBySide(parts, standardization)


def _engine_maker(
    problem: Problem, evaluation: Evaluation, standardization: Standardization
) -> Callable[[int], Engine]:
    """What makes the engine of each target; they share the features."""
    training: Any = problem.training
    own = evaluation.primitives, problem.n_threads, evaluation.memory_budget // training.n_targets
    reserved, dtype = evaluation.reserved // training.n_targets, check_dtype(evaluation.dtype)
    if isinstance(training, SpreadRows):
        name = evaluation.engine if is_far(evaluation.engine) else ELSEWHERE
        return SpreadEngines(training, standardization, dtype, *own, reserved, evaluation.bytes_of_a_row, name).make
    columns = features_by_column(training.X, dtype, standardization.apply)

    def make(k: int) -> Engine:
        return make_engine(
            Dataset(columns, np.ascontiguousarray(training.targets[k])), *own, evaluation.engine, reserved
        )

    return make


class Fitted(NamedTuple):
    """A model, and what is known of its fit.

    Attributes
    ----------
    model : Model
    outside : list of (n_members, n_rows)
        For each target the rows that its members were not fitted on; of rows elsewhere `SpreadCounts`, 0 on these.
    row_losses : tuple of callables, or None
        Loss of each target's numbers on every row, (y, prediction); None: of classes, whose members vote.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import ClassicGPRegressor, PrimitiveSet, extending as ex
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2))
    >>> rows = ex.Rows(X, (X[:, 0] * X[:, 1])[None], None, np.arange(40))
    >>> problem = ex.Problem(rows, ex.Regression(), seed=0)
    >>> evaluation = ex.Evaluation(PrimitiveSet(("add", "mul")), "float64", False, 1 << 28)
    >>> estimator = ClassicGPRegressor(population_size=20)
    >>> with ex.evolutions_of(problem, evaluation, estimator.make_part) as method:
    ...     state = method.step(method.init())
    ...     fitted = ex.programs_of(problem, method, state, "mean", merge=True)
    >>> [rows_outside.shape for rows_outside in fitted.outside]
    [(1, 40)]
    """

    model: Model
    outside: list[Any]
    row_losses: tuple[RowLossOf, ...] | None = None


def programs_of(
    problem: Problem, method: SideBySide[ProgramMethod], state: States, aggregation: str, *, merge: bool
) -> Fitted:
    """The members of every target, with their final scaling, as a model with forests of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import ClassicGPRegressor, PrimitiveSet, extending as ex
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2))
    >>> rows = ex.Rows(X, (X[:, 0] * X[:, 1])[None], None, np.arange(40))
    >>> problem = ex.Problem(rows, ex.Regression(), seed=0)
    >>> evaluation = ex.Evaluation(PrimitiveSet(("add", "mul")), "float64", False, 1 << 28)
    >>> estimator = ClassicGPRegressor(population_size=20)
    >>> with ex.evolutions_of(problem, evaluation, estimator.make_part) as method:
    ...     state = method.step(method.init())
    ...     fitted = ex.programs_of(problem, method, state, "mean", merge=True)
    >>> fitted.model.predict(X).shape
    (1, 40)
    """
    training = problem.training
    parts = [(own_part, own) for part, own in zip(method.parts, state, strict=True) for own_part in part.of_targets()]
    members = [part.finish(own) for part, own in parts]
    ensembles = []
    for k, ((part, own), found) in enumerate(zip(parts, members, strict=True)):
        fallback = training.mean_of_target(k)
        usable = _usable(found, own.forest, fallback)
        ensembles.append(
            make_ensemble(
                own.forest,
                usable.root,
                usable.slope,
                usable.intercept,
                fallback,
                method.standardization,
                aggregation,
                part.loss.threshold,
                part.weights(aggregation, found),
            )
        )
    outside = [part.outside(own, found) for (part, own), found in zip(parts, members, strict=True)]
    errors = tuple(m.error for m in members)
    model = ProgramModel(tuple(ensembles), problem.task, errors, unknown_errors(ensembles), merge)
    row_losses = tuple(part.loss.of_rows for part, _ in parts)
    return Fitted(model, outside, None if problem.task.classes is not None else row_losses)


def _usable(elites: Elites, forest: Forest, fallback: float) -> Elites:
    """Elites in which the mean of the target stands in where no program had finite outputs."""
    is_usable = np.isfinite(elites.error)
    if is_usable.all():
        return elites
    return elites._replace(
        root=np.where(is_usable, elites.root, forest.constant(0.0)),
        slope=np.where(is_usable, elites.slope, 0.0),
        intercept=np.where(is_usable, elites.intercept, fallback),
    )
