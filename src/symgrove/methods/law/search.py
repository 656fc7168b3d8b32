"""The search for one short formula.

    sums of one, two and three monomials, with continuous exponents
    which features are a power in front of everything else
    a library of atoms of the others
    products with one atom, sums of one, products with two and three, sums of two and three, quotients
    the same with all features, if some were in front
    evolution, which begins with what was found

What costs most is left out where what was found before is too far from the target to be close to a law.

After each step the best candidates are fitted on all rows, and the search ends if one of them is exact, or leaves
nothing but noise and is short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from symgrove.methods.law.additive import SumSearch
from symgrove.methods.law.divided import search_quotients
from symgrove.methods.law.evolving import evolve
from symgrove.methods.law.findings import Candidate, Findings, Found
from symgrove.methods.law.fitting import error_of
from symgrove.methods.law.formulas import LawFormulas, RowSet
from symgrove.methods.law.library import Atoms, make_atoms
from symgrove.methods.law.multiplicative import search_products
from symgrove.methods.law.polynomials import LackOfFit, exponents_of, separable_powers
from symgrove.methods.law.rules import RuleChecks
from symgrove.methods.law.signomials import search_signomials
from symgrove.methods.law.task import LawTask

EXACT = 1e-16  # mean squared error as a share of the variance
N_FREED, N_POLISHED = 12, 15
# A formula of up to so many bits a feature, but at least so many, is short enough to end the search; after pairs of
# atoms a longer one is, because nothing shorter is to come.
BITS_A_FEATURE, FEWEST_BITS = 12.0, 50.0
LATER = 1.6
LAWS = ("exact", "noise")  # reasons to end that say that a law was found
MOST_NUMBERS_EARLY = 1  # free constants of a formula that may end the search before there are atoms
FEWEST_ATOMS = 3
# The target is smoothed if a formula leaves at most this share of the variance, and a polynomial of what it leaves at
# least that.
MOST_SMOOTHED, LEAST_NOISE, ROWS_A_SMOOTHED_COLUMN = 0.35, 1e-5, 6
WEAK = 0.75  # of the bits that end a search, where rows are too few to see what else could be explained
# Mean squared error, as a share of the variance, up to which what is left may be taken for noise.
MOST_NOISE, MOST_NOISE_OF_FEW, FEW_ROWS = 0.25, 0.02, 150
LEVEL = 1e-4  # share of an error by which another must be lower to be better
# Mean squared error, as a share of the variance, from which on sums and products of so many atoms are not looked for.
MOST_LEFT = {1: np.inf, 2: 0.5, 3: 0.01}


@dataclass
class Outcome:
    """What a search has found.

    Attributes
    ----------
    formulas : LawFormulas
    found : list of Found
        The best of every size, each with a lower error than all smaller ones.
    reason : str
        Why it ended: exact, noise, everything (was tried) or time.
    """

    formulas: LawFormulas
    findings: Findings
    found: list[Found]
    reason: str


def search(task: LawTask, tell: Callable[[str, Findings], None] = lambda step, findings: None) -> Outcome:
    """Run the steps until one is enough."""
    formulas = LawFormulas(task.n_features)
    checks = None if task.rules is None else RuleChecks(formulas, task.rules)
    findings = Findings(formulas, task.few, task.some, task.rows, task.is_over, checks)
    stop = _Stop(task, findings)
    reason = ""
    for step in _steps(task, findings):
        findings.free_best(N_FREED)
        findings.polish_best(N_POLISHED)
        tell(step.name, findings)
        ended = stop.reason(step)
        if ended:
            reason = ended
            break
    reason = reason or ("time" if task.is_over() else "everything")
    return Outcome(formulas, findings, front_of(findings, is_law=reason in LAWS), reason)


class _Step(NamedTuple):
    """A step that was done: whether longer formulas are welcome by now, and whether the search may end after it.

    It may not between products and sums of as many atoms: what is a short sum may be a longer product. Before atoms,
    it ends with few numbers only: sums of powers with fitted coefficients come close to many laws; where noise hides
    the difference, it does not end before atoms.
    """

    name: str
    is_late: bool = False
    may_end: bool = True
    is_early: bool = False


def _steps(task: LawTask, findings: Findings) -> Iterator[_Step]:
    """Do one after the other."""
    for step in search_signomials(task, findings, task.few):
        yield _Step(step, is_early=True)
    if not task.is_short:
        smooth_target(task, findings)
        if task.is_noisy:
            for step in search_signomials(task, findings, task.noisy, is_noisy=True):
                yield _Step(f"{step}, without noise", may_end=False)
        yield from _steps_with_atoms(task, findings)
    yield from (_Step(step, is_late=True) for step in evolve(task, findings))


def _steps_with_atoms(task: LawTask, findings: Findings) -> Iterator[_Step]:
    """Of features that are no power in front of everything else, then of all."""
    formulas = findings.formulas
    powers = separable_powers(task)
    inner = [j for j in range(task.n_features) if j not in powers]
    in_front = exponents_of(powers, task.n_features)
    parts = [(inner, in_front)] if powers and inner else []
    for active, exponents in [*parts, ([*range(task.n_features)], [0.0] * task.n_features)]:
        if task.is_over():
            return
        wanted = task.units.known_target - task.units.of_monomial(exponents)
        if not task.exponents_of(np.array(active)).has(wanted):
            continue
        atoms = make_atoms(task, active, wanted)
        if len(atoms.library) < FEWEST_ATOMS or task.is_over():
            return
        smooth_target(task, findings)
        yield from _with_atoms(task, findings, atoms, formulas.monomial(exponents))


def _with_atoms(task: LawTask, findings: Findings, atoms: Atoms, multiplier: int) -> Iterator[_Step]:
    """Products and sums in turns, simple ones first."""
    products, sums = search_products(task, findings, atoms), SumSearch(task, findings, atoms, multiplier)
    for n_atoms, most_left in MOST_LEFT.items():
        smooth_target(task, findings)
        best = findings.best
        if best is not None and best.error > most_left * findings.variance:
            return
        is_late = n_atoms > 1
        yield from (_Step(step, is_late, may_end=False) for step in islice(products, 1))
        yield from (_Step(step, is_late, may_end=False) for step in sums.with_atoms(n_atoms))
        yield _Step(f"{n_atoms} atoms", is_late)
    yield from (_Step(step, is_late=True) for step in search_quotients(task, findings, atoms, multiplier))


def smooth_target(task: LawTask, findings: Findings) -> None:
    """Tell the rows their target without noise, as far as it is known by now, if there is more than a little noise."""
    best = findings.best
    if best is None or best.error > MOST_SMOOTHED * findings.variance:
        return
    found = LackOfFit(task.tested, ROWS_A_SMOOTHED_COLUMN).smoothed(findings.formulas, best)
    if found is None or not found[1] > LEAST_NOISE * findings.variance:
        return
    task.noise = found[1] / findings.variance
    for rows in (task.noisy, task.some, task.few, task.scanned):  # all begin as the tested ones
        rows.smooth = found[0][: rows.n_rows]


class _Stop:
    def __init__(self, task: LawTask, findings: Findings) -> None:
        self.task, self.findings = task, findings
        self._test: LackOfFit | None = None
        self._tested: dict[tuple[int, float], bool] = {}

    def reason(self, step: _Step) -> str:
        """Why to stop now; empty: go on."""
        best = self.findings.best
        if best is not None and step.may_end:
            if best.error <= EXACT * self.findings.variance:
                return "exact"
            most = max(FEWEST_BITS, BITS_A_FEATURE * self.task.n_features) * (LATER if step.is_late else 1.0)
            is_early = step.is_early and len(best.values) > MOST_NUMBERS_EARLY
            if best.bits <= most and not is_early and self._is_noise(best, most):
                return "noise"
        return "time" if self.task.is_over() else ""

    def _is_noise(self, best: Found, most_bits: float) -> bool:
        # Where much is left, or rows are few, a polynomial sees little of what could still be explained.
        most_left = MOST_NOISE if self.task.rows.n_rows >= FEW_ROWS else MOST_NOISE_OF_FEW
        if best.error > most_left * self.findings.variance:
            return False
        self._test = self._test or LackOfFit(self.task.tested)
        if self._test.is_weak and best.bits > WEAK * most_bits:
            return False
        key = best.root, best.error
        if key not in self._tested:
            self._tested[key] = self._test.passes(self.findings.formulas, best)
        return self._tested[key]


def front_of(findings: Findings, *, is_law: bool) -> list[Found]:
    """The best of every size, each with a lower error than all smaller ones.

    Of a law, that is the shortest description: others of its size follow the noise.
    """

    for candidate in [*findings.smallest.values()]:
        if findings.is_over():
            break
        _polish(findings, candidate)
    return best_of_sizes(findings, is_law=is_law)


def best_of_sizes(findings: Findings, *, is_law: bool = False) -> list[Found]:
    """The same of those that have been fitted so far."""

    def badness(found: Found) -> float:
        return findings.description(found.error, found.bits) if is_law else found.error

    mean = constant_found(findings.formulas, findings.rows)
    best = {1: mean} if findings.checks is None or findings.checks.allow(mean.root) else {}
    for found in findings.found.values():
        if found.size not in best or badness(found) < badness(best[found.size]):
            best[found.size] = found
    law = findings.best if is_law else None
    if law is not None:  # smaller ones that come closer follow the noise, and have numbers that cost more bits
        best = {size: own for size, own in best.items() if size >= law.size or own.error > law.error * (1 + LEVEL)}
    front, lowest = [], np.inf
    for size in sorted(best):
        if best[size].error < lowest / (1 + LEVEL):
            lowest = best[size].error
            front.append(best[size])
    return front or [mean]


def constant_found(formulas: LawFormulas, rows: RowSet) -> Found:
    """The formula that is the mean, whatever the row."""
    root, values = formulas.free(0), (rows.mean,)
    return Found(root, values, error_of(formulas, root, rows, values), formulas.bits(root), "mean", 1)


def _polish(findings: Findings, candidate: Candidate) -> None:
    if candidate.root not in findings.found:
        findings.polish(candidate)
