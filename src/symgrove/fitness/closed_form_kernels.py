"""Kernels of the closed forms: a few operations for every program and sample, fused into one pass.

In units of z and t (see `moments.py`). `share` is one over the total weight of each sample: a product is cheaper than a
division, and there are three for every program and sample.
"""

from __future__ import annotations

import numpy as np

from symgrove._jit import kernel

# A spread of fewer than so many units in the last place of the mean is rounding, not signal.
CONSTANT_ULPS = 16.0


@kernel
def find_doubtful(first, second, share, reach, is_far, tolerance, smallest, out):
    """Whether a program's sums cancelled, overflowed or underflowed on some sample.

    Cancelled: a variance below `tolerance` of the second moment, or a sample whose target `is_far` from the centre.
    """
    n_programs, n_samples = first.shape
    for p in range(n_programs):
        has_digits = True
        for j in range(n_samples):
            mean = first[p, j] * share[j]
            raw = second[p, j] * share[j]
            # Written so that NaN fails.
            is_good = raw - mean * mean >= tolerance * raw and smallest < raw < np.inf
            has_digits = has_digits and is_good and not is_far[j]
        out[p] = 0 < reach[p] < np.inf and not has_digits


@kernel
def fit_lines(moments, share, target_mean, target_variance, target_centre, target_scale, ulp, slope, intercept, out):
    """Least-squares slope and intercept, and the mean squared error that they leave, `out` last."""
    n_programs, n_samples = moments.first.shape
    n_centres = moments.centre.shift.shape[1]
    for p in range(n_programs):
        is_finite = moments.reach[p] < np.inf
        for j in range(n_samples):
            scale = moments.centre.scale[p, j % n_centres]
            mean = moments.first[p, j] * share[j]
            variance = max(moments.second[p, j] * share[j] - mean * mean, 0.0)
            covariance = moments.cross[p, j] * share[j] - mean * target_mean[j]
            output_mean = moments.centre.shift[p, j % n_centres] + scale * mean
            y_mean = target_centre + target_scale * target_mean[j]
            threshold = CONSTANT_ULPS * ulp * output_mean / scale
            slope_z = 0.0
            slope[p, j] = 0.0
            intercept[p, j] = y_mean
            if variance > threshold * threshold:
                slope_z = covariance / variance
                slope[p, j] = slope_z * (target_scale / scale)
                intercept[p, j] = y_mean - slope[p, j] * output_mean
            left = max(target_variance[j] - slope_z * covariance, 0.0)
            out[p, j] = target_scale * target_scale * left if is_finite else np.nan


@kernel
def compare_unscaled(moments, share, target_mean, target_variance, target_centre, target_scale, out):
    """Mean squared error of outputs as they are; in units of the target, so that only the error itself may overflow."""
    n_programs, n_samples = moments.first.shape
    n_centres = moments.centre.shift.shape[1]
    for p in range(n_programs):
        is_finite = moments.reach[p] < np.inf
        for j in range(n_samples):
            scale = moments.centre.scale[p, j % n_centres] / target_scale
            mean = moments.first[p, j] * share[j]
            variance = max(moments.second[p, j] * share[j] - mean * mean, 0.0)
            covariance = moments.cross[p, j] * share[j] - mean * target_mean[j]
            shift = (moments.centre.shift[p, j % n_centres] - target_centre) / target_scale
            bias = shift + scale * mean - target_mean[j]
            spread = scale * scale * variance + target_variance[j] - 2.0 * scale * covariance
            error = target_scale * target_scale * (bias * bias + max(spread, 0.0))
            out[p, j] = error if is_finite else np.nan
