"""The study of intervals counts what it says it counts."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import symgrove as sg
from symgrove.experiments.datasets import DataSet
from symgrove.experiments.paper import run_study
from symgrove.experiments.study import load_study

STUDY = """
title = "small"
kind = "intervals"
datasets = ["diabetes"]
runs = 2
record = "intervals"
[methods.2segp]
label = "2SEGP"
regressor = "TwoSEGPRegressor"
parameters = { population_size = 20, n_estimators = 5, generations = 2, calibration = 0.5 }
[methods.mapie]
label = "MAPIE"
regressor = "MapieForestRegressor"
parameters = { n_estimators = 10 }
"""


def test_coverage_and_width_are_counted(tmp_path):
    (tmp_path / "small.toml").write_text(STUDY)
    X, y = load_diabetes(return_X_y=True)
    own = {"diabetes": DataSet("diabetes", X, y, "regression")}
    study = load_study(str(tmp_path / "small.toml"))
    results = run_study(study, tmp_path / "found", own=own)
    assert not results.failures
    parts = train_test_split(X, y, test_size=0.3, random_state=1)
    settings = {"population_size": 20, "n_estimators": 5, "generations": 2, "calibration": 0.5}
    model = sg.TwoSEGPRegressor(**settings, random_state=1).fit(parts[0], parts[2])
    low, high = model.predict_interval(parts[1], 0.8).T
    row = next(r for r in results.rows.values() if r["estimator"] == "TwoSEGPRegressor" and r["split"] == 1)
    assert row["inside"][0] == pytest.approx(np.mean((parts[3] >= low) & (parts[3] <= high)))
    assert row["width"][0] == pytest.approx(np.mean(high - low))
    text = (tmp_path / "found" / "small.md").read_text()
    both = [r for r in results.rows.values() if r["estimator"] == "MapieForestRegressor"]
    inside, width = (np.mean([row[name][1] for row in both]) for name in ("inside", "width"))
    assert f"| MAPIE | {inside:.1%}, {width:.3g} |" in text
    assert 0.6 < np.mean([r["inside"][1] for r in both]) <= 1
