"""`symgrove score` and `symgrove simplify`."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_friedman1
from sklearn.metrics import balanced_accuracy_score, mean_absolute_error, r2_score

import symgrove as sg
from symgrove.cli.fronts import front_lines
from tests.cli.test_commands import run

SMALL = ["--method", "2segp", "--population-size", "60", "--generations", "5", "--n-estimators", "6", "-q"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("score")
    X, y = make_friedman1(140, n_features=5, random_state=0)
    table = pd.DataFrame(X, columns=list("abcde")).assign(price=y)
    table.to_csv(folder / "all.csv", index=False)
    table[:90].to_csv(folder / "data.csv", index=False)
    table[90:].to_csv(folder / "new.csv", index=False)
    assert run("fit", folder / "data.csv", "-t", "price", "-o", folder / "m.json", *SMALL).exit_code == 0
    return folder


def test_rows_of_the_fit_are_scored_apart(folder):
    done = run("score", folder / "m.json", folder / "all.csv")
    assert done.exit_code == 0, done.output
    model, new = sg.load(folder / "m.json"), pd.read_csv(folder / "new.csv")
    said = model.predict(new[list("abcde")])
    lines = done.stdout.splitlines()
    assert lines[0] == "50 rows that the model was not fitted on"
    assert [line.split(maxsplit=1)[1] for line in lines[1:4]] == ["R²", "RMSE", "mean absolute error"]
    wanted = [
        r2_score(new.price, said),
        np.sqrt(np.mean((new.price - said) ** 2)),
        mean_absolute_error(new.price, said),
    ]
    assert [float(line.split()[0]) for line in lines[1:4]] == pytest.approx(wanted, rel=1e-3)
    assert lines[4] == "90 rows of the fit (too good)"
    (only,) = json.loads(run("score", folder / "m.json", folder / "new.csv", "--json").stdout)
    assert (only["rows"], only["n_rows"]) == ("new", 50)
    assert only["R²"] == pytest.approx(wanted[0])


def test_classes_and_files_without_marks(tmp_path):
    frame, label = load_iris(return_X_y=True, as_frame=True)
    frame.assign(kind=np.array(["setosa", "versicolor", "virginica"])[label]).to_csv(tmp_path / "iris.csv", index=False)
    words = ["-t", "kind", "-o", tmp_path / "m.json", *SMALL]
    assert run("fit", tmp_path / "iris.csv", *words).exit_code == 0
    document = json.loads((tmp_path / "m.json").read_text())
    document["seen"]["fit"] = None
    (tmp_path / "m.json").write_text(json.dumps(document))
    (found,) = json.loads(run("score", tmp_path / "m.json", tmp_path / "iris.csv", "--json").stdout)
    said = sg.load(tmp_path / "m.json").predict(frame)
    names = np.array(["setosa", "versicolor", "virginica"])[label]
    assert found["rows"] == "not known"
    assert found["accuracy"] == pytest.approx(np.mean(said == names))
    assert found["balanced accuracy"] == pytest.approx(balanced_accuracy_score(names, said))
    assert 0 < found["log loss"] < 2


def test_a_smaller_model_is_saved_and_shown(folder):
    done = run("simplify", folder / "m.json", folder / "new.csv", "-o", folder / "small.json")
    assert done.exit_code == 0, done.output
    small, model = sg.load(folder / "small.json"), sg.load(folder / "m.json")
    lines = done.stdout.splitlines()
    size = sum(m.size for m in model.ensemble_)
    before = model.model_.ensembles[0].programs.size
    assert re.fullmatch(rf"\d+ of {before} members; error \S+, before \S+, on \d+ new rows", lines[0])
    (chosen,) = (line for line in lines if line.startswith("*"))
    assert int(chosen.split()[1]) == sum(m.size for m in small.ensemble_) <= size
    found = json.loads(run("simplify", folder / "m.json", folder / "new.csv", "--max-size", str(size), "--json").stdout)
    assert found["size"] <= size
    assert found["model"] is None
    assert (
        "name a file for the model with -o" in run("simplify", folder / "m.json", folder / "new.csv", "-o", "-").stderr
    )
    refused = run("simplify", folder / "m.json", folder / "new.csv", "-o", folder / "m.json")
    assert "is the same file as the model" in refused.stderr


def test_an_export_may_be_of_a_smaller_model(folder):
    words = "export", folder / "m.json", "--to", "text"
    done = run(*words, "--max-error-increase", "0.5", "--data", folder / "new.csv")
    assert done.exit_code == 0, done.output
    model, rows = sg.load(folder / "m.json"), pd.read_csv(folder / "new.csv")
    smaller = model.simplify_ensemble(rows.drop(columns="price"), rows.price, max_error_increase=0.5)
    assert done.stdout.rstrip("\n") == smaller.model.export("text").rstrip("\n")
    assert f"made smaller: {smaller}" in done.stderr
    assert smaller.n_parts < smaller.n_parts_before
    assert "--max-error-increase and --data go together" in run(*words, "--max-error-increase", "0.5").stderr


def test_tables_hold_the_beginning_of_long_formulas():
    points = [{"size": n, "error": 1.0, "is_chosen": False, "formula": "x" * n} for n in (10, 11)]
    heading, _, short, long = front_lines({"target": None, "points": points}, 10)
    assert short.endswith(" " + "x" * 10)
    assert long.endswith(" " + "x" * 10 + " ...")
    assert "--json" in heading
    assert "--json" not in front_lines({"target": None, "points": points})[0]
