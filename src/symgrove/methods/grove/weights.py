"""Weights of a stack, from predictions of rows that the ensembles never saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from symgrove.blas import on_one_thread, product
from symgrove.fitness.named_losses import Deviation, NamedLoss, Squared
from symgrove.methods.grove.configuration import Folds
from symgrove.methods.grove.setup import base_of, centres_and_scales
from symgrove.methods.problem import Rows, TrainingRows

Matrix = NDArray[np.float64]
HEAVY = 1e4  # weight of the equation that makes weights sum to one
PROBABILITIES = (0.01, 0.99)
N_ROUNDS = 200
N_REWEIGHTINGS = 30


class Strength(NamedTuple):
    """What was chosen: a weight for every level, and what they predict for rows they never saw, with the loss.

    `spread` is that of the teams on these rows, levels weighed alike; of the first target.
    """

    weights: Matrix
    out_of_fold: Matrix
    spread: Matrix
    loss: float


def weigh(
    out_of_fold: Matrix,
    spread: Matrix,
    training: Rows,
    folds: Folds,
    *,
    losses: Sequence[NamedLoss],
    strongest: Sequence[int] = (),
    everything: TrainingRows | None = None,
) -> Strength:
    """Weights from out-of-fold predictions, (n_levels, n_targets, n_rows); NaN on rows that were never held out.

    `spread` is that of each level's teams, (n_levels, n_rows). Without losses, targets are labels. If some rows were
    never held out, the strongest levels, if any are named, are alone unless the stack is clearly better. `everything`
    are all training rows, where these are only some.
    """
    everything = training if everything is None else everything
    known = ~np.isnan(out_of_fold).any(axis=(0, 1))
    predictions = out_of_fold[:, :, known]
    targets = training.targets[:, known]
    row_weight = np.ones(known.sum()) if training.weight is None else training.weight[known]
    base = base_of(everything, losses)

    def best_weights(own: Matrix) -> Matrix:
        if not losses:
            best = mixture_weights(own, targets, base, row_weight)
        elif len(losses) == 1:
            best = reweighted_stack(own[:, 0], targets[0], float(base[0]), row_weight, losses[0])
        else:
            _, scale = centres_and_scales(everything, losses[0])
            best = _weights_of_several(own, targets, base, row_weight, losses[0], scale)
        return np.where(best < folds.smallest_weight, 0.0, best)

    weights = best_weights(predictions)
    of_rows = partial(losses_of, targets=targets, losses=losses, base=base, row_weight=row_weight)
    found = of_rows(_stacked(predictions, weights, base))
    if len(strongest) and not known.all():
        alone = np.zeros(weights.size)
        alone[list(strongest)] = _towards_equal(best_weights(predictions[list(strongest)]))
        difference = of_rows(_stacked(predictions, alone, base)) - found
        mean, error = _mean_and_error(difference, row_weight)
        if mean < folds.clearly * error:
            weights, found = alone, found + difference
    stacked = np.full(out_of_fold.shape[1:], np.nan)
    stacked[:, known] = _stacked(predictions, weights, base)
    return Strength(weights, stacked, product(weights, spread), float(np.average(found, weights=row_weight)))


def latest_good(out_of_fold: Matrix, training: Rows, folds: Folds, losses: Sequence[NamedLoss]) -> int:
    """Which of several levels, (n_levels, n_targets, n_rows), is the last that is not much worse than the best."""
    known = ~np.isnan(out_of_fold).any(axis=(0, 1))
    row_weight = np.ones(known.sum()) if training.weight is None else training.weight[known]
    targets, base = training.targets[:, known], base_of(training, losses)
    found = [losses_of(own[:, known], targets, losses, base, row_weight) for own in out_of_fold]
    best = int(np.argmin([np.average(own, weights=row_weight) for own in found]))
    for later in range(len(found) - 1, best, -1):
        mean, error = _mean_and_error(found[later] - found[best], row_weight)
        if mean <= folds.ends_at * error:
            return later
    return best


def _towards_equal(weights: Matrix) -> Matrix:
    """Halfway between weights, made to sum to one, and equal ones: a fifth of the rows tells them only roughly."""
    equal = np.full(weights.size, 1.0 / weights.size)
    return (weights / weights.sum() + equal) / 2 if weights.any() else equal


def _mean_and_error(values: Matrix, weight: Matrix) -> tuple[float, float]:
    """Weighted mean and its standard error."""
    share = weight / weight.sum()
    mean = float(product(share, values))
    return mean, float(np.sqrt(product(share**2, (values - mean) ** 2)))


def _stacked(predictions: Matrix, weights: Matrix, base: Matrix) -> Matrix:
    return base[:, None] + np.einsum("l,ltn->tn", weights, predictions - base[:, None])


def losses_of(
    prediction: Matrix, targets: Matrix, losses: Sequence[NamedLoss], base: Matrix, row_weight: Matrix
) -> Matrix:
    """Loss on every row; of several targets the mean, each in units of that of the base.

    Of labels, minus the logarithm of their probability.
    """
    if len(losses) == 1:
        return losses[0].of_rows(targets[0], prediction[0])
    if losses:
        units = [
            float(np.average(loss.of_rows(y, np.full(y.size, b)), weights=row_weight)) or 1.0
            for loss, y, b in zip(losses, targets, base, strict=True)
        ]
        each = zip(losses, targets, prediction, units, strict=True)
        return np.mean([loss.of_rows(y, said) / unit for loss, y, said, unit in each], axis=0)
    return -np.log(np.clip(_of_the_label(prediction[None], targets)[0], *PROBABILITIES))


def stack_weights(predictions: Matrix, y: Matrix, base: float | Matrix, row_weight: Matrix) -> Matrix:
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


def _weights_of_several(
    predictions: Matrix, targets: Matrix, base: Matrix, row_weight: Matrix, loss: NamedLoss, scale: Matrix
) -> Matrix:
    """One set of weights for all targets: rows of each target, divided by its scale, below those of the one before."""
    n_levels, _, n_rows = predictions.shape
    if isinstance(loss, Deviation):
        loss = replace(loss, delta=loss.delta / scale[0])
    y, stacked = (targets / scale[:, None]).ravel(), (predictions / scale[:, None]).reshape(n_levels, -1)
    return reweighted_stack(stacked, y, np.repeat(base / scale, n_rows), np.tile(row_weight, len(targets)), loss)


def reweighted_stack(
    predictions: Matrix, y: Matrix, base: float | Matrix, row_weight: Matrix, loss: NamedLoss
) -> Matrix:
    """Weights as of `stack_weights` for any loss: the best of some rounds of reweighted least squares."""

    def mean_loss(weights: Matrix) -> float:
        return float(np.average(loss.of_rows(y, base + product(weights, predictions - base)), weights=row_weight))

    best = weights = stack_weights(predictions, y, base, row_weight)
    for _ in range(0 if isinstance(loss, Squared) else N_REWEIGHTINGS):
        again = row_weight * loss.row_weights(y, base + product(weights, predictions - base))
        weights = stack_weights(predictions, y, base, again)
        best = weights if mean_loss(weights) < mean_loss(best) else best
    return best


def mixture_weights(predictions: Matrix, targets: Matrix, base: Matrix, row_weight: Matrix) -> Matrix:
    """Weights of a mixture of the levels and the base with the highest likelihood, by expectation maximisation."""
    constant = np.broadcast_to(base[:, None], predictions.shape[1:])
    all_levels = np.concatenate([predictions, constant[None]])
    likelihood = np.clip(_of_the_label(all_levels, targets), *PROBABILITIES)
    weights = np.full(len(likelihood), 1.0 / len(likelihood))
    row_share = row_weight / row_weight.sum()
    for _ in range(N_ROUNDS):
        weights = weights * product(likelihood, row_share / product(weights, likelihood))
    return weights[:-1]


def _of_the_label(predictions: Matrix, targets: Matrix) -> Matrix:
    """Probability of the label of every row, (n_levels, n_rows)."""
    if len(targets) == 1:
        return np.where(targets[0] == 1, predictions[:, 0], 1 - predictions[:, 0])
    shares = predictions / np.maximum(predictions.sum(axis=1, keepdims=True), 1e-300)
    return np.einsum("ltn,tn->ln", shares, targets)
