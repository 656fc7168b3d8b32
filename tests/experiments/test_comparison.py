"""Studies that compare with other libraries' estimators, split by split."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import wilcoxon
from sklearn.datasets import make_friedman1

from symgrove.experiments import baselines, tables
from symgrove.experiments.baselines import BASELINES, load_baseline
from symgrove.experiments.datasets import DataSet
from symgrove.experiments.paper import run_study, tasks_of
from symgrove.experiments.runner import read_rows
from symgrove.experiments.statistics import compare_paired, holm
from symgrove.experiments.study import Study, StudyMethod, load_study, make_estimator

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


def test_signs_compare_with_the_first_method_over_all_cells():
    methods = [
        StudyMethod(n, n.title(), "GroveRegressor", "GroveClassifier", {"ridge": r})
        for n, r in (("a", 1.0), ("b", 2.0))
    ]
    study = Study("s", "S", "comparison", ["asn", "iono"], methods, runs=10)
    tasks = {"asn": "regression", "iono": "classification"}
    rows = {}
    better, slightly = np.arange(10) / 10, np.array([1, -2, 3, -4, 5, -6, 7, -8, 9, -10]) / 100
    for dataset, difference in (("asn", 1 + better), ("iono", slightly)):
        for split in range(10):
            for method, value in zip(methods, (0.0, difference[split]), strict=True):
                run = study.run_of(method, dataset, split, tasks)
                rows[run.key] = {"test": value, "seconds": 1.5, "error": None}
    page = tables.page_of_comparison(study, rows, tasks, None)
    (_, errors), (_, seconds) = page.tables
    assert errors[1:] == [["A", "0.000", "0.000"], ["B", "1.450 ▼", "-0.005 ="]]
    assert seconds[1] == ["A", "1.50", "1.50"]
    rows.popitem()
    (_, errors), _ = tables.page_of_comparison(study, rows, tasks, None).tables
    assert errors[2][2] == "0.010 (9) ="
    assert holm([2 / 2**10, 0.8])[0] < 0.05


def test_both_counts_of_significant_comparisons_are_told():
    study = load_study("grove")
    rows = read_rows(Path(__file__).parents[2] / "docs/results/runs.jsonl")
    _, caution, *_ = tables.page_of_comparison(study, rows, tasks_of(study, {}), None).paragraphs
    assert "64 of 85 comparisons are significant, 30 of them also when corrected" in caution
    assert "with methods of other libraries 33 of 45 comparisons are significant, 16 of them" in caution


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
