"""The command line, as people call it."""

import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from symgrove.cli.app import app
from symgrove.experiments import study

OWN = """
title = "Mine"
kind = "table"
datasets = ["mine"]
runs = 2

[methods.cgp]
label = "cGP"
regressor = "ClassicGPRegressor"
classifier = "ClassicGPClassifier"
parameters = { population_size = 20, generations = 2 }
"""


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SYMGROVE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SYMGROVE_DATA", raising=False)

    def invoke(*arguments):
        return CliRunner().invoke(app, arguments)

    return invoke


def test_version_and_help(call):
    assert call("--version").output.startswith("symgrove ")
    assert "table1" in call("paper", "--help").output
    assert call("paper").exit_code == 2


def test_a_study_of_ones_own_data_and_methods(call, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    frame.assign(price=frame.a * 2 + frame.b).to_csv("mine.csv", index=False)
    (tmp_path / "own.toml").write_text(OWN)
    result = call("paper", "own.toml", "--data", "mine.csv", "--target", "price", "--out", "found", "--runs", "1")
    assert result.exit_code == 0, result.output
    assert "| cGP |" in result.stdout
    assert "own: 1 of 1 runs" in result.stderr
    assert sorted(f.name for f in (tmp_path / "found").iterdir()) == ["own.html", "own.md", "own.tex", "runs.jsonl"]


def test_code_that_a_study_names_and_that_is_not_there_is_told_in_one_line(call, tmp_path):
    (tmp_path / "own.toml").write_text(OWN.replace('"ClassicGPRegressor"', '"nowhere.at_all:Thing"'))
    result = call("paper", "own.toml")
    assert result.exit_code == 2
    assert "the estimator 'nowhere.at_all:Thing': importing nowhere.at_all failed" in result.stderr
    assert not (tmp_path / "results").exists()


def test_a_table_of_the_paper_on_data_that_comes_with_scikit_learn(call, tmp_path):
    text = OWN.replace('"mine"', '"bcw"')
    (tmp_path / "own.toml").write_text(text)
    result = call("paper", "own.toml", "--jobs", "2")
    assert result.exit_code == 0, result.output
    assert "BCW" in result.stdout
    assert (tmp_path / "results" / "own.html").exists()


def test_runs_that_fail_are_told_and_make_the_exit_code_1(call, tmp_path):
    frame = pd.DataFrame({"a": np.arange(60.0), "price": np.arange(60.0) * 1e200})
    frame.to_csv("mine.csv", index=False)
    (tmp_path / "own.toml").write_text(OWN)
    with np.errstate(all="ignore"):
        result = call("paper", "own.toml", "--data", "mine.csv", "--target", "price")
    assert result.exit_code == 1
    assert "2 runs failed, the first with: " in result.stderr
    assert "2 failed" in result.stdout


SMALL = "parameters = { population_size = 12, generations = 2"


def shrunk(text):
    """A study on the data that come with scikit-learn, with tiny populations."""
    text = re.sub(r"^(regressor|parameters|datasets) = .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^classifier = .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r'^record = "(prefixes|intervals)"\n', "", text, flags=re.MULTILINE).replace(
        'kind = "intervals"', 'kind = "table"'
    )
    ours = f'classifier = "TwoSEGPClassifier"\n{SMALL}, n_estimators = 3 }}\n'
    text = re.sub(r"^(label = .*\n)", lambda found: found[1] + ours, text, flags=re.MULTILINE)
    return 'datasets = ["bcw"]\n' + text


def test_the_whole_paper_makes_one_page(call, tmp_path, monkeypatch):
    folder = tmp_path / "studies"
    folder.mkdir()
    for name in study.NAMES:
        (folder / f"{name}.toml").write_text(shrunk((study.BUILT_IN / f"{name}.toml").read_text()))
    monkeypatch.setattr(study, "BUILT_IN", folder)
    result = call("paper", "all", "--runs", "1", "--out", "found")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "found.md").read_text()
    for name in study.NAMES:
        assert f"## {study.load_study(name).title}" in page
    assert page.count("![") == 5
    assert "(0 failed)" in page
    assert (tmp_path / "found" / "pruning.tex").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["paper", "table9"], "unknown study 'table9'; known are table1"),
        (["paper", "table1", "--datasets", "iris"], "unknown data set 'iris'"),
        (["paper", "table1", "--methods", "xgboost"], "has no method 'xgboost'"),
        (["paper", "table1", "--data", "mine.csv"], "--data needs --target"),
        (["paper", "table2", "--datasets", "asn", "--data-dir", "nowhere"], "'nowhere' does not exist"),
        (["paper", "all", "--datasets", "asn"], "all is the whole paper"),
        (["paper", "table1", "--runs", "0"], "--runs"),
        (["paper", "table1", "--jobs", "0"], "--jobs must be"),
        (["paper", "table2", "--datasets", "bcw"], "table2 has no method for classification, which bcw is"),
        (["paper", "figure-elites", "--datasets", "asn,ccs"], "figure-elites shows one data set, not asn, ccs"),
        (["paper", "table1", "--data", "nowhere.csv", "--target", "y"], "'nowhere.csv' does not exist"),
    ],
)
def test_mistakes_get_a_clear_error_and_exit_code_2(call, arguments, message):
    result = call(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_runs_again_and_results_only_shown(call, tmp_path):
    frame = pd.DataFrame({"a": np.arange(60.0), "price": np.arange(60.0) ** 2})
    frame.to_csv("mine.csv", index=False)
    (tmp_path / "own.toml").write_text(OWN)
    arguments = ("paper", "own.toml", "--data", "mine.csv", "--target", "price")
    assert call(*arguments).exit_code == 0
    rows = tmp_path / "results" / "runs.jsonl"
    assert len(rows.read_text().splitlines()) == 2
    assert call(*arguments, "--again").exit_code == 0
    assert len(rows.read_text().splitlines()) == 4
    (tmp_path / "results" / "own.md").unlink()
    result = call(*arguments, "--only-show")
    assert "| cGP |" in result.stdout
    assert len(rows.read_text().splitlines()) == 4
    for nothing in (arguments, ("paper", "all")):
        result = call(*nothing, "--only-show", "--out", "elsewhere")
        assert result.exit_code == 2
        assert "or name another folder" in result.stderr
    assert not (tmp_path / "elsewhere").exists()
    refused = call(*arguments, "--only-show", "--again")
    assert refused.exit_code == 2
    assert "--again does all runs and --only-show none; give one of them." in refused.stderr
