"""Smaller models from a fitted one: fewer members, or fewer terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, singledispatch
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import check_whole
from symgrove.blas import product
from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.fitted import feature_names_of, features_of, parameters_of, seen_by
from symgrove.estimators.grove import GroveEstimator
from symgrove.estimators.input import columns_of
from symgrove.fitness.named_losses import LOSSES
from symgrove.forest.forest import Forest
from symgrove.inspection._input import rows_and_target
from symgrove.models.ensemble import COMBINE, Ensemble, make_ensemble
from symgrove.models.front import Front, FrontPoint
from symgrove.models.model import Model
from symgrove.models.program_model import ProgramModel
from symgrove.models.pruning import PruningSteps, choose_members, make_folds, pursue
from symgrove.models.seen_rows import join_marks, seen_rows
from symgrove.models.stack import Stack
from symgrove.models.teams import Range, Teams

Matrix = NDArray[np.float64]
Kind = TypeVar("Kind", bound=Estimator)
FEWEST_ROWS = 20
MOST_MEMBERS = 60  # steps of choosing members
MOST_TERMS = 40
LARGEST_LOG_ODDS = 6.0
LEAST_MEAN = 1e-300  # whose logarithm is taken


class Smaller(NamedTuple):
    """Sizes against errors, and the model that was chosen.

    Attributes
    ----------
    model : estimator
        Predicts, exports and saves as any other. Intervals and probabilities need `calibrate` again.
    path : Front
        From small to large; each is better than all smaller ones on rows that it was not chosen on
        (`held_out_error`; of classes, of the probabilities). With other losses than squares (`loss`), errors are from
        the larger model's predictions.
    chosen : int
        The model's place in the path.
    error_before : float
        Error of the model that it was made from, on the same rows.
    """

    model: Estimator
    path: Front
    chosen: int
    error_before: float


def simplify_ensemble(
    model: Estimator, X: Any, y: Any, *, max_size: int | None = None, random_state: int = 0
) -> Smaller:
    """Choose some of an ensemble's members, or of a Grove's terms.

    Members keep their coefficients and may count several times. Terms become one sum with new coefficients.

    Parameters
    ----------
    model : fitted estimator of symgrove
    X, y : array-like
        Rows to choose and to cross-validate on, best ones that the model was not fitted on.
    max_size : int, optional
        Nodes of all formulas together; the best model up to this size is chosen. Otherwise the smallest whose error is
        within a standard error of the lowest.
    random_state : int
        Of the folds.

    Returns
    -------
    smaller : Smaller
    """
    check_whole("max_size", max_size, 1, is_optional=True)
    table, own_targets = rows_and_targets(model, X, y)
    X, targets = features_of(model, table), model.model_.task.transformed(own_targets)
    folds = make_folds(len(X), random_state)
    before = _all_say(model.model_, X)
    # What is chosen is chosen by squares: for a quantile, say, the model knows better than the target what to aim at.
    goals = before if parameters_of(model).get("loss") in LOSSES[1:] else targets
    points, losses = _candidates(model.model_, model, X, goals, folds)
    kept = better_than_smaller(points)
    path, losses = [points[i] for i in kept], losses[kept]
    chosen = choose(path, losses, max_size, "`distill` makes formulas of any size")
    error = float(np.sqrt(np.mean((before - goals) ** 2)))
    smaller = _with_smaller(path[chosen].model, model, X)
    return Smaller(with_rows(smaller, X, own_targets), Front(path, chosen), chosen, error)


def rows_and_targets(model: Estimator, X: Any, y: Any) -> tuple[Matrix, Matrix]:
    """Coded rows, enough of them, and targets as of a fit: numbers, or for each class whether it is the label."""
    X, _, targets = rows_and_target(model, X, y)
    if len(X) < FEWEST_ROWS:
        raise ValueError(f"at least {FEWEST_ROWS} rows are needed to choose on, got {len(X)}.")
    return X, targets


def teacher_of(model: Estimator, X: Matrix) -> Matrix:
    """What a model predicts: numbers, or probabilities of the second class."""
    found: Matrix = model.predict_proba(X)[:, 1] if isinstance(model, Classifier) else model.predict(X)
    return found


@singledispatch
def _all_say(model: Model, X: Matrix) -> Matrix:
    """What a model says before it is corrected or divided by the sum over the classes, as the path is measured."""
    return model.predict(X)


@_all_say.register
def _(model: ProgramModel, X: Matrix) -> Matrix:
    if model.task.classes is None:
        (ensemble,), (members,) = model.ensembles, model.said(X)
        return COMBINE[ensemble.aggregation](members, ensemble.fallback, ensemble.weights)[None]
    return np.stack([e.mean_said(members) for e, members in zip(model.ensembles, model.said(X), strict=True)])


@singledispatch
def _candidates(
    model: Model, estimator: Estimator, X: Matrix, targets: Matrix, folds: list[Any]
) -> tuple[list[FrontPoint], Matrix]:
    """Smaller models from small to large, and their losses on every row."""
    raise TypeError(f"{type(model).__name__} cannot be made smaller.")


def with_rows(smaller: Estimator, X: Matrix, targets: Matrix) -> Estimator:
    """The model, knowing that these rows made it too."""
    seen = seen_rows([(np.asarray(X), targets)])
    smaller._seen = {"fit": join_marks(seen_by(smaller).get("fit"), seen), "calibration": None}
    return smaller


def choose(path: Sequence[FrontPoint], losses: Matrix, max_size: int | None, otherwise: str) -> int:
    """The place in the path of the best up to a size, or of the smallest that is about as good as the best."""
    if not path:
        raise ValueError("there is nothing to choose from: no term varies on these rows.")
    errors = np.array([point.held_out_error for point in path])
    if max_size is None:
        best = int(np.argmin(errors))
        margin = losses[best].std() / np.sqrt(losses.shape[1])
        return int(np.flatnonzero(losses.mean(axis=1) <= losses[best].mean() + margin)[0])
    fits = [i for i, point in enumerate(path) if point.size <= max_size]
    if not fits:
        hint = f"; {otherwise}" if otherwise else ""
        raise ValueError(f"the smallest choice has {path[0].size} nodes, more than max_size={max_size}{hint}.")
    return min(fits, key=lambda i: path[i].held_out_error)


def better_than_smaller(points: Sequence[FrontPoint]) -> list[int]:
    """Points that are better than all that are not larger, from small to large."""
    kept: list[int] = []
    for i in sorted(range(len(points)), key=lambda i: (points[i].size, points[i].held_out_error)):
        if not kept or points[i].held_out_error < points[kept[-1]].held_out_error:
            kept.append(i)
    return kept


def _point(
    estimator: Estimator, make: Callable[[], Model], size: int, n_parts: int, inside: float, outside: float
) -> FrontPoint:
    """A candidate; errors are mean squares, on all rows and on those that were not used."""
    return FrontPoint(
        size=size,
        error=float(np.sqrt(inside)),
        held_out_error=float(np.sqrt(outside)),
        n_parts=n_parts,
        _model=make,
        _names=feature_names_of(estimator),
        _columns=columns_of(estimator),
    )


# Members


@_candidates.register
def _(
    model: ProgramModel, estimator: Estimator, X: Matrix, targets: Matrix, folds: list[Any]
) -> tuple[list[FrontPoint], Matrix]:
    steps: list[PruningSteps] = []
    for ensemble, members, target in zip(model.ensembles, model.said(X), targets, strict=True):
        combine = None
        if not ensemble.is_mean:
            combine = partial(_combined, ensemble)
        steps.append(choose_members(members, target, MOST_MEMBERS, combine, folds, ensemble.weights))
    losses = np.mean([s.losses for s in steps], axis=0)
    inside = np.mean([s.errors for s in steps], axis=0)
    found = []
    for step in range(MOST_MEMBERS):
        chosen = [s.chosen[: step + 1] for s in steps]
        programs = [np.unique(e.program_of[c]) for e, c in zip(model.ensembles, chosen, strict=True)]
        size = sum(int(e.forest.size(e.programs[p]).sum()) for e, p in zip(model.ensembles, programs, strict=True))
        make, n_parts = partial(_with_members, model, chosen), sum(p.size for p in programs)
        found.append(_point(estimator, make, size, n_parts, inside[step], losses[step].mean()))
    return found, losses


def _combined(ensemble: Ensemble, members: Matrix) -> Matrix:
    return COMBINE[ensemble.aggregation](members, ensemble.fallback, None)


def _with_members(model: ProgramModel, chosen: list[list[int]]) -> ProgramModel:
    ensembles, inside, outside = [], [], []
    for ensemble, errors, own in zip(model.ensembles, model.shown_errors(), chosen, strict=True):
        samples = np.array(own)
        roots = ensemble.programs[ensemble.program_of[samples]]
        slope, intercept = ensemble.slope[samples], ensemble.intercept[samples]
        rules = ensemble.fallback, ensemble.standardization, ensemble.aggregation, ensemble.threshold
        weights = None
        if ensemble.weights is not None:
            weights = ensemble.weights[samples] / ensemble.weights[samples].max()
        ensembles.append(make_ensemble(ensemble.forest, roots, slope, intercept, *rules, weights))
        inside.append(errors[0][samples])
        outside.append(errors[1][samples])
    return ProgramModel(tuple(ensembles), model.task, tuple(inside), tuple(outside), model.merge, model.reading)


# Terms


@_candidates.register
def _(
    stack: Stack, estimator: GroveEstimator, X: Matrix, targets: Matrix, folds: list[Any]
) -> tuple[list[FrontPoint], Matrix]:
    if not stack.levels:
        raise ValueError("this model found nothing: it predicts the mean, and has no terms to choose from.")
    pool = _pool(stack)
    terms = np.concatenate([values for _, values in pool.term_values(X)], axis=1)
    goals = _goals(stack, X, targets)
    losses = np.empty((MOST_TERMS, len(targets), len(X)))
    for held_out in folds:
        rest = np.setdiff1d(np.arange(len(X)), held_out)
        for k, goal in enumerate(goals):
            found = pursue(terms[:, rest], goal[rest], MOST_TERMS, estimator.ridge)
            for step in range(MOST_TERMS):
                said = _sum(found, step, terms[:, held_out])
                losses[step, k, held_out] = (_headed(pool, said) - targets[k][held_out]) ** 2
    whole = [pursue(terms, goal, MOST_TERMS, estimator.ridge) for goal in goals]
    mean_losses = losses.mean(axis=1)
    candidates = []
    for step in range(max(len(p.chosen) for p in whole)):
        used = [p.chosen[: step + 1] for p in whole]
        size = sum(int(pool.forest.size(pool.programs[own]).sum()) for own in used)
        said = np.stack([_headed(pool, _sum(found, step, terms)) for found in whole])
        make, inside = partial(_with_terms, stack, pool, whole, step), float(np.mean((said - targets) ** 2))
        candidates.append(_point(estimator, make, size, sum(map(len, used)), inside, mean_losses[step].mean()))
    return candidates, mean_losses[: len(candidates)]


def _goals(stack: Stack, X: Matrix, targets: Matrix) -> Matrix:
    """What sums are fitted to: the target, its logarithm with a log link, or the log odds of the model."""
    if stack.task.classes is None:
        return np.log(np.maximum(targets, LEAST_MEAN)) if stack.levels[0].has_log_link else targets
    shares = np.clip(stack.predict(X), 1e-9, 1 - 1e-9)
    return np.clip(np.log(shares / (1 - shares)), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def _pool(stack: Stack) -> Teams:
    """All different terms of a stack; whose they are does not matter here."""
    first = stack.levels[0]
    forest = Forest(first.forest.n_features, first.forest.primitives)
    roots, centre, spread, low, high = [], [], [], [], []
    for level in stack.levels:
        roots.append(forest.copy_from(level.forest, level.programs))
        centre.append(level.centre)
        spread.append(level.spread)
        if level.terms is not None:
            low.append(level.terms.low)
            high.append(level.terms.high)
    programs, first_of = np.unique(np.concatenate(roots), return_index=True)
    limits = Range(np.concatenate(low)[first_of], np.concatenate(high)[first_of]) if low else None
    return replace(
        first,
        forest=forest,
        programs=programs,
        centre=np.concatenate(centre)[first_of],
        spread=np.concatenate(spread)[first_of],
        terms=limits,
    )


def _sum(found: Any, step: int, terms: Matrix) -> Matrix:
    n_terms = min(step + 1, len(found.chosen))
    solution: Matrix = found.solutions[n_terms]
    return solution[0] + product(solution[1:], terms[found.chosen[:n_terms]])


def _headed(pool: Teams, sums: Matrix) -> Matrix:
    if pool.is_logistic:
        return 1 / (1 + np.exp(-sums))
    sums = sums if pool.predictions is None else pool.predictions.clip(sums)
    return np.exp(sums) if pool.has_log_link else sums


def _with_terms(stack: Stack, pool: Teams, found: list[Any], step: int) -> Stack:
    """The model with a team for each target, of the terms of a step."""
    used = sorted({i for own in found for i in own.chosen[: step + 1]})
    position = {term: p for p, term in enumerate(used)}
    coefficients, intercept = np.zeros((len(found), len(used))), np.zeros(len(found))
    for k, own in enumerate(found):
        n_terms = min(step + 1, len(own.chosen))
        intercept[k] = own.solutions[n_terms][0]
        coefficients[k, [position[i] for i in own.chosen[:n_terms]]] = own.solutions[n_terms][1:]
    forest = Forest(pool.forest.n_features, pool.forest.primitives)
    programs = forest.copy_from(pool.forest, pool.programs[used])
    limits = None if pool.terms is None else Range(pool.terms.low[used], pool.terms.high[used])
    teams = replace(
        pool,
        forest=forest,
        programs=programs,
        centre=pool.centre[used],
        spread=pool.spread[used],
        coefficients=coefficients,
        intercept=intercept,
        target_of=np.arange(len(found)),
        terms=limits,
        aggregation="mean",
        errors=np.full(len(found), np.nan),
    )
    return replace(stack, levels=(teams,), weights=np.ones(1), labels=("smaller",), smaller=())


# Models


def _with_model(estimator: Kind, model: Model, X: Matrix) -> Kind:
    """The estimator with another model, without what holds no longer: scores and what was learned on other rows."""
    smaller = type(estimator)(**estimator.get_params(deep=False))
    gone = ("oob_prediction_", "oob_score_", "_outside", "_kept", "_said", "_held_out", "one_formula_")
    smaller.__dict__.update({name: value for name, value in estimator.__dict__.items() if name not in gone})
    smaller._uncertainty = None
    smaller.model_ = model
    smaller.ensemble_ = model.members(feature_names_of(estimator))
    columns = columns_of(estimator)
    smaller.feature_importances_ = model.importances(X, 0, *([] if columns.is_plain else [columns.owners]))
    return smaller


@singledispatch
def _with_smaller(model: Model, estimator: Estimator, X: Matrix) -> Estimator:
    """The estimator with a smaller model."""
    return _with_model(estimator, model, X)


@_with_smaller.register
def with_stack(stack: Stack, estimator: GroveEstimator, X: Matrix) -> GroveEstimator:
    """A Grove with another stack of one level."""
    model = replace(stack, labels=("smaller",), smaller=()).with_reading(estimator.model_.reading)
    smaller = _with_model(estimator, model, X)
    smaller.stacking_weights_ = {"smaller": 1.0}
    smaller.stacking_weight_sum_, smaller.validation_score_ = 1.0, float("nan")
    smaller.size_path_, smaller.strength_history_ = Front(), {}
    return smaller
