"""Programs as terms of a sum: centred, scaled, and without those that are useless or equal to another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.rng import stream

Matrix = NDArray[np.float64]
LARGEST_OUTPUT = 1e6
NEARLY_CONSTANT = 1e-5
DIGITS = {"float64": 6, "float32": 5}


class VectorSummary(NamedTuple):
    """What is known of vectors, a number each.

    Attributes
    ----------
    low, high
        Over all rows; one of them is not finite exactly if a value is not.
    mean, spread
        Weighted mean and standard deviation.
    projection
        Product of the distances from the mean with a direction.
    """

    low: Matrix
    high: Matrix
    mean: Matrix
    spread: Matrix
    projection: Matrix


class Terms(NamedTuple):
    """Programs as terms.

    Attributes
    ----------
    root : (n_terms,)
    position : (n_terms,)
        Of each among the programs that were given.
    centre, spread, low, high : (n_terms,)
        Mean and standard deviation of the outputs, and the range of the standardised ones.
    key : (n_terms,)
        Equal for terms that are the same up to sign: the rounded size of their projection on a random direction.
    """

    root: NDArray[np.int64]
    position: NDArray[np.intp]
    centre: Matrix
    spread: Matrix
    low: Matrix
    high: Matrix
    key: Matrix


def make_terms(
    roots: NDArray[np.int64],
    summary: VectorSummary,
    digits: int,
    *,
    keep_all: bool = False,
    nearly_constant: float = NEARLY_CONSTANT,
) -> Terms:
    """Programs as terms; only usable ones are kept, unless all are wanted.

    Programs that are not finite, too large, or of a spread below `nearly_constant` (of one plus the mean) are useless;
    terms are the same if their projections agree to so many digits of one.
    """
    low, high, mean, spread, projection = summary
    with np.errstate(all="ignore"):
        key = np.abs(projection / spread).round(digits)
        kept = np.arange(len(roots))
        if not keep_all:
            is_small = (low >= -LARGEST_OUTPUT) & (high <= LARGEST_OUTPUT)
            kept = np.flatnonzero(is_small & (spread > nearly_constant * (1.0 + np.abs(mean))))
        lowest, highest = ((edge - mean) / spread for edge in (low, high))
    return Terms(roots[kept], kept, mean[kept], spread[kept], lowest[kept], highest[kept], key[kept])


def different(terms: Terms, some: NDArray[np.intp]) -> NDArray[np.intp]:
    """Of some terms those that are not the same as one before."""
    _, first = np.unique(terms.key[some], return_index=True)
    return some[np.sort(first)]


def random_direction(n_rows: int, seed: int) -> NDArray[np.float64]:
    """A fixed direction of unit length to tell terms apart by."""
    direction = stream(seed, "direction").standard_normal(n_rows)
    return direction / np.sqrt(n_rows)
