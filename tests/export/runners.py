"""Runs exported models: each function gives predictions, or probabilities of the classes, for the rows of X."""

import csv
import importlib.util
import json
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing

import duckdb
import numpy as np
import onnxruntime
import pytest

from symgrove.export.targets import export

C_MAIN = """
#include <stdio.h>
int main(void) {
    double x[N_FEATURES];
    while (fread(x, sizeof(double), N_FEATURES, stdin) == N_FEATURES) {
        %s
    }
    return 0;
}
"""
C_NUMBER = "double y = predict(x); fwrite(&y, sizeof y, 1, stdout);"
C_SEVERAL = "double y[N_TARGETS]; predict(x, y); fwrite(y, sizeof(double), N_TARGETS, stdout);"
C_CLASSES = "double p[N_CLASSES]; predict_proba(x, p); fwrite(p, sizeof(double), N_CLASSES, stdout);"
NODE = """
const fs = require("fs");
const model = require(process.argv[2]);
const bytes = fs.readFileSync(process.argv[3]);
const X = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8);
const n = model.features.length, found = [];
for (let i = 0; i < X.length; i += n) {
  const row = Array.from(X.subarray(i, i + n));
  if (model.predictProba) found.push(...model.predictProba(row)); else found.push(...[model.predict(row)].flat());
}
fs.writeFileSync(process.argv[4], Buffer.from(Float64Array.from(found).buffer));
"""


def need(program):
    """Skip a test whose program is not installed; CI installs them all, so there it fails."""
    if shutil.which(program) is None:
        assert "CI" not in os.environ, f"{program} is missing"
        pytest.skip(f"{program} is not installed; `make system-programs` installs it")


def javascript_predictions(model, rows, folder):
    """What the exported JavaScript says of rows with names; None where it refuses one."""
    need("node")
    model.export("javascript", folder / "m.js")
    script = f"""const m = require("{folder}/m.js"); const rows = {json.dumps(rows)};
console.log(JSON.stringify(rows.map((r) => {{ try {{ return m.predict(r); }} catch (e) {{ return null; }} }})));"""
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def shaped(plan, values):
    values = np.asarray(values, dtype=np.float64)
    if plan.target_names:
        return values.reshape(-1, len(plan.target_names))
    return values.ravel() if plan.classes is None else values.reshape(-1, len(plan.classes))


def load_module(path):
    spec = importlib.util.spec_from_file_location("exported_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_python(plan, X, folder):
    export(plan, "python", folder / "model.py", {})
    module = load_module(folder / "model.py")
    return module.predict(X) if plan.classes is None else module.predict_proba(X)


def run_c(plan, X, folder):
    need("gcc")
    source = export(plan, "c", None, {}) + C_MAIN % (
        C_SEVERAL if plan.target_names else C_NUMBER if plan.classes is None else C_CLASSES
    )
    (folder / "model.c").write_text(source)
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, "-o", folder / "model", folder / "model.c", "-lm"], check=True)
    done = subprocess.run([folder / "model"], input=np.ascontiguousarray(X).tobytes(), check=True, capture_output=True)
    return shaped(plan, np.frombuffer(done.stdout))


def run_javascript(plan, X, folder):
    need("node")
    export(plan, "javascript", folder / "model.js", {})
    (folder / "run.js").write_text(NODE)
    (folder / "X").write_bytes(np.ascontiguousarray(X).tobytes())
    subprocess.run(["node", *(folder / name for name in ("run.js", "model.js", "X", "found"))], check=True)
    return shaped(plan, np.frombuffer((folder / "found").read_bytes()))


def run_javascript_intervals(plan, X, coverage, folder):
    need("node")
    export(plan, "javascript", folder / "model.js", {})
    calls = f"rows.map((row) => model.predictInterval(row, {coverage})).map((i) => [`${{i.lower}}`, `${{i.upper}}`])"
    script = f"const model = require('./model.js'); const rows = {X.tolist()}; console.log(JSON.stringify({calls}))"
    (folder / "intervals.js").write_text(script)
    told = subprocess.run(["node", "intervals.js"], cwd=folder, check=True, capture_output=True, text=True).stdout
    return np.array([[float(end.replace("Infinity", "inf")) for end in pair] for pair in json.loads(told)])


def query(plan, X, dialect, **options):
    """Rows of the answer, and the names of its columns."""
    text = export(plan, "sql", None, {"dialect": dialect, **options})
    with closing(sqlite3.connect(":memory:") if dialect == "sqlite" else duckdb.connect()) as base:
        columns = ", ".join('"' + name.replace('"', '""') + '" DOUBLE' for name in plan.features)
        base.execute(f"CREATE TABLE data ({columns})")
        if dialect == "sqlite":
            base.executemany(f"INSERT INTO data VALUES ({', '.join('?' * X.shape[1])})", X.tolist())
        else:
            base.register("given", {f"c{i}": column for i, column in enumerate(X.T.copy())})
            base.execute("INSERT INTO data SELECT * FROM given")
        found = base.execute(text)
        return found.fetchall(), [column[0] for column in found.description]


def run_sql(plan, X, dialect):
    rows, _ = query(plan, X, dialect)
    first = X.shape[1] + (plan.classes is not None)
    return shaped(plan, [row[first:] for row in rows])


def run_sqlite(plan, X, folder):
    return run_sql(plan, X, "sqlite")


def run_duckdb(plan, X, folder):
    return run_sql(plan, X, "duckdb")


def sheet_rows(folder):
    """Rows of the first sheet of model.xlsx, recalculated, without its header."""
    command = ["ssconvert", "--recalc", "-S", folder / "model.xlsx", folder / "sheet%n.csv"]
    subprocess.run(command, check=True, capture_output=True)
    with open(folder / "sheet0.csv", newline="") as stream:
        return list(csv.reader(stream))[1:]


def run_excel(plan, X, folder):
    need("ssconvert")
    export(plan, "excel", folder / "model.xlsx", {"X": X})
    rows = sheet_rows(folder)
    first = X.shape[1] + (plan.classes is not None)
    return shaped(plan, [[float(v) for v in row[first:]] for row in rows[: len(X)]])


def run_onnx(plan, X, folder, dtype="float64"):
    export(plan, "onnx", folder / "model.onnx", {"dtype": dtype})
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    found = session.run(None, {"X": X.astype(dtype)})
    return shaped(plan, found[0] if plan.classes is None else found[1])


RUNNERS = {
    "python": run_python,
    "c": run_c,
    "javascript": run_javascript,
    "sqlite": run_sqlite,
    "duckdb": run_duckdb,
    "excel": run_excel,
    "onnx": run_onnx,
}
