"""Moments: the additive sums from which fitness on every sample follows.

For a program with outputs o, centre c and scale s, let z = (o - c) / s; the target is standardised once to t. The sums
over rows of w*z, w*z*t and w*z*z, for every sample's weights w, are all that linear scaling and the squared error need.
They add over row blocks, threads and shards, as long as all use the same centre and scale.

Sums about a poor centre cancel. `is_doubtful` finds the programs this happened to; the engine sums those again about
each sample's own mean, in float64.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.fitness import closed_form_kernels

Matrix = NDArray[np.float64]

# Below the first share of the second moment, a variance from raw sums has lost too many digits; below the second
# number, squares may have underflowed.
_DIGITS = {"float64": (1e-3, 1e-280), "float32": (5e-2, 1e-30)}


class Target(NamedTuple):
    """Mean and variance of the standardised target t = (y - centre) / scale on each sample, (n_samples,)."""

    mean: Matrix
    variance: Matrix
    centre: float
    scale: float


class Samples(NamedTuple):
    """Bootstrap samples as an engine has prepared them.

    Weights are counts times sample weights. They are made when they are needed, for a range of rows: counts take an
    eighth of their memory.

    Attributes
    ----------
    counts : (n_samples, n_rows)
        Of the smallest type that holds them; or `SpreadCounts`, which has a shape and no rows.
    row_weight : (n_rows,) or None
        Sample weights in the engine's dtype, the largest 1.
    dtype : numpy.dtype
        The engine's.
    total : (n_samples,)
        Sum of the weights of each sample.
    target : Target
        The target on each sample.
    """

    counts: Any
    row_weight: NDArray[np.floating] | None
    dtype: np.dtype[Any]
    total: Matrix
    target: Target

    @property
    def weights(self) -> NDArray[np.floating]:
        """All weights, (n_samples, n_rows): for few rows."""
        return self.of_rows(slice(None))

    def of_rows(
        self, rows: slice, samples: Any = slice(None), out: NDArray[np.floating] | None = None
    ) -> NDArray[np.floating]:
        """Weights on a range of rows, (n_samples, n_rows of the range), of all samples or some; (n_rows,) of one."""
        found: NDArray[np.floating]
        if out is None:
            found = self.counts[samples, rows].astype(self.dtype)
        else:
            found = out
            found[:] = self.counts[samples, rows]
        if self.row_weight is not None:
            found *= self.row_weight[rows]
        return found


class Centre(NamedTuple):
    """What outputs are shifted and scaled by; both (n_programs, 1) or (n_programs, n_samples), contiguous."""

    shift: Matrix
    scale: Matrix


class Moments(NamedTuple):
    """Sums over rows for every program and sample, each contiguous of shape (n_programs, n_samples).

    `reach` is the largest |o - shift|: over all rows, (n_programs,), or about given centres over the rows of each
    sample, (n_programs, n_samples). It is not finite if some output is not, or if the difference overflows.
    """

    centre: Centre
    reach: Matrix
    first: Matrix
    cross: Matrix
    second: Matrix


def is_doubtful(moments: Moments, samples: Samples, dtype: np.dtype[Any]) -> NDArray[np.bool_]:
    """Which programs lost too many digits: sums overflowed, underflowed or cancelled, or the target's did.

    Programs with outputs that are not finite are beyond repair, and programs whose outputs are all equal need none.
    """
    tolerance, smallest = _DIGITS[dtype.name]
    is_far = samples.target.mean**2 * tolerance > samples.target.variance
    out = np.empty(moments.reach.size, dtype=np.bool_)
    closed_form_kernels.find_doubtful(
        moments.first, moments.second, 1.0 / samples.total, moments.reach, is_far, tolerance, smallest, out
    )
    return out


def sample_means(moments: Moments, samples: Samples) -> Matrix:
    """Mean output of every program on every sample, in the units of the outputs."""
    return moments.centre.shift + moments.centre.scale * (moments.first / samples.total)


def replace_rows(moments: Moments, rows: NDArray[np.intp], other: Moments) -> Moments:
    """Moments with some programs' sums taken from `other`, whose centres are per sample."""
    shape = moments.first.shape
    merged = [
        np.array(np.broadcast_to(array, shape))
        for array in (*moments.centre, moments.first, moments.cross, moments.second)
    ]
    for array, replacement in zip(merged, (*other.centre, other.first, other.cross, other.second), strict=True):
        array[rows] = replacement
    shift, scale, first, cross, second = merged
    return Moments(Centre(shift, scale), moments.reach, first, cross, second)
