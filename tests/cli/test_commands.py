"""The command line as a user types it: files, pipes, flags, mistakes."""

import csv
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import tomllib
from contextlib import closing
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_iris, make_friedman1
from typer.testing import CliRunner

import symgrove as sg
from symgrove.cli import doctor as doctor_command
from symgrove.cli.app import app
from symgrove.cli.tables import read_table

SMALL = ["--generations", "3", "--population-size", "60", "--n-estimators", "5", "--strength", "fixed"]
SMALL.append("--no-one-formula")
PROGRAM = shutil.which("symgrove", path=str(Path(sys.executable).parent)) or "symgrove"


def write_csv(path, columns, separator=","):
    with open(path, "w", newline="") as stream:
        writer = csv.writer(stream, delimiter=separator)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def run(*words, stdin=None):
    """In this process: quick."""
    return CliRunner().invoke(app, [str(w) for w in words], input=stdin)


def shell(command, folder, **options):
    """In a shell of its own."""
    environment = {**os.environ, "PATH": f"{Path(PROGRAM).parent}:{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, check=False, **options
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    X, y = make_friedman1(120, n_features=4 + 1, random_state=0)
    write_csv(folder / "numbers.csv", {**{f"col {i}": X[:, i] for i in range(5)}, "y": y})
    write_csv(folder / "numbers.tsv", {**{f"col {i}": X[:, i] for i in range(5)}, "y": y}, "\t")
    iris, label = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[label]
    write_csv(folder / "iris.csv", {**{n: iris[:, i] for i, n in enumerate("abcd")}, "kind": names})
    colour = np.array(["red", "blue", "green, dark"])[np.arange(120) % 3]
    holes = ["" if i % 10 == 0 else repr(float(v)) for i, v in enumerate(X[:, 0])]
    write_csv(folder / "mixed.csv", {"a": holes, "colour": colour, "b": X[:, 1], "y": y})
    done = run("fit", folder / "numbers.csv", "-t", "y", "-o", folder / "model.json", "-q", *SMALL)
    assert done.exit_code == 0, done.output
    return folder


def column(text, name):
    return [float(row[name]) for row in csv.DictReader(io.StringIO(text))]


@pytest.mark.slow  # the README's tour in the shell does the same
def test_fit_show_export_predict_from_the_shell(folder):
    command = (
        f"symgrove fit numbers.csv --target y -o m.json {' '.join(SMALL)} > summary.txt 2> progress.txt && "
        "symgrove show m.json --all > shown.txt && symgrove export m.json --to c -o m.c && "
        "cat numbers.csv | symgrove predict m.json - --only | head -n 4"
    )
    done = shell(command, folder, text=True)
    assert done.returncode == 0, done.stderr
    assert (folder / "summary.txt").read_text().startswith("m.json: GroveRegressor, 5 teams, each a sum of terms, ")
    assert "generation" in (folder / "progress.txt").read_text()
    assert "the 5 heaviest members" in (folder / "shown.txt").read_text()
    lines = done.stdout.splitlines()
    assert lines[0] == "prediction"
    model = sg.load(folder / "m.json")
    table = read_table(str(folder / "numbers.csv"))
    X = pd.DataFrame({f"col {i}": table.column(f"col {i}") for i in range(5)})
    assert [float(v) for v in lines[1:]] == model.predict(X)[:3].tolist()


def test_the_same_seed_gives_the_same_file_in_any_format(folder, tmp_path):
    table = read_table(str(folder / "numbers.csv"))
    pq.write_table(pa.table({n: table.column(n) for n in table.given}), folder / "numbers.parquet")
    for name in ("numbers.tsv", "numbers.parquet"):
        done = run("fit", folder / name, "-t", "y", "-o", tmp_path / "m.json", "-q", *SMALL)
        assert done.exit_code == 0, done.output
        ours, theirs = (json.loads(p.read_text()) for p in (tmp_path / "m.json", folder / "model.json"))
        for document in (ours, theirs):
            del document["fitted"]["history_"]["seconds"]
        assert ours == theirs


def test_pipes_and_parquet(folder, tmp_path):
    text = (folder / "numbers.csv").read_text()
    done = run("fit", "-", "-t", "y", "-o", "-", "-q", *SMALL, stdin=text)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["format"] == "symgrove model"
    plain = run("predict", folder / "model.json", folder / "numbers.csv", "--std")
    assert plain.exit_code == 0, plain.output
    done = run("predict", folder / "model.json", folder / "numbers.csv", "--std", "-o", tmp_path / "out.parquet")
    assert done.exit_code == 0, done.output
    found = pq.read_table(tmp_path / "out.parquet").to_pydict()
    assert found["prediction"] == column(plain.stdout, "prediction")
    assert found["std"] == column(plain.stdout, "std")
    assert list(found)[:6] == [*(f"col {i}" for i in range(5)), "y"]
    done = run("predict", folder / "model.json", folder / "numbers.csv", "--json", "--only")
    assert json.loads(done.stdout)["prediction"] == column(plain.stdout, "prediction")
    as_tsv = run("predict", folder / "model.json", folder / "numbers.tsv", "--output-format", "tsv")
    assert "\t" in as_tsv.stdout.splitlines()[0]


def test_a_reader_that_stops_early_is_no_error(folder):
    command = (
        "for i in $(seq 30); do tail -n +2 numbers.csv; done > body; (head -n 1 numbers.csv; cat body) > long.csv; "
    )
    done = shell(command + "symgrove predict model.json long.csv | head -n 1; echo ${PIPESTATUS[0]}", folder, text=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"


def test_classes(folder, tmp_path):
    model = tmp_path / "m.json"
    done = run("fit", folder / "iris.csv", "-t", "kind", "-o", model, "--json", "-q", "--method", "2segp", *SMALL[:6])
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert summary["classes"] == ["setosa", "versicolor", "virginica"]
    assert summary["estimator"] == "TwoSEGPClassifier"
    done = run("predict", model, folder / "iris.csv", "--proba")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert np.mean([row["prediction"] == row["kind"] for row in rows]) > 0.8
    assert sum(float(rows[0][f"probability of {c}"]) for c in summary["classes"]) == pytest.approx(1)
    assert run("predict", model, folder / "iris.csv", "--std").exit_code == 2
    assert "--proba is for classes" in run("predict", folder / "model.json", folder / "numbers.csv", "--proba").output


def test_few_whole_numbers_are_classes_unless_told(tmp_path):
    write_csv(tmp_path / "d.csv", {"a": range(60), "b": [i % 7 for i in range(60)], "y": [i % 2 for i in range(60)]})
    for task, wanted in ((None, "GroveClassifier"), ("regression", "GroveRegressor")):
        options = ["--task", task] if task else []
        done = run("fit", tmp_path / "d.csv", "-t", "y", "-o", tmp_path / "m.json", "-q", "--json", *options, *SMALL)
        assert json.loads(done.stdout)["estimator"] == wanted


def test_exports_by_name(folder, tmp_path):
    wanted = column(run("predict", folder / "model.json", folder / "numbers.csv").stdout, "prediction")
    query = run("export", folder / "model.json", "--to", "sql", "--table", "t", "--keep", "y").stdout
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute('CREATE TABLE t ("col 0", "col 1", "col 2", "col 3", "col 4", y)')
        table = read_table(str(folder / "numbers.csv"))
        base.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", list(zip(*map(table.column, table.given), strict=True))
        )
        np.testing.assert_allclose([row[-1] for row in base.execute(query)], wanted, rtol=1e-9)
        for name in ("python", "js", "c", "latex", "text", "sympy"):
            done = run("export", folder / "model.json", "--to", name)
            assert (done.exit_code, bool(done.stdout)) == (0, True), done.output
        for name, file in (("onnx", "m.onnx"), ("excel", "m.xlsx")):
            done = run("export", folder / "model.json", "--to", name, "-o", tmp_path / file)
            assert done.exit_code == 0, done.output
            assert (tmp_path / file).stat().st_size > 1000
        assert "is a file; name it with -o" in run("export", folder / "model.json", "--to", "excel").output
        assert "no option 'table'" in run("export", folder / "model.json", "--to", "c", "--table", "t").output


BAD = {
    "no such file": ("nothing.csv", "y", [], "there is no file"),
    "a near name": ("number.csv", "y", [], "Did you mean 'numbers.csv'?"),
    "a misspelt target": ("numbers.csv", "yy", [], "Did you mean 'y'?"),
    "a misspelt feature": ("numbers.csv", "y", ["--features", "col 11"], "Did you mean 'col 1'?"),
    "a misspelt parameter": ("numbers.csv", "y", ["--generation", "3"], "Did you mean 'generations'?"),
    "a parameter without a value": ("numbers.csv", "y", ["--generations"], "needs a value"),
    "a bad value": ("numbers.csv", "y", ["--generations", "many"], "generations must be"),
    "a misspelt method": ("numbers.csv", "y", ["--method", "grov"], "Did you mean 'grove'?"),
    "a method without the task": ("iris.csv", "kind", ["--method", "spatial-gp"], "has no classification"),
    "texts are no numbers": ("iris.csv", "kind", ["--task", "regression"], "holds texts, which is no regression"),
    "a bad flag": ("numbers.csv", "y", ["--missing", "zero"], "--missing must be one of median, drop, error"),
    "no folder": ("numbers.csv", "y", ["-o", "no/folder/m.json"], "there is no folder"),
    "a folder": ("numbers.csv", "y", ["-o", "."], "is a folder"),
    "the wrong separator": ("numbers.csv", "y", ["--separator", ";"], "Did you mean --separator ','?"),
    "no parquet": ("numbers.csv", "y", ["--input-format", "parquet"], "cannot be read as Parquet"),
    "an unknown format": ("numbers.csv", "y", ["--input-format", "xls"], "accepted: csv, tsv, parquet, xlsx"),
}


@pytest.mark.parametrize("case", BAD)
def test_mistakes_get_messages(case, folder, monkeypatch):
    monkeypatch.chdir(folder)
    before = set(folder.iterdir())
    file, target, options, message = BAD[case]
    done = run("fit", file, "-t", target, "-q", *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.output
    assert done.stdout == ""
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "has no rows"),
        (b"a,b\n1,2\n3\n", "row 3 of"),
        (b"a,a\n1,2\n", "columns of the same name: 'a'"),
        (b"1,2\n3,4\n", "is all numbers"),
        (b"a,\n1,2\n", "column 2 of"),
        (b"a,y\n\xff,2\n", "is not UTF-8"),
        (b"a,y\n", "columns without any value|no complete rows|no features"),
        (b"y\n1.5\n2\n", "no features are left"),
        (b"PAR1\x00\x00", "zero bytes"),
    ],
)
def test_bad_files(content, message, tmp_path):
    (tmp_path / "d.csv").write_bytes(content)
    done = run("fit", tmp_path / "d.csv", "-t", "y", "-o", tmp_path / "m.json", "-q")
    assert done.exit_code == 2
    assert re.search(message, done.stderr) or "is 'y', which is not there" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["d.csv"]


@pytest.mark.parametrize("value", ["inf", "-Infinity", "1e400", " -1E999 "])
def test_infinite_numbers_are_numbers_that_cannot_be_used(value, folder, tmp_path):
    rows = [f"{i},{i % 7},{i * 0.5}" for i in range(30)]
    rows[4] = f"4,{value},2"
    (tmp_path / "d.csv").write_text("\n".join(["a,b,y", *rows]))
    fit = ["fit", tmp_path / "d.csv", "-o", tmp_path / "m.json", "-q", *SMALL, "--text", "one-hot"]
    message = f"column 'b' of {str(tmp_path / 'd.csv')!r} has an infinite number, {value}, in row 6; only finite ones"
    for options in (["-t", "y"], ["-t", "b"]):
        done = run(*fit, *options)
        assert (done.exit_code, message in done.stderr) == (2, True), done.stderr
    assert run(*fit, "-t", "y", "--ignore", "b").exit_code == 0
    done = run("predict", tmp_path / "m.json", tmp_path / "d.csv", "--json")
    assert (done.exit_code, json.loads(done.stdout)["b"][3:6]) == (0, [3.0, None, 5.0])
    header = "col 0,col 1,col 2,col 3,col 4"
    done = run("predict", folder / "model.json", "-", stdin=f"{header}\n1,2,3,4,5\n1,2,{value},4,5\n")
    assert "column 'col 2' of standard input has an infinite number" in done.stderr
    pq.write_table(pa.table({"a": [1.0, np.inf], "y": [1.0, 2.0]}), tmp_path / "d.parquet")
    done = run("fit", tmp_path / "d.parquet", "-t", "y", "-o", tmp_path / "m.json", "-q")
    assert "has an infinite number, inf, in row 2" in done.stderr


def test_infinity_among_texts_is_a_text(tmp_path):
    (tmp_path / "d.csv").write_text("a,y\ninf,1\nred,2\n-nan,3\n")
    table = read_table(str(tmp_path / "d.csv"))
    assert table.column("a") == ["inf", "red", None]


def test_predict_and_show_say_what_is_wrong(folder, tmp_path):
    done = run("predict", folder / "model.json", "-", stdin="col 0,col 1,col 2,col 4\n1,2,3,4\n")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "the model needs the column 'col 3', which is not there. Did you mean" in done.stderr
    done = run("predict", folder / "model.json", "-", stdin="col 0,col 1,col 2,col 3,col 4\n1,2,3,x,4\n")
    assert "column 'col 3' must be numbers as it was for the fit, but holds 'x'" in done.stderr
    (tmp_path / "bad.json").write_text("{")
    assert "cannot be read as a model" in run("show", tmp_path / "bad.json").stderr
    assert "there is no file" in run("show", tmp_path / "none.json").stderr


def test_a_model_from_python_predicts_too(tmp_path):
    X, y = make_friedman1(60, n_features=5, random_state=0)
    model = sg.TwoSEGPRegressor(population_size=40, n_estimators=4, generations=2, random_state=0).fit(X, y)
    model.save(tmp_path / "m.json")
    write_csv(tmp_path / "d.csv", {f"x{i}": X[:, i] for i in range(5)})
    done = run("predict", tmp_path / "m.json", tmp_path / "d.csv", "--only")
    assert column(done.stdout, "prediction") == model.predict(X).tolist()


def test_permission_errors(folder, monkeypatch, tmp_path):
    def refuse(*arguments):
        raise PermissionError(13, "Permission denied", "secret.csv")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    done = run("fit", folder / "numbers.csv", "-t", "y", "-o", tmp_path / "m.json")
    assert (done.exit_code, "secret.csv: Permission denied" in done.stderr) == (2, True)
    monkeypatch.undo()
    monkeypatch.setattr(os, "access", lambda *arguments: False)
    done = run("fit", folder / "numbers.csv", "-t", "y", "-o", tmp_path / "m.json")
    assert (done.exit_code, "no permission to write" in done.stderr) == (2, True)


@pytest.mark.slow
def test_a_full_disk_leaves_nothing_half_written(folder, tmp_path):
    """A limit on the size of files stands in for a full disk."""
    words = f"{folder / 'numbers.csv'} -t y -o m.json -q {' '.join(SMALL)}"
    done = shell(f"export TMPDIR=$PWD/tmp; mkdir tmp; ulimit -f 1; symgrove fit {words}", tmp_path, text=True)
    assert done.returncode == 1, done.stderr
    assert "cannot be written (File too large), and neither can" in done.stderr
    assert [p.name for p in tmp_path.rglob("*")] == ["tmp"]
    done = shell(
        f"ulimit -f 1; symgrove predict {folder / 'model.json'} {folder / 'numbers.csv'} -o p.csv", tmp_path, text=True
    )
    assert done.returncode == 1
    assert "'p.csv' cannot be written (File too large)" in done.stderr
    assert [p.name for p in tmp_path.rglob("*")] == ["tmp"]


def test_a_model_that_cannot_be_written_is_rescued(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    save = sg.GroveRegressor.save

    def no_space(model, path):
        if Path(path).name == "m.json":
            raise OSError(28, "No space left on device")
        save(model, path)

    monkeypatch.setattr(sg.GroveRegressor, "save", no_space)
    done = run("fit", folder / "numbers.csv", "-t", "y", "-o", folder / "m.json", "-q", *SMALL)
    assert done.exit_code == 1
    (rescued,) = tmp_path.iterdir()
    assert f"m.json cannot be written (No space left on device); the model is in {rescued}" in done.stderr
    sg.load(rescued)


def test_ctrl_c_saves_what_was_found(folder, tmp_path):
    words = [PROGRAM, "fit", folder / "numbers.csv", "-t", "y", "-o", tmp_path / "m.json", "--generations", "1000000"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "generation" in line:
                break
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, lines
    assert "this is what was found so far" in out
    assert sg.load(tmp_path / "m.json").stop_reason_ == "interrupted"


def test_doctor_parameters_bench_and_version(monkeypatch):
    done = run("doctor", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["small_fit"]["error"] is None
    assert "cores" in run("doctor").stdout
    assert set(json.loads(done.stdout)["engines"]) == {"cpu", "cuda", "dask", "dask-cuda"}
    shown = run("parameters", "2segp").stdout
    assert "--population-size  (default 500)\n    Programs in the population." in shown
    assert run("--version").stdout == f"symgrove {sg.__version__}\n"
    done = run("bench", "--rows", "50", "--repeats", "1", "--json")
    assert json.loads(done.stdout)["models"]["Grove, fixed strength"]["fit_s"] > 0


def test_doctor_calls_needed_what_the_package_needs():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    needed = {re.split("[>=]", name)[0] for name in project["dependencies"]}
    assert set(doctor_command.PACKAGES) == needed
    extras = ("studies", "parquet", "export", "trees", "studio")
    optional = {re.split("[>=]", name)[0] for extra in extras for name in project["optional-dependencies"][extra]}
    assert set(doctor_command.OPTIONAL) == optional


def test_help_loads_nothing_heavy():
    code = "import sys, symgrove.cli.app; print([m for m in ('numpy', 'numba', 'sklearn') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_completion_knows_methods_and_languages():
    environment = {**os.environ, "_SYMGROVE_COMPLETE": "complete_bash", "COMP_CWORD": "3"}
    for words, wanted in (("symgrove fit --method 2", "2segp"), ("symgrove export --to ja", "javascript")):
        found = subprocess.run(
            [PROGRAM], env={**environment, "COMP_WORDS": words}, capture_output=True, text=True, check=False
        )
        assert wanted in found.stdout


def test_columns_that_are_passed_on_stay_as_they_are(folder, tmp_path):
    header = "id,zip,col 0,col 1,col 2,col 3,col 4,note"
    row = "9007199254740993,00123,0.5,0.50,5e-1,.5,0.5,NA"
    done = run("predict", folder / "model.json", "-", stdin=f"{header}\n{row}\n")
    assert done.stdout.splitlines()[1].startswith(row + ",")
    days = pa.array([date(2026, 1, 1)])
    table = {"day": days, **{f"col {i}": [0.5] for i in range(5)}}
    pq.write_table(pa.table(table), tmp_path / "d.parquet")
    done = run("predict", folder / "model.json", tmp_path / "d.parquet", "-o", tmp_path / "o.parquet")
    assert done.exit_code == 0, done.output
    assert pq.read_table(tmp_path / "o.parquet").column("day").to_pylist() == days.to_pylist()


def test_a_row_is_predicted_alike_whatever_the_others_hold(tmp_path):
    names = ["1234567", "01", "none-x"]
    rows = {"sku": [names[i % 3] for i in range(60)], "a": range(60), "y": [i % 3 + 0.1 * i for i in range(60)]}
    write_csv(tmp_path / "d.csv", rows)
    fit = ["fit", tmp_path / "d.csv", "-t", "y", "-o", tmp_path / "m.json", "--text", "one-hot", "-q", *SMALL]
    assert run(*fit).exit_code == 0
    assert json.loads((tmp_path / "m.json").read_text())["columns"][0]["categories"] == ["01", "1234567", "none-x"]
    for name in names[:2]:
        alone = run("predict", tmp_path / "m.json", "-", "--only", stdin=f"sku,a\n{name},5\n")
        beside = run("predict", tmp_path / "m.json", "-", "--only", stdin=f"sku,a\n{name},5\nnone-x,7\n")
        # A matrix product rounds one column otherwise than two.
        assert float(alone.stdout.splitlines()[1]) == pytest.approx(float(beside.stdout.splitlines()[1]), rel=1e-12)
        assert alone.stderr == ""


def test_output_into_pipes_links_and_private_files(folder, tmp_path):
    done = shell(f"mkfifo p; cat p > got & symgrove export {folder / 'model.json'} --to c -o p && wait", tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"double predict" in (tmp_path / "got").read_bytes()
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "real.json").chmod(0o600)
    (tmp_path / "link.json").symlink_to("real.json")
    model = sg.load(folder / "model.json")
    model.save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").stat().st_mode & 0o777 == 0o600
    sg.load(tmp_path / "real.json")


def test_json_goes_to_standard_output_only(folder, tmp_path):
    done = run("predict", folder / "model.json", folder / "numbers.csv", "--json", "-o", tmp_path / "p.json")
    assert (done.exit_code, "leave out --output" in done.stderr) == (2, True)
