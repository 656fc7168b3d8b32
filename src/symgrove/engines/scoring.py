"""From programs to the errors matrix: the way every method goes.

Moments, a second look for the few programs whose sums cancelled, scaling and error in closed form, and a second pass
over rows where the loss is not in the moments or where the closed form has lost its digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.base import Engine, Roots
from symgrove.fitness.losses import Loss, RowLoss, mask_unusable
from symgrove.fitness.moments import Centre, Matrix, Moments, Samples, is_doubtful, replace_rows, sample_means
from symgrove.fitness.scaling import Fit, Scaling, fit_linear_scaling, identity_scaling, no_scaling
from symgrove.forest.forest import Forest, as_roots

# Below this share of the target's variance, an error from moments has lost too many digits.
NEARLY_PERFECT = {"float64": 1e-6, "float32": 1e-3}


class Scores(NamedTuple):
    """Errors of every program on every sample (lower is better, +inf if unusable), with the scaling behind them."""

    errors: Matrix
    scaling: Scaling


def score(
    engine: Engine, forest: Forest, roots: Roots, samples: Samples, loss: Loss, *, expect_more: bool = False
) -> Scores:
    """Errors, slopes and intercepts of programs on every sample; programs that repeat are evaluated once.

    `expect_more` hints that the outputs of these programs will be asked for again.
    """
    roots = as_roots(forest, roots)
    if (roots[1:] > roots[:-1]).all():
        return _score_distinct(engine, forest, roots, samples, loss, expect_more=expect_more)
    distinct, position = np.unique(roots, return_inverse=True)
    errors, scaling = _score_distinct(engine, forest, distinct, samples, loss, expect_more=expect_more)
    return Scores(errors[position], Scaling(scaling.slope[position], scaling.intercept[position]))


def _score_distinct(
    engine: Engine, forest: Forest, roots: Roots, samples: Samples, loss: Loss, *, expect_more: bool
) -> Scores:
    needs_second_pass = loss.row_loss is not RowLoss.SQUARED
    if needs_second_pass and not loss.linear_scaling:
        scaling = identity_scaling((roots.size, samples.total.size))
        return _sum_over_rows(engine, forest, roots, samples, scaling, loss)
    moments = settled_moments(engine, forest, roots, samples, expect_more=needs_second_pass or expect_more)
    fit = fit_linear_scaling(moments, samples, engine.dtype) if loss.linear_scaling else no_scaling(moments, samples)
    if needs_second_pass:
        return _sum_over_rows(engine, forest, roots, samples, fit.scaling, loss)
    errors = _refine(engine, forest, roots, samples, fit)
    return Scores(mask_unusable(errors, fit.scaling), fit.scaling)


def settled_moments(
    engine: Engine, forest: Forest, roots: Roots, samples: Samples, *, expect_more: bool = False
) -> Moments:
    """Moments of all programs, summed again about each sample's mean for those that need it."""
    moments = engine.moments(forest, roots, samples, expect_more=expect_more)
    rows = np.flatnonzero(is_doubtful(moments, samples, engine.dtype))
    if rows.size == 0:
        return moments
    wanted = np.ones((rows.size, samples.total.size), dtype=np.bool_)
    return replace_rows(moments, rows, _look_again(engine, forest, roots[rows], samples, moments, rows, wanted))


def _look_again(
    engine: Engine,
    forest: Forest,
    roots: Roots,
    samples: Samples,
    moments: Moments,
    rows: NDArray[np.intp],
    wanted: NDArray[np.bool_],
) -> Moments:
    """Sums of the wanted pairs about each sample's own mean, in float64, scaled by what the sample's rows reach."""
    shape = wanted.shape
    shift = np.array(np.broadcast_to(moments.centre.shift[rows], shape))
    scale = np.array(np.broadcast_to(_positive(moments.reach[rows])[:, None], shape))
    rough = engine.exact_moments(forest, roots, samples, Centre(shift, scale), wanted)
    means = sample_means(rough, samples)
    centre = Centre(np.where(wanted, means, np.nan), _positive(rough.reach))
    return engine.exact_moments(forest, roots, samples, centre, wanted & np.isfinite(means))


def _positive(reach: Matrix) -> Matrix:
    """Reaches as scales: where all outputs are equal, any scale does."""
    return np.where((reach > 0) & np.isfinite(reach), reach, 1.0)


def fit_pairs(engine: Engine, forest: Forest, roots: Roots, samples: Samples, wanted: NDArray[np.bool_]) -> Scaling:
    """Two-pass linear scaling in float64 of the wanted pairs of distinct programs and samples; the others are NaN."""
    moments = engine.moments(forest, roots, samples, expect_more=True)
    exact = _look_again(engine, forest, roots, samples, moments, np.arange(roots.size), wanted)
    slope, intercept = fit_linear_scaling(exact._replace(reach=moments.reach), samples, engine.dtype).scaling
    return Scaling(np.where(wanted, slope, np.nan), np.where(wanted, intercept, np.nan))


def _sum_over_rows(
    engine: Engine, forest: Forest, roots: Roots, samples: Samples, scaling: Scaling, loss: Loss
) -> Scores:
    sums = engine.errors(forest, roots, scaling, samples, loss.row_loss, loss.threshold)
    return Scores(mask_unusable(sums / samples.total, scaling), scaling)


def _refine(engine: Engine, forest: Forest, roots: Roots, samples: Samples, fit: Fit) -> NDArray[np.float64]:
    """Squared errors, from residuals for programs that fit almost perfectly."""
    with np.errstate(over="ignore"):
        variance = np.float64(samples.target.scale) ** 2 * samples.target.variance
    is_near = (fit.error < NEARLY_PERFECT[engine.dtype.name] * variance).any(axis=1)
    rows = np.flatnonzero(is_near & np.isfinite(fit.scaling.slope).all(axis=1))
    if rows.size == 0:
        return fit.error
    errors = fit.error.copy()
    own = Scaling(fit.scaling.slope[rows], fit.scaling.intercept[rows])
    sums = engine.errors(forest, roots[rows], own, samples, RowLoss.SQUARED)
    errors[rows] = sums / samples.total
    return errors


def row_errors(
    engine: Engine, forest: Forest, roots: Roots, samples: Samples, loss: Loss, rows: NDArray[np.intp]
) -> Matrix:
    """Errors of programs on single rows, (n_programs, n_rows), with the scaling of the first of the samples.

    The programs are evaluated again on these rows alone, which costs little if they are few.
    """
    errors, scaling = score(engine, forest, roots, samples, loss)
    distinct, position = np.unique(roots, return_inverse=True)
    outputs = engine.outputs(forest, distinct, rows)[position.ravel()].astype(np.float64)
    with np.errstate(all="ignore"):
        scaled = scaling.intercept[:, :1] + scaling.slope[:, :1] * outputs
    losses = loss.of_rows(engine.target[rows], scaled)
    is_usable = np.isfinite(losses) & np.isfinite(errors[:, :1])
    return np.where(is_usable, losses, np.inf)
