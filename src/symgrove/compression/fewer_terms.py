"""Fewer terms of a stack of teams: one sum that imitates what all say together.

Terms are chosen by orthogonal matching pursuit of the model's own predictions. These cost nothing, so there are as
many rows to imitate it on as many terms need: those given that do not judge, and mixtures of them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.compression.imitation import rows_to_imitate
from symgrove.compression.judging import ROWS_OF_FIT, is_new, said_unseen
from symgrove.compression.path import Given, ModelsOfSizes, all_say, point_of, whole_point
from symgrove.estimators.fitted import feature_names_of, features_of
from symgrove.forest.forest import Forest
from symgrove.models.one_formula import NEW_ROWS
from symgrove.models.pruning import Pursuit, pursue
from symgrove.models.shown import LONGEST_COUNTED
from symgrove.models.stack import Stack
from symgrove.models.teams import Range, Teams
from symgrove.models.term_sizes import TermSizes
from symgrove.rng import stream

Matrix = NDArray[np.float64]
MOST_TERMS = 800
ROWS_PER_TERM = 3
LEAST_NEW = 20  # rows, to judge alone
FEWEST_ROWS, MOST_ROWS, MOST_VALUES = 100, 4_000, 1 << 24  # to imitate on; of the terms on them
LARGEST_LOG_ODDS = 6.0
LEAST_MEAN = 1e-300  # whose logarithm is taken


def fewer_terms(stack: Stack, given: Given) -> ModelsOfSizes:
    """Sums of some of the terms, with errors on rows that they were not made on."""
    if not stack.levels:
        raise ValueError("this model found nothing: it predicts the mean, and has no terms to choose from.")
    pool = pool_of(stack)
    making, judging = _split(given)
    found = _pursuits(stack, pool, given, making)
    if not any(pursuit.chosen for pursuit in found):
        raise ValueError("there is nothing to choose from: no term varies on these rows.")
    parts = [_JudgedRows(stack, pool, given.X[rows], given.targets[:, rows]) for rows in (making, judging)]
    whole = parts[1].whole
    unseen, rows = said_unseen(given.estimator, parts[1].X, given.own_targets[:, judging], whole)
    if given.measure.loss is not None:  # what the model knew without these rows is known for squares only
        unseen, rows = whole, rows if rows == NEW_ROWS else ROWS_OF_FIT
    sizes, candidates = TermSizes(pool, feature_names_of(given.estimator)), []
    for step in range(max(len(pursuit.solutions) for pursuit in found)):
        used = [np.array(_at(pursuit, step)[0], dtype=np.intp) for pursuit in found]
        is_long = all(sizes.of_all(own) > LONGEST_COUNTED for own in used)  # shorter ones are counted as they are shown
        size = sum(map(sizes.of, used)) if is_long else None
        inside = given.measure.error(parts[0].targets, parts[0].said(found, step))
        # Of rows that the model was fitted on it says too much; what it did not know of them stands in for that.
        outside = given.measure.error(parts[1].targets, unseen + (parts[1].said(found, step) - whole))
        make = partial(_with_terms, stack, pool, found, step)
        candidates.append(point_of(given.estimator, make, np.unique(np.concatenate(used)).size, inside, outside, size))
    errors = given.measure.error(parts[0].targets, parts[0].whole), given.measure.error(parts[1].targets, unseen)
    candidates.append(whole_point(given.estimator, pool.programs.size, *errors))
    return ModelsOfSizes(candidates, rows, judging.size)


def short_sums(stack: Stack, X: Matrix, n_most: int) -> list[Stack]:
    """Sums of a few terms that imitate a stack on these rows of features, from one term to so many; quickly made."""
    if not stack.levels:
        return []
    pool = pool_of(stack)
    terms = _values_of(pool, X)
    found = [pursue(terms, goal, n_most) for goal in _goals(stack, X)]
    n_steps = max(len(pursuit.solutions) for pursuit in found) if any(own.chosen for own in found) else 0
    return [_with_terms(stack, pool, found, step) for step in range(n_steps)]


def _split(given: Given) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to make a path on, and to judge it: half of all, or if there are enough of them only new ones."""
    order = stream(given.seed, "judging").permutation(len(given.X))
    n_judging = len(order) // 2
    new = order[is_new(given.estimator, given.X, given.own_targets)[order]]
    if LEAST_NEW <= new.size < len(order):
        n_judging, order = min(n_judging, new.size), np.concatenate([new, np.setdiff1d(order, new)])
    elif given.estimator.model_.task.classes is not None:  # each class has its share
        order = order[np.lexsort(given.targets[:, order])]
        order = np.concatenate([order[1::2], order[::2]])
    return np.sort(order[n_judging:]), np.sort(order[:n_judging])


def _pursuits(stack: Stack, pool: Teams, given: Given, making: NDArray[np.intp]) -> list[Pursuit]:
    """For each target, terms that imitate it."""
    n_rows = max(min(MOST_ROWS, MOST_VALUES // pool.programs.size), FEWEST_ROWS)
    rows = rows_to_imitate(given.table[making], given.X[making], n_rows, stream(given.seed, "imitation"))
    X = features_of(given.estimator, rows)
    terms = _values_of(pool, X)
    return [pursue(terms, goal, min(MOST_TERMS, len(X) // ROWS_PER_TERM)) for goal in _goals(stack, X)]


def _goals(stack: Stack, X: Matrix) -> Matrix:
    """What the model says, its logarithm with a log link, or its log odds."""
    said = stack.predict(X)
    if stack.task.classes is None:
        return np.log(np.maximum(said, LEAST_MEAN)) if stack.levels[0].has_log_link else said
    shares = np.clip(said, 1e-9, 1 - 1e-9)
    return np.clip(np.log(shares / (1 - shares)), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


class _JudgedRows:
    """Some of the rows given, with what the model, its terms and sums of them say of these."""

    def __init__(self, stack: Stack, pool: Teams, X: Matrix, targets: Matrix) -> None:
        self.X, self.targets = X, targets
        self.whole = all_say(stack, X)
        self._pool = pool
        self._terms = _values_of(pool, X)

    def said(self, found: list[Pursuit], step: int) -> Matrix:
        """By the sums of a step."""
        sums = []
        for pursuit in found:
            used, solution = _at(pursuit, step)
            sums.append(solution[0] + product(solution[1:], self._terms[used]))
        return _headed(self._pool, np.stack(sums))


def _at(pursuit: Pursuit, step: int) -> tuple[list[int], Matrix]:
    """Terms of a step, or of the last one, and their intercept and coefficients."""
    solution = pursuit.solutions[min(step, len(pursuit.solutions) - 1)]
    return pursuit.chosen[: solution.size - 1], solution


def _values_of(pool: Teams, X: Matrix) -> Matrix:
    return np.concatenate([values for _, values in pool.term_values(X)], axis=1)


def pool_of(stack: Stack) -> Teams:
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


def _headed(pool: Teams, sums: Matrix) -> Matrix:
    if pool.is_logistic:
        return 1 / (1 + np.exp(-sums))
    sums = sums if pool.predictions is None else pool.predictions.clip(sums)
    return np.exp(sums) if pool.has_log_link else sums


def _with_terms(stack: Stack, pool: Teams, found: list[Pursuit], step: int) -> Stack:
    """The model with a team for each target, of the terms of a step."""
    parts = [_at(pursuit, step) for pursuit in found]
    used = sorted({i for own, _ in parts for i in own})
    position = {term: p for p, term in enumerate(used)}
    coefficients, intercept = np.zeros((len(parts), len(used))), np.zeros(len(parts))
    for k, (own, solution) in enumerate(parts):
        intercept[k] = solution[0]
        coefficients[k, [position[i] for i in own]] = solution[1:]
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
