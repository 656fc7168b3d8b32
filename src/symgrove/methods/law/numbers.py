"""Simple numbers that a free constant may be: rationals, and such times pi and roots, with what they cost to write."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
LARGEST = 12  # of numerators and denominators
# Factors besides 1, with their bits.
_FACTORS = (
    (1.0, 0.0),
    (math.pi, 2.0),
    (1 / math.pi, 2.0),
    (math.pi**2, 4.0),
    (1 / math.pi**2, 4.0),
    (math.sqrt(2), 3.0),
    (math.sqrt(math.pi), 4.0),
    (1 / math.sqrt(2 * math.pi), 4.0),
)


@cache
def simple_numbers() -> tuple[Matrix, Matrix]:
    """Positive ones with their bits, the cheapest first."""
    found: dict[float, float] = {}
    for factor, bits in _FACTORS:
        for p in range(1, LARGEST + 1):
            for q in range(1, LARGEST + 1):
                if math.gcd(p, q) == 1:
                    value, own = factor * p / q, 2.0 + bits + 1.3 * (math.log2(p) + math.log2(q))
                    found[value] = min(own, found.get(value, np.inf))
    ordered = sorted(found.items(), key=lambda pair: pair[1])
    return np.array([value for value, _ in ordered]), np.array([bits for _, bits in ordered])


def simple_near(value: float, distance: float, n_most: int = 4) -> list[tuple[float, float]]:
    """Simple numbers within a distance, with their bits, the cheapest first; 0 among them."""
    values, bits = simple_numbers()
    near = np.flatnonzero(np.abs(values - abs(value)) < distance)[:n_most]
    zero = [(0.0, 1.0)] if abs(value) < distance else []
    return zero + [(math.copysign(float(values[i]), value), float(bits[i])) for i in near]
