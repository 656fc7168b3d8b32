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
        (["-t", "y", "--ignore", "day", "--method", "gsgp"], "needs all rows in memory"),
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


def test_columns_of_files_in_other_orders(parts):
    own = pd.concat([pd.read_parquet(path) for path in sorted(parts.glob("part-*"))], ignore_index=True)
    swapped = pq.read_table(parts / "part-1.parquet")
    pq.write_table(swapped.select(swapped.column_names[::-1]), parts / "part-1.parquet")
    model = parts / "m.json"
    sg.GroveRegressor(population_size=20, n_estimators=2, generations=2, random_state=0).fit(
        own[["a", "b"]][:500], own["y"][:500]
    ).save(model)
    expected = own.assign(prediction=sg.load(model).predict(own[["a", "b"]]))
    for name, read in (("all.parquet", pd.read_parquet), ("all.csv", pd.read_csv)):
        assert run("predict", model, parts / "part-*.parquet", "-o", parts / name).exit_code == 0
        found = read(parts / name)
        assert [*found.columns] == [*expected.columns]
        assert np.allclose(
            found[["a", "b", "y", "prediction"]], expected[["a", "b", "y", "prediction"]], equal_nan=True
        )


def test_an_output_among_the_inputs_is_refused(parts, monkeypatch):
    (parts / "linked").symlink_to(parts)
    (parts / "sub").mkdir()
    pattern, first = parts / "part-*.parquet", parts / "part-0.parquet"
    before = first.read_bytes()
    model = parts / "m.json"
    sg.GroveRegressor(population_size=20, n_estimators=2, generations=2).fit([[1.0], [2.0]] * 20, [1.0, 2.0] * 20).save(
        model
    )
    is_one, would_be = "is one of the files of", "would be one of the files of"
    for data, output, message in [
        (pattern, first, is_one),
        (pattern, parts / "linked" / "part-0.parquet", is_one),
        (parts / "linked" / "part-*.parquet", first, is_one),
        (parts, first, is_one),
        (pattern, parts / "part-9.parquet", would_be),
        (parts / "**" / "part-*.parquet", parts / "sub" / "part-9.parquet", would_be),
        (parts, parts / "all.parquet", would_be),
        (parts / "linked", parts / "sub" / "all.pq", would_be),
    ]:
        for words in (["predict", model, data], ["fit", data, "-t", "y", "--ignore", "day", *OWN]):
            done = run(*words, "-o", output)
            assert done.exit_code == 2
            assert message in done.output
    monkeypatch.chdir(parts)
    assert would_be in run("predict", model, "part-*.parquet", "-o", "part-9.parquet").output
    assert first.read_bytes() == before
    assert not list(parts.rglob("*9.parquet"))
    for data, output in [
        ("part-*.parquet", "sub/part-9.parquet"),
        ("part-*.parquet", "all.parquet"),
        (str(parts), "all.csv"),
    ]:
        large_tables.check_apart(output, data)


def test_methods_that_evolve_on_all_rows_fit_files_too(parts):
    given, model = parts / "part-*.parquet", parts / "m.json"
    own = ["--population-size", "20", "--n-estimators", "3", "--generations", "1", "--jobs", "2", "--no-one-formula"]
    words = ["-t", "y", "--ignore", "day,class", "-o", model, *own]
    done = run("fit", given, *words, "--method", "2segp")
    assert done.exit_code == 0, done.output
    assert "on out-of-bag rows" in done.output
    assert type(sg.load(model)).__name__ == "TwoSEGPRegressor"
