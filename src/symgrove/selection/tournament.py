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

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import tournament
    >>> tournament([0.5, 0.1, 0.3], 4, size=20, rng=np.random.default_rng(0)).tolist()
    [1, 1, 1, 1]
    """
    vector = check_errors(errors, ndim=1)
    if size < 1 or n_selected < 0:
        raise ValueError(f"size must be at least 1 and n_selected at least 0, got {size} and {n_selected}.")
    drawn = rng.integers(vector.size, size=(n_selected, size))
    winners = drawn[np.arange(n_selected), np.argmin(vector[drawn], axis=1)]
    return winners.astype(np.int64)


def distinct_tournament(errors: ArrayLike, n_selected: int, size: int, rng: np.random.Generator) -> Indices:
    """Indices of winners of tournaments from which every winner is gone for the others, best chances first.

    Tournaments are held in rounds, as many as places are left: of the winners of a round, each counts once. If there
    are fewer programs than places, all are selected, and ordinary tournaments fill the rest.

    Parameters
    ----------
    errors : array-like of shape (n_programs,)
    n_selected : int
    size : int
        Contestants in each tournament, drawn with replacement from those that have not won.
    rng : numpy.random.Generator
    """
    vector = check_errors(errors, ndim=1)
    left = np.arange(vector.size)
    selected: list[Indices] = []
    n_missing = n_selected
    while n_missing and left.size:
        winners = left[tournament(vector[left], min(n_missing, left.size), size, rng)]
        _, first = np.unique(winners, return_index=True)
        selected.append(winners[np.sort(first)])
        left = np.setdiff1d(left, selected[-1], assume_unique=True)
        n_missing -= selected[-1].size
    if n_missing:
        selected.append(tournament(vector, n_missing, size, rng))
    return np.concatenate(selected) if selected else np.zeros(0, dtype=np.int64)


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
