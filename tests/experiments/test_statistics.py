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
    rank_methods,
    summarise,
)
from tests.naive import statistics as naive


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


@pytest.mark.parametrize(("n_splits", "n_train", "n_test"), [(2, 70, 30), (5, 700, 300), (40, 1052, 451)])
def test_the_correction_is_that_of_the_definition(n_splits, n_train, n_test):
    for seed in range(4):
        a, b = np.random.default_rng(seed).normal([[0.5 * seed], [0.0]], 1, (2, n_splits))
        found = compare_corrected(a, b, n_test / n_train)
        assert found.p_value == pytest.approx(naive.corrected_resampled_t(a, b, n_train, n_test), abs=1e-7)
        assert found.is_larger == (a.mean() > b.mean())


def test_ranks_over_data_sets_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    for shift in (1.0, 1.2, 3.0):
        errors = rng.lognormal(rng.normal(0, 5, (9, 1)), 0.3, (9, 5)) * [1.0, shift, shift, 1.1, 0.9]
        found = rank_methods(errors)
        np.testing.assert_allclose(found.mean_ranks, naive.mean_ranks(errors.tolist()))
        np.testing.assert_allclose(found.p_values, naive.compare_over_datasets(errors.tolist()))
        assert found.friedman == pytest.approx(naive.friedman(errors.tolist()), abs=1e-8)
        np.testing.assert_array_equal(found.n_worse, (errors[:, 1:] > errors[:, :1]).sum(axis=0))


def test_ranks_do_not_depend_on_the_units_of_a_data_set():
    errors = np.random.default_rng(1).lognormal(size=(8, 4))
    units = np.array([1e-6, 1e-3, 1, 10, 1e3, 1e4, 1e5, 1e6])[:, None]
    for one, other in zip(rank_methods(errors), rank_methods(errors * units), strict=True):
        np.testing.assert_allclose(one, other)


def test_a_method_that_is_worse_everywhere_is_found_and_no_errors_at_all_are_level():
    errors = np.outer(np.arange(1, 10), [1.0, 2.0, 1.0])
    errors[0] = 0
    found = rank_methods(errors)
    assert found.n_worse.tolist() == [8, 0]
    assert found.is_worse.tolist() == [True, False]
    assert found.p_values[0] == pytest.approx(0.0234375, abs=0.01)
    assert found.p_values[1] == 1
    assert rank_methods(np.outer(np.arange(1, 10), [1.0, 2.0, 3.0])).friedman == 0


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
