"""From a problem to evolutions of programs, one for each target, and from their states to a model."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.dataset import Dataset, check_dtype, features_by_column
from symgrove.engines.base import Engine
from symgrove.engines.registry import DEFAULT, make_engine
from symgrove.fitness.moments import Samples
from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet
from symgrove.methods.elites import Elites
from symgrove.methods.gp import ProgramMethod
from symgrove.methods.problem import Problem
from symgrove.methods.side_by_side import SideBySide, States
from symgrove.models.ensemble import make_ensemble
from symgrove.models.model import Model, RowLossOf
from symgrove.models.program_model import ProgramModel, unknown_errors
from symgrove.models.standardization import no_standardization, standardization_of
from symgrove.models.task import Task
from symgrove.rng import stream

Matrix = NDArray[np.float64]


class Evaluation(NamedTuple):
    """How programs are evaluated: functions, the type of numbers, whether features are z-scored, memory, the engine.

    `reserved` are the bytes of the memory budget that engines leave to others.

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
        Sample weights.
    sample_seed, seed : int
        Of the bootstrap samples, which all targets share, and of everything else.
    member : int
        Which of several independent runs this is.

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

    def whole_sample(self) -> Samples:
        """All training rows as one sample."""
        return self.engine.prepare(np.ones((1, self.engine.n_rows), dtype=np.uint8), self.weight)


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
    X, targets, weight = problem.training[:3]
    standardization = standardization_of(X, weight) if evaluation.standardize else no_standardization(X.shape[1])
    columns = features_by_column(X, check_dtype(evaluation.dtype), standardization.apply)
    seed = problem.seed
    run_seed = seed if problem.member == 0 else int(stream(seed, "member", problem.member).integers(2**31))
    budget, reserved = evaluation.memory_budget // len(targets), evaluation.reserved // len(targets)
    parts: list[ProgramMethod] = []
    with ExitStack() as on_failure:
        for k, y in enumerate(targets):
            data = Dataset(columns, np.ascontiguousarray(y))
            made = make_engine(data, evaluation.primitives, problem.n_threads, budget, evaluation.engine, reserved)
            engine = on_failure.enter_context(made)
            own_seed = run_seed if k == 0 else int(stream(run_seed, "class", k).integers(2**31))
            forest = Forest(X.shape[1], evaluation.primitives)
            parts.append(make(TargetSetup(engine, forest, problem.task, weight, seed, own_seed, problem.member)))
        on_failure.pop_all()  # from now on the method closes the engines
    return SideBySide(parts, standardization)


class Fitted(NamedTuple):
    """A model, and what is known of its fit.

    Attributes
    ----------
    model : Model
    outside : list of (n_members, n_rows)
        For each target the rows that its members were not fitted on.
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
    outside: list[NDArray[np.bool_]]
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
    for (part, own), target, found in zip(parts, training.targets, members, strict=True):
        fallback = float(np.average(target, weights=training.weight))
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
