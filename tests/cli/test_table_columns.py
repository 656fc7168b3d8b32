"""Missing values and texts of a table on the command line, which Python and exports agree with."""

import json

import numpy as np
import pandas as pd
import pytest

import symgrove as sg
from tests.cli.test_commands import SMALL, column, folder, run, write_csv  # noqa: F401


def test_missing_values_and_texts(folder, tmp_path):  # noqa: F811
    mixed, model = folder / "mixed.csv", tmp_path / "m.json"
    fit = ["fit", mixed, "-t", "y", "-o", model, "-q", *SMALL]
    assert "columns of text: 'colour'. Choose: --text one-hot" in run(*fit, "--text", "error").output
    assert "missing values in 'a' (12 of 120 rows). Choose" in run(*fit, "--missing", "error").output
    assert not model.exists()
    assert run(*fit).exit_code == 0
    assert json.loads(model.read_text())["features"] == ["a", "colour", "b"]
    # The command line, Python and an export agree, also on a value that the fit did not see.
    frame = pd.read_csv(mixed).drop(columns="y")
    frame.loc[3, "colour"], frame.loc[4, "colour"] = "pink", None
    frame.to_csv(tmp_path / "new.csv", index=False)
    done = run("predict", model, tmp_path / "new.csv", "--only")
    assert "values that the fit did not see ('pink')" in done.stderr
    found = column(done.stdout, "prediction")
    assert found == sg.load(model).predict(frame).tolist()
    exported = run("export", model, "--to", "python")
    assert exported.stderr == ""
    parts = {}
    exec(exported.stdout, parts)
    assert parts["predict"](frame) == pytest.approx(found, rel=1e-12)
    shown = run("show", model).stdout
    assert "\nin formulas\n  a means a, or " in shown
    assert "colour\n" in shown.split("importance of the columns")[1]
    assert run(*fit, "--text", "drop", "--missing", "drop").exit_code == 0
    done = run("predict", model, mixed, "--only")
    assert done.stdout.splitlines()[1] == '""'
    assert "12 rows with missing values have no prediction" in done.stderr


def test_texts_that_are_all_different_are_left_out_and_of_many_it_is_said_how_many_count(tmp_path):
    rows = {
        "id": [f"L{i}" for i in range(60)],
        "town": [f"t{i % 40}" for i in range(60)],
        "a": range(60),
        "y": [0.5 * i for i in range(60)],
    }
    write_csv(tmp_path / "d.csv", rows)
    fit = ["fit", tmp_path / "d.csv", "-t", "y", "-o", tmp_path / "m.json", "-q", *SMALL]
    told = run(*fit).stderr
    assert "column 'id' has a different text in each row, and is left out; --categorical-features id keeps it" in told
    assert "of the 40 texts in column 'town', the 30 most frequent are features" in told
    assert [c.name for c in sg.load(tmp_path / "m.json").columns_] == ["town", "a"]
    assert "left out" not in run(*fit, "--categorical-features", "id").stderr
    assert [c.name for c in sg.load(tmp_path / "m.json").columns_] == ["id", "town", "a"]
    assert "left out" not in run(*fit, "--features", "id").stderr  # named, or nothing else there
    assert run(*fit, "--ignore", "town,a").exit_code == 0


def test_numbers_can_be_categories_and_rows_without_a_target_are_left_out(tmp_path):
    rows = {
        "k": [i % 3 for i in range(60)],
        "a": range(60),
        "y": ["" if i == 5 else i % 3 + 0.01 * i for i in range(60)],
    }
    write_csv(tmp_path / "d.csv", rows)
    fit = ["fit", tmp_path / "d.csv", "-t", "y", "-o", tmp_path / "m.json", "-q", *SMALL]
    done = run(*fit, "--categorical-features", "k")
    assert (done.exit_code, "1 rows without a value of the target are left out" in done.stderr) == (0, True), (
        done.output
    )
    model = sg.load(tmp_path / "m.json")
    assert model.columns_.labels == ["[k is 0]", "[k is 1]", "[k is 2]", "a"]
    found = column(run("predict", tmp_path / "m.json", tmp_path / "d.csv", "--only").stdout, "prediction")
    assert found == model.predict(pd.DataFrame({"k": rows["k"], "a": rows["a"]})).tolist()


def test_files_of_older_versions_say_how_features_were_made(folder, tmp_path):  # noqa: F811
    """Features of 0 and 1 that the command line made of texts are columns there, and features in Python."""
    given = pd.read_csv(folder / "mixed.csv")
    kinds, mean = ["blue", "green, dark", "red"], float(given["a"].mean())
    one_hot = {f"colour={kind}": (given["colour"] == kind).astype(float) for kind in kinds}
    X = pd.DataFrame({"a": given["a"].fillna(mean), **one_hot, "b": given["b"]})
    old = sg.GroveRegressor(generations=3, population_size=60, n_estimators=5, strength="fixed", random_state=0)
    old.fit(X, given["y"]).save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    del document["columns"], document["parameters"]["categorical_features"]
    sources = [
        {"name": "a", "fill": mean, "categories": None},
        {"name": "colour", "fill": 0.0, "categories": kinds},
        {"name": "b", "fill": mean, "categories": None},
    ]
    document["table"] = {"target": "y", "missing": "mean", "sources": sources}
    (tmp_path / "m.json").write_text(json.dumps(document))
    wanted = old.predict(X).tolist()
    assert sg.load(tmp_path / "m.json").predict(X).tolist() == wanted
    with pytest.raises(ValueError, match=r"X contains NaN in a\. This model is of a version that took complete rows"):
        sg.load(tmp_path / "m.json").predict(X.assign(a=np.nan))
    assert column(run("predict", tmp_path / "m.json", folder / "mixed.csv", "--only").stdout, "prediction") == wanted
    parts = {}
    exec(run("export", tmp_path / "m.json", "--to", "python").stdout, parts)
    assert parts["predict"](given[["a", "colour", "b"]]) == pytest.approx(wanted, rel=1e-12)
    shown = json.loads(run("show", tmp_path / "m.json", "--json").stdout)
    assert sorted(shown["importances"]) == ["a", "b", "colour"]
    document["table"]["missing"], sources[0]["fill"] = "drop", None
    (tmp_path / "m.json").write_text(json.dumps(document))
    done = run("predict", tmp_path / "m.json", folder / "mixed.csv", "--only")
    assert "12 rows with missing values have no prediction" in done.stderr
