"""Exports take the user's own columns: missing values and categories give what `predict` gives, in every language."""

import json
import sqlite3
import subprocess
from contextlib import closing
from types import SimpleNamespace

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pytest
import sympy

import symgrove as sg
from symgrove.estimators import onnx_pipelines
from symgrove.export.c import _string
from tests.contracts.test_methods import METHODS
from tests.export.runners import load_module, need, shaped, sheet_rows

TOWNS = ['Har"bour', "it's; DROP TABLE data; --", "ünï\n?code ✓", "</script>{0}\\", "=1+1"]
TOLERANCE = 1e-9


def made(n, seed, unseen):
    """A frame with holes, hostile names and categories."""
    rng = np.random.default_rng(seed)
    age, town = rng.normal(40, 10, n), rng.choice(TOWNS[:4] if not unseen else TOWNS, n)
    y = age / 10 + 3.0 * (town == TOWNS[0]) + rng.normal(size=n)
    many = rng.integers(0, 45, n)
    age[rng.random(n) < 0.2] = np.nan
    towns = [None if rng.random() < 0.1 else t for t in town]
    flag = rng.random(n) < 0.5
    size = rng.normal(size=n)
    if unseen:
        size[::7] = np.nan  # was always there in training
    X = pd.DataFrame({'age\'s "x"': age, "town": towns, "size": size, "many": many, "flag": flag})
    return X.astype({"town": "category", "many": "category", "flag": "category"}), y


@pytest.fixture(
    scope="module", params=[sg.GroveRegressor, sg.TwoSEGPRegressor, sg.GroveClassifier], ids=lambda k: k.__name__
)
def fitted(request):
    X, y = made(300, 0, unseen=False)
    y = np.array(["no", "it's"])[(y > 5).astype(int)] if hasattr(request.param, "predict_proba") else y
    more = {"functions": ("add", "mul", "sqrt"), "generations": 6}
    model = request.param(**{**METHODS[request.param], **more}).fit(X, y)
    assert model.columns_.columns[3].has_others
    assert model.columns_.columns[0].has_indicator
    return model


def values_of(X):
    """Rows of plain values, None where one is missing; categories as texts."""
    table = {name: [None if pd.isna(v) else v for v in X[name].astype(object)] for name in X}
    for name in ("town", "many", "flag"):
        table[name] = [None if v is None else str(v) for v in table[name]]
    return [list(row) for row in zip(*table.values(), strict=True)]


def run_python(model, X, folder):
    model.export("python", folder / "model.py")
    module = load_module(folder / "model.py")
    function = module.predict if model._plan().classes is None else module.predict_proba
    as_array = function(np.array(values_of(X), dtype=object))
    np.testing.assert_array_equal(function(X), as_array)
    return as_array


def run_c(model, X, folder):
    need("gcc")
    numbers = [[row[0], row[2]] for row in values_of(X)]
    texts = [[row[1], row[3], row[4]] for row in values_of(X)]
    n = len(numbers)
    xs = ", ".join("NAN" if v is None else repr(v) for row in numbers for v in row)
    cs = ", ".join("NULL" if v is None else _string(v) for row in texts for v in row)
    n_found = 1 if model._plan().classes is None else len(model.classes_)
    call = "p[0] = predict(x + 2 * i, c + 3 * i);" if n_found == 1 else "predict_proba(x + 2 * i, c + 3 * i, p);"
    main = f"""
#include <stdio.h>
static const double x[] = {{{xs}}};
static const char *const c[] = {{{cs}}};
int main(void) {{
    for (int i = 0; i < {n}; i++) {{ double p[{n_found}]; {call} fwrite(p, sizeof(double), {n_found}, stdout); }}
    return 0;
}}
"""
    (folder / "model.c").write_text(model.export("c") + main)
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, "-o", folder / "model", folder / "model.c", "-lm"], check=True)
    return np.frombuffer(subprocess.run([folder / "model"], check=True, capture_output=True).stdout)


def run_javascript(model, X, folder):
    need("node")
    model.export("javascript", folder / "model.js")
    calls = "rows.map((row) => model.predictProba ? model.predictProba(row) : model.predict(row))"
    script = f"const model = require('./model.js'); const rows = {json.dumps(values_of(X))};"
    (folder / "run.js").write_text(f"{script} console.log(JSON.stringify({calls}))")
    return json.loads(subprocess.run(["node", "run.js"], cwd=folder, check=True, capture_output=True, text=True).stdout)


def run_sql(model, X, dialect):
    with closing(sqlite3.connect(":memory:") if dialect == "sqlite" else duckdb.connect()) as base:
        kinds = ["DOUBLE", "VARCHAR", "DOUBLE", "INTEGER", "BOOLEAN" if dialect == "duckdb" else "VARCHAR"]
        columns = ", ".join('"' + n.replace('"', '""') + f'" {k}' for n, k in zip(X, kinds, strict=True))
        base.execute(f"CREATE TABLE data ({columns})")
        base.executemany("INSERT INTO data VALUES (?, ?, ?, ?, ?)", values_of(X))
        rows = base.execute(model.export("sql", dialect=dialect)).fetchall()
        assert [row[1] for row in rows] == [row[1] for row in values_of(X)]
        first = X.shape[1] + (model._plan().classes is not None)
        return [row[first:] for row in rows]


def run_sqlite(model, X, folder):
    return run_sql(model, X, "sqlite")


def run_duckdb(model, X, folder):
    return run_sql(model, X, "duckdb")


def run_excel(model, X, folder):
    need("ssconvert")
    model.export("excel", folder / "model.xlsx", X=X)
    rows = sheet_rows(folder)
    first = X.shape[1] + (model._plan().classes is not None)
    return [[float(v) for v in row[first:]] for row in rows[: len(X)]]


def run_onnx(model, X, folder):
    model.export("onnx", folder / "model.onnx")
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    rows = values_of(X)
    numbers = np.array([[row[0], row[2]] for row in rows], dtype=np.float64)
    texts = np.array([["" if row[k] is None else row[k] for k in (1, 3, 4)] for row in rows], dtype=object)
    found = session.run(None, {"X": numbers, "categories": texts})
    return found[0] if model._plan().classes is None else found[1]


RUNNERS = {
    "python": run_python,
    "c": run_c,
    "javascript": run_javascript,
    "sqlite": run_sqlite,
    "duckdb": run_duckdb,
    "excel": run_excel,
    "onnx": run_onnx,
}


@pytest.mark.parametrize("target", RUNNERS)
def test_every_language_takes_the_users_columns(target, fitted, tmp_path):
    X, _ = made(60, 1, unseen=True)
    plan = fitted._plan()
    wanted = fitted.predict(X) if plan.classes is None else fitted.predict_proba(X)
    found = shaped(plan, RUNNERS[target](fitted, X, tmp_path))
    np.testing.assert_allclose(found, wanted, rtol=TOLERANCE, atol=TOLERANCE)


def test_equations_say_what_names_mean(fitted):
    text = fitted.export("text")
    fill = fitted.columns_.columns[0].fill
    assert f'age\'s "x" means age\'s "x", or {fill:.6g} where missing' in text
    assert "[...] is 1 where what it says is true, else 0" in text
    if not isinstance(fitted, sg.TwoSEGPRegressor):
        return  # SymPy takes seconds for a Grove
    found = fitted.export("sympy")
    names = {
        s.name for part in (found if isinstance(found, list) else [found]) for s in sympy.sympify(part).free_symbols
    }
    assert names <= set(fitted.columns_.labels)


@pytest.mark.parametrize(("target", "category"), [("c", "a\0b"), ("sql", "a\0b"), ("excel", "a\x01b"), ("onnx", "")])
def test_categories_that_a_language_cannot_hold_are_named(target, category, tmp_path):
    X = pd.DataFrame({"kind": pd.Series([category, "b"] * 20, dtype="category"), "x": range(40)})
    model = sg.TwoSEGPRegressor(**{**METHODS[sg.TwoSEGPRegressor], "generations": 1}).fit(X, range(40))
    with pytest.raises(ValueError, match=r"categor|texts with a character of code 0"):
        model.export(target, tmp_path / "model")


def test_pipelines_of_skl2onnx_refuse_categories(fitted):
    with pytest.raises(ValueError, match=r"one matrix of numbers, .* export\('onnx'\)"):
        onnx_pipelines._plan(SimpleNamespace(raw_operator=fitted))
