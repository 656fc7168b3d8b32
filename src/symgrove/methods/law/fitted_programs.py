"""Programs of a forest with constants by least squares: what the kernels need, and what they find."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.forest import Forest, Ids
from symgrove.forest.primitive_table import CONSTANT, FEATURE
from symgrove.forest.primitives import PrimitiveSet
from symgrove.methods.law import least_squares_kernels, rebuild_kernels
from symgrove.methods.law.formulas import RowSet
from symgrove.methods.law.functions import OPERATIONS
from symgrove.methods.law.least_squares_kernels import MOST_CONSTANTS, MOST_NODES, FitTarget, ProgramScratch

Matrix = NDArray[np.float64]


class Fits(NamedTuple):
    """Constants of each program, the line a + b f as (a, b), and mean squared errors, infinite if unusable."""

    constants: Matrix
    lines: Matrix
    errors: Matrix


class Slopes(NamedTuple):
    """Nodes of a program with their values, and the derivatives of the program with respect to them, on every row."""

    nodes: Ids
    values: Matrix
    slopes: Matrix


class FittedPrograms:
    """A forest, and rows to fit its programs on.

    Parameters
    ----------
    rows : RowSet
    functions : sequence of str
        Primitives, of those that `OPERATIONS` has.
    """

    def __init__(self, rows: RowSet, functions: Sequence[str]) -> None:
        self.forest = Forest(len(rows.columns), PrimitiveSet(tuple(functions)))
        weight = np.ones(rows.n_rows) if rows.root_weight is None else rows.root_weight**2
        self.target = FitTarget(rows.columns, np.ascontiguousarray(rows.y), weight)
        self.arity = self.forest.arity
        self.operation_of = np.zeros(self.arity.size, dtype=np.int64)
        self.operation_of[FEATURE] = least_squares_kernels.FEATURE
        self.operation_of[CONSTANT] = least_squares_kernels.CONSTANT
        for row in self.forest.primitives.functions:
            self.operation_of[row.code] = OPERATIONS[row.name]

    def _scratch(self) -> ProgramScratch:
        """Room for a program on the rows that it is fitted on; as large as the forest is now."""
        kept, n_nodes = self._kept, self.forest.columns.code.size
        return kept if kept.is_seen.size == n_nodes else kept._replace(is_seen=np.zeros(n_nodes, dtype=np.bool_))

    @cached_property
    def _kept(self) -> ProgramScratch:
        return new_scratch(self.target.y.size, self.forest.columns.code.size)

    def _given(self, n_new: int = 0) -> tuple[object, ...]:
        self.forest.reserve(n_new)
        return self.forest.columns, self.arity, self.operation_of

    def fit(self, roots: Ids, n_steps: int) -> Fits:
        """Steps from the constants that the programs have."""
        n = roots.size
        found = Fits(np.zeros((n, MOST_CONSTANTS)), np.zeros((n, 2)), np.zeros(n))
        least_squares_kernels.fit_programs(*self._given(), roots, self.target, n_steps, self._scratch(), *found)
        return found

    def slopes(self, root: int, features: Matrix) -> Slopes | None:
        """On other rows than those it is fitted on; None if the program has no value on one of them."""
        scratch = new_scratch(features.shape[1], self.forest.columns.code.size)
        n = least_squares_kernels.find_slopes(*self._given(), root, features, scratch)
        return Slopes(scratch.nodes[:n], scratch.values[:n], scratch.slopes[:n]) if n else None

    def sizes(self, roots: Ids) -> NDArray[np.int64]:
        """About the nodes of a + b f in SymPy's words; 0 for those with too many."""
        out = np.zeros(roots.size, dtype=np.int64)
        rebuild_kernels.find_sizes(*self._given(), roots, self._scratch(), out)
        return out

    def with_constants(self, roots: Ids, constants: Matrix) -> Ids:
        """The programs with other constants, in the order of their nodes."""
        out = np.zeros(roots.size, dtype=np.int64)
        given = self._given(roots.size * MOST_NODES)
        rebuild_kernels.with_constants(*given, roots, constants, self._scratch(), out)
        return out

    def with_replaced(self, roots: Ids, old: Ids, new: Ids) -> Ids:
        """Each program with a node replaced by another, wherever it stands; -1 if it has too many nodes."""
        out = np.zeros(roots.size, dtype=np.int64)
        given = self._given(roots.size * MOST_NODES)
        rebuild_kernels.with_replaced(*given, roots, old, new, self._scratch(), out)
        return out


def new_scratch(n_rows: int, n_nodes: int) -> ProgramScratch:
    """Room for a program of a forest."""
    nodes, operation, left, right, place = np.zeros((5, MOST_NODES), dtype=np.int64)
    return ProgramScratch(
        nodes=nodes,
        stack=np.zeros(2 * MOST_NODES + 2, dtype=np.int64),
        is_seen=np.zeros(n_nodes, dtype=np.bool_),
        operation=operation,
        left=left,
        right=right,
        place=place,
        has_slope=np.zeros(MOST_NODES, dtype=np.bool_),
        constants=np.zeros(MOST_CONSTANTS),
        values=np.zeros((MOST_NODES, n_rows)),
        slopes=np.zeros((MOST_NODES, n_rows)),
        jacobian=np.zeros((MOST_CONSTANTS + 1, n_rows)),
        residuals=np.zeros(n_rows),
    )
