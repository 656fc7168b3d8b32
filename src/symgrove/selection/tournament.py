"""Tournaments: draw a few programs with replacement, keep the best; as often as programs are wanted."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from symgrove._checks import check_whole
from symgrove.selection.truncation import Indices, check_errors, share_slots


def tournament(errors: ArrayLike, n_selected: int, size: int, rng: np.random.Generator) -> Indices:
    """Indices of the winners of `n_selected` independent tournaments; of equal contestants the first drawn wins.

    Parameters
    ----------
    errors : array-like of shape (n_programs,)
    n_selected : int
    size : int
        Contestants in each tournament, drawn with replacement.
    rng : numpy.random.Generator
    """
    vector = check_errors(errors, ndim=1)
    if size < 1 or n_selected < 0:
        raise ValueError(f"size must be at least 1 and n_selected at least 0, got {size} and {n_selected}.")
    drawn = rng.integers(vector.size, size=(n_selected, size))
    winners = drawn[np.arange(n_selected), np.argmin(vector[drawn], axis=1)]
    return winners.astype(np.int64)


def partitioned_tournament(errors: ArrayLike, n_selected: int, size: int, rng: np.random.Generator) -> Indices:
    """For every sample, the winners of tournaments on its error, `n_selected` in all; places are shared as usual.

    Parameters
    ----------
    errors : array-like of shape (n_programs, n_samples)
    n_selected : int
    size : int
        Contestants in each tournament, drawn with replacement from all programs.
    rng : numpy.random.Generator
    """
    matrix = check_errors(errors, ndim=2)
    check_whole("size", size, 1)
    slots = share_slots(n_selected, matrix.shape[1], rng)
    sample_of = np.repeat(np.arange(slots.size), slots)
    drawn = rng.integers(len(matrix), size=(n_selected, size))
    winners = drawn[np.arange(n_selected), np.argmin(matrix[drawn, sample_of[:, None]], axis=1)]
    return winners.astype(np.int64)
