"""An ensemble: scaled programs, one for each bootstrap sample, and what members of equal programs have in common.

Every sample contributes a program with its own slope and intercept. Programs that several samples chose are stored and
evaluated once, and the mean of their predictions is that of one member with averaged coefficients (Virgolin 2021,
pruning): exact, up to rounding, also with weights. Medians, interquartile means, votes and the spread still use the
coefficients of every sample.

Predictions are made in double precision, whatever programs were evolved in, so that a model means the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.dataset import Dataset, features_by_column
from symgrove.engines.registry import make_engine
from symgrove.fitness.losses import THRESHOLD
from symgrove.forest.forest import Forest
from symgrove.models.row_blocks import row_blocks, rows_at_a_time
from symgrove.models.standardization import Standardization

Float = NDArray[np.floating]
# From members' scaled outputs and a threshold to what they contribute: `votes_of` or `clipped`.
Head = Callable[[NDArray[np.float64], float], NDArray[np.float64]]


class Pooled(NamedTuple):
    """Sums over the samples that chose a program, each (n_programs,): slopes, intercepts and weights."""

    slope: NDArray[np.float64]
    intercept: NDArray[np.float64]
    weight: NDArray[np.float64]


NAMED_KINDS = ("dimension", "distance")


class NamedNode(NamedTuple):
    """A node of a forest that is shown under a name: a "dimension" and its number, or the "distance" from a class and
    its place."""

    kind: str
    place: int
    node: int


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
    aggregation : "mean", "median", "interquartile" or "weighted"
        How the members' predictions are combined; of classes, "mean" or "weighted". Members that are not finite on a
        row do not count there; in an interquartile mean, and in a weighted vote, they count as the fallback.
    threshold : float
        Members vote for class 1 where their scaled output is above it.
    weights : float64 array (n_samples,) or None
        Of the members in a weighted mean, from 0 to 1, which the largest is; None where they count the same.
    named : tuple of NamedNode
        Parts of the programs that have a name.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import Forest, parse
    >>> from symgrove import extending as ex
    >>> forest = Forest(1)
    >>> roots = np.array([parse(forest, "x0 + 1"), parse(forest, "x0 * x0")])
    >>> ensemble = ex.make_ensemble(forest, roots, np.ones(2), np.zeros(2), 0.0, ex.no_standardization(1))
    >>> ensemble.predict(np.array([[3.0]])).tolist()  # the mean of 4 and 9
    [6.5]
    """

    forest: Forest
    programs: NDArray[np.int64]
    program_of: NDArray[np.int64]
    slope: NDArray[np.float64]
    intercept: NDArray[np.float64]
    fallback: float
    standardization: Standardization
    aggregation: str = "mean"
    threshold: float = THRESHOLD
    weights: NDArray[np.float64] | None = None
    named: tuple[NamedNode, ...] = ()

    @property
    def n_samples(self) -> int:
        """Number of members before equal programs are merged."""
        return self.program_of.size

    @property
    def is_mean(self) -> bool:
        """Whether members of equal programs may be merged: coefficients of one member then say the same."""
        return self.aggregation in ("mean", "weighted")

    @property
    def shares(self) -> NDArray[np.float64]:
        """How much each sample's member counts, (n_samples,): 1, or its weight."""
        return np.ones(self.n_samples) if self.weights is None else self.weights

    def pooled(self) -> Pooled:
        """Coefficients and weights of equal programs, added."""
        shares, n = self.shares, self.programs.size
        own = shares * self.slope, shares * self.intercept, shares
        return Pooled(*(np.bincount(self.program_of, values, n).astype(np.float64, copy=False) for values in own))

    def outputs(self, X: Float, n_threads: int = 1) -> Iterator[tuple[slice, Float]]:
        """Row ranges of X with the outputs of the distinct programs on them, (n_programs, n_rows of the range)."""
        for rows in row_blocks(len(X), rows_at_a_time(max(self.n_samples, X.shape[1]))):
            columns = features_by_column(X[rows], np.dtype(np.float64), self.standardization.apply)
            data = Dataset(columns, np.zeros(columns.shape[1]))
            with make_engine(data, self.forest.primitives, n_threads) as engine:
                outputs = engine.outputs(self.forest, self.programs)
            yield rows, outputs

    def member_predictions(self, outputs: Float) -> NDArray[np.float64]:
        """Scaled outputs of every sample's member, (n_samples, n_rows), from outputs of the distinct programs."""
        members = outputs[self.program_of].astype(np.float64, copy=False)
        with np.errstate(all="ignore"):
            members *= self.slope[:, None]
            members += self.intercept[:, None]
        return members

    def predict(self, X: Float, n_threads: int = 1) -> NDArray[np.float64]:
        """What the members say together."""
        prediction = np.empty(len(X))
        for rows, outputs in self.outputs(X, n_threads):
            prediction[rows] = self._combine(outputs)
        return prediction

    def _combine(self, outputs: Float) -> NDArray[np.float64]:
        if self.is_mean:
            return self._mean(outputs)
        members = stand_in(self.aggregation, self.member_predictions(outputs), self.fallback)
        return COMBINE[self.aggregation](members, self.fallback, None)

    def _mean(self, outputs: Float) -> NDArray[np.float64]:
        """Mean of the members from outputs of the distinct programs: coefficients of equal programs are added first."""
        slope, intercept, weight = self.pooled()
        is_finite = np.isfinite(outputs)
        with np.errstate(all="ignore"):
            values = np.where(is_finite, outputs, 0).astype(np.float64, copy=False)
            if is_finite.all():
                mean = (product(slope, values) + intercept.sum()) / self.shares.sum()
            else:
                counted = is_finite.astype(np.float64)
                mean = (product(slope, values) + product(intercept, counted)) / product(weight, counted)
        return np.where(np.isfinite(mean), mean, self.fallback)

    def predict_with_spread(self, X: Float, n_threads: int = 1) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Prediction, and standard deviation of the members' predictions, on every row."""
        prediction, spread = np.empty((2, len(X)))
        for rows, outputs in self.outputs(X, n_threads):
            prediction[rows] = self._combine(outputs)
            members = self.member_predictions(outputs)
            spread[rows] = spread_of_finite(members, self.fallback, 0.0)
        return prediction, spread

    def all_members(self, X: Float, n_threads: int = 1) -> NDArray[np.float64]:
        """Predictions of every sample's member, (n_samples, n_rows).

        Where one is not finite, it is what it counts as in an interquartile mean, or what all say together.
        """
        found = np.empty((self.n_samples, len(X)))
        for rows, outputs in self.outputs(X, n_threads):
            members = stand_in(self.aggregation, self.member_predictions(outputs), self.fallback)
            found[:, rows] = np.where(np.isfinite(members), members, self._combine(outputs))
        return found

    def all_shares(self, X: Float, head: Head, n_threads: int = 1) -> NDArray[np.float64]:
        """Votes or clipped outputs of every sample's member, (n_samples, n_rows); not finite ones are the fallback."""
        found = np.empty((self.n_samples, len(X)))
        for rows, outputs in self.outputs(X, n_threads):
            said = head(self.member_predictions(outputs), self.threshold)
            found[:, rows] = np.nan_to_num(said, nan=self.fallback, copy=False)
        return found

    def vote_share(self, X: Float, n_threads: int = 1) -> NDArray[np.float64]:
        """Share of the votes for class 1: of members whose scaled output is above the threshold."""
        return self._mean_of(votes_of, X, n_threads)

    def mean_clipped(self, X: Float, n_threads: int = 1) -> NDArray[np.float64]:
        """Mean of the members' scaled outputs, each clipped to [0, 1]."""
        return self._mean_of(clipped, X, n_threads)

    def _mean_of(self, head: Head, X: Float, n_threads: int) -> NDArray[np.float64]:
        mean = np.empty(len(X))
        for rows, outputs in self.outputs(X, n_threads):
            mean[rows] = self.mean_said(head(self.member_predictions(outputs), self.threshold))
        return mean

    def mean_said(self, said: NDArray[np.float64]) -> NDArray[np.float64]:
        """What members' votes or clipped outputs, (n_samples, n_rows), say together."""
        return mean_said(said, self.fallback, self.weights)


def votes_of(members: NDArray[np.float64], threshold: float = THRESHOLD) -> NDArray[np.float64]:
    """1 where a member's scaled output is above the threshold, else 0; NaN where it is not finite."""
    return np.where(np.isfinite(members), (members > threshold).astype(np.float64), np.nan)


def clipped(members: NDArray[np.float64], threshold: float = THRESHOLD) -> NDArray[np.float64]:
    """Scaled outputs within [0, 1], shifted so that the threshold is one half; NaN where one is not finite."""
    shifted = members if threshold == THRESHOLD else members - (threshold - THRESHOLD)
    return np.where(np.isfinite(members), np.clip(shifted, 0.0, 1.0), np.nan)


def mean_of_finite(members: NDArray[np.float64], fallback: float) -> NDArray[np.float64]:
    """Mean over the members that are finite on a row, the one rule for all heads; `fallback` where none is."""
    is_finite = np.isfinite(members)
    n_finite = is_finite.sum(axis=0)
    with np.errstate(all="ignore"):
        mean = np.where(is_finite, members, 0.0).sum(axis=0) / n_finite
    return np.where((n_finite > 0) & np.isfinite(mean), mean, fallback)


def mean_said(said: NDArray[np.float64], fallback: float, weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Mean of votes or clipped outputs: of the finite ones, or weighted, with the fallback for those that are not.

    Weighted votes are added one after the other, as exports and evolutions add them: the same bits decide everywhere.
    """
    if weights is None:
        return mean_of_finite(said, fallback)
    total = np.zeros(said.shape[1])
    for share, own in zip(shares_of(weights).tolist(), said, strict=True):
        total += share * np.where(np.isfinite(own), own, fallback)
    return total


def shares_of(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights over their sum, (..., n_members), which zeros at the end do not change by a bit."""
    return np.asarray(weights / np.cumsum(weights, axis=-1)[..., -1:])


def spread_of_finite(members: NDArray[np.float64], centre: float, fallback: float) -> NDArray[np.float64]:
    """Standard deviation over the members that are finite on a row; `centre`, `fallback` where none is.

    The members are overwritten.
    """
    with np.errstate(all="ignore"):
        members -= mean_of_finite(members, centre)
        np.square(members, out=members)
        return np.sqrt(mean_of_finite(members, fallback))


def median_of_finite(members: NDArray[np.float64], fallback: float) -> NDArray[np.float64]:
    """Median over the members that are finite on a row; `fallback` where none is."""
    is_finite = np.isfinite(members)
    n_finite = is_finite.sum(axis=0)
    ordered = np.where(is_finite, members, np.inf)
    ordered.sort(axis=0)
    columns = np.arange(members.shape[1])
    low, high = (ordered[np.maximum(k, 0), columns] for k in ((n_finite - 1) // 2, n_finite // 2 - (n_finite == 0)))
    with np.errstate(all="ignore"):
        return np.where(n_finite > 0, 0.5 * low + 0.5 * high, fallback)


def interquartile_of_finite(members: NDArray[np.float64], fallback: float) -> NDArray[np.float64]:
    """Mean of the n finite members on a row without the n // 4 lowest and highest; `fallback` where there is none."""
    is_finite = np.isfinite(members)
    n_finite = is_finite.sum(axis=0)
    ordered = np.where(is_finite, members, np.inf)
    ordered.sort(axis=0)
    n_outer, place = n_finite // 4, np.arange(len(members))[:, None]
    is_inside = (place >= n_outer) & (place < n_finite - n_outer)
    with np.errstate(all="ignore"):
        mean = np.where(is_inside, ordered, 0.0).sum(axis=0) / (n_finite - 2 * n_outer)
    return np.where(np.isfinite(mean), mean, fallback)


def weighted_mean_of_finite(
    members: NDArray[np.float64], fallback: float, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Weighted mean over the members that are finite on a row; `fallback` where these have no weight."""
    is_finite = np.isfinite(members)
    with np.errstate(all="ignore"):
        mean = product(weights, np.where(is_finite, members, 0.0)) / product(weights, is_finite.astype(np.float64))
    return np.where(np.isfinite(mean), mean, fallback)


def stand_in(aggregation: str, members: NDArray[np.float64], fallback: float) -> NDArray[np.float64]:
    """Members as they are combined: where one is not finite, an interquartile mean has the fallback in its place."""
    return np.where(np.isfinite(members), members, fallback) if aggregation == "interquartile" else members


def _weighted(
    members: NDArray[np.float64], fallback: float, weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    assert weights is not None
    return weighted_mean_of_finite(members, fallback, weights)


Combine = Callable[[NDArray[np.float64], float, NDArray[np.float64] | None], NDArray[np.float64]]
# How members' predictions are combined, by name: from members, the fallback, and weights if there are any.
COMBINE: dict[str, Combine] = {
    "mean": lambda members, fallback, _: mean_of_finite(members, fallback),
    "median": lambda members, fallback, _: median_of_finite(members, fallback),
    "interquartile": lambda members, fallback, _: interquartile_of_finite(members, fallback),
    "weighted": _weighted,
}


def weights_for(aggregation: str, errors: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Weights of members for a weighted mean, one over their errors; None for other ways to combine.

    With errors of zero (or below: a loss of the user's), only their members count; infinite errors have no weight. The
    largest weight is one.
    """
    if aggregation != "weighted":
        return None
    lowest = errors.min()
    if not np.isfinite(lowest):  # no member is usable, and all predict the same
        return np.ones(errors.size)
    if lowest <= 0:
        return (errors <= 0).astype(np.float64)
    return np.asarray(lowest / errors)


def join_ensembles(ensembles: Sequence[Ensemble], errors: NDArray[np.float64]) -> Ensemble:
    """All members in one ensemble, with the errors of all of them."""
    first = ensembles[0]
    forest = Forest(first.forest.n_features, first.forest.primitives)
    roots = [forest.copy_from(e.forest, e.programs[e.program_of]) for e in ensembles]
    return make_ensemble(
        forest,
        np.concatenate(roots),
        np.concatenate([e.slope for e in ensembles]),
        np.concatenate([e.intercept for e in ensembles]),
        first.fallback,
        first.standardization,
        first.aggregation,
        first.threshold,
        weights_for(first.aggregation, errors),
    )


def with_names(ensemble: Ensemble, forest: Forest, named: Sequence[NamedNode]) -> Ensemble:
    """The ensemble, parts of its programs named as in the forest that these came from."""
    nodes = ensemble.forest.copy_from(forest, [each.node for each in named]).tolist()
    return replace(ensemble, named=tuple(each._replace(node=node) for each, node in zip(named, nodes, strict=True)))


def make_ensemble(
    forest: Forest,
    roots: NDArray[np.int64],
    slope: NDArray[np.float64],
    intercept: NDArray[np.float64],
    fallback: float,
    standardization: Standardization,
    aggregation: str = "mean",
    threshold: float = THRESHOLD,
    weights: NDArray[np.float64] | None = None,
) -> Ensemble:
    """An ensemble of one root for each sample, with a forest of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import Forest, parse
    >>> from symgrove import extending as ex
    >>> forest = Forest(1)
    >>> roots = np.array([parse(forest, "x0 + 1"), parse(forest, "x0 * x0")])
    >>> ensemble = ex.make_ensemble(forest, roots, np.ones(2), np.zeros(2), 0.0, ex.no_standardization(1))
    >>> ensemble.n_samples
    2
    """
    own = Forest(forest.n_features, forest.primitives)
    distinct, program_of = np.unique(roots, return_inverse=True)
    programs = own.copy_from(forest, distinct)
    members = program_of.ravel(), slope, intercept
    return Ensemble(own, programs, *members, fallback, standardization, aggregation, threshold, weights)
