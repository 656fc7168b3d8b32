"""Medians, interquartile ranges, which methods are not significantly worse than any other; ranks over data sets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom, friedmanchisquare, mannwhitneyu, rankdata, wilcoxon
from scipy.stats import f as fisher_f
from scipy.stats import t as student_t

SIGNIFICANT = 0.05
NOTCH = 1.57  # of the notch rule for two medians


class Summary(NamedTuple):
    """Median and interquartile range of a number of runs."""

    median: float
    iqr: float
    n_runs: int


def summarise(values: ArrayLike) -> Summary:
    """Median and interquartile range."""
    array = np.asarray(values, dtype=np.float64)
    low, median, high = np.percentile(array, [25, 50, 75])
    return Summary(float(median), float(high - low), array.size)


def median_interval(values: ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """Interval of the median that holds for any distribution, between two of the values in order."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    k = int(binom.ppf((1 - confidence) / 2, ordered.size, 0.5))  # at most so many lie beyond each end
    if k < 1:
        return -np.inf, np.inf
    return float(ordered[k - 1]), float(ordered[-k])


def agrees(ours: Summary, median: float, iqr: float, n_runs: int = 40) -> bool:
    """Whether two medians agree: they differ by at most 1.57 * sqrt(q1^2 / n1 + q2^2 / n2)."""
    allowed = NOTCH * np.sqrt(ours.iqr**2 / ours.n_runs + iqr**2 / n_runs)
    return bool(abs(ours.median - median) <= allowed)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """P-values corrected by the method of Holm and Bonferroni: step down, never falling, at most 1."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    factors = np.arange(p.size, 0, -1)
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return corrected


class Comparison(NamedTuple):
    """Of two methods: the corrected two-sided p-value, and whether the first tends to have the larger values."""

    p_value: float
    is_larger: bool


class CorrectedComparison(NamedTuple):
    """The same, and the p-value of this test alone."""

    p_value: float
    is_larger: bool
    alone: float


def compare(
    runs: Mapping[str, Sequence[float]], family: Collection[str] = ()
) -> dict[tuple[str, str], CorrectedComparison]:
    """Mann-Whitney U tests of every pair of methods, corrected by Holm and Bonferroni.

    Pairs of two members of `family` are corrected for each other only, and so are all other pairs: more methods outside
    it do not change what is found inside.
    """
    found: dict[tuple[str, str], CorrectedComparison] = {}
    pairs = list(combinations(runs, 2))
    for is_inside in (True, False):
        own = [(a, b) for a, b in pairs if (a in family and b in family) == is_inside]
        tests = [mannwhitneyu(runs[a], runs[b], alternative="two-sided") for a, b in own]
        for (a, b), test, p in zip(own, tests, holm([test.pvalue for test in tests]), strict=True):
            is_larger = bool(test.statistic > len(runs[a]) * len(runs[b]) / 2)
            found[a, b] = CorrectedComparison(float(p), is_larger, float(test.pvalue))
    return {pair: found[pair] for pair in pairs}


def compare_paired(a: Sequence[float], b: Sequence[float]) -> Comparison:
    """Two-sided Wilcoxon signed-rank test of two methods on the same splits; ties count half for each."""
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    if not difference.any():
        return Comparison(1.0, is_larger=False)
    signed_ranks = np.sign(difference) * rankdata(np.abs(difference))
    return Comparison(float(wilcoxon(difference, zero_method="zsplit").pvalue), bool(signed_ranks.sum() > 0))


def compare_corrected(a: Sequence[float], b: Sequence[float], test_over_train: float) -> Comparison:
    """Two-sided t test of two methods on the same random splits of one table, corrected by Nadeau and Bengio (2003).

    The splits share rows, so the mean difference of J splits varies more than that of J independent ones: its variance
    is that of the differences times 1 / J + n_test / n_train, not 1 / J.
    """
    difference = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    mean, spread = difference.mean(), difference.std(ddof=1)
    if spread == 0:
        return Comparison(float(mean == 0), is_larger=bool(mean > 0))
    statistic = mean / (spread * np.sqrt(1 / difference.size + test_over_train))
    return Comparison(float(2 * student_t.sf(abs(statistic), difference.size - 1)), is_larger=bool(mean > 0))


def not_worse(runs: Mapping[str, Sequence[float]], family: Collection[str] = (), *, lower_is_better: bool) -> set[str]:
    """Methods that no other beats significantly; those of `family` are measured against its members only."""
    beaten = set()
    for (a, b), (p_value, is_larger, _) in compare(runs, family).items():
        loser, winner = (a, b) if is_larger == lower_is_better else (b, a)
        if p_value < SIGNIFICANT and (winner in family or loser not in family):
            beaten.add(loser)
    return set(runs) - beaten


class Ranking(NamedTuple):
    """Methods over data sets: mean ranks (1 is best), the test of Friedman, and each method beside the first.

    The last three have an entry for each method but the first: corrected p-values, whether its errors tend to be larger
    than those of the first, and on how many data sets they are.
    """

    mean_ranks: NDArray[np.float64]
    friedman: float
    p_values: NDArray[np.float64]
    is_worse: NDArray[np.bool_]
    n_worse: NDArray[np.int64]


def rank_methods(errors: ArrayLike) -> Ranking:
    """Ranks of methods over data sets, and which of them differ from the first.

    Parameters
    ----------
    errors : array-like of shape (n_datasets, n_methods)
        Not negative, lower is better, one number for each method and data set.

    Data sets, unlike splits, are independent. Friedman's test is that of all ranks, as F (Iman and Davenport). Each
    method is then compared with the first by a signed-rank test over the data sets, with Holm's correction: what is
    found of two methods must not depend on the others, as it does with mean ranks (Benavoli et al. 2016). Differences
    are relative, (a - b) / (a + b), because errors of two data sets have no common unit; in order of size they are as
    log ratios.
    """
    table = np.asarray(errors, dtype=np.float64)
    n_datasets, n_methods = table.shape
    ranks = rankdata(table, axis=1)
    first = table[:, :1]
    total = first + table[:, 1:]
    relative = np.divide(table[:, 1:] - first, total, out=np.zeros_like(total), where=total > 0)
    tests = [compare_paired(own, [0.0] * n_datasets) for own in relative.T.tolist()]
    chi2 = friedmanchisquare(*table.T).statistic
    room = n_datasets * (n_methods - 1) - chi2
    statistic = (n_datasets - 1) * chi2 / room if room > 0 else np.inf
    friedman = fisher_f.sf(statistic, n_methods - 1, (n_methods - 1) * (n_datasets - 1))
    p_values, is_worse = holm([test.p_value for test in tests]), np.array([test.is_larger for test in tests])
    return Ranking(ranks.mean(axis=0), float(friedman), p_values, is_worse, (relative > 0).sum(axis=0))
