"""What a model says of a new value: a mixture of normal distributions, one for each member.

    variance           = noise² + stretch² * spread of the members²
    centre of member k = prediction + √½ * stretch * (member's prediction - prediction)
    deviation² of each = noise² + ½ * stretch² * spread²

so half of what the members' spread tells is where the centres are, the other half how wide each distribution is: one
member alone is no likely value. Stretch and noise are those with the highest likelihood, for a normal distribution of
that variance, on rows that the model was not fitted on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp, ndtr

Matrix = NDArray[np.float64]
# Deviations are at least this share of the size of the residuals' deviation, so that no density is infinite.
LOWEST_SHARE = 1e-3
LARGEST_VARIANCE = 1e12
N_HALVINGS = 100


class Noise(NamedTuple):
    """What turns members' predictions into a distribution."""

    stretch: float
    deviation: float

    def mixture(self, prediction: Matrix, members: Matrix, spread: Matrix) -> Mixture:
        """The distribution on rows with this prediction, these predictions of the members, and their spread."""
        away = members - prediction
        size = np.sqrt(np.mean(away**2, axis=0))
        # Of a stack of ensembles the spread is that of all levels, more than that of the members shown.
        away = away * np.where(size > 0, spread / np.where(size > 0, size, 1.0), 0.0)
        reach = np.sqrt(0.5) * self.stretch
        return Mixture(prediction + reach * away, np.hypot(self.deviation, reach * spread))


def fit_noise(residuals: Matrix, spread: Matrix) -> Noise:
    """The most likely stretch and deviation."""
    known = np.isfinite(residuals) & np.isfinite(spread)
    residuals, spread = residuals[known], spread[known]
    largest = float(np.abs(residuals).max(initial=0.0))
    if not largest > 0:
        return Noise(1.0, max(1e-6 * float(spread.max(initial=0.0)), np.finfo(np.float64).tiny))
    scale = largest * float(np.sqrt(np.mean((residuals / largest) ** 2)))
    with np.errstate(over="ignore"):
        squares, variances = (residuals / scale) ** 2, np.minimum((spread / scale) ** 2, LARGEST_VARIANCE)

    def loss(logarithms: Matrix) -> tuple[float, Matrix]:
        stretch, noise = np.exp(2 * logarithms)
        variance = stretch * variances + noise
        slope = 0.5 * (1 / variance - squares / variance**2)
        gradient = np.array([np.mean(slope * stretch * variances), np.mean(slope * noise)]) * 2
        return float(0.5 * np.mean(np.log(variance) + squares / variance)), gradient

    bounds = [(np.log(LOWEST_SHARE), 5.0), (np.log(LOWEST_SHARE), 5.0)]
    starts = [np.array([-1.0, -0.5]), np.array([-6.0, 0.0])]
    found = min((minimize(loss, s, jac=True, bounds=bounds, method="L-BFGS-B") for s in starts), key=lambda r: r.fun)
    stretch, noise = np.exp(found.x)
    return Noise(float(stretch), float(noise * scale))


class Mixture:
    """Distribution of the target on each of n rows; members weigh the same.

    Attributes
    ----------
    centres : ndarray of shape (n_members, n_rows)
    deviation : ndarray of shape (n_rows,)
    """

    def __init__(self, centres: Matrix, deviation: Matrix) -> None:
        self.centres = centres
        self.deviation = deviation

    @property
    def mean(self) -> Matrix:
        """Mean on each row."""
        return self.centres.mean(axis=0)

    @property
    def std(self) -> Matrix:
        """Standard deviation on each row."""
        return np.sqrt(self.centres.var(axis=0) + self.deviation**2)

    def _standard(self, y: Matrix) -> Matrix:
        return (np.asarray(y, dtype=np.float64) - self.centres) / self.deviation

    def log_density(self, y: Matrix) -> Matrix:
        """Logarithm of the density at y, on each row."""
        constant = np.log(self.deviation * np.sqrt(2 * np.pi) * len(self.centres))
        found: Matrix = logsumexp(-0.5 * self._standard(y) ** 2, axis=0) - constant
        return found

    def log_likelihood(self, y: Matrix) -> float:
        """Mean logarithm of the density at the targets of the rows; higher is better."""
        return float(np.mean(self.log_density(y)))

    def cdf(self, y: Matrix) -> Matrix:
        """Probability of a value up to y, on each row."""
        return np.asarray(ndtr(self._standard(y)).mean(axis=0))

    def quantile(self, level: float) -> Matrix:
        """Value that is not exceeded with a probability of `level`, on each row."""
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level!r}.")
        reach = 40 * self.deviation  # beyond it the normal distribution has no mass in double precision
        low, high = self.centres.min(axis=0) - reach, self.centres.max(axis=0) + reach
        for _ in range(N_HALVINGS):
            middle = 0.5 * low + 0.5 * high
            is_below = self.cdf(middle) < level
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        return 0.5 * low + 0.5 * high

    def sample(self, n_draws: int, random_state: int | np.random.Generator | None = None) -> Matrix:
        """Random values, (n_draws, n_rows)."""
        rng = np.random.default_rng(random_state)
        n_members, n_rows = self.centres.shape
        members = rng.integers(n_members, size=(n_draws, n_rows))
        return self.centres[members, np.arange(n_rows)] + self.deviation * rng.standard_normal((n_draws, n_rows))
