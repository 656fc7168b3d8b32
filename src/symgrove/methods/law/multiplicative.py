"""Products: log|y| = all log|x| + one to three atoms, of which one matrix product covers every monomial in front.

An atom enters by its logarithm, which makes it a factor, or as it is, which makes it an exponent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.methods.law.algebra import least_squares, lengths_of, orthonormal, without
from symgrove.methods.law.findings import Findings
from symgrove.methods.law.library import Atoms
from symgrove.methods.law.pairs import BestPairs, best_pairs, limit_of
from symgrove.methods.law.task import LawTask

Matrix = NDArray[np.float64]
N_ALONE, N_LEFT, N_PAIRS = 150, 3000, 1000
N_FOR_THIRD, N_THIRD = 100, 40
LARGEST_WEIGHT = 20.0  # times the median
LARGEST_EXPONENT, LARGEST_POWER = 8.0, 6.0
SMALLEST_TARGET = 1e-12  # that features leave, as a share
SMALLEST_REST = 3e-5  # of an atom that features leave
GRIDS = (0.5, 1.0)


class _Columns(NamedTuple):
    """Unit vectors of atoms, without what features describe; how each enters, and what it has in common with y."""

    vectors: NDArray[np.float32]
    is_factor: NDArray[np.bool_]
    place: NDArray[np.intp]
    target: Matrix
    common: NDArray[np.float32]


def search_products(task: LawTask, findings: Findings, atoms: Atoms) -> Iterator[str]:
    """Offer products with one, two and three atoms; pauses in between."""
    columns = _columns(task, atoms)
    if columns is None:
        return
    own = _Products(task, findings, atoms, columns)
    for i in np.argsort(-(columns.common**2), kind="stable")[:N_ALONE]:
        own.offer([int(i)])
    yield "products with one atom"
    best = own.best_pairs()
    for pair in best:
        own.offer(pair)
    yield "products with two atoms"
    for three in own.with_third(best[:N_FOR_THIRD]):
        own.offer(three)
    yield "products with three atoms"


def _columns(task: LawTask, atoms: Atoms) -> _Columns | None:
    rows, library = task.scanned, atoms.library
    size = np.abs(rows.y)
    if not size.any():
        return None
    weight = np.minimum(size, LARGEST_WEIGHT * np.median(size))
    if rows.root_weight is not None:
        weight = weight * rows.root_weight
    target = np.log(np.maximum(size, 1e-9 * size.max()))
    logs = task.logs_of(rows)[task.has_one_sign]
    basis = orthonormal(np.vstack([np.ones(rows.n_rows), logs]) * weight)
    rest = without(basis, target * weight)
    length = lengths_of(rest)
    if length < SMALLEST_TARGET * lengths_of(target * weight):
        return None
    factors = atoms.of("sums", "1 +", "functions", "1 + functions", "1 + products", "features + products")
    factors = np.array([i for i in factors if library.recipes[i].operation != "exp"], dtype=np.intp)
    waves = [i for i in atoms.kinds["functions"] if library.recipes[i].operation in ("sin", "cos")][:400]
    exponents = np.concatenate(
        [atoms.monomials[:1200], atoms.kinds["squares"], atoms.kinds["low sums"], atoms.kinds["sums"][:1500], waves]
    ).astype(np.intp)
    if "exp" not in task.functions:
        exponents = exponents[:0]
    values = np.abs(library.values[factors])
    with np.errstate(all="ignore"):
        values = np.log(np.maximum(values, 1e-7 * values.max(axis=1, keepdims=True)))
    Z = np.vstack([values, library.values[exponents]])
    place = np.concatenate([factors, exponents])
    is_factor = np.arange(place.size) < factors.size
    order = np.argsort(library.cost[place], kind="stable")
    Z, place, is_factor = Z[order], place[order], is_factor[order]
    Z *= weight.astype(np.float32)
    Z /= lengths_of(Z)[:, None] + 1e-30
    basis32 = basis.astype(np.float32)
    for _ in range(2):  # once leaves rounding behind
        Z -= product(product(Z, basis32), basis32.T)
    left = lengths_of(Z)
    usable = np.isfinite(left) & (left > SMALLEST_REST)
    Z = Z[usable] / left[usable, None]
    kept = _different(Z)
    Z = np.ascontiguousarray(Z[kept])
    if not len(Z):
        return None
    rest /= length
    common = product(Z, rest.astype(np.float32))
    return _Columns(Z, is_factor[usable][kept], place[usable][kept], rest, common)


def _different(Z: NDArray[np.float32]) -> NDArray[np.intp]:
    """The first of each set of vectors that are equal up to sign."""
    directions = np.random.default_rng(1).normal(size=(Z.shape[1], 2)).astype(np.float32)
    projected = product(Z, directions)
    projected *= np.sign(projected[:, :1])
    keys = np.round(projected * 2e3).astype(np.int64)
    _, first = np.unique(keys[:, 0] * (1 << 30) + keys[:, 1], return_index=True)
    return np.sort(first)


class _Products:
    def __init__(self, task: LawTask, findings: Findings, atoms: Atoms, columns: _Columns) -> None:
        self.task, self.findings, self.atoms, self.columns = task, findings, atoms, columns
        rows = findings.some
        self.size = np.abs(rows.y)
        self.weight = np.minimum(self.size, LARGEST_WEIGHT * np.median(self.size))
        if rows.root_weight is not None:
            self.weight = self.weight * rows.root_weight
        self.target = np.log(np.maximum(self.size, 1e-9 * self.size.max()))
        self.logs = task.logs_of(rows)[task.has_one_sign]

    def best_pairs(self) -> list[tuple[int, int]]:
        Z, common = self.columns.vectors, self.columns.common
        n_left = min(N_LEFT, len(Z))
        best = BestPairs(N_PAIRS, limit_of(common))
        return best_pairs(Z, common, 2 * n_left // 3, n_left // 3, best, self.task.is_over)

    def with_third(self, pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
        """Pairs with the atom that describes most of what they leave."""
        Z, found = self.columns.vectors, []
        for i, j in pairs:
            basis = orthonormal(np.stack([Z[i], Z[j]]).astype(np.float64))
            rest = without(basis, self.columns.target)
            length = lengths_of(rest)
            if length < 1e-9:
                continue
            common = product(Z, (rest / length).astype(np.float32))
            own = 1 - (product(Z, basis.astype(np.float32)) ** 2).sum(axis=1)
            score = np.where(own > 1e-3, common**2 / np.maximum(own, 1e-3), 0.0)
            k = int(np.argmax(score))
            found.append((length**2 * (1 - float(score[k])), [i, j, k]))
        found.sort(key=lambda each: each[0])
        return [three for _, three in found[:N_THIRD]]

    def offer(self, chosen: Sequence[int]) -> None:
        """Fit exponents of all features and atoms on more rows, round them, and offer what comes out."""
        formulas, rows = self.findings.formulas, self.findings.some
        roots = [self.atoms.library.formula(int(self.columns.place[i]), formulas) for i in chosen]
        values = [formulas.predict(root, rows) for root in roots]
        columns = [np.ones(rows.n_rows), *self.logs]
        with np.errstate(all="ignore"):
            for i, own in zip(chosen, values, strict=True):
                size = np.abs(own)
                columns.append(np.log(size + 1e-12 * size.max()) if self.columns.is_factor[i] else own)
        A = np.stack(columns)
        if not np.isfinite(A).all():
            return
        found = least_squares(A * self.weight, self.target * self.weight, 1e-10)
        n_logs = len(self.logs)
        for grid in GRIDS:
            exponents = np.round(found[1 : 1 + n_logs] / grid) * grid
            if np.abs(exponents).max(initial=0.0) > LARGEST_EXPONENT:
                return
            made = self._product(exponents, chosen, roots, values, found[1 + n_logs :], grid)
            if made is None:
                continue
            root, own_values = made
            predicted = formulas.predict(root, rows, (1.0, *own_values))
            if np.isfinite(predicted).all():
                factor = float((predicted * rows.y).sum() / ((predicted * predicted).sum() + 1e-300))
                self.findings.offer(root, (factor, *own_values), "product")

    def _product(
        self,
        exponents: Matrix,
        chosen: Sequence[int],
        roots: Sequence[int],
        values: Sequence[Matrix],
        powers: Matrix,
        grid: float,
    ) -> tuple[int, list[float]] | None:
        """The formula, and values of its free constants but for the factor, which is the first."""
        formulas = self.findings.formulas
        factors, free = [formulas.monomial(self.task.spread_out(exponents))], []
        for i, root, own, power in zip(chosen, roots, values, powers.tolist(), strict=True):
            if not self.columns.is_factor[i]:
                free.append(power)
                factors.append(formulas.call("exp", formulas.mul(formulas.free(len(free)), root)))
                continue
            rounded = float(np.round(power / grid) * grid)
            if rounded == 0 or abs(rounded) > LARGEST_POWER:
                return None
            if rounded != int(rounded) and (own < 0).any():
                if not (own < 0).all():
                    return None
                root = formulas.call("neg", root)  # noqa: PLW2901
            factors.append(formulas.power(root, rounded))
        return formulas.mul(formulas.free(0), formulas.product(factors)), free
