"""`symgrove law`, and what the other commands make of a law."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import symgrove as sg
from symgrove.cli.fronts import ENDS
from symgrove.estimators.law import REASONS
from tests.cli.test_commands import run, write_csv


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    length, fall = rng.uniform(0.5, 2.0, (2, 60))
    file = tmp_path_factory.mktemp("law") / "law.csv"
    kind = ["iron"] * 60
    write_csv(file, {"l": length, "t": fall, "y": 3.5 * length / fall**2, "z": 2 * length + 1, "kind": kind})
    return file


def test_a_law_is_fitted_and_shown(table, tmp_path):
    words = ["-t", "y", "--ignore", "z,kind", "--method", "law", "--functions", "sin,", "--choose", "one_se"]
    done = run("fit", table, *words, "-o", tmp_path / "law.json", "-q")
    assert done.exit_code == 0, done.output
    shown = run("show", tmp_path / "law.json").output
    assert "searched; stopped by exact: the formula is exact" in shown
    assert "R² 1.0000 on 12 rows held out of the search" in shown
    assert re.search(r"y is the sum of these terms .*\n +[\d.]+  \+ 3.5 \* l / t\^2\n\n", shown)
    assert "--all shows formulas of other sizes too (nodes: 1)" in shown
    shown = run("show", tmp_path / "law.json", "--all")
    assert shown.exit_code == 0, shown.output
    assert "l / t^2" in next(line for line in shown.output.splitlines() if line.startswith("*"))
    model = sg.load(tmp_path / "law.json")
    assert model.get_params()["choose"] == "one_se"
    assert model.get_params()["functions"] == ("sin",)
    np.testing.assert_allclose(model.predict(pd.DataFrame({"l": [2.0], "t": [0.5]})), [28.0], rtol=1e-6)


def test_the_front_is_printed_and_the_model_saved_if_asked_for(table, tmp_path):
    words = ["law", table, "--target", "y", "--ignore", "z,kind", "--functions", "none", "--digits", "2"]
    done = run(*words, "-o", tmp_path / "law.json")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("stopped by exact: the formula is exact (")
    lines = done.stdout[done.stdout.index("  nodes") :].splitlines()[1:]
    model = sg.load(tmp_path / "law.json")
    assert model.get_params()["functions"] == ()
    assert len(lines) == len(model.front_)
    for line, point in zip(lines, model.front_, strict=True):
        size, error, held_out, bits, formula = line[1:].split(maxsplit=4)
        assert (int(size), formula) == (point.size, point.rounded(2))
        wanted = point.error, point.held_out_error, point.description_length
        assert [float(n) for n in (error, held_out, bits)] == pytest.approx(wanted, rel=1e-3, abs=0.05)
    (chosen,) = (k for k, line in enumerate(lines) if line.startswith("*"))
    assert model.front_[chosen].formula == model.formula()
    as_json = json.loads(run("show", tmp_path / "law.json", "--json", "--digits", "2").stdout)
    assert [point["formula"] for point in as_json["fronts"][0]["points"]] == [p.rounded(2) for p in model.front_]


def test_the_front_as_json_and_another_choice(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("law", table, "-t", "y", "--ignore", "z,kind", "--choose", "1", "--max-time", "20", "-q", "--json")
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["stopped_by"] == "exact"
    assert [p["size"] for p in found["fronts"][0]["points"] if p["is_chosen"]] == [1]
    assert not list(tmp_path.iterdir())


def test_several_targets_have_a_front_each(table):
    done = run("law", table, "-t", "y,z", "--ignore", "kind", "-q")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("\n*") == 2
    assert done.stdout.index("the front of y") < done.stdout.index("the front of z")


def test_models_without_a_front_show_none(table, tmp_path):
    small = ["--generations", "2", "--population-size", "20", "--n-estimators", "2", "-q", "--ignore", "kind"]
    assert run("fit", table, "-t", "y", "--method", "2segp", "-o", tmp_path / "m.json", *small).exit_code == 0
    shown = run("show", tmp_path / "m.json", "--all").stdout
    assert "y is the sum of these terms" in shown
    assert "the front" not in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-t", "kind"], "holds texts, which is no regression"),
        (["-t", "mass"], "the target is 'mass', which is not there"),
        (["-t", "y", "--functions", "sinh"], "'sinh'"),
        (["-t", "y", "--choose", "best"], "choose must be one of"),
        (["-t", "y", "-o", "-"], "the front goes to standard output"),
        (["-t", "y", "--max-time", "-1"], "max_time"),
    ],
)
def test_mistakes_get_a_clear_error_and_exit_code_2(table, words, message):
    done = run("law", table, *words)
    assert done.exit_code == 2
    assert message in done.stderr


def test_every_end_of_a_search_is_explained():
    assert set(REASONS) == set(ENDS)


def test_a_law_of_the_logarithm_predicts_in_units(table, tmp_path):
    words = [table, "-t", "y", "--ignore", "z,kind", "--transform-target"]
    done = run("fit", *words, "log", "--method", "law", "--effort", "quick", "-o", tmp_path / "law.json", "-q")
    assert done.exit_code == 0, done.output
    shown = run("show", tmp_path / "law.json", "--all").output
    assert "log(y) is the sum of these terms" in shown
    assert "the front of log(y) (errors" in shown
    assert "formulas give log(y), and predictions undo that" in shown
    predicted = run("predict", tmp_path / "law.json", table, "--only", "-o", tmp_path / "said.csv")
    assert predicted.exit_code == 0, predicted.output
    np.testing.assert_allclose(pd.read_csv(tmp_path / "said.csv").iloc[:, 0], pd.read_csv(table)["y"], rtol=1e-6)
    assert "--transform-target must be log or box-cox" in run("law", *words, "root").output
    classes = run("fit", table, "-t", "kind", "--transform-target", "log", "--task", "classification")
    assert "--transform-target is for numbers" in classes.output
