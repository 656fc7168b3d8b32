"""Where the results of a schedule lie in the memory of the CPU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.evaluation_kernels import PlacedSteps
from symgrove.engines.schedule import Schedule, share_scratch


@dataclass(frozen=True)
class PlacedSchedule:
    """A schedule, and its steps with places for slots.

    `n_roots` outputs have rows of their own; `n_scratch_rows` are shared by all scratch slots, and by the outputs if
    these have none.
    """

    schedule: Schedule
    steps: PlacedSteps
    n_roots: int
    n_scratch_rows: int


def place(
    schedule: Schedule,
    feature_addresses: NDArray[np.int64],
    vector_addresses: NDArray[np.int64],
    *,
    in_passing: bool = False,
) -> PlacedSchedule:
    """Find the place of every slot, given the addresses of the features and of the store's slots.

    With `in_passing`, outputs are read as soon as they are written, and lie in scratch rows.
    """
    rows, n_rows = share_scratch(schedule, with_roots=in_passing)
    n_roots = 0 if in_passing else schedule.n_roots
    outputs = np.arange(n_roots)
    place_of_slot = np.concatenate([feature_addresses, vector_addresses, -1 - outputs, -1 - n_roots - rows])
    code, out, left, right = schedule.steps
    # An operand that is not there, -1, gets the last place; its block does not read it.
    steps = PlacedSteps(code, place_of_slot[out], place_of_slot[left], place_of_slot[right])
    return PlacedSchedule(schedule, steps, n_roots, n_rows)
