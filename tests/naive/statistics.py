"""Tests of two methods and ranks over data sets, from their definitions: densities are integrated, signs enumerated."""

import math
from itertools import product

from scipy.integrate import quad


def two_sided_t(statistic, n_free):
    """Share of Student's distribution beyond a statistic, on both sides."""
    scale = math.gamma((n_free + 1) / 2) / (math.sqrt(n_free * math.pi) * math.gamma(n_free / 2))

    def density(x):
        return scale * (1 + x * x / n_free) ** (-(n_free + 1) / 2)

    return 1 - 2 * quad(density, 0, abs(statistic))[0]


def corrected_resampled_t(a, b, n_train, n_test):
    """P-value of Nadeau and Bengio (2003): the variance of J differences times 1 / J + n_test / n_train."""
    n_splits = len(a)
    differences = [x - y for x, y in zip(a, b, strict=True)]
    mean = sum(differences) / n_splits
    variance = sum((d - mean) ** 2 for d in differences) / (n_splits - 1)
    return two_sided_t(mean / math.sqrt((1 / n_splits + n_test / n_train) * variance), n_splits - 1)


def holm(p_values):
    """The smallest times n, the next times n - 1, ...; none below one before it, none above 1."""
    corrected, worst = [0.0] * len(p_values), 0.0
    for place, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        worst = max(worst, min(1.0, p_values[i] * (len(p_values) - place)))
        corrected[i] = worst
    return corrected


def ranks(values):
    """1 for the smallest; values that are equal share the mean of their ranks."""
    return [1 + sum(v < own for v in values) + (sum(v == own for v in values) - 1) / 2 for own in values]


def signed_rank(differences):
    """Two-sided p-value: of all ways to give the ranks signs, the share that is as far from even."""
    own = ranks([abs(d) for d in differences])
    found = abs(sum(math.copysign(r, d) for r, d in zip(own, differences, strict=True)))
    sums = [abs(sum(s * r for s, r in zip(signs, own, strict=True))) for signs in product((-1, 1), repeat=len(own))]
    return sum(total >= found - 1e-9 for total in sums) / len(sums)


def mean_ranks(errors):
    """Over data sets (rows)."""
    own = [ranks(row) for row in errors]
    return [sum(column) / len(errors) for column in zip(*own, strict=True)]


def friedman(errors):
    """P-value of Friedman's test as F (Iman and Davenport 1980); errors without ties."""
    n, k = len(errors), len(errors[0])
    chi2 = 12 * n / (k * (k + 1)) * (sum(r * r for r in mean_ranks(errors)) - k * (k + 1) ** 2 / 4)
    statistic = (n - 1) * chi2 / (n * (k - 1) - chi2)
    d1, d2 = k - 1, (k - 1) * (n - 1)
    scale = math.gamma((d1 + d2) / 2) / (math.gamma(d1 / 2) * math.gamma(d2 / 2)) * (d1 / d2) ** (d1 / 2)

    def density(x):
        return scale * x ** (d1 / 2 - 1) * (1 + d1 * x / d2) ** (-(d1 + d2) / 2)

    return quad(density, statistic, math.inf)[0]


def compare_over_datasets(errors):
    """Corrected p-values of each method but the first, by log ratios of its errors to those of the first."""
    logs = [[math.log(row[k] / row[0]) for row in errors] for k in range(1, len(errors[0]))]
    return holm([signed_rank(own) for own in logs])
