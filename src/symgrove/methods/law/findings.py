"""What a search has found: formulas with fitted constants, compared by how many bits describe the data with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from symgrove.methods.law.fitting import Fitting, error_of, fit, standard_errors
from symgrove.methods.law.formulas import LawFormulas, RowSet
from symgrove.methods.law.freeing import freed
from symgrove.methods.law.numbers import simple_near
from symgrove.methods.law.rules import RuleChecks

SMALLEST_ERROR = 1e-19  # as a share of the target's variance; below, it is rounding
N_BITS_BEHIND = 0.15  # for each row: candidates that are further behind the best are not fitted on all rows
MOST_WAITING = 400
MOST_LOOKED_AT = 60
LARGEST_IN_FRONT = 60


class Candidate(NamedTuple):
    """A formula with values of its free constants, and where it comes from.

    `error` is of some rows, `bits` of the formula alone.
    """

    root: int
    values: tuple[float, ...]
    error: float
    bits: float
    origin: str


class Found(NamedTuple):
    """A formula whose constants were fitted on all rows."""

    root: int
    values: tuple[float, ...]
    error: float
    bits: float
    origin: str
    size: int


@dataclass
class Findings:
    """Candidates on some rows, and what became of the best of them on all rows.

    Attributes
    ----------
    formulas : LawFormulas
    few, some, rows : RowSet
        Rows to try constants on, to compare candidates on, and all rows.
    is_over : callable
        Whether the time is up.
    checks : RuleChecks, optional
        What does not keep the rules is not kept.
    """

    formulas: LawFormulas
    few: RowSet
    some: RowSet
    rows: RowSet
    is_over: Callable[[], bool]
    checks: RuleChecks | None = None
    waiting: dict[tuple[float, int], Candidate] = field(default_factory=dict)
    found: dict[int, Found] = field(default_factory=dict)
    smallest: dict[int, Candidate] = field(default_factory=dict)
    _done: set[int] = field(default_factory=set)
    _freed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        weight = None if self.rows.root_weight is None else self.rows.root_weight**2
        self.variance = max(float(np.average((self.rows.y - self.rows.mean) ** 2, weights=weight)), 1e-300)

    def description(self, error: float, bits: float) -> float:
        """Bits of the formula, and of the data with it."""
        return 0.5 * self.rows.n_rows * math.log2(error / self.variance + SMALLEST_ERROR) + bits

    def offer(self, root: int, values: tuple[float, ...], origin: str) -> None:
        """A candidate; its constants suit the rows that it was found on."""
        if not all(map(math.isfinite, values)):
            return
        small = (root, values) if self.checks is None else self.checks.small_enough(root, values)
        if small is None:
            return
        root, values = small
        if not self._is_allowed(root):
            if self.checks is None or not self.checks.rules.units.constants_have_units:
                return
            root, values = freed(self.formulas, root, values)  # constants in front of operands give them their units
            if not self._is_allowed(root):
                return
        error = error_of(self.formulas, root, self.some, values)
        if not error < self.variance:
            return
        bits = self.formulas.bits(root)
        candidate = Candidate(root, values, error, bits, origin)
        size = self.formulas.size(root)
        if size <= LARGEST_IN_FRONT and error < self.smallest.get(size, candidate._replace(error=np.inf)).error:
            self.smallest[size] = candidate
        key = round(math.log(error / self.variance + 1e-22), 3), round(bits)
        if key not in self.waiting or self.waiting[key].error > error:
            self.waiting[key] = candidate

    def _is_allowed(self, root: int) -> bool:
        return self.checks is None or self.checks.allow(root)

    @property
    def most_nodes(self) -> float:
        """Of a formula."""
        most = None if self.checks is None else self.checks.rules.max_size
        return np.inf if most is None else most

    def _score(self, candidate: Candidate) -> float:
        return self.description(candidate.error, candidate.bits)

    @property
    def best(self) -> Found | None:
        """The one that describes the data in the fewest bits."""
        return min(self.found.values(), key=lambda f: self.description(f.error, f.bits), default=None)

    def free_best(self, n_most: int) -> None:
        """Offer the best candidates with their numbers as free constants, where that shortens the description."""
        for candidate in sorted(self.waiting.values(), key=self._score)[:MOST_LOOKED_AT]:
            if candidate.root in self._freed:
                continue
            if n_most <= 0 or self.is_over():
                break
            self._freed.add(candidate.root)
            n_most -= 1
            root, values = freed(self.formulas, candidate.root, candidate.values)
            if len(values) == len(candidate.values):
                continue
            fitted = fit(self.formulas, root, self.few, values, 15)
            if np.isfinite(fitted.error):
                self.offer(root, fitted.values, candidate.origin)

    def polish_best(self, n_most: int) -> None:
        """Fit the best candidates on all rows."""
        ordered = sorted(self.waiting.values(), key=self._score)
        n_done = 0
        for candidate in ordered:
            best = self.best
            limit = np.inf if best is None else self.description(best.error, best.bits)
            if self._score(candidate) > limit + N_BITS_BEHIND * self.rows.n_rows or n_done >= n_most:
                break
            if candidate.root in self._done:
                continue
            if self.is_over() and n_done:
                break
            self._done.add(candidate.root)
            n_done += 1
            self.polish(candidate)
        self.waiting = {key: c for key, c in self.waiting.items() if c.root not in self._done}
        if len(self.waiting) > MOST_WAITING:
            kept = sorted(self.waiting.items(), key=lambda item: self._score(item[1]))[:MOST_WAITING]
            self.waiting = dict(kept)

    def polish(self, candidate: Candidate) -> None:
        """Fit a candidate on all rows, and make its constants simple numbers where that shortens the description."""
        fitted = fit(self.formulas, candidate.root, self.rows, candidate.values, 8)
        if not np.isfinite(fitted.error):
            return
        own = Found(candidate.root, fitted.values, fitted.error, candidate.bits, candidate.origin, 0)
        self.keep(own)
        self.keep(self._snapped(own))

    def _snapped(self, own: Found) -> Found:
        for k in range(len(own.values) - 1, -1, -1):
            own = min(self._with_simple(own, k), key=lambda f: self.description(f.error, f.bits))
        return own

    def _with_simple(self, own: Found, k: int) -> Iterator[Found]:
        """The formula, and what it is with simple numbers in the place of a constant."""
        yield own
        formulas, value = self.formulas, own.values[k]
        spread = float(standard_errors(formulas, own.root, self.rows, Fitting(own.values, own.error))[k])
        distance = 6 * spread * (3 if len(own.values) > 2 else 2) + 1e-7 * abs(value)
        for number, bits in simple_near(value, distance):
            fixed = [number if i == k else None for i in range(len(own.values))]
            root = formulas.with_values(own.root, fixed)
            left = tuple(v for i, v in enumerate(own.values) if i != k)
            if len(formulas.free_of(root)) < len(left) or not self._is_allowed(root):
                continue  # another constant has lost its meaning, or its unit is missing now
            fitted = fit(formulas, root, self.rows, left, 5)
            if np.isfinite(fitted.error):
                more = bits - 4.0 if number else 0.0
                yield replace_found(own, root, fitted, formulas.bits(root) + more)

    def keep(self, own: Found) -> None:
        """Remember a formula that was fitted, with its size."""
        if self.checks is not None and not (self.checks.allow_size(own.root) and self.checks.allow(own.root)):
            return
        known = self.found.get(own.root)
        if known is None or known.error > own.error:
            self.found[own.root] = own._replace(size=self.formulas.size(own.root))


def replace_found(own: Found, root: int, fitted: Fitting, bits: float) -> Found:
    """Another formula from the same origin."""
    return own._replace(root=root, values=fitted.values, error=fitted.error, bits=bits)
