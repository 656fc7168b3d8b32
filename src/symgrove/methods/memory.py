"""What a fit takes of its memory budget besides the vectors and buffers of engines.

The budget is the peak of a call beyond what it was given and what it returns or keeps. Copies of the data, samples,
masks and results are counted here, before any work; engines share the rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from symgrove.methods.problem import Problem, Rows
from symgrove.methods.spread_rows import SpreadRows
from symgrove.models.row_blocks import FEWEST_ROWS, rows_at_a_time
from symgrove.models.seen_rows import MOST_ROWS

NUMBER = 8  # bytes of a float64
# Arrays of a block of rows, and vectors over all rows, that are alive at the same time; of vectors: while an engine
# prepares samples, and for each target while rows that members left out are predicted and scored.
N_BLOCK_ARRAYS = 8
N_PREPARING = 4
N_SCORING = 8
N_MARKING = 3  # copies of a row while it is marked as seen
# Rows of a panel that the buffers of an engine's thread must have room for: for one program, and for each sample. An
# engine has room for four such buffers, in a quarter of its budget and in five sevenths of what is not reserved.
N_BUFFERS = 34
N_BUFFERS_OF_SAMPLE = 3
SHARES_OF_BUFFERS = 4 / 0.25, 4 / (5 / 7)
SHARE_OF_SPREAD_ROWS = 0.5  # of the budget, for rows that workers keep
# Rows elsewhere on which single programs are looked at. The squared error of an ensemble on the 3,700 of them that a
# sample leaves out is known to some 2 %; with more, more numbers would come here for every program and generation. Of
# the budget they may take what rows that workers keep, and buffers, leave.
MOST_LOOKED_AT = 10_000
SHARE_OF_LOOKED_AT = 0.15


class Footprint(NamedTuple):
    """How a method of programs uses memory.

    Attributes
    ----------
    n_samples : int
        Samples that it has prepared at the same time, for each target.
    n_masks : int
        Masks of rows left out, for each target.
    n_members : int
        Members of an ensemble, at most.
    own_share, n_own : float or None, int
        Of an engine's budget, and in vectors over all rows: what the method takes for results of its own, at most the
        smaller of both. None: so many vectors, whatever the budget.
    fixed : int
        Bytes for each target, however many rows there are.
    advice : str
        Which parameter to lower where there is no room.
    n_scratch : int
        Results that the widest program needs at the same time, beyond those of an ordinary one.
    n_looked_at : int
        Of rows elsewhere: vectors over those that are looked at one by one, of one target after the other.
    """

    n_samples: int
    n_masks: int
    n_members: int
    own_share: float | None = 0.0
    n_own: int = 0
    fixed: int = 0
    advice: str = "n_estimators"
    n_scratch: int = 0
    n_looked_at: int = 0


class Needs(NamedTuple):
    """Bytes.

    Attributes
    ----------
    evolving : int
        While programs evolve, besides the vectors and buffers of engines.
    least : int
        With the smallest buffers, and before and after that.
    of_a_row : int
        Of rows elsewhere: what workers hold of each while they are asked.
    """

    evolving: int
    least: int
    of_a_row: int = 0


def copied_bytes(all_rows: Rows, problem: Problem, given: tuple[Any, ...]) -> int:
    """Bytes of all rows, and of those of a problem, which may be others, that are not the user's own arrays."""
    parts = [rows for rows in (all_rows, problem.training, problem.held_out, problem.kept_out) if rows is not None]
    own = [array for array in given if isinstance(array, np.ndarray)]
    arrays = {id(array): array for rows in parts for array in rows if array is not None}
    return sum(array.nbytes for array in arrays.values() if not any(np.may_share_memory(array, other) for other in own))


def row_bytes(rows: Rows | None, itemsize: int) -> int:
    """Bytes of the features of some rows, laid out for an engine, and of its own copies of the targets."""
    if rows is None:
        return 0
    n_rows, n_features = rows.X.shape
    in_dtype = itemsize if itemsize < NUMBER else 0
    return n_rows * (n_features * itemsize + len(rows.targets) * (NUMBER + in_dtype))


def spread_needs(rows: SpreadRows, dtype: str, budget: int, own: Footprint) -> Needs:
    """What a fit of programs needs of all workers together, where rows are elsewhere.

    Blocks that stay have up to half of the budget. There must be room for one, with buffers.
    """
    itemsize, n_targets = np.dtype(dtype).itemsize, rows.n_targets
    of_target = 2 * NUMBER + (itemsize if itemsize < NUMBER else 0) + own.n_samples  # as given, and scaled
    of_a_row = itemsize * (rows.n_features + 1) + n_targets * of_target
    n_largest = int(rows.sizes.max())
    block = n_largest * (of_a_row + N_PREPARING * NUMBER) + n_targets * own.fixed
    in_budget, in_rest = (int(share * n_targets * _buffers(n_largest, itemsize, own)) for share in SHARES_OF_BUFFERS)
    kept = min(rows.n_rows * of_a_row, int(SHARE_OF_SPREAD_ROWS * budget))
    n_seen = rows_looked_at(rows.n_rows, own.n_looked_at, budget // n_targets)
    looked_at = NUMBER * own.n_looked_at * n_seen
    return Needs(kept + looked_at + n_targets * own.fixed, max(block + in_rest, in_budget), of_a_row)


def rows_looked_at(n_rows: int, n_vectors: int, budget: int) -> int:
    """How many rows elsewhere are looked at with so many vectors, within the budget of a target."""
    n_with_room = int(SHARE_OF_LOOKED_AT * budget / (NUMBER * max(n_vectors, 1)))
    return max(1, min(n_rows, MOST_LOOKED_AT, n_with_room))


def _buffers(n_rows: int, itemsize: int, own: Footprint) -> int:
    """Bytes of the smallest buffers for one target."""
    n_vectors = N_BUFFERS + own.n_scratch + N_BUFFERS_OF_SAMPLE * own.n_samples
    return itemsize * min(n_rows, FEWEST_ROWS) * n_vectors


def program_needs(problem: Problem, dtype: str, budget: int, own: Footprint) -> Needs:
    """What a fit of programs needs."""
    rows: Any = problem.training  # here or elsewhere
    itemsize = np.dtype(dtype).itemsize
    if isinstance(rows, SpreadRows):
        return spread_needs(rows, dtype, budget, own)
    (n_rows, n_features), n_targets = rows.X.shape, len(rows.targets)
    vector = NUMBER * n_rows
    samples = n_targets * n_rows * (own.n_samples + (0 if rows.weight is None else 2 * itemsize))
    masks = n_targets * n_rows * own.n_masks
    evolving = row_bytes(rows, itemsize) + row_bytes(problem.held_out, itemsize) + samples + masks
    evolving += N_PREPARING * vector + n_targets * own.fixed
    most_of_own = own.n_own * vector
    of_own = 0.0
    if own.own_share is None:
        evolving, most_of_own = evolving + most_of_own, 0
    else:
        of_own = own.own_share / n_targets
    standardizing = rows.X.nbytes * (1 if rows.weight is None else 2)
    n_values = max(own.n_members, n_features)
    block = NUMBER * N_BLOCK_ARRAYS * n_values * min(n_rows, rows_at_a_time(n_values))
    marking = N_MARKING * (n_features + n_targets) * vector if n_rows <= MOST_ROWS else 0
    after = masks + max(block, marking) + N_SCORING * n_targets * vector
    buffers = n_targets * _buffers(n_rows, itemsize, own)
    in_budget, in_rest = (int(share * buffers) for share in SHARES_OF_BUFFERS)
    copied = problem.n_copied
    at_least = copied + evolving + in_rest
    with_own = min(int(at_least / (1 - of_own)) + 1, at_least + most_of_own)  # its share grows with the budget
    least = max(copied + max(standardizing, after), in_budget, with_own)
    return Needs(copied + evolving + min(int(of_own * budget), most_of_own), least)


def check_needs(needs: Needs, budget: int, n_rows: int, advice: str) -> None:
    """A clear error if a budget has no room for what a fit needs in any case."""
    if needs.least > budget:
        raise ValueError(
            f"memory_budget={budget} bytes is too small: a fit on {n_rows} rows needs at least {needs.least}, for "
            "copies of the data, samples, buffers and results; more makes it faster. Raise it, give fewer rows, or "
            f"lower {advice}."
        )
