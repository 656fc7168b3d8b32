"""Sums of up to three monomials: T(y) = sum of c_k * product of x_j^p_kj.

Exponents are found as continuous numbers, from several starts, and rounded; the cost hardly depends on the number of
features. Differences of exponents of two terms suggest groups of features, dimensionless ones where there are units.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from symgrove.blas import product
from symgrove.methods.law import signomial_kernels
from symgrove.methods.law.algebra import least_squares
from symgrove.methods.law.findings import Findings
from symgrove.methods.law.task import LawTask
from symgrove.methods.law.transforms import ITSELF, POWERS, Transform, offer_linear, transformed
from symgrove.methods.law.units import Exponents

Matrix = NDArray[np.float64]
N_STARTS = {1: 1, 2: 30, 3: 30}
N_STEPS = {1: 40, 2: 40, 3: 60}
GRIDS = (1.0, 0.5, 1.0 / 3.0)
LARGEST_EXPONENT = 12.0
MOST_GROUPS = 30
N_ROUNDED = 4  # of the best starts


def search_signomials(task: LawTask, findings: Findings) -> Iterator[str]:
    """Offer sums of one, two and three monomials; pauses after each number of terms."""
    monomial = _offer_monomials(task, findings)
    yield "monomials"
    if monomial is None or not task.has_one_sign.any():
        return
    system = task.exponents_of(task.has_one_sign)
    for n_terms in (2, 3):
        for transform in POWERS.values():
            if task.is_over():
                return
            own = transformed(transform, task.few)
            if own is not None:
                _offer_sums(task, findings, transform, n_terms, system, monomial)
        yield f"sums of {n_terms} monomials"


def _offer_monomials(task: LawTask, findings: Findings) -> Matrix | None:
    """One monomial; returns the exponents that fit the logarithm of the target best, of features with one sign."""
    rows = task.few
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


def _offer_sums(
    task: LawTask, findings: Findings, transform: Transform, n_terms: int, system: Exponents, monomial: Matrix
) -> None:
    """Sums of so many monomials, whose exponents are the best of several starts, rounded.

    Terms are one monomial that has the target's dimension, times such without units, whose exponents are looked for.
    """
    wanted = transform.degree * task.units.known_target
    if not (system.has(wanted) and system.free.size):
        return
    ended = _best_starts(task, transform, n_terms, system, monomial)
    first = system.first(wanted)
    for _, _, exponents in ended[:2]:
        _note_groups(task, product(exponents, system.null))
    seen = set()
    for _, _, exponents in ended[:N_ROUNDED]:
        for grid in GRIDS:
            rounded = system.rounded(first + product(exponents, system.null), grid, wanted)
            if rounded is None:
                continue
            distinct = sorted({tuple(row) for row in rounded.tolist()})
            if np.abs(rounded).max() > LARGEST_EXPONENT or tuple(distinct) in seen:
                continue
            seen.add(tuple(distinct))
            _offer_sum(task, findings, transform, np.array(distinct))


def _best_starts(
    task: LawTask, transform: Transform, n_terms: int, system: Exponents, monomial: Matrix
) -> list[tuple[float, int, Matrix]]:
    """Free exponents of the terms, with the sums of squares and the places of their starts, the best first."""
    rows = task.few
    own = transformed(transform, rows)
    assert own is not None
    every_log = task.logs_of(rows)[task.has_one_sign]
    log_in_front = product(system.first(transform.degree * task.units.known_target), every_log)
    in_front = np.exp(np.clip(log_in_front - log_in_front.mean(), -30, 30))
    target, weight = own.target / in_front, own.weight * in_front
    logs = np.ascontiguousarray(product(system.null, every_log).T)
    rng = task.rng(f"signomials {transform.name} {n_terms}")
    tolerance = 1e-22 * float((own.weight**2 * own.target**2).sum())
    ended = []
    for start in range(N_STARTS[n_terms]):
        if start and task.is_over():
            break
        exponents = np.tile(monomial[system.free] * transform.degree, (n_terms, 1))
        exponents += (rng.random(exponents.shape) < 0.5) * rng.normal(0.0, 1.2, exponents.shape)
        if start % 3 == 0:
            exponents = np.round(exponents)
        powers = np.exp(np.clip(product(logs, exponents.T), -30, 30)) * weight[:, None]
        c = least_squares(powers.T, target * weight, 1e-8) + 1e-6
        total = signomial_kernels.fit_signomial(logs, target, weight, c, exponents, N_STEPS[n_terms], tolerance)
        if np.isfinite(total):
            ended.append((total, start, exponents))
        if total < 10 * tolerance:
            break
    return sorted(ended, key=lambda each: each[:2])


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
