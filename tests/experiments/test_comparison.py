"""Studies that compare with other libraries' estimators, split by split."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import wilcoxon
from sklearn.datasets import make_friedman1

from symgrove.experiments import baselines
from symgrove.experiments.baselines import BASELINES, load_baseline
from symgrove.experiments.comparison import Verdict, claim_of, compare_methods, page_of_comparison
from symgrove.experiments.datasets import DataSet
from symgrove.experiments.paper import run_study, tasks_of
from symgrove.experiments.runner import read_rows
from symgrove.experiments.statistics import compare_paired, holm
from symgrove.experiments.study import Study, StudyMethod, load_study, make_estimator
from symgrove.experiments.tables import to_markdown
from tests.naive import statistics as naive

ROOT = Path(__file__).parents[2]

STUDY = """
title = "Small"
kind = "comparison"
datasets = ["friedman"]
runs = 3

[methods.grove]
label = "Grove"
regressor = "GroveRegressor"
parameters = { population_size = 50, generations = 3, n_estimators = 4, max_terms = 5 }

[methods.forest]
label = "random forest"
regressor = "RandomForestRegressor"
parameters = { n_estimators = 20 }

[methods.boosting]
label = "HistGradientBoosting"
regressor = "HistGradientBoostingRegressor"
"""


def test_pairs_are_compared_by_the_signed_rank_test():
    rng = np.random.default_rng(0)
    a = rng.normal(size=12)
    b = a + rng.normal(0.5, 1, size=12)
    assert compare_paired(a, b).p_value == wilcoxon(a, b).pvalue
    assert compare_paired(a, a) == (1.0, False)
    # Six differences of one sign: two of the 2^6 orders of signs are as extreme.
    assert compare_paired([1, 2, 3, 4, 5, 6], [0] * 6) == (pytest.approx(2 / 64), True)
    # One outlier does not turn the direction.
    assert not compare_paired([0, 0, 0, 0, 0, 100], [1, 2, 3, 4, 5, 0]).is_larger


def made(study, tasks, values):
    """Rows of a study with test errors `values[method, dataset]`, one for each split."""
    rows = {}
    for method in study.methods:
        for dataset in study.datasets:
            for split, value in enumerate(values.get((method.name, dataset), ())):
                run = study.run_of(method, dataset, split, tasks)
                rows[run.key] = {"test": value, "seconds": 1.5, "error": None}
    return rows


def methods(names):
    kinds = ("GroveRegressor", "GroveClassifier")
    return [StudyMethod(name, name.upper(), *kinds, {"ridge": r + 1.0}) for r, name in enumerate(names)]


def test_signs_compare_with_the_first_method_over_all_cells():
    study = Study("s", "S", "comparison", ["asn", "iono"], methods("ab"), runs=11)
    tasks = {"asn": "regression", "iono": "classification"}
    better, slightly = np.arange(11) / 10, np.array([1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 0]) / 100
    values = {("a", name): [0.0] * 11 for name in study.datasets} | {("b", "asn"): 1 + better, ("b", "iono"): slightly}
    rows = made(study, tasks, values)
    (_, errors), (_, counts), (_, seconds) = page_of_comparison(compare_methods(study, rows, tasks)).tables
    assert errors[1:] == [["A", "0.000", "0.000"], ["B", "1.500 ▼", "0.000 ="]]
    assert counts[1:] == [["B", "1", "1", "1", "0", "0"]]
    assert seconds[1] == ["A", "1.50", "1.50"]
    rows.popitem()
    (_, errors), *_ = page_of_comparison(compare_methods(study, rows, tasks)).tables
    assert errors[2][2] == "-0.005 (10) ="
    rows.popitem()
    (_, errors), *_ = page_of_comparison(compare_methods(study, rows, tasks)).tables
    assert errors[2][2] == "0.010 (9)"  # too few to be compared
    assert holm([2 / 2**10, 0.8])[0] < 0.05


def test_each_test_has_a_sign_of_its_own():
    # Ten splits whose differences vary: Wilcoxon's test finds them, the corrected one does not. Five with nearly equal
    # differences: no signed-rank test of five can be significant.
    first, b, c = methods("abc")
    study = Study("s", "S", "comparison", ["enc"], [first, b, replace(c, runs=5)], runs=10)
    tasks = {"enc": "regression"}
    spread, alike = 2.0 ** np.arange(10), -10 - np.arange(5) / 100
    values = {("a", "enc"): [0.0] * 10, ("b", "enc"): spread, ("c", "enc"): alike}
    found = compare_methods(study, made(study, tasks, values), tasks).verdicts
    assert found == {("b", "enc"): Verdict(plain=True, corrected=None), ("c", "enc"): Verdict(None, corrected=False)}
    assert [verdict.sign for verdict in found.values()] == ["▽", "▲"]
    p_values = [naive.signed_rank(list(own)) for own in (spread, alike)]
    assert [p < 0.05 for p in naive.holm(p_values)] == [True, False]
    p_values = [naive.corrected_resampled_t(own, [0.0] * len(own), 70, 30) for own in (spread, alike)]
    assert [p < 0.05 for p in naive.holm(p_values)] == [False, True]


DATASETS = ["asn", "ccs", "enc", "enh", "bcw", "heart"]


def ranks(n_splits_of_d, **of_d):
    """Of four methods: b is worse than a everywhere, c and d are as a, but d has fewer splits."""
    *others, d = methods("abcd")
    study = Study("s", "S", "comparison", DATASETS, [*others, replace(d, **of_d)], runs=4)
    tasks = dict.fromkeys(DATASETS[:4], "regression") | dict.fromkeys(DATASETS[4:], "classification")
    values = {}
    for name in DATASETS:
        good, bad = [0.1, 0.2, 0.1, 0.2], [0.3, 0.4, 0.2, 0.2]
        if tasks[name] == "classification":
            good, bad = bad, good
        values |= {("a", name): good, ("b", name): bad, ("c", name): good, ("d", name): good[:n_splits_of_d]}
    return compare_methods(study, made(study, tasks, values), tasks).ranks


def test_methods_with_fewer_splits_are_ranked_on_the_splits_that_all_have():
    whole, shared = ranks(2, runs=2)
    assert [[m.name for m in table.methods] for table in (whole, shared)] == [["a", "b", "c"], ["a", "b", "c", "d"]]
    assert (whole.n_splits, shared.n_splits, whole.n_datasets) == (4, 2, 6)
    np.testing.assert_allclose(whole.ranking.mean_ranks, [1.5, 3, 1.5])
    np.testing.assert_allclose(shared.ranking.mean_ranks, [2, 4, 2, 2])
    assert [len(table.methods) for table in ranks(4)] == [4]
    assert [len(table.methods) for table in ranks(2)] == [3]  # two of four are unfinished


def test_variants_of_a_method_are_shown_but_not_ranked():
    (table,) = ranks(4, ranked=False)
    assert [m.name for m in table.methods] == ["a", "b", "c"]


def test_readme_and_docs_claim_what_the_corrected_test_finds():
    study = load_study("grove")
    result = compare_methods(study, read_rows(ROOT / "docs/results/runs.jsonl"), tasks_of(study, {}))
    assert to_markdown(page_of_comparison(result)) == (ROOT / "docs/results/grove.md").read_text()
    numbers = {
        task: re.search(r"(\d+ of \d+) comparisons", claim_of(result, task))[1] for task in result.tasks.values()
    }
    readme, docs = (re.sub(r"\s+", " ", (ROOT / name).read_text()) for name in ("README.md", "docs/grove.md"))
    assert f"{numbers['regression']} comparisons" in readme
    assert f"{numbers['regression']} comparisons in regression" in docs
    assert f"{numbers['classification']} comparisons in classification" in docs
    medians = [np.median([row["test"] for row in result.found["grove", name].values()]) for name in study.datasets]
    assert all(f"{median:.3f}" in docs for median in medians)
    assert f"methods, {result.ranks[0].ranking.mean_ranks[0]:.2f} (" in docs


def test_a_comparison_is_run_and_shown(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(STUDY)
    X, y = make_friedman1(100, random_state=0)
    found = run_study(
        load_study(str(file)), tmp_path / "out", own={"friedman": DataSet("friedman", X, y, "regression")}
    )
    assert not found.failures
    text = next(f for f in found.files if f.suffix == ".md").read_text()
    assert all(label in text for label in ("Grove", "random forest", "HistGradientBoosting", "seconds of a fit"))
    rows = [row for row in found.rows.values() if row["estimator"] == "GroveRegressor"]
    assert all(0 <= row["found"] <= 1 and row["n_members"] >= 0 for row in rows)


def test_baselines_have_their_seed_and_one_core(tmp_path):
    study = load_study("grove")
    method = next(m for m in study.methods if m.name == "random-forest")
    model = make_estimator(study.run_of(method, "asn", 7, {"asn": "regression"}))
    assert (model.n_estimators, model.n_jobs, model.random_state) == (500, 1, 7)


def test_a_missing_library_is_named(monkeypatch):
    def fail(name):
        raise ImportError(name)

    monkeypatch.setattr(baselines.importlib, "import_module", fail)
    with pytest.raises(
        ImportError, match=r"XGBRegressor needs xgboost; install it with: pip install 'symgrove\[trees\]'"
    ):
        load_baseline("XGBRegressor")


def test_all_baselines_of_the_study_are_known():
    named = {e for s in ("grove", "intervals") for m in load_study(s).methods for e in (m.regressor, m.classifier)}
    assert set(BASELINES) <= named
