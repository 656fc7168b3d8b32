"""What members say about rows that their own bootstrap sample did not draw.

Optimistic: samples share one population, so a row shapes programs also through the samples that did draw it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.registry import engine_of
from symgrove.fitness.block_bootstrap import SpreadCounts
from symgrove.models.ensemble import COMBINE, Ensemble, spread_of_finite, votes_of
from symgrove.models.row_blocks import in_order


class OutOfBag(NamedTuple):
    """What members say about rows that their samples left out.

    Prediction on every row, and standard deviation of the members that made it; NaN where every sample drew the row.
    Losses of every sample's member, and weights of the rows that it left out, summed.
    """

    prediction: NDArray[np.float64]
    spread: NDArray[np.float64]
    losses: NDArray[np.float64]
    weights: NDArray[np.float64]

    @property
    def error(self) -> NDArray[np.float64]:
        """Of every sample's member; NaN if it left no rows out."""
        return self.losses / np.where(self.weights > 0, self.weights, np.nan)


class RowsLeftOut(NamedTuple):
    """Which training rows members left out, a bit for each, and where these rows are in what the user gave."""

    packed: list[NDArray[np.uint8]]
    rows: NDArray[np.intp]

    def masks(self) -> list[NDArray[np.bool_]]:
        """For each target, the rows that each member left out, (n_members, n_rows)."""
        return [np.unpackbits(bits, axis=1, count=self.rows.size).astype(bool) for bits in self.packed]


def pack_samples(outside: Sequence[NDArray[np.bool_]], rows: NDArray[np.intp]) -> RowsLeftOut:
    """Undo `Samples.masks`."""
    return RowsLeftOut([np.packbits(mask, axis=1) for mask in outside], rows)


def joined_outside(parts: Sequence[Any]) -> Any:
    """Rows that members left out, (n_members, n_rows) or `SpreadCounts`, of the members of all parts."""
    return reduce(SpreadCounts.joined, parts) if isinstance(parts[0], SpreadCounts) else np.concatenate(parts)


def predict_out_of_bag(
    ensemble: Ensemble,
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    outside: NDArray[np.bool_],
    weight: NDArray[np.float64] | None,
    head: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None,
    row_loss: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]] | None = None,
    n_threads: int = 1,
) -> OutOfBag:
    """What the members that did not train on a row say together, after the head.

    The head is None for regression, else votes or clipping; `outside` tells which rows each member did not train on,
    (n_members, n_rows). A member's error is the mean of `row_loss`, of squares by default, or the share of its votes
    that are wrong.
    """
    prediction, spread = np.empty((2, len(X)))
    losses, weights = np.zeros((2, ensemble.n_samples))

    def judged(given: tuple[slice, Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        rows, outputs = given
        members = ensemble.member_predictions(outputs)
        members[~(outside[:, rows] & np.isfinite(members))] = np.nan
        said = members.copy() if head is None else head(members)
        prediction[rows] = COMBINE[ensemble.aggregation](said, np.nan, ensemble.weights)
        spread[rows] = spread_of_finite(said, np.nan, np.nan)
        del said, outputs
        with np.errstate(all="ignore"):
            if head is not None:
                loss = np.abs(votes_of(members, ensemble.threshold) - y[rows])
            else:
                loss = (members - y[rows]) ** 2 if row_loss is None else row_loss(y[rows], members)
        is_known = np.isfinite(loss)
        w = np.where(is_known, 1.0 if weight is None else weight[rows], 0.0)
        weight_sums = w.sum(axis=1)
        w *= np.where(is_known, loss, 0.0)
        return weight_sums, w.sum(axis=1)

    blocks = ensemble.outputs(X, n_threads)
    is_elsewhere = engine_of(n_threads, len(X)) is not None  # then the memory of the host is not counted so closely
    each = in_order(judged, blocks, int(n_threads)) if is_elsewhere else map(judged, blocks)
    for weight_sums, loss_sums in each:
        weights += weight_sums
        losses += loss_sums
    return OutOfBag(prediction, spread, losses, weights)
