"""Sums that scoring asks for, of vectors that stay in an engine.

All come from products of vectors with the samples' weights, in float64; vectors are read about their means, so that the
sums rarely cancel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.base import Engine, Handle
from symgrove.engines.scoring import Scores, as_scale, score_all
from symgrove.fitness.losses import Loss
from symgrove.fitness.moments import Centre, Matrix, Moments, Samples
from symgrove.fitness.scaling import Scaling

RESIDUALS_AT_A_TIME = 16  # vectors, or as many as there are samples


@dataclass(frozen=True)
class SampleVectors:
    """Samples as vectors of an engine: what `score_vectors` multiplies with.

    Attributes
    ----------
    samples : Samples
    weights, targets : handles of n_samples vectors
        Weights of each sample, and those times the standardised target.
    rows : handle of two vectors
        All ones, and the target.
    """

    samples: Samples
    weights: Handle
    targets: Handle
    rows: Handle

    def __len__(self) -> int:
        return self.samples.total.size

    @classmethod
    def of(cls, engine: Engine, samples: Samples) -> SampleVectors:
        """Bring samples that the engine has prepared to where its vectors are."""
        y, (_, _, centre, scale) = engine.target, samples.target
        weights = engine.put(samples.weights)
        targets = engine.put(samples.weights.astype(np.float64) * ((y - centre) / scale))
        return cls(samples, weights, targets, engine.put(np.stack([np.ones(y.size), y])))


def n_vectors_of(n_samples: int) -> int:
    """Vectors over all rows that scoring takes at most: those of the samples, and residuals."""
    return 2 * n_samples + 2 + max(RESIDUALS_AT_A_TIME, n_samples)


def score_vectors(engine: Engine, vectors: Handle, own: SampleVectors, loss: Loss) -> Scores:
    """Squared errors of vectors on every sample, with slopes and intercepts; +inf where a value is not finite."""
    return score_all(_Vectors(engine, vectors, own), own.samples, loss)


@dataclass(frozen=True)
class _Vectors:
    """Vectors as scoring sees them."""

    engine: Engine
    vectors: Handle
    own: SampleVectors

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    def __len__(self) -> int:
        return len(self.vectors)

    def moments(self, samples: Samples, *, expect_more: bool) -> Moments:
        n_rows = self.engine.n_rows
        seen = self.engine.summaries(self.vectors, np.ones(n_rows), np.zeros(n_rows))
        with np.errstate(all="ignore"):
            reach = np.maximum(seen.high - seen.mean, seen.mean - seen.low)
        is_finite = np.isfinite(reach)
        shift, scale = np.where(is_finite, seen.mean, 0.0), as_scale(reach)
        usable = np.flatnonzero(is_finite)  # products of the others would be NaN, and slow
        sums = np.full((3, len(self), len(self.own)), np.nan)
        if usable.size:
            z = self.vectors[usable].standardized(shift[usable], scale[usable])
            sums[0, usable] = self.engine.products(self.own.weights, z)[0].T
            sums[1, usable] = self.engine.products(self.own.targets, z)[0].T
            sums[2, usable] = self.engine.squares(z, self.own.weights).T
        return Moments(Centre(shift[:, None], scale[:, None]), reach, *sums)

    def exact_moments(
        self, rows: NDArray[np.intp], samples: Samples, centre: Centre, wanted: NDArray[np.bool_]
    ) -> Moments:
        n_samples = len(self.own)
        # A view of each vector for each sample, about the sample's own centre.
        shift, scale = np.where(wanted, centre.shift, 0.0), np.where(wanted, centre.scale, 1.0)
        z = self.vectors[np.repeat(rows, n_samples)].standardized(shift.ravel(), scale.ravel())
        views = np.where(wanted, np.arange(wanted.size).reshape(wanted.shape), -1).T
        itself = np.arange(n_samples)[:, None]
        first = self.engine.products(self.own.weights, z, None, itself, views)[:, 0].T
        cross = self.engine.products(self.own.targets, z, None, itself, views)[:, 0].T
        second = self.engine.squares(z, self.own.weights, views).T
        first, cross, second = (np.ascontiguousarray(sums) for sums in (first, cross, second))
        with np.errstate(all="ignore"):
            reach = scale * np.sqrt(second / samples.total)
        return Moments(centre, reach, first, cross, second)

    def errors(self, rows: NDArray[np.intp], scaling: Scaling, samples: Samples, loss: Loss) -> Matrix:
        n_samples = len(self.own)
        sums = np.empty((rows.size, n_samples))
        n_at_once = max(1, RESIDUALS_AT_A_TIME // n_samples)
        for start in range(0, rows.size, n_at_once):
            some = slice(start, min(start + n_at_once, rows.size))
            own = np.repeat(rows[some], n_samples)
            slope, intercept = scaling.slope[some].ravel(), scaling.intercept[some].ravel()
            coefficients = np.stack([slope, intercept, np.full(own.size, -1.0)], axis=1)
            index = np.stack([own, np.full(own.size, len(self)), np.full(own.size, len(self) + 1)], axis=1)
            residuals = self.engine.combine(coefficients, self.vectors + self.own.rows, index)
            of_sample = np.arange(own.size).reshape(-1, n_samples).T
            sums[some] = self.engine.squares(residuals, self.own.weights, of_sample).T
        return sums
