"""Smaller models from a fitted one: fewer members, or fewer terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._checks import check_whole
from symgrove.blas import product
from symgrove.forest.forest import Forest
from symgrove.inspection._input import rows_and_target
from symgrove.methods.saving import errors_of_members
from symgrove.models.conformal import Widths
from symgrove.models.ensemble import COMBINE, Ensemble, clipped, make_ensemble, votes_of
from symgrove.models.importance import feature_importances
from symgrove.models.members import list_members
from symgrove.models.pruning import Steps, choose_members, make_folds, pursue
from symgrove.models.seen_rows import join_marks, seen_rows
from symgrove.models.team_importance import team_importances
from symgrove.models.team_members import list_teams
from symgrove.models.teams import Range, Stack, Teams

Matrix = NDArray[np.float64]
FEWEST_ROWS = 20
MOST_MEMBERS = 60  # steps of choosing members
MOST_TERMS = 40
LARGEST_LOG_ODDS = 6.0


class SizePoint(NamedTuple):
    """A smaller model.

    `n_parts` members or terms, `size` nodes, `error` on rows that it was not chosen on: root mean squared error; for
    classes, of the probabilities.
    """

    n_parts: int
    size: int
    error: float


class Smaller(NamedTuple):
    """Sizes against errors, and the model that was chosen.

    Attributes
    ----------
    model : estimator
        Predicts, exports and saves as any other. Intervals and probabilities need `calibrate` again.
    path : list of SizePoint
        From small to large; each is better than all smaller ones.
    chosen : int
        The model's place in the path.
    error_before : float
        Error of the model that it was made from, on the same rows.
    """

    model: Any
    path: list[SizePoint]
    chosen: int
    error_before: float


def simplify_ensemble(model: Any, X: Any, y: Any, *, max_size: int | None = None, random_state: int = 0) -> Smaller:
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
    X, targets = rows_and_targets(model, X, y)
    folds = make_folds(len(X), random_state)
    make = _of_terms if isinstance(model._ensembles[0], Stack) else _of_members
    candidates, losses = make(model, X, targets, folds)
    path = [c.point for c in candidates]
    chosen = choose(path, losses, max_size, "`distill` makes formulas of any size")
    before = np.stack([_all_say(model, ensemble, X) for ensemble in model._ensembles]).reshape(targets.shape)
    error = float(np.sqrt(np.mean((before - targets) ** 2)))
    return Smaller(with_rows(candidates[chosen].build(), X, targets), path, chosen, error)


class _Candidate(NamedTuple):
    point: SizePoint
    build: Callable[[], Any]


def rows_and_targets(model: Any, X: Any, y: Any) -> tuple[Matrix, Matrix]:
    """Rows, enough of them, and targets as of a fit: numbers, or for each class whether it is the label."""
    X, _, targets = rows_and_target(model, X, y)
    if len(X) < FEWEST_ROWS:
        raise ValueError(f"at least {FEWEST_ROWS} rows are needed to choose on, got {len(X)}.")
    return X, targets


def teacher_of(model: Any, X: Matrix) -> Matrix:
    """What a model predicts: numbers, or probabilities of the second class."""
    found: Matrix = model.predict_proba(X)[:, 1] if hasattr(model, "classes_") else model.predict(X)
    return found


def _all_say(model: Any, ensemble: Any, X: Matrix) -> Matrix:
    """What an ensemble says before it is corrected or divided by the sum over the classes, as the path is measured."""
    if isinstance(ensemble, Stack):
        return ensemble.predict(X)
    return COMBINE[ensemble.aggregation](_said(model, ensemble, X), ensemble.fallback)


def with_rows(smaller: Any, X: Matrix, targets: Matrix) -> Any:
    """The model, knowing that these rows made it too."""
    seen = seen_rows([(np.asarray(X), targets)])
    smaller._seen = {"fit": join_marks(getattr(smaller, "_seen", {}).get("fit"), seen), "calibration": None}
    return smaller


def choose(path: list[SizePoint], losses: Matrix, max_size: int | None, otherwise: str) -> int:
    """The place in the path of the best up to a size, or of the smallest that is about as good as the best."""
    if not path:
        raise ValueError("there is nothing to choose from: no term varies on these rows.")
    errors = np.array([point.error for point in path])
    if max_size is None:
        best = int(np.argmin(errors))
        margin = losses[best].std() / np.sqrt(losses.shape[1])
        return int(np.flatnonzero(losses.mean(axis=1) <= losses[best].mean() + margin)[0])
    fits = [i for i, point in enumerate(path) if point.size <= max_size]
    if not fits:
        hint = f"; {otherwise}" if otherwise else ""
        raise ValueError(f"the smallest choice has {path[0].size} nodes, more than max_size={max_size}{hint}.")
    return min(fits, key=lambda i: path[i].error)


def better_than_smaller(points: list[SizePoint]) -> list[int]:
    """Points that are better than all that are not larger, from small to large."""
    kept: list[int] = []
    for i in sorted(range(len(points)), key=lambda i: (points[i].size, points[i].error)):
        if not kept or points[i].error < points[kept[-1]].error:
            kept.append(i)
    return kept


def _path(found: list[_Candidate], losses: Matrix) -> tuple[list[_Candidate], Matrix]:
    kept = better_than_smaller([c.point for c in found])
    return [found[i] for i in kept], losses[kept]


# Members


def _of_members(model: Any, X: Matrix, targets: Matrix, folds: list[Any]) -> tuple[list[_Candidate], Matrix]:
    steps: list[Steps] = []
    for ensemble, target in zip(model._ensembles, targets, strict=True):
        members = _said(model, ensemble, X)
        combine = None
        if ensemble.aggregation == "median":
            combine = partial(COMBINE["median"], fallback=ensemble.fallback)
        steps.append(choose_members(members, target, MOST_MEMBERS, combine, folds))
    losses = np.mean([s.losses for s in steps], axis=0)
    found = []
    for step in range(MOST_MEMBERS):
        chosen = [s.chosen[: step + 1] for s in steps]
        programs = [np.unique(e.program_of[c]) for e, c in zip(model._ensembles, chosen, strict=True)]
        size = sum(int(e.forest.size(e.programs[p]).sum()) for e, p in zip(model._ensembles, programs, strict=True))
        point = SizePoint(sum(p.size for p in programs), size, float(np.sqrt(losses[step].mean())))
        found.append(_Candidate(point, partial(_with_members, model, chosen, X)))
    return _path(found, losses)


def _said(model: Any, ensemble: Ensemble, X: Matrix) -> Matrix:
    """What every sample's member contributes: its prediction, vote or clipped score."""
    if not hasattr(model, "classes_"):
        return ensemble.all_members(X)
    return ensemble.all_shares(X, votes_of if model.classes_.size == 2 else clipped)


def _with_members(model: Any, chosen: list[list[int]], X: Matrix) -> Any:
    smaller = _copy(model)
    errors = errors_of_members(model)
    smaller._ensembles, smaller.ensemble_ = [], []
    for k, (ensemble, own) in enumerate(zip(model._ensembles, chosen, strict=True)):
        samples = np.array(own)
        roots = ensemble.programs[ensemble.program_of[samples]]
        slope, intercept = ensemble.slope[samples], ensemble.intercept[samples]
        rules = ensemble.fallback, ensemble.standardization, ensemble.aggregation, ensemble.threshold
        made = make_ensemble(ensemble.forest, roots, slope, intercept, *rules)
        inside, outside = (
            np.array([np.nan if v is None else v for v in errors[k][name]])[samples]
            for name in ("in_bag", "out_of_bag")
        )
        target = model.classes_[k] if len(chosen) > 1 else None
        smaller._ensembles.append(made)
        prune = ensemble.aggregation == "mean"
        smaller.ensemble_ += list_members(made, inside, outside, names_of(model), target, prune=prune)
    smaller.feature_importances_ = feature_importances(smaller._ensembles, X, 0)
    return smaller


# Terms


def _of_terms(model: Any, X: Matrix, targets: Matrix, folds: list[Any]) -> tuple[list[_Candidate], Matrix]:
    stack: Stack = model._ensembles[0]
    if not stack.levels:
        raise ValueError("this model found nothing: it predicts the mean, and has no terms to choose from.")
    pool = _pool(stack)
    terms = np.concatenate([values for _, values in pool.term_values(X)], axis=1)
    goals = _goals(model, X, targets)
    losses = np.empty((MOST_TERMS, len(targets), len(X)))
    for held_out in folds:
        rest = np.setdiff1d(np.arange(len(X)), held_out)
        for k, goal in enumerate(goals):
            found = pursue(terms[:, rest], goal[rest], MOST_TERMS, model.ridge)
            for step in range(MOST_TERMS):
                said = _sum(found, step, terms[:, held_out])
                losses[step, k, held_out] = (_headed(pool, said) - targets[k][held_out]) ** 2
    whole = [pursue(terms, goal, MOST_TERMS, model.ridge) for goal in goals]
    mean_losses = losses.mean(axis=1)
    candidates = []
    for step in range(max(len(p.chosen) for p in whole)):
        used = [p.chosen[: step + 1] for p in whole]
        size = sum(int(pool.forest.size(pool.programs[own]).sum()) for own in used)
        point = SizePoint(sum(map(len, used)), size, float(np.sqrt(mean_losses[step].mean())))
        build = partial(_with_terms, model, pool, whole, step, X)
        candidates.append(_Candidate(point, build))
    return _path(candidates, mean_losses)


def _goals(model: Any, X: Matrix, targets: Matrix) -> Matrix:
    """What sums are fitted to: the target, or the log odds of the model."""
    if not hasattr(model, "classes_"):
        return targets
    shares = np.clip(model._ensembles[0].predict(X), 1e-9, 1 - 1e-9)
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
    return sums if pool.predictions is None else pool.predictions.clip(sums)


def _with_terms(model: Any, pool: Teams, found: list[Any], step: int, X: Matrix) -> Any:
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
    return with_stack(model, Stack((teams,), np.ones(1), model._ensembles[0].base), X)


# Models


def names_of(model: Any) -> Any:
    """Names of the features, if it has any."""
    return getattr(model, "feature_names_in_", None)


def _copy(model: Any) -> Any:
    """The model without what holds no longer: scores on rows left out, intervals, corrected probabilities."""
    smaller = type(model)(**model.get_params(deep=False))
    gone = ("oob_prediction_", "oob_score_", "_outside", "_kept", "_correction")
    smaller.__dict__.update({name: value for name, value in model.__dict__.items() if name not in gone})
    if hasattr(model, "_calibrations"):
        smaller._calibrations, smaller._widths = {}, Widths(1.0, 0.0)
    return smaller


def with_stack(model: Any, stack: Stack, X: Matrix) -> Any:
    """A Grove with another stack."""
    smaller = _copy(model)
    smaller._ensembles = [stack]
    smaller.stacking_weights_, smaller.stacking_weight_sum_, smaller.validation_score_ = (
        {"smaller": 1.0},
        1.0,
        float("nan"),
    )
    targets = model.classes_ if len(stack.base) > 1 else None
    smaller.ensemble_ = list_teams(stack, names_of(model), targets, ["smaller"])
    smaller.size_path_ = []
    smaller.feature_importances_ = team_importances(stack, X, 0)
    return smaller
