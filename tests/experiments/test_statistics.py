from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, ttest_rel

from symgrove.experiments.statistics import (
    Summary,
    agrees,
    compare,
    compare_corrected,
    holm,
    median_interval,
    not_worse,
    summarise,
)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_holms_correction_is_the_closed_test_of_bonferroni(p_values):
    """The largest of Bonferroni's p-values over all sets of hypotheses that have this one."""
    others = range(len(p_values))
    sets = [s for n in range(1, len(p_values) + 1) for s in combinations(others, n)]
    bonferroni = {s: min(1.0, len(s) * min(p_values[i] for i in s)) for s in sets}
    expected = [max(p for s, p in bonferroni.items() if i in s) for i in others]
    np.testing.assert_allclose(holm(p_values), expected, atol=1e-15)


def test_holms_correction_by_hand():
    # Sorted 0.01, 0.02, 0.04 times 3, 2, 1, never falling.
    np.testing.assert_allclose(holm([0.04, 0.01, 0.02]), [0.04, 0.03, 0.04])


def test_pairs_are_compared_by_the_u_test():
    runs = {"a": [1, 2, 3, 4, 5], "b": [3, 4, 5, 6, 7], "c": [10, 11, 12, 13, 14]}
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    raw = [mannwhitneyu(runs[x], runs[y], alternative="two-sided").pvalue for x, y in pairs]
    found = compare(runs)
    assert {pair: comparison.p_value for pair, comparison in found.items()} == dict(zip(pairs, holm(raw), strict=True))
    assert not any(comparison.is_larger for comparison in found.values())


def test_other_methods_change_nothing_in_a_family():
    rng = np.random.default_rng(1)
    runs = {name: rng.normal(i / 4, 1, 40) for i, name in enumerate("abc")}
    alone = compare(runs)
    more = runs | {f"x{i}": rng.normal(i / 9, 1, 40) for i in range(6)}
    found = compare(more, "abc")
    assert {pair: found[pair] for pair in alone} == alone
    assert compare(more)["a", "c"].p_value > alone["a", "c"].p_value
    others = [pair for pair in found if pair not in alone]
    raw = [mannwhitneyu(more[a], more[b]).pvalue for a, b in others]
    assert [found[pair].alone for pair in others] == raw
    np.testing.assert_array_equal([found[pair].p_value for pair in others], holm(raw))


def test_the_best_of_a_family_are_not_measured_against_others():
    rng = np.random.default_rng(0)
    runs = {"a": rng.normal(1, 0.1, 40), "b": rng.normal(2, 0.1, 40), "ours": rng.normal(0, 0.1, 40)}
    assert not_worse(runs, ["a", "b"], lower_is_better=True) == {"a", "ours"}
    assert not_worse(runs, ["b", "ours"], lower_is_better=True) == {"ours"}
    assert not_worse(runs, lower_is_better=True) == {"ours"}


def test_the_direction_is_that_of_the_test_also_where_medians_are_equal():
    runs = {"low": [0.9] * 21 + [0.5] * 19, "high": [0.9] * 21 + [0.99] * 19}
    assert not_worse(runs, lower_is_better=False) == {"high"}
    assert not_worse(runs, lower_is_better=True) == {"low"}


def test_the_best_are_those_that_nobody_beats_significantly():
    rng = np.random.default_rng(0)
    runs = {"good": rng.normal(1, 0.1, 40), "as good": rng.normal(1, 0.1, 40), "bad": rng.normal(2, 0.1, 40)}
    assert not_worse(runs, lower_is_better=True) == {"good", "as good"}
    assert not_worse(runs, lower_is_better=False) == {"bad"}
    assert not_worse({"alone": [1.0]}, lower_is_better=True) == {"alone"}


def test_summaries_and_the_notch_rule():
    ours = summarise([1, 2, 3, 4, 5])
    assert ours == Summary(3.0, 2.0, 5)
    forty = Summary(3.0, 0.4, 40)
    allowed = 1.57 * np.hypot(0.4, 0.3) / np.sqrt(40)
    assert agrees(forty, 3.0 + allowed * 0.999, 0.3)
    assert not agrees(forty, 3.0 + allowed * 1.001, 0.3)


@pytest.mark.parametrize("n_runs", [10, 40])
def test_fewer_runs_allow_more(n_runs):
    assert agrees(Summary(3.0, 0.4, n_runs), 3.15, 0.3) == (n_runs == 10)


def test_the_correction_for_splits_that_share_rows_by_hand():
    # Differences 1, 2, 3: mean 2, variance 1; t = 2 / sqrt(1/3 + 2/3) = 2 with two degrees of freedom, for which the
    # two-sided p-value is 1 - t / sqrt(2 + t^2) = 1 - 2 / sqrt(6).
    found = compare_corrected([2, 4, 6], [1, 2, 3], 2 / 3)
    assert found == (pytest.approx(1 - 2 / np.sqrt(6)), True)
    assert compare_corrected([1, 2, 3], [2, 4, 6], 2 / 3) == (pytest.approx(1 - 2 / np.sqrt(6)), False)


def test_without_rows_in_common_it_is_the_paired_t_test():
    a, b = np.random.default_rng(0).normal(size=(2, 12))
    assert compare_corrected(a, b, 0.0).p_value == pytest.approx(ttest_rel(a, b).pvalue)
    assert compare_corrected(a, b, 3 / 7).p_value > ttest_rel(a, b).pvalue


def test_differences_that_do_not_vary_are_certain():
    assert compare_corrected([1, 1], [1, 1], 3 / 7) == (1.0, False)
    assert compare_corrected([2, 2], [1, 1], 3 / 7) == (0.0, True)


def test_the_interval_of_a_median_by_hand_and_by_simulation():
    assert median_interval(range(1, 41)) == (14, 27)
    assert median_interval([3, 1, 2]) == (-np.inf, np.inf)
    rng = np.random.default_rng(0)
    intervals = [median_interval(rng.exponential(size=21)) for _ in range(2000)]
    coverage = np.mean([low <= np.log(2) <= high for low, high in intervals])
    assert 0.95 <= coverage <= 0.99
