"""Lists of trees: crossover, mutation and leaving out, against plain lists."""

import numpy as np
import pytest

from symgrove.variation.tree_lists import ADD, REMOVE, REPLACE, TreeLists, cross, joined, mutate, without_each

MOST = 5


def as_lists(rows):
    """Lists of trees from plain lists of ids; a tree's sample and error tell it apart as well."""
    root, sample = np.full((2, len(rows), MOST), -1)
    error = np.full((len(rows), MOST), np.inf)
    for i, row in enumerate(rows):
        root[i, : len(row)], sample[i, : len(row)], error[i, : len(row)] = row, np.array(row) % 7, np.array(row) / 100
    return TreeLists(root, sample, error)


def as_rows(lists):
    """Plain lists of ids, if what belongs to a tree has stayed with it and lists end where they should."""
    rows = [[int(tree) for tree in row if tree >= 0] for row in lists.root]
    for found, wanted in zip(lists, as_lists(rows), strict=True):
        np.testing.assert_array_equal(found, wanted)
    return rows


def random_rows(rng, n):
    return [rng.integers(100, size=rng.integers(1, MOST + 1)).tolist() for _ in range(n)]


def test_a_child_has_the_trees_of_both_parents_that_the_coins_choose():
    rng = np.random.default_rng(0)
    mothers, fathers, coins = random_rows(rng, 200), random_rows(rng, 200), rng.random((200, 2 * MOST)) < 0.5
    wanted = []
    for mother, father, own in zip(mothers, fathers, coins, strict=True):
        kept = [tree for tree, coin in zip(mother, own[: len(mother)], strict=True) if coin]
        kept += [tree for tree, coin in zip(father, own[MOST : MOST + len(father)], strict=True) if coin]
        wanted.append(kept[:MOST] or mother)
    assert as_rows(cross(as_lists(mothers), as_lists(fathers), coins)) == wanted
    assert any(len(row) == MOST for row in wanted)
    assert as_rows(cross(as_lists([[1, 2]]), as_lists([[3]]), np.zeros((1, 2 * MOST), dtype=bool))) == [[1, 2]]


@pytest.mark.parametrize("kind", [ADD, REMOVE, REPLACE])
def test_a_tree_is_added_removed_or_replaced(kind):
    rng = np.random.default_rng(1)
    rows, donors, places = random_rows(rng, 100), rng.integers(100, size=100).tolist(), rng.random(100)
    donor_lists = TreeLists(*(column[:, :1] for column in as_lists([[donor] for donor in donors])))
    found = as_rows(mutate(as_lists(rows), donor_lists, np.full(100, kind), places))
    for row, donor, place, child in zip(rows, donors, places, found, strict=True):
        at = int(place * len(row))
        if kind == ADD and len(row) < MOST:
            assert child == [*row, donor]
        elif kind == REMOVE and len(row) > 1:
            assert child == row[:at] + row[at + 1 :]
        else:
            assert child == [*row[:at], donor, *row[at + 1 :]]


def test_each_tree_is_left_out_once():
    assert as_rows(without_each(as_lists([[4, 8, 15]]))) == [[8, 15], [4, 15], [4, 8]]
    assert as_rows(joined(as_lists([[1]]), as_lists([[2, 3], [4]]))) == [[1], [2, 3], [4]]
    assert as_lists([[1], [2, 3]]).length.tolist() == [1, 2]
