"""Linear scaling on every bootstrap sample at once.

From the moments of a program, the slope and intercept that minimise the squared error on each sample follow in closed
form (Virgolin 2021, linear scaling; Keijzer 2003). Nothing here touches rows of data: that is `engines/`.

Differences from the reference implementation: it adds 1e-10 to the centred sum of squares, which punishes outputs of
small scale. Here outputs are constant (slope 0) when their spread is at the level of rounding relative to their mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from symgrove.fitness import closed_form_kernels
from symgrove.fitness.moments import Matrix, Moments, Samples


class Scaling(NamedTuple):
    """Slope and intercept for every program and sample, each (n_programs, n_samples)."""

    slope: Matrix
    intercept: Matrix


class Fit(NamedTuple):
    """A scaling with the mean squared error it leaves on each sample; NaN if some output is not finite."""

    scaling: Scaling
    error: Matrix


def fit_linear_scaling(moments: Moments, samples: Samples, dtype: np.dtype[Any]) -> Fit:
    """Least-squares slope and intercept of every program on every sample, and their mean squared errors.

    ``slope = covariance / variance``, ``intercept = mean of y - slope * mean of outputs``, and the error is the part of
    the target's variance that the line does not explain, ``variance of y - slope * covariance``.
    """
    slope, intercept, error = np.empty((3, *moments.first.shape))
    ulp = float(np.finfo(dtype).eps)
    closed_form_kernels.fit_lines(moments, 1.0 / samples.total, *samples.target, ulp, slope, intercept, error)
    return Fit(Scaling(slope, intercept), error)


def no_scaling(moments: Moments, samples: Samples) -> Fit:
    """Slope 1, intercept 0, and the mean squared error of the outputs as they are."""
    error = np.empty(moments.first.shape)
    closed_form_kernels.compare_unscaled(moments, 1.0 / samples.total, *samples.target, error)
    return Fit(identity_scaling(error.shape), error)


def identity_scaling(shape: tuple[int, ...]) -> Scaling:
    """Slope 1 and intercept 0."""
    return Scaling(np.ones(shape), np.zeros(shape))
