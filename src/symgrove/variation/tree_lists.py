"""Crossover and mutation of lists of trees: what a forest of eGP is.

Crossover gives a child some of the trees of both parents, as a swap of random subsets does. Mutation adds a tree,
removes one or replaces one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Ids

ADD, REMOVE, REPLACE = range(3)


class TreeLists(NamedTuple):
    """Lists of trees, a row each, from left to right: (n_lists, most_trees).

    Attributes
    ----------
    root : int64
        Ids of programs; -1 where a list has ended.
    sample : int64
        What each tree was trained on; -1 where a list has ended.
    error : float64
        Of each tree on its sample; +inf where a list has ended.
    """

    root: Ids
    sample: NDArray[np.int64]
    error: NDArray[np.float64]

    @property
    def length(self) -> NDArray[np.intp]:
        """Trees of each list."""
        return np.count_nonzero(self.root >= 0, axis=1)

    def rows(self, index: NDArray[np.integer] | slice) -> TreeLists:
        """Some of the lists."""
        return TreeLists(self.root[index], self.sample[index], self.error[index])

    def chosen(self, is_kept: NDArray[np.bool_], most: int) -> TreeLists:
        """The trees that are kept, in order, at most so many of each list."""
        order = np.argsort(~is_kept, axis=1, kind="stable")[:, :most]
        root, sample, error = (np.take_along_axis(column, order, axis=1) for column in self)
        is_there = np.take_along_axis(is_kept, order, axis=1)
        return TreeLists(
            np.where(is_there, root, -1), np.where(is_there, sample, -1), np.where(is_there, error, np.inf)
        )


def joined(first: TreeLists, second: TreeLists) -> TreeLists:
    """The lists of both, one below the other."""
    return TreeLists(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))


def cross(mothers: TreeLists, fathers: TreeLists, coins: NDArray[np.bool_]) -> TreeLists:
    """A child of each pair, of the trees of both for which a coin, (n_pairs, 2 * most_trees), shows heads.

    A child without trees is its mother; one with too many loses the last.
    """
    both = TreeLists(*(np.concatenate(pair, axis=1) for pair in zip(mothers, fathers, strict=True)))
    most = mothers.root.shape[1]
    is_kept = (both.root >= 0) & coins
    is_empty = ~is_kept.any(axis=1)
    is_kept[is_empty, :most] = mothers.root[is_empty] >= 0
    return both.chosen(is_kept, most)


def mutate(lists: TreeLists, donors: TreeLists, kind: NDArray[np.integer], place: NDArray[np.float64]) -> TreeLists:
    """Each list with a tree of the donors, (n_lists, 1), added or in place of another, or without one of its own.

    `kind` is one of `ADD`, `REMOVE`, `REPLACE`; a full list cannot grow and one tree cannot go: then it is replaced.
    `place` in [0, 1) says which tree changes.
    """
    length, most = lists.length, lists.root.shape[1]
    is_added = (kind == ADD) & (length < most)
    is_removed = (kind == REMOVE) & (length > 1)
    at = np.where(is_added, length, (place * length).astype(np.intp))[:, None]
    is_at = np.arange(most) == at
    is_kept = (np.arange(most) < (length + is_added)[:, None]) & ~(is_at & is_removed[:, None])
    put = is_at & ~is_removed[:, None]
    changed = TreeLists(*(np.where(put, new, old) for new, old in zip(donors, lists, strict=True)))
    return changed.chosen(is_kept, most)


def without_each(lists: TreeLists) -> TreeLists:
    """Of one list: the lists that lack its first, second, ... tree."""
    n_trees, most = int(lists.length[0]), lists.root.shape[1]
    is_kept = ~np.eye(n_trees, most, dtype=np.bool_) & (lists.root >= 0)
    return lists.rows(np.zeros(n_trees, dtype=np.intp)).chosen(is_kept, most)
