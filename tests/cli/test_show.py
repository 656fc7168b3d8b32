"""`symgrove show`: a model on one screen, and everything if asked for."""

import json
import re

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_friedman1

import symgrove as sg
from symgrove.estimators.fitted import known_score
from tests.cli.test_commands import SMALL, folder, run, write_csv  # noqa: F401  (a fixture)

TERM = re.compile(r"^ +[\d.e+-]+  [+-] ", re.MULTILINE)


def test_a_model_of_many_columns_and_classes_fits_a_screen(tmp_path):
    rng = np.random.default_rng(0)
    columns = {f"column {j}": [*rng.normal(size=130), *[""] * 5] for j in range(30)}
    columns["town"] = np.array(["Harbour", "Mill", "Park"])[np.arange(135) % 3]
    write_csv(tmp_path / "d.csv", {**columns, "kind": [f"class {i % 11}" for i in range(135)]})
    done = run("fit", tmp_path / "d.csv", "-t", "kind", "-o", tmp_path / "m.json", "-q", *SMALL)
    assert done.exit_code == 0, done.output
    lines = run("show", tmp_path / "m.json").stdout.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) < 160
    assert min(k for k, line in enumerate(lines) if TERM.match(line)) < 20
    assert lines[0] == "GroveClassifier: kind from 31 columns, learned from 135 rows"
    assert "5 teams for each of 11 classes, each a sum of terms; " in lines[3]
    assert "  and 1 more targets: --all" in lines
    everything = run("show", tmp_path / "m.json", "--all").stdout
    assert "the 5 heaviest members (weight, nodes, formula)" in everything
    assert "--all" not in everything
    assert "column 29 means column 29, or " in everything
    assert re.search(r"^  0\.\d+ +\d+  \[class \d+\] ", everything, re.MULTILINE)


def test_the_strongest_terms_come_first_with_what_they_move(tmp_path):
    rng = np.random.default_rng(0)
    a, b, c = rng.uniform(-1, 1, (3, 100))
    town = np.array(["Harbour", "Mill"])[np.arange(100) % 2]
    write_csv(tmp_path / "d.csv", {"a": a, "b": b, "c": c, "town": town, "y": 8 * a - 2 * b + 3 * (town == "Mill")})
    words = ["--method", "gptips", "--population-size", "60", "--generations", "10", "-q"]
    assert run("fit", tmp_path / "d.csv", "-t", "y", "-o", tmp_path / "m.json", *words).exit_code == 0
    found = json.loads(run("show", tmp_path / "m.json", "--digits", "2", "--json").stdout)
    (own,) = found["formulas"]
    assert own["of"] == "y"
    assert own["terms"][0]["formula"] == "+ 8 * a"
    assert own["terms"][0]["effect"] == pytest.approx(8 * a.std(), rel=0.2)
    text = run("show", tmp_path / "m.json").stdout
    assert "y is the sum of these terms (effect: " in text
    assert re.search(r"^ +[\d.]+  \+ 8 \* a\n +[\d.]+  [-+] \d", text, re.MULTILINE)
    assert re.search(r"\d \* \[town is (Mill|Harbour)\]$", text, re.MULTILINE)


def test_styles_members_and_what_recurs(folder, tmp_path):  # noqa: F811
    text = run("show", folder / "model.json", "--members", "2").stdout
    assert re.match(r"GroveRegressor: y from 5 columns, learned from 120 rows\n", text)
    assert "\nscore on new rows: not known, as all were used; " in text
    assert re.search(r"\n5 teams, each a sum of terms; \d+ nodes\nevolved for 3 generations, stopped by gen", text)
    assert "the 2 heaviest members (weight, nodes, formula)" in text
    assert "recur" not in text
    found = json.loads(run("show", folder / "model.json", "--style", "latex", "--json").stdout)
    assert sum(member["weight"] for member in found["members"]) == pytest.approx(1)
    assert list(found["importances"].values()) == sorted(found["importances"].values(), reverse=True)
    assert "\\" in found["members"][0]["formula"]
    assert "--style must be text or latex, got 'html'" in run("show", folder / "model.json", "--style", "html").stderr


def test_named_parts_are_equations(tmp_path):
    X, y = load_iris(return_X_y=True)
    sg.M3GPClassifier(population_size=30, generations=3, random_state=0).fit(X, y).save(tmp_path / "model.json")
    text = run("show", tmp_path / "model.json").stdout
    assert "distance(`0`) = " in text
    assert not TERM.search(text)


def test_scores_say_which_rows_they_are_of(tmp_path):
    X, y = make_friedman1(100, noise=1.0, random_state=0)
    small = {"population_size": 60, "generations": 5, "n_estimators": 4, "random_state": 0}
    fits = {
        "fit": (sg.GroveRegressor(**small, strength="fixed", calibration=0.3), "on 30 rows kept out of the fit"),
        "evolutions": (sg.GroveRegressor(**small), "on 100 rows held out of whole evolutions (a little optimistic"),
        "samples": (sg.TwoSEGPRegressor(**small), "on out-of-bag rows (optimistic)"),
    }
    for of, (model, text) in fits.items():
        model.fit(X, y).save(tmp_path / "m.json")
        own = known_score(model)
        assert own == known_score(sg.load(tmp_path / "m.json"))
        assert own.of == of
        shown = run("show", tmp_path / "m.json").stdout
        assert f"\nR² {own.value:.4f} {text}" in shown
    kept_out = known_score(fits["fit"][0]).value
    rest = sg.GroveRegressor(**small, strength="fixed", calibration=0.3).fit(X[::-1], y[::-1])
    assert kept_out != known_score(rest).value  # of other rows
    assert abs(kept_out - fits["fit"][0].score(*make_friedman1(1000, noise=1.0, random_state=1))) < 0.2
    old = json.loads((tmp_path / "m.json").read_text())
    assert "held_out_score" not in old["fitted"]
    del old["reading"]
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert run("show", tmp_path / "old.json").stdout.startswith("TwoSEGPRegressor: numbers from 10 columns\nR² ")
