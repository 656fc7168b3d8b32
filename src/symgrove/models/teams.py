"""Teams: sums of terms, one for each bootstrap sample, over one list of shared terms.

    term     = a program's output, centred and scaled as on the training rows
    team     = intercept + coefficients · terms
    ensemble = the interquartile mean, or the mean, of the teams

Against extrapolation, three things are kept within what training rows showed: features, terms, and teams' predictions
(`clip`). Without the clips and with the mean, the ensemble is one sum over the shared terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.dataset import Dataset, features_by_column
from symgrove.engines.registry import make_engine
from symgrove.forest.forest import Forest
from symgrove.models import prediction_kernels
from symgrove.models.row_blocks import row_blocks, rows_at_a_time
from symgrove.models.standardization import Standardization

Matrix = NDArray[np.float64]
# Terms are many, and what a block of rows costs in itself grows with them: it has so many rows, if its values are not
# fewer than the first number or more than the second; always a multiple of N_ROWS.
ROWS_AT_A_TIME = 4096
VALUES_AT_A_TIME = 1 << 20, 1 << 22
N_ROWS = 512
LARGEST_LOG_ODDS = 15.0
# What teams were fitted by; logistic is the one of classes.
TEAM_LOSSES = "squared", "absolute", "huber", "quantile", "poisson", "logistic"

# What values of terms depend on.
TERM_FIELDS = "forest", "programs", "centre", "spread", "standardization", "features", "terms"


class Range(NamedTuple):
    """Lowest and highest, of numbers or of arrays."""

    low: Any
    high: Any

    def clip(self, values: Matrix) -> Matrix:
        """Values within the range."""
        return np.clip(values, self.low, self.high)


@dataclass(frozen=True)
class Teams:
    """One ensemble of teams.

    Attributes
    ----------
    forest : Forest
        Holds the programs of the terms and nothing else.
    programs : (n_terms,)
    centre, spread : (n_terms,)
        Of the programs' outputs on the training rows.
    coefficients : (n_teams, n_terms)
        Zero where a team does not have a term.
    intercept : (n_teams,)
    target_of : (n_teams,)
        With several targets, the one that a team predicts.
    standardization : Standardization
        Of the features.
    features, terms, predictions : Range or None
        What training rows showed of standardised features, of terms, and of the target, or of its logarithm with the
        Poisson loss, as numbers, or (n_targets,) of several; None: no clips.
    aggregation : "interquartile" or "mean"
    loss : str
        What teams were fitted by, one of TEAM_LOSSES. Sums are log odds if it is logistic, and logarithms of means if
        it is poisson.
    errors : (n_teams,)
        Mean loss of each team on its sample; with the logistic loss, minus the logarithm of the probability of the
        label, with the Poisson loss the deviance.
    """

    forest: Forest
    programs: NDArray[np.int64]
    centre: Matrix
    spread: Matrix
    coefficients: Matrix
    intercept: Matrix
    target_of: NDArray[np.intp]
    standardization: Standardization
    features: Range | None
    terms: Range | None
    predictions: Range | None
    aggregation: str
    loss: str
    errors: Matrix

    def shares_terms_with(self, other: Teams) -> bool:
        """Whether values of the terms are those of the other, and need not be computed again."""
        return all(getattr(self, name) is getattr(other, name) for name in TERM_FIELDS)

    def reads_rows_as(self, other: Teams) -> bool:
        """Whether programs get the same features of the same rows."""
        ours, theirs = ((*t.standardization, *(t.features or ())) for t in (self, other))
        return len(ours) == len(theirs) and all(map(np.array_equal, ours, theirs))

    def scaling(self) -> Matrix:
        """Centre, one over the spread, and limits of the terms, (4, n_terms)."""
        limits = self.terms or Range(-np.inf, np.inf)
        return np.stack(np.broadcast_arrays(self.centre, 1.0 / self.spread, *limits))

    @property
    def is_logistic(self) -> bool:
        """Whether teams' sums are log odds."""
        return self.loss == "logistic"

    @property
    def has_log_link(self) -> bool:
        """Whether teams' sums are logarithms."""
        return self.loss == "poisson"

    @property
    def n_teams(self) -> int:
        """Teams of all targets."""
        return len(self.coefficients)

    def term_values(self, X: NDArray[Any], n_threads: int = 1) -> Iterator[tuple[slice, Matrix]]:
        """Row ranges of X with the values of all terms on them, (n_terms, n_rows of the range)."""
        least, most = (rows_at_a_time(self.programs.size, n_values, N_ROWS) for n_values in VALUES_AT_A_TIME)
        n_at_once = max(least, min(ROWS_AT_A_TIME, most))
        for rows in row_blocks(len(X), n_at_once):
            columns = features_by_column(X[rows], np.dtype(np.float64), self.as_in_training)
            data = Dataset(columns, np.zeros(columns.shape[1]))
            with make_engine(data, self.forest.primitives, n_threads) as engine:
                values: Matrix = engine.outputs(self.forest, self.programs).astype(np.float64, copy=False)
            with np.errstate(all="ignore"):
                values -= self.centre[:, None]
                values /= self.spread[:, None]
            if self.terms is not None:
                np.clip(values, self.terms.low[:, None], self.terms.high[:, None], out=values)
            values[~np.isfinite(values)] = 0.0  # no opinion
            yield rows, values

    def as_in_training(self, X: NDArray[Any]) -> Matrix:
        """Standardised features, within what training rows showed, and finite."""
        with np.errstate(over="ignore"):
            Z = self.standardization.apply(X)
        if self.features is not None:
            Z = self.features.clip(Z)
        largest = np.finfo(np.float64).max
        return np.clip(Z, -largest, largest)

    def team_predictions(self, values: Matrix) -> Matrix:
        """Predictions of the teams, (n_teams, n_rows), from values of the terms: probabilities or means."""
        with np.errstate(all="ignore"):
            sums = product(self.coefficients, values)
        return self.headed(sums)

    def headed(self, sums: Matrix) -> Matrix:
        """Predictions of the teams from sums over their terms, which are overwritten."""
        with np.errstate(all="ignore"):
            sums += self.intercept[:, None]
        if self.is_logistic:
            return 1.0 / (1.0 + np.exp(-np.clip(sums, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)))
        if self.predictions is not None:
            low, high = (v if np.ndim(v) == 0 else v[self.target_of][:, None] for v in self.predictions)
            sums = np.clip(sums, low, high)
        return np.exp(sums) if self.has_log_link else sums

    def limits_of(self, target: int) -> Range | None:
        """What a target's sums are kept within."""
        if self.predictions is None:
            return None
        return Range(*(float(np.atleast_1d(v)[target if np.ndim(v) else 0]) for v in self.predictions))

    def combine(self, members: Matrix) -> Matrix:
        """What the teams of each target say together, (n_targets, n_rows)."""
        return np.stack([self._combine(members[self.target_of == k]) for k in range(int(self.target_of.max()) + 1)])

    def _combine(self, members: Matrix) -> Matrix:
        n_outer = len(members) // 4 if self.aggregation == "interquartile" else 0
        if not n_outer:
            return members.mean(axis=0)
        means = np.empty(members.shape[1])
        prediction_kernels.trimmed_means(np.ascontiguousarray(members), n_outer, *sorting_network(len(members)), means)
        return means

    def predict(self, X: NDArray[Any], n_threads: int = 1) -> Matrix:
        """Predictions of every target, (n_targets, n_rows)."""
        prediction = np.empty((int(self.target_of.max()) + 1, len(X)))
        for rows, values in self.term_values(X, n_threads):
            prediction[:, rows] = self.combine(self.team_predictions(values))
        return prediction

    def all_members(self, X: NDArray[Any], n_threads: int = 1, target: int = 0) -> Matrix:
        """Predictions of every team of a target, (n_teams, n_rows)."""
        is_own = self.target_of == target
        found = np.empty((int(is_own.sum()), len(X)))
        for rows, values in self.term_values(X, n_threads):
            found[:, rows] = self.team_predictions(values)[is_own]
        return found


@cache
def sorting_network(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs to compare and exchange so that n values are in order: Batcher's odd-even merging (Knuth, 5.2.2M)."""
    first = []
    second = []
    top = 1 << max(n - 1, 0).bit_length() - 1 if n > 1 else 0
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while d > 0:
            own = [i for i in range(n - d) if i & p == r]
            first += own
            second += [i + d for i in own]
            d, q, r = q - p, q >> 1, p
        p >>= 1
    return np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)
