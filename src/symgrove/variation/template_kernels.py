"""Kernels of fixed templates: from genes to programs, and trials of other genes in some positions.

Positions of a template are numbered in prefix order. A gene is a symbol: a function, a feature, or a constant. Where a
function has fewer operands than there are places below it, or a terminal has places below it, those are introns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._jit import kernel, subroutine
from symgrove.forest.intern_kernels import intern

INACTIVE = -1


class Layout(NamedTuple):
    """Positions of the operands of each position, (n_positions, 2); -1 where the template ends."""

    operands: NDArray[np.int32]


class Alphabet(NamedTuple):
    """What symbols mean: code, arity, index of a feature (else -1) and value of a constant (else 0) of each."""

    code: NDArray[np.int32]
    arity: NDArray[np.int32]
    feature: NDArray[np.int32]
    value: NDArray[np.float64]


class Sets(NamedTuple):
    """Sets of positions: set s is `positions[offsets[s] : offsets[s + 1]]`."""

    positions: NDArray[np.int32]
    offsets: NDArray[np.int64]


class Individuals(NamedTuple):
    """Genes, and ids of the nodes at active positions, -1 at introns; both (n_individuals, n_positions)."""

    genes: NDArray[np.int32]
    ids: NDArray[np.int32]


class Scratch(NamedTuple):
    """For one individual: positions that wait, those that were visited, and which genes have changed."""

    waiting: NDArray[np.int32]
    visited: NDArray[np.int32]
    is_changed: NDArray[np.bool_]


@subroutine
def express(columns, layout, alphabet, genes, old_ids, scratch, ids):
    """Intern the active part of an individual; only what is not as in `old_ids` is looked up. Returns the root."""
    for position in range(ids.size):
        ids[position] = INACTIVE
    scratch.waiting[0] = 0
    n_waiting = 1
    n_visited = 0
    while n_waiting > 0:
        n_waiting -= 1
        position = scratch.waiting[n_waiting]
        scratch.visited[n_visited] = position
        n_visited += 1
        for k in range(alphabet.arity[genes[position]]):
            scratch.waiting[n_waiting] = layout.operands[position, k]
            n_waiting += 1
    for v in range(n_visited - 1, -1, -1):
        position = scratch.visited[v]
        symbol = genes[position]
        is_old = old_ids[position] != INACTIVE and not scratch.is_changed[position]
        left = alphabet.feature[symbol]
        right = -1
        if alphabet.arity[symbol] > 0:
            place = layout.operands[position, 0]
            left = ids[place]
            is_old = is_old and left == old_ids[place]
        if alphabet.arity[symbol] > 1:
            place = layout.operands[position, 1]
            right = ids[place]
            is_old = is_old and right == old_ids[place]
        if is_old:
            ids[position] = old_ids[position]
        else:
            ids[position] = intern(columns, alphabet.code[symbol], left, right, alphabet.value[symbol])
    return ids[0]


@kernel
def express_all(columns, layout, alphabet, individuals, scratch, out):
    """Intern all individuals, from the first on; `out` are their roots. The caller has reserved room."""
    nothing = np.full(layout.operands.shape[0], INACTIVE, dtype=np.int32)
    scratch.is_changed[:] = False
    for i in range(out.size):
        out[i] = express(columns, layout, alphabet, individuals.genes[i], nothing, scratch, individuals.ids[i])


@kernel
def try_sets(columns, layout, alphabet, current, chosen, donors, donor_of, sets, set_of, scratch, trials, out):
    """Give chosen individuals the genes of donors at the positions of a set, on trial.

    Trial k is of individual `chosen[k]` with row `donor_of[k]` of the donors and set `set_of[k]`; `out` is its root. If
    no active gene changes, the change is made at once and `out` is -1.
    """
    for k in range(chosen.size):
        i = chosen[k]
        donor = donor_of[k]
        first = sets.offsets[set_of[k]]
        last = sets.offsets[set_of[k] + 1]
        is_visible = False
        for q in range(first, last):
            position = sets.positions[q]
            if donors[donor, position] != current.genes[i, position] and current.ids[i, position] != INACTIVE:
                is_visible = True
                break
        out[k] = -1
        if not is_visible:
            for q in range(first, last):
                position = sets.positions[q]
                current.genes[i, position] = donors[donor, position]
            continue
        for position in range(scratch.is_changed.size):
            trials.genes[k, position] = current.genes[i, position]
            scratch.is_changed[position] = False
        for q in range(first, last):
            position = sets.positions[q]
            scratch.is_changed[position] = trials.genes[k, position] != donors[donor, position]
            trials.genes[k, position] = donors[donor, position]
        out[k] = express(columns, layout, alphabet, trials.genes[k], current.ids[i], scratch, trials.ids[k])


@kernel
def accept(current, chosen, trials, is_accepted):
    """Make accepted trials the individuals they are of."""
    for k in range(chosen.size):
        if is_accepted[k]:
            current.genes[chosen[k]] = trials.genes[k]
            current.ids[chosen[k]] = trials.ids[k]


@kernel
def renumber(ids, new_of):
    """Ids after a collection of the forest."""
    for i in range(ids.shape[0]):
        for position in range(ids.shape[1]):
            if ids[i, position] != INACTIVE:
                ids[i, position] = new_of[ids[i, position]]
