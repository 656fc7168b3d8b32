"""Why a prediction: the page's script, run by Node, against Shapley values from the definition."""

import json
import subprocess
from importlib.resources import files
from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest

import symgrove as sg
from symgrove.report.contributions import parts_script
from symgrove.report.rows import choose_rows
from symgrove.report.what_if import controls
from tests.contracts.test_methods import METHODS
from tests.export.runners import need

RUN = """
const fs = require("fs");
const why = require("./why.js"), model = require("./model.js");
const {parts, setting, row, k} = JSON.parse(fs.readFileSync("given.json"));
const script = parts ? new Function(parts)() : null;
const found = why(model, k, script, setting, row);
console.log(JSON.stringify({...found, isSum: script !== null}));
"""


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=90), "b": rng.normal(size=90), "c": rng.choice(["u", "v", "w"], 90)})
    y = frame.a + frame.a * frame.b + 2 * (frame.c == "v")
    frame.loc[::9, "b"] = np.nan
    return frame.astype({"c": "category"}), y


def run(model, frame, y, folder, k=None, n_steps=None):
    """What the script says of a row, and what that is beside."""
    need("node")
    setting = controls(model, choose_rows(model, frame, y, None), 0.9)
    setting["nSteps"] = setting["nSteps"] if n_steps is None else n_steps
    row = [1.5, None, "v"]
    given = {"parts": parts_script(model), "setting": setting, "row": row, "k": k}
    (folder / "given.json").write_text(json.dumps(given))
    (folder / "why.js").write_text((files("symgrove.report") / "why.js").read_text(encoding="utf-8"))
    (folder / "run.js").write_text(RUN)
    model.export("javascript", folder / "model.js")
    done = subprocess.run(["node", "run.js"], cwd=folder, check=True, capture_output=True, text=True)
    return json.loads(done.stdout), row, setting["beside"]


def shapley(value, row, beside):
    """From the definition, of a function of rows."""
    n = len(row)

    def at(own):
        return np.mean(value([[row[j] if j in own else other[j] for j in range(n)] for other in beside]))

    return [
        sum(
            factorial(size) * factorial(n - size - 1) / factorial(n) * (at({*own, j}) - at(set(own)))
            for size in range(n)
            for own in combinations([i for i in range(n) if i != j], size)
        )
        for j in range(n)
    ]


def frame_of(rows):
    made = pd.DataFrame(rows, columns=["a", "b", "c"])
    return made.astype({"a": float, "b": float, "c": pd.CategoricalDtype(["u", "v", "w"])})


CASES = {
    "sum": (sg.TwoSEGPRegressor, {}, None),
    "no sum": (sg.GroveRegressor, {"n_estimators": 4, "aggregation": "interquartile"}, None),
    "probability": (sg.GroveClassifier, {"n_estimators": 2}, 1),
}


@pytest.mark.parametrize("name", list(CASES))
def test_contributions_are_shapley_values_and_add_up(name, data, tmp_path):
    frame, y = data
    kind, options, k = CASES[name]
    model = kind(**METHODS[kind] | options).fit(frame, y if k is None else y > 1)
    n_steps = 1e9 if name == "sum" else None  # then a whole model would not be asked for all subsets
    found, row, beside = run(model, frame, y if k is None else y > 1, tmp_path, k, n_steps)

    def value(rows):
        return model.predict(frame_of(rows)) if k is None else model.predict_proba(frame_of(rows))[:, k]

    assert (found["isExact"], found["isSum"]) == (True, name == "sum")
    assert found["baseline"] == pytest.approx(np.mean(value(beside)))
    assert found["contributions"] == pytest.approx(shapley(value, row, beside), abs=1e-9)
    assert found["baseline"] + sum(found["contributions"]) == pytest.approx(value([row])[0])
    if name == "no sum":  # in random orders they add up too
        rough, *_ = run(model, frame, y, tmp_path, n_steps=1e9)
        assert not rough["isExact"]
        assert rough["baseline"] + sum(rough["contributions"]) == pytest.approx(value([row])[0])
