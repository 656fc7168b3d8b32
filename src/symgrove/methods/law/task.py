"""What a search is about: the rows, and smaller sets of them to look at first."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from symgrove.methods.law.formulas import RowSet
from symgrove.methods.law.rules import Rules
from symgrove.methods.law.units import Exponents, Units, no_units
from symgrove.rng import stream

Matrix = NDArray[np.float64]
# Rows that pairs of atoms are compared on, that exponents are found on, and that candidates are compared on.
N_SCANNED, N_FEW, N_SOME = 256, 600, 1500
N_NOISY = 3000  # that exponents are found on where the target is noisy
NOISY = 1e-3  # share of the variance from which on noise hides exponents, so that they are looked for again
N_TESTED = 10_000  # that residuals are told from noise on
N_EVOLVED = 1000  # that programs evolve on
N_GENERATIONS = 180


@dataclass
class LawTask:
    """A search.

    Attributes
    ----------
    X, y, weight
        Training rows; no weight: all weigh the same.
    seed : int
    functions : tuple of str
        Functions of one operand that formulas may have.
    end : float
        When the time is up.
    check : callable
        Whether somebody wants to stop.
    rules : Rules, optional
        What formulas may be besides; by default, everything.
    is_short : bool
        Whether only monomials and evolution are wanted.
    n_generations : int
        Of the evolution.
    groups : list of tuples
        Exponents of features that are a part of formulas, noted by the first search.
    noise : float
        Mean square of the target's noise, as far as it is known by now, as a share of its variance.
    """

    X: Matrix
    y: Matrix
    weight: Matrix | None
    seed: int
    functions: tuple[str, ...]
    end: float = np.inf
    check: Callable[[], bool] = lambda: False
    rules: Rules | None = None
    is_short: bool = False
    n_generations: int = N_GENERATIONS
    groups: list[tuple[float, ...]] = field(default_factory=list)
    noise: float = 0.0

    def __post_init__(self) -> None:
        order = stream(self.seed, "rows").permutation(len(self.y))
        self.rows = self._rows(np.arange(len(self.y)))
        sizes = N_TESTED, N_NOISY, N_SOME, N_EVOLVED, N_FEW, N_SCANNED
        self.tested, self.noisy, self.some, self.evolved, self.few, self.scanned = (
            self._rows(order[:n]) for n in sizes
        )
        self.is_positive: NDArray[np.bool_] = np.all(self.X > 0, axis=0)
        self.has_one_sign: NDArray[np.bool_] = self.is_positive | np.all(self.X < 0, axis=0)

    @property
    def units(self) -> Units:
        """Of features and target."""
        return no_units(self.n_features) if self.rules is None else self.rules.units

    def exponents_of(self, features: NDArray[np.intp] | NDArray[np.bool_]) -> Exponents:
        """Which exponents of some features have which dimension; those of constants follow from others if they can."""
        places = np.arange(self.n_features)[features]
        varies = np.ptp(self.rows.columns[places], axis=1) > 0
        return Exponents(self.units.known_features[places], np.argsort(varies, kind="stable").tolist())

    def _rows(self, places: NDArray[np.intp]) -> RowSet:
        weight = None if self.weight is None else self.weight[places]
        return RowSet(self.X[places], self.y[places], weight)

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return self.X.shape[1]

    @property
    def is_noisy(self) -> bool:
        """Whether noise is known to hide exponents."""
        return self.noise > NOISY

    def rng(self, name: str) -> np.random.Generator:
        """A stream of its own for each purpose."""
        return stream(self.seed, name)

    def is_over(self) -> bool:
        """Whether the search should end."""
        return time.perf_counter() > self.end or self.check()

    def logs_of(self, rows: RowSet) -> Matrix:
        """Logarithms of the sizes of features, (n_features, n_rows)."""
        with np.errstate(divide="ignore"):
            return np.log(np.abs(rows.columns))

    def spread_out(self, exponents: Matrix | tuple[float, ...]) -> list[float]:
        """Exponents of all features, from those of the features with one sign."""
        found = np.zeros(self.n_features)
        found[self.has_one_sign] = exponents
        return found.tolist()
