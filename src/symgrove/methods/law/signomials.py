"""Sums of up to three monomials: T(y) = sum of c_k * product of x_j^p_kj.

Exponents are found as continuous numbers, from several starts, and rounded; the cost hardly depends on the number of
features. Differences of exponents of two terms suggest groups of features, dimensionless ones where there are units.

Where the target is noisy, they are looked for once more, from more rows: what transforms need to know of the target
without noise is known by then, and of each start several roundings are offered.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.methods.law import signomial_kernels
from symgrove.methods.law.algebra import least_squares
from symgrove.methods.law.exponent_lattice import near, precision_of
from symgrove.methods.law.findings import Findings
from symgrove.methods.law.formulas import RowSet
from symgrove.methods.law.task import LawTask
from symgrove.methods.law.transforms import ITSELF, POWERS, Transform, Transformed, offer_linear, transformed
from symgrove.methods.law.units import Exponents

Matrix = NDArray[np.float64]
N_STARTS = {1: 1, 2: 30, 3: 30}
N_STEPS = {1: 40, 2: 40, 3: 60}
GRIDS = (1.0, 0.5, 1.0 / 3.0)
LARGEST_EXPONENT = 12.0
MOST_GROUPS = 30
N_ROUNDED = 4  # of the best starts
NOISY_STARTS, NOISY_ROUNDED, NOISY_GRIDS, N_NEAR = 15, 3, (1.0, 0.5), 8  # the same, and roundings of each


def search_signomials(task: LawTask, findings: Findings, rows: RowSet, *, is_noisy: bool = False) -> Iterator[str]:
    """Offer sums of one, two and three monomials; pauses after each number of terms."""
    monomial = _offer_monomials(task, findings, rows)
    yield "monomials"
    if monomial is None or not task.has_one_sign.any():
        return
    system = task.exponents_of(task.has_one_sign)
    for n_terms in (2, 3):
        for transform in POWERS.values():
            if task.is_over():
                return
            own = transformed(transform, rows)
            if own is not None:
                search = _SumSearch(task, rows, own, transform, n_terms, system, is_noisy=is_noisy)
                _offer_sums(task, findings, search, monomial)
        yield f"sums of {n_terms} monomials"


def _offer_monomials(task: LawTask, findings: Findings, rows: RowSet) -> Matrix | None:
    """One monomial; returns the exponents that fit the logarithm of the target best, of features with one sign."""
    size = np.abs(rows.y)
    logs = task.logs_of(rows)
    has_logs = np.asarray(np.isfinite(logs).all(axis=1))  # not where a feature is zero, as those of categories are
    is_used = size > 1e-12 * size.max()
    if not has_logs.any() or is_used.sum() < 2 * (has_logs.sum() + 1):
        return None
    system, wanted = task.exponents_of(has_logs), task.units.known_target
    if not system.has(wanted):
        return None
    first, own = system.first(wanted), logs[np.ix_(has_logs, is_used)]
    A = np.vstack([np.ones(is_used.sum()), product(system.null, own)])
    weight = size[is_used] * (1.0 if rows.root_weight is None else rows.root_weight[is_used])
    found = np.zeros(task.n_features)
    target = np.log(size[is_used]) - product(first, own)
    found[has_logs] = first + product(least_squares(A * weight, target * weight)[1:], system.null)
    for grid in GRIDS:
        exponents, rounded = np.zeros(task.n_features), system.rounded(found[has_logs], grid, wanted)
        if rounded is None:
            continue
        exponents[has_logs] = rounded
        if np.abs(exponents).max(initial=0.0) <= LARGEST_EXPONENT and exponents.any():
            offer_linear(
                findings, ITSELF, findings.formulas.one, [findings.formulas.monomial(exponents.tolist())], "monomial"
            )
    return found[task.has_one_sign]


class _SumSearch:
    """Sums of so many monomials, a transform of the target, on some rows.

    Terms are one monomial that has the target's dimension, times such without units, whose exponents are looked for.
    """

    def __init__(
        self,
        task: LawTask,
        rows: RowSet,
        own: Transformed,
        transform: Transform,
        n_terms: int,
        system: Exponents,
        *,
        is_noisy: bool,
    ) -> None:
        self.task, self.transform, self.n_terms, self.system, self.is_noisy = task, transform, n_terms, system, is_noisy
        self.wanted = transform.degree * task.units.known_target
        self.is_possible = bool(system.has(self.wanted) and system.free.size)
        if not self.is_possible:
            return
        self.first = system.first(self.wanted)
        every_log = task.logs_of(rows)[task.has_one_sign]
        log_in_front = product(self.first, every_log)
        in_front = np.exp(np.clip(log_in_front - log_in_front.mean(), -30, 30))
        self.target, self.weight = own.target / in_front, own.weight * in_front
        self.logs = np.ascontiguousarray(product(system.null, every_log).T)

    def best_starts(self, monomial: Matrix) -> list[tuple[float, int, Matrix]]:
        """Free exponents of the terms, with the sums of squares and the places of their starts, the best first."""
        task, transform, n_terms = self.task, self.transform, self.n_terms
        target, weight, logs = self.target, self.weight, self.logs
        rng = task.rng(f"signomials {transform.name} {n_terms}")
        tolerance = 1e-22 * float((weight**2 * target**2).sum())
        ended = []
        for start in range(NOISY_STARTS if self.is_noisy else N_STARTS[n_terms]):
            if start and task.is_over():
                break
            exponents = np.tile(monomial[self.system.free] * transform.degree, (n_terms, 1))
            exponents += (rng.random(exponents.shape) < 0.5) * rng.normal(0.0, 1.2, exponents.shape)
            if start % 3 == 0:
                exponents = np.round(exponents)
            c = least_squares(self._terms(exponents), target * weight, 1e-8) + 1e-6
            total = signomial_kernels.fit_signomial(logs, target, weight, c, exponents, N_STEPS[n_terms], tolerance)
            if np.isfinite(total):
                ended.append((total, start, exponents))
            if total < 10 * tolerance:
                break
        return sorted(ended, key=lambda each: each[:2])

    def rounded(self, exponents: Matrix) -> Iterator[Matrix]:
        """Exponents of all features, (n_terms, n_features), rounded in several ways."""
        for grid in NOISY_GRIDS if self.is_noisy else GRIDS:
            for near_by in self._near(exponents, grid) if self.is_noisy else [exponents]:
                found = self.system.rounded(self.first + product(near_by, self.system.null), grid, self.wanted)
                if found is not None:
                    yield found

    def _near(self, exponents: Matrix, grid: float) -> list[Matrix]:
        terms = self._terms(exponents)
        c = least_squares(terms, self.target * self.weight, 1e-8)
        slopes = ((c[:, None] * terms)[:, None, :] * self.logs.T).reshape(exponents.size, -1)
        rest = self.target * self.weight - product(c, terms)
        if not (np.isfinite(slopes).all() and np.isfinite(rest).all()):
            return []
        sharp = precision_of(terms, slopes, rest)
        return [own.reshape(exponents.shape) for own in near(exponents.ravel(), sharp, grid, N_NEAR, LARGEST_EXPONENT)]

    def _terms(self, exponents: Matrix) -> Matrix:
        """Weighted, (n_terms, n_rows)."""
        found: Matrix = np.exp(np.clip(product(exponents, self.logs.T), -30, 30)) * self.weight
        return found


def _offer_sums(task: LawTask, findings: Findings, search: _SumSearch, monomial: Matrix) -> None:
    """Sums of monomials, whose exponents are the best of several starts, rounded."""
    if not search.is_possible:
        return
    ended = search.best_starts(monomial)
    for _, _, exponents in ended[:2]:
        _note_groups(task, product(exponents, search.system.null))
    seen = set()
    for _, _, exponents in ended[: NOISY_ROUNDED if search.is_noisy else N_ROUNDED]:
        for rounded in search.rounded(exponents):
            distinct = sorted({tuple(row) for row in rounded.tolist()})
            if np.abs(rounded).max() > LARGEST_EXPONENT or tuple(distinct) in seen:
                continue
            seen.add(tuple(distinct))
            _offer_sum(task, findings, search.transform, np.array(distinct))


def _offer_sum(task: LawTask, findings: Findings, transform: Transform, exponents: Matrix) -> None:
    """A sum of monomials, what they have in common in front of everything."""
    smallest = exponents[np.argmin(np.abs(exponents), axis=0), np.arange(exponents.shape[1])]
    common = np.where((np.sign(exponents) == np.sign(smallest)).all(axis=0), smallest, 0.0)
    # Twelfths, because differences of thirds are no whole numbers but for rounding.
    in_front, rest = (np.round(12 * own) / 12 for own in (common / transform.degree, exponents - common))
    multiplier = findings.formulas.monomial(task.spread_out(in_front))
    terms = [findings.formulas.monomial(task.spread_out(row)) for row in rest if row.any()]
    if terms:
        origin = f"sum of {len(exponents)} monomials, {transform.name}"
        offer_linear(findings, transform, multiplier, terms, origin, constants=(len(terms) < len(exponents),))


def _note_groups(task: LawTask, exponents: Matrix) -> None:
    """Differences of exponents of two terms, if they are nearly whole."""
    for a, b in combinations(exponents, 2):
        largest = np.abs(a - b).max()
        if largest < 1e-3 or len(task.groups) > MOST_GROUPS:
            continue
        for scale in (1, 2):
            group = (a - b) / largest * scale
            rounded = np.round(group)
            if np.abs(group - rounded).max() < 0.2 and rounded.any():
                for sign in (1, -1):
                    own = tuple(float(p) + 0.0 for p in task.spread_out(sign * rounded))
                    if own not in task.groups:
                        task.groups.append(own)
                break
