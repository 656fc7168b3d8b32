"""`symgrove report` and intervals on the command line."""

import csv
import io
import json
import re

import numpy as np
import pytest

import symgrove as sg
from tests.cli.test_commands import SMALL, column, folder, run, write_csv  # noqa: F401


def test_report_of_a_model_and_its_data(folder, tmp_path):  # noqa: F811
    made = run(
        "fit", folder / "numbers.csv", "-t", "y", "-o", tmp_path / "m.json", "-q", *SMALL, "--calibration", "0.3"
    )
    assert made.exit_code == 0, made.output
    done = run("report", tmp_path / "m.json", folder / "numbers.csv", "-o", tmp_path / "page.html")
    assert done.exit_code == 0, done.output
    assert done.stderr.startswith("report: scores on 36 rows, beside other models that are trained now\n")
    page = (tmp_path / "page.html").read_text()
    assert "<h1>m</h1>" in page
    assert "export model.json" not in page
    assert (
        "Scores are of 36 rows that the model was not fitted on. The other models are trained on 84 training rows."
        in page
    )


def test_the_page_names_the_model_file(folder, no_figures, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr("symgrove.report.exports.LARGEST", 10)
    (tmp_path / "my model.json").write_bytes((folder / "model.json").read_bytes())
    monkeypatch.chdir(tmp_path)
    done = run("report", "my model.json", folder / "numbers.csv", "-o", "page.html")
    assert done.exit_code == 0, done.output
    assert "symgrove export &#39;my model.json&#39; --to c writes it" in (tmp_path / "page.html").read_text()


def test_texts_and_missing_values(folder, no_figures, tmp_path):  # noqa: F811
    options = ("--text", "one-hot", "--missing", "drop")
    made = run("fit", folder / "mixed.csv", "-t", "y", "-o", tmp_path / "m.json", "-q", *SMALL, *options)
    assert made.exit_code == 0, made.output
    done = run(
        "report", tmp_path / "m.json", folder / "mixed.csv", "-o", tmp_path / "page.html", "--title", "Mixed", "-q"
    )
    assert done.exit_code == 0, done.output
    assert "report:" not in done.stderr
    assert "12 rows with missing values are left out" in done.stderr
    page = (tmp_path / "page.html").read_text()
    data = json.loads(re.search(r'id="what-if-data">(.*?)</script>', page, re.DOTALL)[1])
    choice = next(control for control in data["controls"] if control["kind"] == "choice")
    assert choice["name"] == "colour"
    assert [label for label, _ in choice["options"]] == ["blue", "green, dark", "red", "(other)", "(missing)"]
    assert sorted(c["name"] for c in data["controls"]) == ["a", "b", "colour"]
    assert (len(data["rows"]), len(data["truths"]), data["target"]) == (108, 108, "y")


def test_classes_and_other_rows(folder, no_figures, tmp_path):  # noqa: F811
    made = run("fit", folder / "iris.csv", "-t", "kind", "-o", tmp_path / "m.json", "-q", *SMALL)
    assert made.exit_code == 0, made.output
    rng = np.random.default_rng(0)
    kinds = ["setosa", "virginica"] * 20
    write_csv(tmp_path / "new.csv", {**{n: rng.uniform(1, 6, 40) for n in "abcd"}, "kind": kinds})
    done = run(
        "report", tmp_path / "m.json", tmp_path / "new.csv", "-o", tmp_path / "p.html", "--train", folder / "iris.csv"
    )
    assert done.exit_code == 0, done.output
    assert "The other models are trained on 150 training rows." in (tmp_path / "p.html").read_text()


def test_mistakes(folder, no_figures, tmp_path):  # noqa: F811
    done = run("report", folder / "model.json", folder / "iris.csv", "-o", tmp_path / "p.html")
    assert done.exit_code == 2
    assert "the target is 'y', which is not there" in done.stderr
    done = run("report", folder / "model.json", folder / "numbers.csv", "-o", tmp_path / "no" / "p.html")
    assert done.exit_code == 2
    assert "there is no folder" in done.stderr
    done = run("report", folder / "model.json", folder / "numbers.csv", "-o", tmp_path / "p.html", "--coverage", "90")
    assert done.exit_code == 2
    assert "coverage must be a number above 0 and below 0.9991" in done.stderr
    assert not (tmp_path / "p.html").exists()


def test_a_model_from_python_needs_the_target(folder, no_figures, tmp_path):  # noqa: F811
    X = np.random.default_rng(0).normal(size=(60, 2))
    sg.TwoSEGPRegressor(population_size=20, n_estimators=3, generations=2).fit(X, X[:, 0]).save(tmp_path / "m.json")
    write_csv(tmp_path / "d.csv", {"x0": X[:, 0], "x1": X[:, 1], "z": X[:, 0]})
    done = run("report", tmp_path / "m.json", tmp_path / "d.csv", "-o", tmp_path / "p.html")
    assert "say which column it is with --target" in done.stderr
    done = run("report", tmp_path / "m.json", tmp_path / "d.csv", "-o", tmp_path / "p.html", "--target", "z")
    assert done.exit_code == 0, done.output


def test_intervals_of_predictions(folder):  # noqa: F811
    done = run("predict", folder / "model.json", folder / "numbers.csv", "--only", "--interval", "0.8", "--std")
    assert done.exit_code == 0, done.output
    assert next(csv.reader(io.StringIO(done.stdout))) == ["prediction", "std", "lower", "upper"]
    low, middle, high = (np.array(column(done.stdout, n)) for n in ("lower", "prediction", "upper"))
    assert ((low < middle) & (middle < high)).all()
    model = sg.load(folder / "model.json")
    assert high - low == pytest.approx(2 * (middle - low))
    assert model._intervals.known["oob"].scores.factor(0.8) > 0
    done = run("predict", folder / "model.json", folder / "numbers.csv", "--only", "--interval", "0.999", "--json")
    assert json.loads(done.stdout)["lower"][0] is None
    assert "rows are too few for a coverage of 0.999: 999 are needed. Intervals are infinite." in done.stderr
    done = run("predict", folder / "model.json", folder / "numbers.csv", "--interval", "80")
    assert "coverage must be a number above 0 and below 1" in done.stderr
