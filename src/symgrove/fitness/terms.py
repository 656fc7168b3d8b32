"""Outputs of programs as terms of a sum: centred, scaled, and without those that are useless or equal to another."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.fitness import term_kernels
from symgrove.rng import stream

LARGEST_OUTPUT = 1e6
NEARLY_CONSTANT = 1e-5
DIGITS = {"float64": 6, "float32": 5}


class Terms(NamedTuple):
    """Programs as terms.

    Attributes
    ----------
    root : (n_terms,)
    values : (n_terms, n_rows)
        Standardised outputs on the training rows.
    centre, spread, low, high : (n_terms,)
        Mean and standard deviation of the outputs, and the range of the standardised ones.
    key : (n_terms,)
        Equal for terms that are the same up to sign: the rounded length of their projection on a random direction.
    """

    root: NDArray[np.int64]
    values: NDArray[Any]
    centre: NDArray[np.float64]
    spread: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    key: NDArray[np.float64]


def make_terms(
    roots: NDArray[np.int64],
    outputs: NDArray[Any],
    weight: NDArray[np.float64],
    direction: NDArray[np.float64],
    *,
    keep_all: bool = False,
    nearly_constant: float = NEARLY_CONSTANT,
    digits: int | None = None,
) -> Terms:
    """Standardise outputs, which are overwritten; only usable and different terms are kept, unless all are wanted.

    Programs of a spread below `nearly_constant` are useless; terms are the same if their projections on the direction
    agree to so many digits of one.
    """
    found = np.zeros((len(roots), 5))
    limits = np.array([LARGEST_OUTPUT, nearly_constant])
    digits = DIGITS[outputs.dtype.name] if digits is None else digits
    term_kernels.standardize(outputs, weight, direction, limits, found)
    key = np.round(np.abs(found[:, 4]), digits).astype(np.float64)
    kept = np.arange(len(roots))
    if not keep_all:
        usable = np.flatnonzero(found[:, 1] > 0)
        _, first = np.unique(key[usable], return_index=True)
        kept = usable[np.sort(first)]
        outputs = outputs[kept]
    centre, spread, low, high = found[kept, :4].T
    return Terms(roots[kept], outputs, centre, spread, low, high, key[kept])


def random_direction(n_rows: int, seed: int) -> NDArray[np.float64]:
    """A fixed direction of unit length to tell terms apart by."""
    direction = stream(seed, "direction").standard_normal(n_rows)
    return direction / np.sqrt(n_rows)
