"""`symgrove distill`, and the line "In one formula"."""

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1

import symgrove as sg
from symgrove.models.one_formula import OneFormula
from symgrove.saving.estimators import from_document
from tests.cli.test_commands import SMALL, run

QUICK = ["--effort", "quick", "--max-size", "9"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("distill")
    X, y = make_friedman1(140, n_features=5, random_state=0)
    table = pd.DataFrame(X, columns=list("abcde")).assign(price=y, kind=np.where(y > 14, "dear", "cheap"))
    table.drop(columns="kind").to_csv(folder / "all.csv", index=False)
    table[:90].drop(columns="kind").to_csv(folder / "data.csv", index=False)
    table.drop(columns=["kind", "price"]).to_csv(folder / "new.csv", index=False)
    table[:90].drop(columns="price").to_csv(folder / "kinds.csv", index=False)
    small = ["--method", "2segp", "--population-size", "60", "--generations", "5", "--n-estimators", "5", "-q"]
    assert run("fit", folder / "data.csv", "--target", "price", "-o", folder / "m.json", *small).exit_code == 0
    return folder


def test_the_formula_its_scores_and_the_front_are_printed_and_a_model_is_saved(folder):
    done = run("distill", folder / "m.json", folder / "all.csv", "-o", folder / "one.json", *QUICK)
    assert done.exit_code == 0
    line, *rest = done.stdout.splitlines()
    one, model = sg.load(folder / "one.json"), sg.load(folder / "m.json")
    new = pd.read_csv(folder / "all.csv")[90:]
    scores = [m.score(new[list("abcde")], new["price"]) for m in (one, model)]
    formula = one.ensemble_[0].rounded()
    said = f"R² {scores[0]:.2f} on 50 new rows; the ensemble {scores[1]:.2f} on the same"
    assert line == f"In one formula: price = {formula} ({said})"
    assert sum(text.startswith("*") for text in rest) == 1
    assert f"written: {folder / 'one.json'}" in done.stderr


def test_without_the_target_the_model_judges(folder):
    done = run("distill", folder / "m.json", folder / "new.csv", "--json", "--digits", "3", *QUICK)
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["one_formula"]["rows"] == "the model's predictions"
    assert found["one_formula"]["size"] <= 9
    assert [point["formula"] for point in found["front"] if point["is_chosen"]] == [found["one_formula"]["formula"]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["new.csv", "--target", "prize"], "the target is 'prize', which is not there."),
        (["data.csv", "-o", "-"], "name a file for the model with -o"),
        (["data.csv", "-o", "m.json"], "is the same file as the model"),
        (["data.csv", "--effort", "none"], "effort must be one of 'full', 'quick'"),
    ],
)
def test_mistakes_get_a_clear_error(folder, words, message):
    given = [folder / word if word.endswith((".csv", ".json")) else word for word in words]
    done = run("distill", folder / "m.json", *given)
    assert done.exit_code == 2
    assert message in done.stderr


def test_fit_finds_a_formula_that_show_prints_first(folder, tmp_path):
    shown = run("show", folder / "m.json").stdout.splitlines()
    model = sg.load(folder / "m.json")
    one = model.one_formula_
    assert shown[0] == one.sentence("price")
    assert shown[0].startswith("In one formula: price = ")
    assert (one.rows, one.n_rows, one.label) == ("rows held out", 45, None)
    found = json.loads(run("show", folder / "m.json", "--json", "--style", "latex").stdout)["one_formula"]
    assert (found["formula"], found["score"]) == (one.latex, one.score)
    again = pickle.loads(pickle.dumps(model))
    assert again.one_formula_ == one
    assert again.one_formula_.formula == one.formula
    table = pd.read_csv(folder / "data.csv")
    smaller = sg.simplify_ensemble(model, table[list("abcde")], table["price"], max_error_increase=100.0)
    model.fit(table[list("abcde")], table["price"])  # of another fit
    assert not hasattr(model, "one_formula_")
    assert not hasattr(smaller.model, "one_formula_")


def test_two_classes_have_a_formula_more_have_none(folder, tmp_path):
    fit = ["fit", folder / "kinds.csv", "-t", "kind", "-o", tmp_path / "k.json", *SMALL[:6]]
    told = run(*fit, "-q").stdout.splitlines()
    scores = r"accuracy 0\.\d+ on \d+ rows held out; the ensemble 0\.\d+ on the same"
    assert re.fullmatch(rf"In one formula: log odds of dear = .* \({scores}\)", told[1])
    assert json.loads(run(*fit, "-q", "--json", "--no-one-formula").stdout)["one_formula"] is None
    table = pd.read_csv(folder / "kinds.csv")
    table.assign(kind=pd.cut(table["a"], 3, labels=list("xyz"))).to_csv(tmp_path / "three.csv", index=False)
    fit[1] = tmp_path / "three.csv"
    assert "In one" not in run(*fit, "-q").stdout


def test_what_is_damaged_in_a_file_is_refused(folder):
    document = json.loads((folder / "m.json").read_text())
    for name, value in (("rows", "all"), ("measure", "R"), ("program", 10**6), ("score", "high"), ("n_rows", 0)):
        damaged = {**document, "one_formula": {**document["one_formula"], name: value}}
        with pytest.raises(ValueError, match=f"entry '{name}' of 'one_formula'"):
            from_document(damaged)
    del document["one_formula"]  # as of older versions
    assert not hasattr(from_document(document), "one_formula_")


def test_a_line_says_what_is_known():
    def scores(*values):
        return OneFormula(5, *values, 100, None, None, 0, None, None).scores

    assert scores(0.9449, 0.9611, "R²", "new rows") == "R² 0.94 on 100 new rows; the ensemble 0.96 on the same"
    assert scores(0.94, np.nan, "R²", "rows held out") == "R² 0.94 on 100 rows held out"
    of_classes = scores(0.98, 0.9991, "accuracy", "rows held out")
    assert of_classes == "accuracy 0.9800 on 100 rows held out; the ensemble 0.9991 on the same"
    assert scores(0.94, 1.0, "R²", "the model's predictions") == "R² 0.94 with the ensemble's predictions"
