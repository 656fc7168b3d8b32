"""Passes over the rows: what is done with the outputs of a batch of programs, panel by panel.

A pass reduces a panel to a partial result and merges partial results in the order of the rows. After `start` it does
not change, so threads share it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from symgrove._jit import Block
from symgrove.blas import product
from symgrove.engines import evaluation_kernels
from symgrove.engines.base import WeightedTerms
from symgrove.engines.placing import PlacedSchedule
from symgrove.engines.workspace import Workspace
from symgrove.fitness.losses import RowLoss
from symgrove.fitness.moments import Centre, Samples
from symgrove.fitness.named_losses import Deviation
from symgrove.fitness.row_loss import OwnRowLoss
from symgrove.fitness.scaling import Scaling

Float = NDArray[np.floating]

# Pairs of row and sample that the block of a user's loss computes at a time: few enough for the first-level cache, many
# enough that the call costs nothing. It changes no sum.
TILE_SIZE = 256


class Pass(Protocol):
    """What the row loop asks of a pass."""

    n_columns: int  # numbers that a program takes in a partial result: for the memory budget
    results: Float | None  # where outputs of all rows go, instead of the buffers

    def start(self, values: Float, n_rows: int) -> None:
        """See the outputs on the first panel, before any panel is reduced."""
        ...

    def reduce(self, workspace: Workspace, rows: slice) -> Any:
        """Partial result of one panel, whose outputs are in the workspace."""
        ...

    def merge(self, total: Any, partial: Any) -> None:
        """Add a later partial result to `total`."""
        ...


def _weights(samples: Samples, rows: slice, workspace: Workspace) -> Float:
    """Weights on a panel, (n_samples, n_rows)."""
    shape = samples.total.size, rows.stop - rows.start
    return samples.of_rows(rows, out=workspace.room("weights", shape, samples.dtype))


def _weights_by_row(samples: Samples, rows: slice, workspace: Workspace, dtype: np.dtype[Any]) -> Float:
    """Weights on a panel, (n_rows, n_samples), contiguous."""
    out = workspace.room("weights by row", (rows.stop - rows.start, samples.total.size), dtype)
    out[:] = _weights(samples, rows, workspace).T
    return out


class MomentSums(NamedTuple):
    """Partial moments: sums (3, n_programs, n_samples) and the bits of the largest distance from the shift."""

    sums: NDArray[np.float64]
    reach_bits: NDArray[np.integer]


class FoundCentre(NamedTuple):
    """Shift and scale of each program in the engine's dtype, (n_programs,)."""

    shift: Float
    scale: Float


def found_centre(values: Float, n_rows: int) -> FoundCentre:
    """The rule of the contract, for outputs on the first panel."""
    shift, scale = np.empty((2, values.shape[0]), dtype=values.dtype)
    largest_exponent = 120 if values.dtype == np.float32 else 1000
    evaluation_kernels.find_centres(values, n_rows, largest_exponent, shift, scale)
    return FoundCentre(shift, scale)


class CentrePass:
    """Centres alone, of data that are the first panel."""

    results: Float | None = None
    n_columns = 0
    centre: FoundCentre

    def start(self, values: Float, n_rows: int) -> None:
        self.centre = found_centre(values, n_rows)

    def reduce(self, workspace: Workspace, rows: slice) -> None:
        """There is nothing left to do."""

    def merge(self, total: None, partial: None) -> None:
        """There is nothing to merge."""


class MomentPass:
    """First look: sums by matrix products in the engine's dtype; centres from the first panel, or as given."""

    results: Float | None = None

    def __init__(self, samples: Samples, target: Float, centre: FoundCentre | None = None) -> None:
        self.samples = samples
        self.target = target
        self.dtype = target.dtype
        self.n_columns = 3 * samples.total.size
        self.centre = centre
        self._spare: list[NDArray[np.float64]] = []  # sums that were merged: fresh memory costs page faults

    def start(self, values: Float, n_rows: int) -> None:
        centre = found_centre(values, n_rows) if self.centre is None else self.centre
        self.shift, self.scale = centre
        self.inverse_scale = 1 / self.scale

    def reduce(self, workspace: Workspace, rows: slice) -> MomentSums:
        n_rows = rows.stop - rows.start
        n_programs, n_samples = workspace.n_roots, self.samples.total.size
        bits: NDArray[Any] = np.zeros(n_programs, dtype=np.int32 if self.dtype == np.float32 else np.int64)
        evaluation_kernels.centre_and_square(
            workspace.values, n_rows, self.shift, self.inverse_scale, bits, workspace.squares
        )
        weights = workspace.room("weights and targets", (2 * n_samples, n_rows), self.dtype)
        evaluation_kernels.weigh_target(_weights(self.samples, rows, workspace), self.target[rows], weights)
        both = workspace.room("first and cross", (n_programs, 2 * n_samples), self.dtype)
        second = workspace.room("second", (n_programs, n_samples), self.dtype)
        try:
            sums = self._spare.pop()
        except IndexError:  # none, or another thread has just taken the last
            sums = np.empty((3, n_programs, n_samples))
        with np.errstate(all="ignore"):  # outputs that are not finite are found by their reach
            product(workspace.values[:, :n_rows], weights.T, both)
            product(workspace.squares[:, :n_rows], weights[:n_samples].T, second)
        sums[0], sums[1], sums[2] = both[:, :n_samples], both[:, n_samples:], second
        return MomentSums(sums, bits)

    def merge(self, total: MomentSums, partial: MomentSums) -> None:
        np.add(total.sums, partial.sums, out=total.sums)
        np.maximum(total.reach_bits, partial.reach_bits, out=total.reach_bits)
        self._spare.append(partial.sums)


class ExactSums(NamedTuple):
    """Partial exact moments: sums (3, n_programs, n_samples) and the largest distance from the shift of each pair."""

    sums: NDArray[np.float64]
    reach: NDArray[np.float64]


class ExactMomentPass:
    """Second look: sums in float64 about given centres."""

    results: Float | None = None

    def __init__(
        self, samples: Samples, target: NDArray[np.float64], centre: Centre, wanted: NDArray[np.bool_]
    ) -> None:
        self.samples = samples
        self.target = target
        self.wanted = np.ascontiguousarray(wanted)
        shape = (len(centre.shift), samples.total.size)
        self.shift, self.scale = (
            np.ascontiguousarray(np.broadcast_to(array, shape), dtype=np.float64) for array in centre
        )
        self.n_columns = 4 * samples.total.size

    def start(self, values: Float, n_rows: int) -> None:
        """Nothing is learnt from the first panel."""

    def reduce(self, workspace: Workspace, rows: slice) -> ExactSums:
        weights = _weights(self.samples, rows, workspace)
        n_rows = rows.stop - rows.start
        sums, reach = np.empty((3, *self.shift.shape)), np.empty(self.shift.shape)
        evaluation_kernels.sum_exact(
            workspace.values, n_rows, self.shift, self.scale, self.wanted, weights, self.target[rows], reach, sums
        )
        return ExactSums(sums, reach)

    def merge(self, total: ExactSums, partial: ExactSums) -> None:
        np.add(total.sums, partial.sums, out=total.sums)
        np.maximum(total.reach, partial.reach, out=total.reach)


class ErrorPass:
    """Sums of a row loss of the scaled outputs: squared residuals in float64, mistakes in the engine's dtype."""

    results: Float | None = None

    def __init__(
        self, samples: Samples, y: NDArray[np.float64], scaling: Scaling, row_loss: RowLoss, threshold: float
    ) -> None:
        self.samples = samples
        self.is_squared = row_loss is RowLoss.SQUARED
        self.dtype = np.dtype(np.float64) if self.is_squared else samples.dtype
        self.target = y if self.is_squared else y > 0
        self.threshold = self.dtype.type(threshold)
        with np.errstate(over="ignore"):  # a slope too large for float32 makes errors that are not finite
            self.slope, self.intercept = (np.ascontiguousarray(array, dtype=self.dtype) for array in scaling)
        self.n_columns = samples.total.size

    def start(self, values: Float, n_rows: int) -> None:
        """Nothing is learnt from the first panel."""

    def reduce(self, workspace: Workspace, rows: slice) -> NDArray[np.float64]:
        weights = _weights_by_row(self.samples, rows, workspace, self.dtype)
        room = np.empty(self.n_columns, dtype=self.dtype)
        sums = np.empty((workspace.n_roots, self.n_columns))
        outputs = workspace.values, rows.stop - rows.start, self.slope, self.intercept
        rest = weights, self.target[rows], room, sums
        if self.is_squared:
            evaluation_kernels.sum_squared(*outputs, *rest)
        else:
            evaluation_kernels.sum_misclassified(*outputs, self.threshold, *rest)
        return sums

    def merge(self, total: NDArray[np.float64], partial: NDArray[np.float64]) -> None:
        np.add(total, partial, out=total)


class DeviationPass:
    """Sums of an absolute, Huber or quantile loss of the scaled outputs, in float64."""

    results: Float | None = None

    def __init__(self, samples: Samples, y: NDArray[np.float64], scaling: Scaling, loss: Deviation) -> None:
        self.samples = samples
        self.target = y
        self.loss = loss
        self.slope, self.intercept = (np.ascontiguousarray(array, dtype=np.float64) for array in scaling)
        self.n_columns = samples.total.size

    def start(self, values: Float, n_rows: int) -> None:
        """Nothing is learnt from the first panel."""

    def reduce(self, workspace: Workspace, rows: slice) -> NDArray[np.float64]:
        weights = _weights_by_row(self.samples, rows, workspace, np.dtype(np.float64))
        shape = float(self.loss.above), float(self.loss.below), float(self.loss.delta)
        sums = np.empty((workspace.n_roots, self.n_columns))
        outputs = workspace.values, rows.stop - rows.start, self.slope, self.intercept
        room = np.empty(self.n_columns)
        evaluation_kernels.sum_deviations(*outputs, *shape, weights, self.target[rows], room, sums)
        return sums

    def merge(self, total: NDArray[np.float64], partial: NDArray[np.float64]) -> None:
        np.add(total, partial, out=total)


class OwnErrorPass:
    """Sums of a user's row loss of the scaled outputs, in float64, by the block of the loss."""

    results: Float | None = None

    def __init__(self, samples: Samples, y: NDArray[np.float64], scaling: Scaling, block: Block) -> None:
        self.samples = samples
        self.target = y
        self.block = block
        self.slope, self.intercept = (np.ascontiguousarray(array, dtype=np.float64) for array in scaling)
        self.n_columns = samples.total.size

    def start(self, values: Float, n_rows: int) -> None:
        """Nothing is learnt from the first panel."""

    def reduce(self, workspace: Workspace, rows: slice) -> NDArray[np.float64]:
        weights = _weights_by_row(self.samples, rows, workspace, np.dtype(np.float64))
        n_rows = rows.stop - rows.start
        room = np.empty((3, max(1, TILE_SIZE // self.n_columns), self.n_columns))
        sums = np.empty((workspace.n_roots, self.n_columns))
        evaluation_kernels.sum_own_loss(
            workspace.values,
            n_rows,
            self.slope,
            self.intercept,
            self.block.address,
            weights,
            self.target[rows],
            room,
            sums,
        )
        return sums

    def merge(self, total: NDArray[np.float64], partial: NDArray[np.float64]) -> None:
        np.add(total, partial, out=total)


def error_pass(
    samples: Samples,
    y: NDArray[np.float64],
    scaling: Scaling,
    row_loss: RowLoss | Deviation | OwnRowLoss,
    threshold: float,
) -> Pass:
    """The pass that sums a row loss."""
    if isinstance(row_loss, OwnRowLoss):
        return OwnErrorPass(samples, y, scaling, row_loss.block)
    if isinstance(row_loss, Deviation):
        return DeviationPass(samples, y, scaling, row_loss)
    return ErrorPass(samples, y, scaling, row_loss, threshold)


class OutputPass:
    """Outputs themselves, written to rows `programs` of one array; partial results are empty."""

    results: Float | None = None
    n_columns = 0

    def __init__(self, out: Float, programs: NDArray[np.intp], first_row: int) -> None:
        self.out = out
        self.programs = programs
        self.first_row = first_row

    def start(self, values: Float, n_rows: int) -> None:
        """Nothing is learnt from the first panel."""

    def reduce(self, workspace: Workspace, rows: slice) -> None:
        n_rows = rows.stop - rows.start
        start = rows.start - self.first_row
        self.out[self.programs, start : start + n_rows] = workspace.values[:, :n_rows]

    def merge(self, total: None, partial: None) -> None:
        """There is nothing to merge."""


class WritePass:
    """Outputs written by the steps themselves, to rows of an array."""

    n_columns = 0

    def __init__(self, results: Float) -> None:
        self.results: Float | None = results

    def start(self, values: Float, n_rows: int) -> None:
        """Nothing is learnt from the first panel."""

    def reduce(self, workspace: Workspace, rows: slice) -> None:
        """There is nothing left to do."""

    def merge(self, total: None, partial: None) -> None:
        """There is nothing to merge."""


class SumPass:
    """Sums of terms, whose programs' outputs are read in passing; added to rows of an array."""

    n_columns = 0

    def __init__(
        self, plan: PlacedSchedule, programs: NDArray[np.intp], terms: WeightedTerms, sums: NDArray[np.float64]
    ) -> None:
        self.results: Float | None = sums
        self.terms = terms
        root = plan.schedule.steps.out - plan.schedule.ranges.roots
        is_root = (root >= 0) & (root < programs.size)
        self.program_of = np.where(is_root, programs[np.where(is_root, root, 0)], -1)

    def start(self, values: Float, n_rows: int) -> None:
        """Nothing is learnt from the first panel."""

    def reduce(self, workspace: Workspace, rows: slice) -> None:
        """There is nothing left to do."""

    def merge(self, total: None, partial: None) -> None:
        """There is nothing to merge."""
