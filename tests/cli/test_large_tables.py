"""Parquet data sets on the command line: rows stay in their files, and are predicted some at a time."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import symgrove as sg
from symgrove.cli import large_tables
from symgrove.estimators import elsewhere
from tests.cli.test_commands import run

N_ROWS = 6000
OWN = ["--population-size", "40", "--n-estimators", "4", "--generations", "6", "--max-terms", "6", "--jobs", "2"]


@pytest.fixture
def parts(tmp_path, monkeypatch, dask_client):
    """A folder with three files of different sizes."""
    monkeypatch.setattr(elsewhere, "MOST_ROWS", 1000)
    monkeypatch.setattr(large_tables, "MOST_ROWS", 1000)
    monkeypatch.setattr(large_tables, "ROWS_AT_A_TIME", 1500)
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(N_ROWS, 3)), columns=["a", "b", "y"])
    frame["kind"] = rng.choice(["x", "z"], N_ROWS)
    frame["day"] = pd.Timestamp("2024-02-29")
    frame["y"] = frame["a"] * frame["b"] + (frame["kind"] == "x") + 0.1 * frame["y"]
    frame["class"] = (frame["y"] > 0).astype(int)
    frame.loc[::7, "b"] = np.nan
    for i, (start, stop) in enumerate([(0, 10), (10, 5000), (5000, N_ROWS)]):
        pq.write_table(pa.Table.from_pandas(frame[start:stop], preserve_index=False), tmp_path / f"part-{i}.parquet")
    with dask_client.as_current():
        yield tmp_path


def test_a_pattern_is_fitted_and_predicted_in_pieces(parts):
    given, model = parts / "part-*.parquet", parts / "m.json"
    done = run("fit", given, "-t", "y", "--ignore", "day,class", "-o", model, "--json", *OWN)
    assert done.exit_code == 0, done.output
    assert "6,000 rows in 3 files of 0" in done.stderr
    assert [*sg.load(model).feature_names_in_] == ["a", "b", "kind"]
    assert json.loads(done.stdout)["n_rows"] == N_ROWS
    assert json.loads(done.stdout)["one_formula"] is not None
    own = pd.concat([pd.read_parquet(path) for path in sorted(parts.glob("part-*"))])
    expected = sg.load(model).predict(own[["a", "b", "kind"]])
    assert np.mean((own["y"] - expected) ** 2) < 0.5 * np.var(own["y"])
    assert run("predict", model, given, "-o", parts / "all.parquet").exit_code == 0
    found = pd.read_parquet(parts / "all.parquet")
    assert [*found.columns] == [*own.columns, "prediction"]
    assert found["prediction"].tolist() == expected.tolist()
    assert found["day"].dtype == own["day"].dtype
    assert run("predict", model, parts, "-o", parts / "all.csv.gz", "--only", "--interval", "0.9").exit_code == 2
    (parts / "all.parquet").unlink()
    assert run("predict", model, parts, "-o", parts / "all.csv.gz", "--only", "--interval", "0.9").exit_code == 0
    found = pd.read_csv(parts / "all.csv.gz")
    assert [*found.columns] == ["prediction", "lower", "upper"]
    assert found["prediction"].tolist() == expected.tolist()


def test_classes_and_one_file(parts, monkeypatch):
    monkeypatch.setattr(large_tables, "available_memory", lambda: 10**6)
    model, given = parts / "m.json", parts / "part-1.parquet"
    own = ["-o", model, "-q", "--no-one-formula", "--strength", "fixed", *OWN]
    assert run("fit", given, "-t", "class", "--ignore", "day,y", *own).exit_code == 0
    assert sg.load(model).classes_.tolist() == [0, 1]
    assert run("predict", model, given, "--proba", "-o", parts / "p.parquet").exit_code == 0
    assert pd.read_parquet(parts / "p.parquet")["prediction"].dtype == np.int64
    assert run("fit", given, "-t", "kind", "--ignore", "day", "--engine", "dask", *own).exit_code == 0
    assert sg.load(model).classes_.tolist() == ["x", "z"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-t", "z"], "the target is 'z', which is not there"),
        (["-t", "y"], "column 'day' holds values of type timestamp"),
        (["-t", "y", "--ignore", "day,other"], "an option names the column 'other'"),
        (["-t", "y", "--ignore", "day", "--missing", "drop"], "--missing drop is for tables in memory"),
        (["-t", "y", "--ignore", "day", "--text", "error"], "columns of text: 'kind'"),
        (["-t", "y", "--ignore", "day", "--task", "classification"], "holds numbers that are not whole"),
        (["-t", "kind", "--ignore", "day", "--task", "regression"], "holds texts, which is no regression"),
        (["-t", "y", "--ignore", "day", "--decimal", ","], "--decimal is for tables of texts"),
        (["-t", "y", "--ignore", "day", "--method", "2segp"], "needs all rows in memory"),
    ],
)
def test_what_cannot_be_had_is_refused(words, message, parts):
    done = run("fit", parts, "-o", parts / "m.json", *words)
    assert done.exit_code != 0
    assert message in done.output


def test_outputs_of_predictions(parts):
    model = parts / "m.json"
    run("fit", parts, "-t", "y", "--ignore", "day", "-o", model, "-q", "--no-one-formula", *OWN)
    for words in (["-o", "-"], ["-o", parts / "p.xlsx"], ["--json"]):
        assert "data set" in run("predict", model, parts, *words).output
    assert "there is no file" in run("predict", model, parts / "other-*.parquet").output
