"""How strongly to fit: a stack of ensembles of different strength, weighed by out-of-fold predictions.

    folds = five, or on larger data one fifth of the rows
    in each, evolve every path from scratch on the other rows, and predict its rows after every snapshot
    weights = what predicts those rows best: not negative, with sum at most one; the rest is the mean of the target
    on larger data, the strongest alone unless the stack is clearly better

Rows must be held out of whole evolutions: out-of-bag rows shape the terms through other teams.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from symgrove.blas import on_one_thread, product
from symgrove.methods._held_out import Training
from symgrove.methods._team_setting import Ground, Path, base_of, make_evolutions, take_rows, to_model
from symgrove.models.teams import Teams
from symgrove.rng import stream

Matrix = NDArray[np.float64]
N_FOLDS = 5
MOST_ROWS_FOR_FOLDS = 500
SMALLEST_WEIGHT = 0.01
# Standard errors by which a stack must beat the strongest level on held-out rows of larger data.
CLEARLY = 2.0
HEAVY = 1e4  # weight of the equation that makes weights sum to one
PROBABILITIES = (0.01, 0.99)
N_ROUNDS = 200


class Level(NamedTuple):
    """A path, looked at after a number of generations."""

    path: Path
    generation: int


class Strength(NamedTuple):
    """What was chosen: a weight for every level, and what they predict for rows they never saw, with the loss.

    `spread` is that of the teams on these rows, levels weighed alike; of the first target.
    """

    levels: tuple[Level, ...]
    weights: Matrix
    out_of_fold: Matrix
    spread: Matrix
    loss: float


def levels_of(paths: Sequence[Path]) -> tuple[Level, ...]:
    """All snapshots of all paths; the last of the first path is the strongest."""
    return tuple(Level(path, generation) for path in paths for generation in path.snapshots)


def choose_strength(
    ground: Ground,
    paths: Sequence[Path],
    training: Training,
    seed: int,
    check: Callable[[], None],
    tell: Callable[[str], None],
) -> Strength:
    """Weights of the levels; `check` is called after every generation and may raise, `tell` shows progress."""
    levels = levels_of(paths)
    n_rows = len(training.X)
    out_of_fold = np.full((len(levels), len(training.targets), n_rows), np.nan)
    spread = np.full((len(levels), n_rows), np.nan)
    folds = _folds(training, seed, is_logistic=ground.is_logistic)
    before = time.perf_counter()
    for f, held_out in enumerate(folds):
        left = (time.perf_counter() - before) / f * (len(folds) - f) if f else None
        tell(f"choosing the strength, fold {f + 1} of {len(folds)}" + ("" if left is None else f", {left:.0f} s left"))
        rest = take_rows(training, np.setdiff1d(np.arange(n_rows), held_out))
        X = training.X[held_out]
        start = 0
        for p, path in enumerate(paths):
            own_seed = int(stream(seed, "fold", f * len(paths) + p).integers(2**31))
            for i, model in enumerate(grow(ground, path, rest, own_seed, check)):
                out_of_fold[start + i][:, held_out] = model.predict(X, ground.n_threads)
                spread[start + i, held_out] = model.all_members(X, ground.n_threads).std(axis=0)
            start += len(path.snapshots)
    strongest = len(paths[0].snapshots) - 1
    return weigh(levels, out_of_fold, spread, training, is_logistic=ground.is_logistic, strongest=strongest)


def grow(ground: Ground, path: Path, training: Training, seed: int, check: Callable[[], None]) -> list[Teams]:
    """Evolve from scratch; a model after every snapshot."""
    models = []
    with ExitStack() as stack:
        evolutions = make_evolutions(ground, path, training, seed, stack)
        states = [evolution.init() for evolution in evolutions]
        for generation in path.snapshots:
            while states[0].generation < generation:
                for i, evolution in enumerate(evolutions):
                    check()
                    states[i] = evolution.step(states[i])
            models.append(to_model(ground, evolutions, states, training))
    return models


def _folds(training: Training, seed: int, *, is_logistic: bool) -> list[NDArray[np.intp]]:
    """Five folds, or one fifth of the rows; of labels, each gets its share."""
    order = stream(seed, "folds").permutation(len(training.X))
    if is_logistic:
        labels = np.argmax(training.targets, axis=0) if len(training.targets) > 1 else training.targets[0]
        order = order[np.argsort(labels[order], kind="stable")]
    return [np.sort(order[f::N_FOLDS]) for f in range(n_folds(order.size))]


def n_folds(n_rows: int) -> int:
    """How often rows are held out of whole evolutions."""
    return N_FOLDS if n_rows <= MOST_ROWS_FOR_FOLDS else 1


def work_of(path: Path) -> float:
    """About what a path costs, to tell the time left: by its candidates and by its teams, alike in the default."""
    n_candidates = path.n_populations * path.rules.population_size
    return path.snapshots[-1] * (n_candidates / 5000 + path.n_teams / 50)


def weigh(
    levels: tuple[Level, ...],
    out_of_fold: Matrix,
    spread: Matrix,
    training: Training,
    *,
    is_logistic: bool,
    strongest: int,
) -> Strength:
    """Weights from out-of-fold predictions, (n_levels, n_targets, n_rows); NaN on rows that were never held out.

    `spread` is that of each level's teams, (n_levels, n_rows).
    """
    known = ~np.isnan(out_of_fold).any(axis=(0, 1))
    predictions = out_of_fold[:, :, known]
    targets = training.targets[:, known]
    row_weight = np.ones(known.sum()) if training.weight is None else training.weight[known]
    base = base_of(training)
    if is_logistic:
        weights = mixture_weights(predictions, targets, base, row_weight)
    else:
        weights = stack_weights(predictions[:, 0], targets[0], float(base[0]), row_weight)
    weights = np.where(weights < SMALLEST_WEIGHT, 0.0, weights)
    losses = _losses(_stacked(predictions, weights, base), targets, is_logistic=is_logistic)
    if not known.all():
        alone = np.zeros(weights.size)
        alone[strongest] = 1.0
        difference = _losses(predictions[strongest], targets, is_logistic=is_logistic) - losses
        mean, error = _mean_and_error(difference, row_weight)
        if mean < CLEARLY * error:
            weights, losses = alone, losses + difference
    stacked = np.full(out_of_fold.shape[1:], np.nan)
    stacked[:, known] = _stacked(predictions, weights, base)
    return Strength(levels, weights, stacked, product(weights, spread), float(np.average(losses, weights=row_weight)))


def _mean_and_error(values: Matrix, weight: Matrix) -> tuple[float, float]:
    """Weighted mean and its standard error."""
    share = weight / weight.sum()
    mean = float(product(share, values))
    return mean, float(np.sqrt(product(share**2, (values - mean) ** 2)))


def _stacked(predictions: Matrix, weights: Matrix, base: Matrix) -> Matrix:
    return base[:, None] + np.einsum("l,ltn->tn", weights, predictions - base[:, None])


def _losses(prediction: Matrix, targets: Matrix, *, is_logistic: bool) -> Matrix:
    """Loss on every row: squares, or minus the logarithm of the probability of the label."""
    if not is_logistic:
        return (targets[0] - prediction[0]) ** 2
    return -np.log(np.clip(_of_the_label(prediction[None], targets)[0], *PROBABILITIES))


def stack_weights(predictions: Matrix, y: Matrix, base: float, row_weight: Matrix) -> Matrix:
    """Least squares with weights that are not negative and sum to at most one.

    The sum is one with a column of zeros, whose weight is that of the base.
    """
    root = np.sqrt(row_weight)
    columns = np.column_stack([(predictions - base).T, np.zeros(y.size)]) * root[:, None]
    scale = max(float(np.sqrt(np.average((y - base) ** 2, weights=row_weight))), 1e-300) * np.sqrt(row_weight.sum())
    heavy = HEAVY * scale * np.ones((1, columns.shape[1]))
    A = np.vstack([columns, heavy]) / scale
    b = np.append((y - base) * root, HEAVY * scale) / scale
    weights = on_one_thread(nnls, A, b)[0][:-1]
    return weights / max(1.0, weights.sum())


def mixture_weights(predictions: Matrix, targets: Matrix, base: Matrix, row_weight: Matrix) -> Matrix:
    """Weights of a mixture of the levels and the base with the highest likelihood, by expectation maximisation."""
    constant = np.broadcast_to(base[:, None], predictions.shape[1:])
    all_levels = np.concatenate([predictions, constant[None]])
    likelihood = np.clip(_of_the_label(all_levels, targets), *PROBABILITIES)
    weights = np.full(len(likelihood), 1.0 / len(likelihood))
    for _ in range(N_ROUNDS):
        share = weights[:, None] * likelihood
        weights = np.average(share / share.sum(axis=0), axis=1, weights=row_weight)
    return weights[:-1]


def _of_the_label(predictions: Matrix, targets: Matrix) -> Matrix:
    """Probability of the label of every row, (n_levels, n_rows)."""
    if len(targets) == 1:
        return np.where(targets[0] == 1, predictions[:, 0], 1 - predictions[:, 0])
    shares = predictions / np.maximum(predictions.sum(axis=1, keepdims=True), 1e-300)
    return np.einsum("ltn,tn->ln", shares, targets)
