"""The search of a library for substitutes of nodes: with slope and intercept as matrix products, or as it is.

With scaling, the distance of an entry v to the wanted outputs q is the sum over cases of w (q - a - b v)², with the
best a and b. For all nodes and entries at once it follows from sums of w q v, w v and w v v: three matrix products.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.variation import library_kernels
from symgrove.variation.backpropagation import Wanted
from symgrove.variation.library import Library

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Shares of the sum of squares of what is wanted, and of a product: below, a difference is rounding.
TIE = 1e-9
SMALLEST_VARIANCE = 1e-10
SMALLEST_TOTAL = 1e-20  # of a case of what is wanted, within [-2, 2]: below, it is constant but for rounding
N_SQUARED_AT_A_TIME = 64  # entries
SCALING_SIZE, SCALING_HEIGHT = 4, 2  # of a + b * v, besides v


class Match(NamedTuple):
    """Substitutes: intercept + slope * entry, each (n_nodes,); an entry of -1 stands for the intercept alone."""

    entry: NDArray[np.int64]
    slope: Matrix
    intercept: Matrix


class BranchLimits(NamedTuple):
    """The largest size and height that each substitute may have, (n_nodes,)."""

    size: NDArray[np.int64]
    height: NDArray[np.int64]


class StandardEntries(NamedTuple):
    """A library as the search needs it: outputs are centre + scale * z, with z within [-2, 2]."""

    library: Library
    z: Matrix
    centre: Matrix
    scale: Matrix


def standardized(library: Library) -> StandardEntries:
    """StandardEntries about their means, so that sums of squares do not cancel."""
    scale = np.abs(library.outputs).max(axis=1, initial=0.0)
    z = library.outputs / scale[:, None]
    centre = z.mean(axis=1)
    z -= centre[:, None]
    return StandardEntries(library, z, centre * scale, scale)


def best_scaled(
    entries: StandardEntries,
    query: Matrix,
    weight: Matrix,
    sums: tuple[Matrix, Matrix],
    is_whole: Mask,
    room: BranchLimits,
) -> Match:
    """For each node the best a + b * entry; of entries that are as good but for rounding, the smallest.

    Parameters
    ----------
    entries : StandardEntries
    query, weight : (n_nodes, n_rows)
        What is wanted, and the weight of each case, 0 for those that do not count.
    sums : pair of (n_nodes, n_entries)
        `sums_of` the weights, right where `is_whole`; the others are written anew, in place.
    is_whole : (n_nodes,)
    room : BranchLimits
    """
    q, mean, reach = _centred(query, weight)
    wq = weight * q
    total = np.einsum("ij,ij->i", wq, q)
    cross = product(wq, entries.z.T)
    first, second = sums
    if not is_whole.all():
        first[~is_whole], second[~is_whole] = sums_of(weight[~is_whole], entries)
    n = weight.sum(axis=1)[:, None]
    with np.errstate(all="ignore"):
        variance = second - first**2 / n
        is_varied = variance > SMALLEST_VARIANCE * second
        gain = np.where(is_varied, cross**2 / variance, 0.0)
    library = entries.library
    fits = library.size + SCALING_SIZE <= room.size[:, None]
    fits &= library.height + SCALING_HEIGHT <= room.height[:, None]
    gain[~(fits & np.isfinite(gain))] = 0.0
    most = gain.max(axis=1, initial=0.0)
    entry = np.argmax(gain >= (most - TIE * total)[:, None], axis=1) if gain.shape[1] else np.zeros(n.size, np.int64)
    rows = np.arange(entry.size)
    is_entry = most > TIE * np.maximum(total, SMALLEST_TOTAL * n[:, 0])
    constant = Match(np.full(entry.size, -1), np.zeros(entry.size), mean)
    if not is_entry.any():
        return constant
    with np.errstate(all="ignore"):
        slope = cross[rows, entry] / variance[rows, entry] * reach / entries.scale[entry]
        middle = entries.centre[entry] + entries.scale[entry] * (first[rows, entry] / n[:, 0])
        slope = np.where(np.abs(slope - 1) <= TIE, 1.0, slope)
        intercept = mean - slope * middle
        intercept = np.where(np.abs(intercept) <= TIE * (np.abs(mean) + reach), 0.0, intercept)
    is_entry &= np.isfinite(slope) & np.isfinite(intercept)
    found = Match(entry, slope, intercept)
    return Match(*(np.where(is_entry, a, b) for a, b in zip(found, constant, strict=True)))


def sums_of(weight: Matrix, entries: StandardEntries) -> tuple[Matrix, Matrix]:
    """Weighted sums of standardised entries and of their squares, each (n_weights, n_entries)."""
    second = np.empty((weight.shape[0], entries.z.shape[0]))
    for start in range(0, entries.z.shape[0], N_SQUARED_AT_A_TIME):
        some = slice(start, start + N_SQUARED_AT_A_TIME)
        second[:, some] = product(weight, np.square(entries.z[some]).T)
    return product(weight, entries.z.T), second


def _centred(query: Matrix, weight: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Queries about their weighted means within [-2, 2], the means, and what they were divided by."""
    q = np.where(weight > 0, query, 0.0)
    reach = np.abs(q).max(axis=1)
    reach[reach == 0] = 1.0
    q /= reach[:, None]
    n = weight.sum(axis=1)
    mean = np.einsum("ij,ij->i", weight, q) / n
    q -= mean[:, None]
    q -= (np.einsum("ij,ij->i", weight, q) / n)[:, None]  # what rounding left of the mean
    q[weight == 0] = 0.0
    return q, mean * reach, reach


def nearest(library: Library, wanted: Wanted, weight: Matrix, room: BranchLimits) -> Match:
    """For each node the entry, or the constant among acceptable values, closest to acceptable values of every case.

    The intercept is NaN where no distance is a finite number.
    """
    n_nodes = len(weight)
    entry, constant = np.empty(n_nodes, dtype=np.int64), np.full(n_nodes, np.nan)
    library_kernels.find_nearest(*wanted, weight, library.outputs, library.size, library.height, *room, entry, constant)
    is_entry = entry >= 0
    return Match(entry, np.where(is_entry, 1.0, 0.0), np.where(is_entry, 0.0, constant))
