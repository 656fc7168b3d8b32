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
from symgrove.methods.law.atoms import Places
from symgrove.methods.law.findings import Findings
from symgrove.methods.law.formulas import RowSet
from symgrove.methods.law.library import Atoms
from symgrove.methods.law.pairs import N_IN_CACHE, BestPairs, best_pairs, closest, factor_of_cost, limit_of
from symgrove.methods.law.task import LawTask
from symgrove.methods.law.units import Exponents

Matrix = NDArray[np.float64]
N_ALONE, N_LEFT, N_PAIRS = 150, 3000, 1000
N_FOR_THIRD, N_THIRD = 100, 40
LARGEST_WEIGHT = 20.0  # times the median
LARGEST_EXPONENT, LARGEST_POWER = 8.0, 6.0
SMALLEST_TARGET = 1e-12  # that features leave, as a share
SMALLEST_REST = 3e-5  # of an atom that features leave
GRIDS = (0.5, 1.0)


class _Logarithms(NamedTuple):
    """Of the target's size and of features with one sign, (n_features, n_rows), with what rows weigh."""

    target: Matrix
    weight: Matrix
    features: Matrix


class _Columns(NamedTuple):
    """Unit vectors of atoms, without what features describe; how each enters, what it has in common with y, and
    its `factor_of_cost`."""

    vectors: NDArray[np.float32]
    is_factor: NDArray[np.bool_]
    place: NDArray[np.intp]
    target: Matrix
    common: NDArray[np.float32]
    factor: NDArray[np.float32]


class _Part(NamedTuple):
    """A chosen atom on more rows."""

    root: int
    values: Matrix
    is_factor: bool
    dimension: Matrix


def search_products(task: LawTask, findings: Findings, atoms: Atoms) -> Iterator[str]:
    """Offer products with one, two and three atoms; pauses in between."""
    system = task.exponents_of(task.has_one_sign)
    columns, logarithms = _columns(task, atoms, system), _logarithms(task, findings.some)
    if columns is None or logarithms is None:
        return
    own = _Products(task, findings, atoms, columns, system, logarithms)
    for i in closest(columns.common, columns.factor)[:N_ALONE]:
        if task.is_over():
            return
        own.offer([int(i)])
    yield "products with one atom"
    best = own.best_pairs()
    for pair in best:
        if task.is_over():
            return
        own.offer(pair)
    yield "products with two atoms"
    for three in own.with_third(best[:N_FOR_THIRD]):
        if task.is_over():
            return
        own.offer(three)
    yield "products with three atoms"


def _logarithms(task: LawTask, rows: RowSet) -> _Logarithms | None:
    """None if the target is zero everywhere."""
    near = rows.y if rows.smooth is None else rows.smooth
    size = np.abs(near)
    if not size.any():
        return None
    weight = np.minimum(size, LARGEST_WEIGHT * np.median(size))
    if rows.root_weight is not None:
        weight = weight * rows.root_weight
    weight = weight / weight.max()  # squares of them are single precision later
    smallest = 1e-9 * size.max()
    target = np.log(np.maximum(size, smallest))
    if rows.smooth is not None:  # to first order; see transforms.py
        target += (rows.y - near) / np.where(size > smallest, near, np.inf)
    return _Logarithms(target, weight, task.logs_of(rows)[task.has_one_sign])


def _columns(task: LawTask, atoms: Atoms, system: Exponents) -> _Columns | None:
    """Atoms, and the target, divided by monomials of their dimension; other exponents of features are free."""
    library, own = atoms.library, _logarithms(task, task.scanned)
    if own is None:
        return None
    weight, logs = own.weight, own.features
    target = (own.target - product(system.first(task.units.known_target), logs)) * weight
    basis = orthonormal(np.vstack([np.ones(task.scanned.n_rows), product(system.null, logs)]) * weight)
    rest = without(basis, target)
    length = lengths_of(rest)
    if length < SMALLEST_TARGET * lengths_of(target):
        return None
    factors, exponents = _factors_and_exponents(task, atoms)
    values = np.abs(library.values[factors])
    with np.errstate(all="ignore"):
        values = np.log(np.maximum(values, 1e-7 * values.max(axis=1, keepdims=True)))
    if task.units.n_base:
        in_front = product(system.first(library.table.vectors), logs).astype(np.float32)
        values -= in_front[library.dimension[factors]]
    Z: NDArray[np.float32] = np.vstack([values, library.values[exponents]])
    place = np.concatenate([factors, exponents])
    is_factor = np.arange(place.size) < factors.size
    order = np.argsort(library.cost[place], kind="stable")
    Z, place, is_factor = Z[order], place[order], is_factor[order]
    weight32, basis32, left = weight.astype(np.float32), basis.astype(np.float32), np.empty(len(Z), dtype=np.float32)
    for start in range(0, len(Z), N_IN_CACHE):
        some = Z[start : start + N_IN_CACHE]
        some *= weight32
        some /= lengths_of(some)[:, None] + 1e-30
        for _ in range(2):  # once leaves rounding behind
            some -= product(product(some, basis32), basis32.T)
        left[start : start + N_IN_CACHE] = lengths_of(some)
    usable = np.isfinite(left) & (left > SMALLEST_REST)
    Z = Z[usable] / left[usable, None]
    kept = _different(Z)
    Z = np.ascontiguousarray(Z[kept])
    if not len(Z):
        return None
    rest /= length
    common = product(Z, rest.astype(np.float32))
    place = place[usable][kept]
    return _Columns(Z, is_factor[usable][kept], place, rest, common, factor_of_cost(library.cost[place], len(rest)))


def _factors_and_exponents(task: LawTask, atoms: Atoms) -> tuple[Places, Places]:
    library = atoms.library
    factors = atoms.of("sums", "1 +", "functions", "1 + functions", "1 + products", "features + products")
    factors = np.array([i for i in factors.tolist() if library.recipe(i).operation != "exp"], dtype=np.intp)
    waves = [i for i in atoms.kinds["functions"].tolist() if library.recipe(i).operation in ("sin", "cos")][:400]
    exponents = np.concatenate([
        library.without_unit(atoms.monomials)[:1200],
        library.without_unit(atoms.kinds["squares"]),
        library.without_unit(atoms.kinds["low sums"]),
        library.without_unit(atoms.kinds["sums"])[:1500],
        waves,
    ]).astype(np.intp)  # fmt: skip
    return factors, exponents if "exp" in task.functions else exponents[:0]


def _different(Z: NDArray[np.float32]) -> NDArray[np.intp]:
    """The first of each set of vectors that are equal up to sign."""
    directions = np.random.default_rng(1).normal(size=(Z.shape[1], 2)).astype(np.float32)
    projected = product(Z, directions)
    projected *= np.sign(projected[:, :1])
    keys = np.round(projected * 2e3).astype(np.int64)
    _, first = np.unique(keys[:, 0] * (1 << 30) + keys[:, 1], return_index=True)
    return np.sort(first)


class _Products:
    def __init__(
        self, task: LawTask, findings: Findings, atoms: Atoms, columns: _Columns, system: Exponents, own: _Logarithms
    ) -> None:
        self.task, self.findings, self.atoms, self.columns = task, findings, atoms, columns
        self.system, self.own = system, own
        in_front = product(system.first(task.units.known_target), own.features)
        self.target, self.logs = own.target - in_front, product(system.null, own.features)

    def best_pairs(self) -> list[tuple[int, int]]:
        Z, common, factor = self.columns.vectors, self.columns.common, self.columns.factor
        n_left = min(N_LEFT, len(Z))
        best = BestPairs(N_PAIRS, limit_of(common, factor))
        return best_pairs(Z, common, factor, 2 * n_left // 3, n_left // 3, best, self.task.is_over)

    def with_third(self, pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
        """Pairs with the atom that describes most of what they leave."""
        Z, factor, found = self.columns.vectors, self.columns.factor, []
        for i, j in pairs:
            basis = orthonormal(np.stack([Z[i], Z[j]]).astype(np.float64))
            rest = without(basis, self.columns.target)
            length = lengths_of(rest)
            if length < 1e-9:
                continue
            common = product(Z, (rest / length).astype(np.float32))
            own = 1 - (product(Z, basis.astype(np.float32)) ** 2).sum(axis=1)
            score = np.where(own > 1e-3, common**2 / np.maximum(own, 1e-3), 0.0)
            left_over = (1 - score) * factor
            k = int(np.argmin(left_over))
            found.append((length**2 * float(left_over[k] * factor[i] * factor[j]), [i, j, k]))
        found.sort(key=lambda each: each[0])
        return [three for _, three in found[:N_THIRD]]

    def offer(self, chosen: Sequence[int]) -> None:
        """Fit exponents of all features and atoms on more rows, round them, and offer what comes out."""
        formulas, rows, system = self.findings.formulas, self.findings.some, self.system
        parts = self._parts(chosen)
        columns = [np.ones(rows.n_rows), *self.logs]
        with np.errstate(all="ignore"):
            for part in parts:
                size = np.abs(part.values)
                in_front = product(system.first(part.dimension), self.own.features)
                columns.append(np.log(size + 1e-12 * size.max()) - in_front if part.is_factor else part.values)
        A = np.stack(columns)
        if not np.isfinite(A).all():
            return
        found = least_squares(A * self.own.weight, self.target * self.own.weight, 1e-10)
        n_free = len(self.logs)
        free, powers = product(found[1 : 1 + n_free], system.null), found[1 + n_free :].tolist()
        for grid in GRIDS:
            rounded = [
                float(np.round(p / grid) * grid) if part.is_factor else p for part, p in zip(parts, powers, strict=True)
            ]
            wanted = self.task.units.known_target - sum(
                p * part.dimension for p, part in zip(rounded, parts, strict=True)
            )
            exponents = system.rounded(free, grid, wanted) if system.has(wanted) else None
            if exponents is None:
                continue
            if np.abs(exponents).max(initial=0.0) > LARGEST_EXPONENT:
                return
            made = self._product(exponents, parts, rounded)
            if made is None:
                continue
            root, own_values = made
            predicted = formulas.predict(root, rows, (1.0, *own_values))
            if np.isfinite(predicted).all():
                with np.errstate(over="ignore", invalid="ignore"):  # a factor that is not finite is refused
                    factor = float((predicted * rows.y).sum() / ((predicted * predicted).sum() + 1e-300))
                self.findings.offer(root, (factor, *own_values), "product")

    def _parts(self, chosen: Sequence[int]) -> list[_Part]:
        library, formulas, found = self.atoms.library, self.findings.formulas, []
        for i in chosen:
            place = int(self.columns.place[i])
            root = library.formula(place, formulas)
            values = formulas.predict(root, self.findings.some)
            dimension = library.table.vectors[library.dimension[place]]
            found.append(_Part(root, values, bool(self.columns.is_factor[i]), dimension))
        return found

    def _product(
        self, exponents: Matrix, parts: Sequence[_Part], powers: Sequence[float]
    ) -> tuple[int, list[float]] | None:
        """The formula, and values of its free constants but for the factor, which is the first."""
        formulas = self.findings.formulas
        factors, free = [formulas.monomial(self.task.spread_out(exponents))], []
        for part, power in zip(parts, powers, strict=True):
            root, own = part.root, part.values
            if not part.is_factor:
                free.append(power)
                factors.append(formulas.call("exp", formulas.mul(formulas.free(len(free)), root)))
                continue
            if power == 0 or abs(power) > LARGEST_POWER:
                return None
            if power != int(power) and (own < 0).any():
                if not (own < 0).all():
                    return None
                root = formulas.call("neg", root)
            factors.append(formulas.power(root, power))
        return formulas.mul(formulas.free(0), formulas.product(factors)), free
