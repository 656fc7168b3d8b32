"""Sums: T(y / m) = c0 + c1 a (+ c2 b + c3 c), of one to three atoms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.methods.law.algebra import lengths_of, orthonormal, without
from symgrove.methods.law.findings import Findings
from symgrove.methods.law.library import Atoms
from symgrove.methods.law.pairs import N_IN_CACHE, BestPairs, best_pairs, closest, factor_of_cost, limit_of
from symgrove.methods.law.task import LawTask
from symgrove.methods.law.transforms import COS, LOG, POWERS, SIN, Transform, offer_linear, transformed
from symgrove.methods.law.units import is_zero

Matrix = NDArray[np.float64]
N_ALONE, N_LEFT, N_PER_ATOM = 60, 1200, 40
N_PAIRS, N_PAIRS_OFFERED, N_FOR_THIRD, N_THIRD = 600, 300, 250, 80
FEWEST_FOR_THIRD = 3  # atoms
SMALLEST_TARGET = 1e-12  # that a constant leaves, as a share
SMALLEST_REST = 2e-4  # of an atom that a constant leaves


def transforms_of(task: LawTask, multiplier: int, one: int) -> list[Transform]:
    """Those that may suit the target."""
    y = task.scanned.y
    found = [POWERS[1.0], POWERS[-1.0], POWERS[2.0], POWERS[-2.0], LOG]
    if multiplier == one and np.abs(y).max() < 1.75:
        found.append(SIN)
    if multiplier == one and y.min() > -0.05 and y.max() < 3.3:
        found.append(COS)
    allowed = {"log y": "exp", "sin y": "arcsin", "cos y": "arccos"}
    return [each for each in found if allowed.get(each.name) in (None, *task.functions)]


class SumSearch:
    """Offers sums of atoms, for every transform that may suit the target."""

    def __init__(self, task: LawTask, findings: Findings, atoms: Atoms, multiplier: int) -> None:
        self.task = task
        transforms = transforms_of(task, multiplier, findings.formulas.one)
        each = [_Sums.make(task, findings, atoms, transform, multiplier) for transform in transforms]
        self.each = [own for own in each if own is not None]

    def with_atoms(self, n_atoms: int) -> Iterator[str]:
        """Sums of so many atoms; of three, those that go on from the best pairs. Pauses after each transform."""
        for own in self.each:
            if self.task.is_over():
                return
            own.search(n_atoms)
            yield f"{own.transform.name} as a sum of {n_atoms}"


class _Sums:
    """Atoms on the rows that are scanned, as a transform weighs them; made anew each time, because they are large."""

    def __init__(
        self,
        task: LawTask,
        findings: Findings,
        atoms: Atoms,
        transform: Transform,
        multiplier: int,
        order: NDArray[np.intp],
        *,
        has_constant: bool,
    ) -> None:
        self.task, self.findings, self.atoms = task, findings, atoms
        self.transform, self.multiplier = transform, multiplier
        self.order, self.has_constant = order, has_constant
        self.best: list[tuple[int, int]] = []

    @classmethod
    def make(
        cls, task: LawTask, findings: Findings, atoms: Atoms, transform: Transform, multiplier: int
    ) -> _Sums | None:
        values = findings.formulas.predict(multiplier, task.scanned)
        if transformed(transform, task.scanned, values) is None:
            return None
        wanted = atoms.wanted * transform.degree
        has_constant = bool(is_zero(wanted))
        if not transform.degree and not is_zero(atoms.wanted):
            return None  # a function of what has a unit
        library = atoms.library
        order = np.argsort(library.cost, kind="stable")
        order = order[library.dimension[order] == library.table.id(wanted)]
        if not order.size:
            return None
        return cls(task, findings, atoms, transform, multiplier, order, has_constant=has_constant)

    def _vectors(self) -> tuple[NDArray[np.float32], Matrix] | None:
        """Unit vectors of the atoms and of the target, without their means where a constant may be added."""
        own = transformed(
            self.transform, self.task.scanned, self.findings.formulas.predict(self.multiplier, self.task.scanned)
        )
        if own is None:  # it was not when this began, but more is known of the noise now
            return None
        weight = own.weight / np.sqrt(np.mean(own.weight**2))
        constant = weight / lengths_of(weight) if self.has_constant else np.zeros_like(weight)
        values, weight32, constant32 = self.atoms.library.values, *(v.astype(np.float32) for v in (weight, constant))
        Z = np.empty((self.order.size, weight.size), dtype=np.float32)
        for start in range(0, self.order.size, N_IN_CACHE):
            some = Z[start : start + N_IN_CACHE]
            np.multiply(values[self.order[start : start + N_IN_CACHE]], weight32, out=some)
            before = lengths_of(some)
            some -= np.outer(product(some, constant32), constant32)
            left = lengths_of(some)
            usable = np.isfinite(left) & (left > SMALLEST_REST * before)
            some /= np.where(usable, left, 1.0)[:, None]
            some[~usable] = 0.0
        target = own.target * weight
        whole = lengths_of(target)
        target = target - constant * product(constant, target)
        length = lengths_of(target)
        return None if length <= SMALLEST_TARGET * whole else (Z, target / length)

    def search(self, n_atoms: int) -> None:
        if n_atoms == 3 and not self.best:
            return
        made = self._vectors()
        if made is None:
            return
        Z, target = made
        if len(Z) < (FEWEST_FOR_THIRD if n_atoms == 3 else n_atoms):
            return
        if n_atoms == 3:
            for i, j, k in self._with_third(Z, target):
                self._offer(i, j, k)
            return
        common = product(Z, target.astype(np.float32))
        factor = self._factor()
        if n_atoms == 1:
            for i in closest(common, factor)[:N_ALONE].tolist():
                self._offer(i)
            return
        best = BestPairs(N_PAIRS, limit_of(common, factor), N_PER_ATOM)
        self.best = best_pairs(Z, common, factor, 3 * N_LEFT // 4, N_LEFT // 4, best, self.task.is_over)
        for i, j in self.best[:N_PAIRS_OFFERED]:
            self._offer(i, j)

    def _factor(self) -> NDArray[np.float32]:
        return factor_of_cost(self.atoms.library.cost[self.order], self.task.scanned.n_rows)

    def _offer(self, *places: int) -> None:
        if self.task.is_over():
            return
        library, formulas = self.atoms.library, self.findings.formulas
        terms = [library.formula(int(self.order[i]), formulas) for i in places]
        origin = f"{self.transform.name} as a sum of {len(terms)}"
        constants = (True, False) if self.has_constant else (False,)
        offer_linear(self.findings, self.transform, self.multiplier, terms, origin, constants=constants)

    def _with_third(self, Z: NDArray[np.float32], target: Matrix) -> list[tuple[int, int, int]]:
        """Pairs with one more atom, the best of all."""
        found, factor = [], self._factor()
        for start in range(0, min(len(self.best), N_FOR_THIRD), 50):
            pairs = self.best[start : start + 50]
            bases = [orthonormal(np.stack([Z[i], Z[j]]).astype(np.float64)) for i, j in pairs]
            rests = [without(basis, target) for basis in bases]
            lengths = np.array([lengths_of(rest) for rest in rests])
            unit = np.array([rest / (n + 1e-30) for rest, n in zip(rests, lengths, strict=True)], dtype=np.float32)
            first, second = (product(np.array([basis[:, q] for basis in bases], dtype=np.float32), Z.T) for q in (0, 1))
            own = 1 - first**2 - second**2
            score = np.where(own > 1e-3, product(unit, Z.T) ** 2 / np.maximum(own, 1e-3), 0.0)
            for (i, j), length, row in zip(pairs, lengths, score, strict=True):
                left_over = (1 - row) * factor
                for k in np.argpartition(left_over, 2)[:2].tolist():
                    found.append((length**2 * float(left_over[k] * factor[i] * factor[j]), i, j, k))
            if self.task.is_over():
                break
        found.sort()
        return [(i, j, k) for _, i, j, k in found[:N_THIRD]]
