"""An ensemble: scaled programs, one for each bootstrap sample, and what members of equal programs have in common.

Every sample contributes a program with its own slope and intercept. Programs that several samples chose are stored and
evaluated once, and the mean of their predictions is that of one member with averaged coefficients (Virgolin 2021,
pruning): exact, up to rounding. Votes and the spread still use the coefficients of every sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove.dataset import make_dataset
from symgrove.engines.cpu import CpuEngine
from symgrove.fitness.losses import THRESHOLD
from symgrove.forest.forest import Forest
from symgrove.models.standardization import Standardization

Float = NDArray[np.floating]
ROWS_AT_A_TIME = 1 << 16


@dataclass(frozen=True)
class Ensemble:
    """Programs with a linear scaling for each bootstrap sample.

    Attributes
    ----------
    forest : Forest
        Holds the members' programs and nothing else.
    programs : int64 array (n_programs,)
        Distinct roots.
    program_of : int64 array (n_samples,)
        Which of the programs each sample chose.
    slope, intercept : float64 arrays (n_samples,)
    fallback : float
        Prediction where no member's output is finite: the mean of the training target.
    standardization : Standardization
    dtype : numpy.dtype
        What programs are evaluated in.
    """

    forest: Forest
    programs: NDArray[np.int64]
    program_of: NDArray[np.int64]
    slope: NDArray[np.float64]
    intercept: NDArray[np.float64]
    fallback: float
    standardization: Standardization
    dtype: np.dtype[Any]

    @property
    def n_samples(self) -> int:
        """Number of members before equal programs are merged."""
        return self.program_of.size

    def outputs(self, X: Float, n_threads: int = 1) -> Iterator[tuple[slice, Float]]:
        """Row ranges of X with the outputs of the distinct programs on them, (n_programs, n_rows of the range)."""
        for start in range(0, len(X), ROWS_AT_A_TIME):
            rows = slice(start, min(start + ROWS_AT_A_TIME, len(X)))
            with np.errstate(over="ignore"):
                Z = self.standardization.apply(X[rows]).astype(self.dtype)
            data = make_dataset(Z, np.zeros(len(Z)), self.dtype)
            with CpuEngine(data, self.forest.primitives, n_threads) as engine:
                yield rows, engine.outputs(self.forest, self.programs)

    def member_predictions(self, outputs: Float) -> NDArray[np.float64]:
        """Scaled outputs of every sample's member, (n_samples, n_rows), from outputs of the distinct programs."""
        with np.errstate(all="ignore"):
            return self.intercept[:, None] + self.slope[:, None] * outputs[self.program_of].astype(np.float64)

    def predict(self, X: Float, n_threads: int = 1) -> NDArray[np.float64]:
        """Mean of the members; members whose output is not finite on a row do not count there."""
        n_programs = self.programs.size
        multiplicity = np.bincount(self.program_of, minlength=n_programs)
        slope = np.bincount(self.program_of, self.slope, n_programs) / self.n_samples
        intercept = np.bincount(self.program_of, self.intercept, n_programs) / self.n_samples
        prediction = np.empty(len(X))
        for rows, outputs in self.outputs(X, n_threads):
            is_finite = np.isfinite(outputs)
            values = np.where(is_finite, outputs, 0).astype(np.float64, copy=False)
            prediction[rows] = slope @ values + intercept.sum()
            for i in np.flatnonzero(~is_finite.all(axis=0) | ~np.isfinite(prediction[rows])):
                kept = is_finite[:, i]
                n_kept = multiplicity[kept].sum()
                total = slope[kept] @ values[kept, i] + intercept[kept].sum()
                is_usable = n_kept > 0 and np.isfinite(total)
                prediction[rows.start + i] = total * self.n_samples / n_kept if is_usable else self.fallback
        return prediction

    def predict_with_spread(self, X: Float, n_threads: int = 1) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of the members' predictions on every row."""
        mean, spread = self.predict(X, n_threads), np.empty(len(X))
        for rows, outputs in self.outputs(X, n_threads):
            members = self.member_predictions(outputs)
            is_finite = np.isfinite(members)
            n_finite = np.maximum(is_finite.sum(axis=0), 1)
            with np.errstate(over="ignore"):
                members = np.where(is_finite, members, 0.0)
                centred = np.where(is_finite, members - members.sum(axis=0) / n_finite, 0.0)
                spread[rows] = np.sqrt((centred**2).sum(axis=0) / n_finite)
        return mean, spread

    def vote_share(self, X: Float, n_threads: int = 1) -> NDArray[np.float64]:
        """Share of the members that vote for class 1: whose scaled output is above one half."""
        share = np.empty(len(X))
        for rows, outputs in self.outputs(X, n_threads):
            share[rows] = (self.member_predictions(outputs) > THRESHOLD).mean(axis=0)
        return share

    def mean_clipped(self, X: Float, n_threads: int = 1) -> NDArray[np.float64]:
        """Mean of the members' scaled outputs, each clipped to [0, 1]; one half where an output is not a number."""
        mean = np.empty(len(X))
        for rows, outputs in self.outputs(X, n_threads):
            members = np.clip(self.member_predictions(outputs), 0.0, 1.0)
            mean[rows] = np.where(np.isnan(members), THRESHOLD, members).mean(axis=0)
        return mean


def make_ensemble(
    forest: Forest,
    roots: NDArray[np.int64],
    slope: NDArray[np.float64],
    intercept: NDArray[np.float64],
    fallback: float,
    standardization: Standardization,
    dtype: np.dtype[Any],
) -> Ensemble:
    """An ensemble of one root for each sample, with a forest of its own."""
    own = Forest(forest.n_features, forest.primitives)
    distinct, program_of = np.unique(roots, return_inverse=True)
    programs = own.copy_from(forest, distinct)
    return Ensemble(own, programs, program_of.ravel(), slope, intercept, fallback, standardization, dtype)
