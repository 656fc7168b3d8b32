"""The plan and the page of `make many-rows`; its runs are made by hand."""

import importlib
from pathlib import Path

import numpy as np
import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="module")
def tools():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOOLS))
        yield {name: importlib.import_module(name) for name in ("many_rows", "many_rows_data", "many_rows_page")}


def row(method, test, split=0, n_rows=50, **more):
    of = {"table": "friedman1", "n_rows": n_rows, "split": split, "method": method, "error": None}
    measured = {"test": test, "seconds": 2.0 * test, "peak": 2**30, "version": "1.0", "machine": "one", "commit": "abc"}
    return {**of, **measured, **more}


def test_every_size_has_its_splits_and_a_million_rows_are_not_tuned_for(tools):
    jobs = list(tools["many_rows"].plan(["grove", "lightgbm-tuned"], ["friedman1", "flights", "asn"], 10**6, 5))
    count = {}
    for job in jobs:
        place = (job.table, job.n_rows, job.method)
        count[place] = count.get(place, 0) + 1
    assert [n for (t, n, m) in count if (t, m) == ("friedman1", "grove")] == [50, 200, 1000, 10**4, 10**5, 10**6]
    assert [n for (t, n, m) in count if (t, m) == ("flights", "lightgbm-tuned")] == [1000, 10**4, 10**5, 229142]
    assert count["asn", 1052, "grove"] == 5
    assert (count["friedman1", 10**5, "grove"], count["friedman1", 10**6, "grove"]) == (3, 2)
    assert ("friedman1", 10**6, "lightgbm-tuned") not in count
    assert [job.n_rows for job in jobs] == sorted(job.n_rows for job in jobs)


def test_above_10000_rows_trees_have_the_configuration_of_10000(tools):
    job = tools["many_rows"].Job("friedman1", 10**5, 1, "lightgbm-tuned")
    found = row("lightgbm-tuned", 1.0, split=1, n_rows=10**4, configuration={"num_leaves": 20})
    rows = {("friedman1", 10**4, 1, "lightgbm-tuned"): found}
    assert tools["many_rows"].with_configuration(job, {}) is None
    assert tools["many_rows"].with_configuration(job, rows).configuration == {"num_leaves": 20}
    assert tools["many_rows"].make_model(job._replace(method="hist-gradient-boosting"), []).random_state == 1


def test_ratios_are_of_the_splits_that_both_have(tools):
    rows = [row("lightgbm", 1.0), row("lightgbm", 3.0, split=1), row("grove", 0.5), row("xgboost", 9.0, error="no")]
    text = tools["many_rows_page"].page_of(rows, {"grove": "Grove", "lightgbm": "LightGBM", "xgboost": "XGBoost"})
    assert "| Grove | 0.5 (×0.500), 1 s, 1024 |" in text
    assert "| LightGBM | 2, 4 s, 1024 |" in text
    assert "| XGBoost | failed |\n\n- XGBoost: no\n" in text
    assert "| Grove | 0.5 (1) |  |  |  |" in text
    assert "3 runs (1 failed)" in text
    assert "no runs yet" in tools["many_rows_page"].page_of([], {})


def test_rows_are_fitted_or_predicted_and_classes_are_those_of_training_rows(tools):
    X = np.arange(20.0)[:, None]
    table = tools["many_rows_data"].Table("", "", "classification", 20, lambda: (X, np.array([*["b"] * 19, "a"])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tools["many_rows_data"].TABLES, "own", table)
        for split in range(8):
            parts = tools["many_rows_data"].parts_of("own", 14, split)
            assert sorted([*parts.X.ravel(), *parts.X_test.ravel()]) == X.ravel().tolist()
            if 19.0 in parts.X_test:
                assert set(parts.y) == {0}
                assert parts.y_test[parts.X_test.ravel() == 19] == -1
            else:
                assert set(parts.y) == {0, 1}
