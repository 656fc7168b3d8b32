"""What users meet around the exports: names, labels, options, errors, formulas."""

import csv
import json
import re
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pytest
import skl2onnx
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_friedman1
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import symgrove as sg
from symgrove.estimators.onnx_pipelines import register
from symgrove.export.sql import MOST_COLUMNS, MOST_TABLES
from symgrove.export.targets import export
from symgrove.models.ensemble import make_ensemble
from symgrove.models.standardization import Standardization
from tests.export.runners import RUNNERS, load_module, need, query
from tests.export.test_exports import every_primitive
from tests.making import plan_of

SMALL = {"population_size": 60, "n_estimators": 6, "generations": 4, "random_state": 1}
HOSTILE_NAMES = [
    "a b", 'x"y', "it's", "ü∂", "`", "</script>", "select", "{row}", "%d", "back\\slash", "=1+1", "*/ /*",
    "line\nbreak", "sg_t1", "??/", "prediction", "--", ";", "x0", "\t",
]  # fmt: skip


@pytest.fixture(scope="module")
def friedman():
    return make_friedman1(120, n_features=5, random_state=0)


@pytest.fixture(scope="module")
def grove(friedman):
    return sg.GroveRegressor(**SMALL, strength="fixed").fit(*friedman)


@pytest.fixture(scope="module")
def segp(friedman):
    return sg.TwoSEGPRegressor(**SMALL).fit(*friedman)


@pytest.fixture(scope="module")
def named():
    """A model whose columns have the names above."""
    X, y = make_friedman1(100, n_features=len(HOSTILE_NAMES), random_state=0)
    return sg.GroveRegressor(**SMALL, strength="fixed").fit(pd.DataFrame(X, columns=HOSTILE_NAMES), y)


@pytest.mark.parametrize("target", RUNNERS)
def test_any_column_name_works(target, named, tmp_path):
    X = np.random.default_rng(0).uniform(size=(40, len(HOSTILE_NAMES)))
    wanted = named.predict(pd.DataFrame(X, columns=HOSTILE_NAMES))
    np.testing.assert_allclose(RUNNERS[target](named._plan(), X, tmp_path), wanted, rtol=1e-9)


@settings(max_examples=12, deadline=None)
@given(names=st.lists(st.text(min_size=1, max_size=8), min_size=4, max_size=4, unique_by=lambda n: n.lower()))
def test_python_and_sql_take_any_names(names, tmp_path_factory):
    ensemble = every_primitive(3)
    plan = plan_of(ensemble, names)
    X = np.random.default_rng(0).normal(size=(5, 4))
    wanted = ensemble.predict(X)
    names_in_sql = [name for name in names if "\0" not in name and not any(0xD800 <= ord(c) < 0xE000 for c in name)]
    targets = ["sqlite", "duckdb"] if len(names_in_sql) == 4 else []
    if not any(0xD800 <= ord(c) < 0xE000 for name in names for c in name):
        targets.append("python")
    for target in targets:
        found = RUNNERS[target](plan, X, tmp_path_factory.mktemp("names"))
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_python_source_takes_frames_in_any_order(named, tmp_path):
    named.export("python", tmp_path / "model.py")
    module = load_module(tmp_path / "model.py")
    frame = pd.DataFrame(np.random.default_rng(0).uniform(size=(9, len(HOSTILE_NAMES))), columns=HOSTILE_NAMES)
    np.testing.assert_allclose(module.predict(frame[HOSTILE_NAMES[::-1]]), named.predict(frame), rtol=1e-12)
    assert "symgrove" not in (tmp_path / "model.py").read_text().split("import", 1)[1]
    with pytest.raises(ValueError, match="lacks the columns"):
        module.predict(frame.drop(columns="a b"))
    with pytest.raises(ValueError, match=r"shape \(3, 2\)"):
        module.predict(np.zeros((3, 2)))
    assert module.predict(np.zeros((0, len(HOSTILE_NAMES)))).shape == (0,)


@pytest.fixture(scope="module", params=[2, 3])
def classifier(request):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < request.param], np.array(["setosa", "it's", 'c"{}'])[y[y < request.param]]
    return sg.TwoSEGPClassifier(**SMALL).fit(X, y)


def test_labels(classifier, tmp_path):
    X = np.random.default_rng(0).uniform(0, 8, size=(60, 4))
    wanted = classifier.predict(X)
    plan = classifier._plan()
    export(plan, "python", tmp_path / "model.py", {})
    assert (load_module(tmp_path / "model.py").predict(X) == wanted).all()
    for dialect in ("sqlite", "duckdb"):
        rows, names = query(plan, X, dialect)
        assert names[4:] == ["prediction", *(f"probability of {c}" for c in classifier.classes_)]
        assert [row[4] for row in rows] == wanted.tolist()
    export(plan, "onnx", tmp_path / "model.onnx", {})
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    assert (session.run(["label"], {"X": X})[0] == wanted).all()


def test_labels_in_javascript(classifier, tmp_path):
    need("node")
    X = np.random.default_rng(0).uniform(0, 8, size=(60, 4))
    classifier.export("js", tmp_path / "model.js")
    program = (
        f"const m = require({json.dumps(str(tmp_path / 'model.js'))}); const X = {X.tolist()};"
        "const asObject = (r) => Object.fromEntries(m.features.map((f, i) => [f, r[i]]));"
        "console.log(JSON.stringify(X.map((r) => [m.predict(r), m.predict(asObject(r))])));"
        "try { m.predict([1]); } catch (e) { console.error(e.message); }"
    )
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [[label, label] for label in classifier.predict(X)]
    assert "expected numbers for the features x0, x1, x2, x3" in done.stderr


def test_labels_in_excel(classifier, tmp_path):
    need("ssconvert")
    X = np.random.default_rng(0).uniform(0, 8, size=(20, 4))
    classifier.export("excel", tmp_path / "model.xlsx", X=X)
    command = ["ssconvert", "--recalc", "-S", tmp_path / "model.xlsx", tmp_path / "sheet%n.csv"]
    subprocess.run(command, check=True, capture_output=True)
    with open(tmp_path / "sheet0.csv", newline="") as stream:
        assert [row[4] for row in csv.reader(stream)][1:] == classifier.predict(X).tolist()


def test_labels_in_c(classifier):
    source = classifier.export("c")
    assert '"it\'s"' in source
    assert "int predict(const double *x)" in source


def test_sql_passes_columns_on_and_reads_any_table(grove, friedman):
    X, _ = friedman
    text = grove.export("sql", table='my "table"', dialect="sqlite", keep=["key"])
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute('CREATE TABLE "my ""table""" (key TEXT, x0 REAL, x1 REAL, x2 REAL, x3 REAL, x4 INTEGER)')
        rows = [[f"k{i}", *row[:4], round(row[4])] for i, row in enumerate(X.tolist())]
        base.executemany('INSERT INTO "my ""table""" VALUES (?, ?, ?, ?, ?, ?)', rows)
        found = base.execute(text).fetchall()
        assert [row[0] for row in found] == [row[0] for row in rows]
        np.testing.assert_allclose(
            [row[-1] for row in found], grove.predict(np.array([r[1:] for r in rows])), rtol=1e-9
        )


def test_a_pipeline_becomes_onnx(friedman):
    register()
    X, y = friedman
    pipeline = make_pipeline(StandardScaler(), sg.GroveRegressor(**SMALL, strength="fixed")).fit(X, y)
    model = skl2onnx.to_onnx(pipeline, X[:1].astype(np.float64))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found = session.run(None, {session.get_inputs()[0].name: X})[0]
    np.testing.assert_allclose(found.ravel(), pipeline.predict(X), rtol=1e-9)
    model = skl2onnx.to_onnx(pipeline, X[:1].astype(np.float32))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found = session.run(None, {session.get_inputs()[0].name: X.astype(np.float32)})[0]
    np.testing.assert_allclose(found.ravel(), pipeline.predict(X.astype(np.float32)), rtol=1e-4)


def test_a_pipeline_of_classes_becomes_onnx(classifier):
    register()
    X, y = load_iris(return_X_y=True)
    kept = y < len(classifier.classes_)
    pipeline = make_pipeline(StandardScaler(), sg.TwoSEGPClassifier(**SMALL)).fit(X[kept], y[kept])
    model = skl2onnx.to_onnx(pipeline, X[:1], options={"zipmap": False})
    session = onnxruntime.InferenceSession(model.SerializeToString())
    label, shares = session.run(None, {session.get_inputs()[0].name: X})
    assert (label == pipeline.predict(X)).all()
    np.testing.assert_allclose(shares, pipeline.predict_proba(X), atol=1e-9)


def test_sqlite_has_empty_names_and_duckdb_has_not(friedman):
    X, y = friedman
    frame = pd.DataFrame(X, columns=["a", "", "c", "d", "e"])
    model = sg.GroveRegressor(**SMALL, strength="fixed").fit(frame, y)
    rows, names = query(model._plan(), X, "sqlite")
    assert names == ["a", "", "c", "d", "e", "prediction"]
    np.testing.assert_allclose([row[-1] for row in rows], model.predict(frame), rtol=1e-9)
    with pytest.raises(ValueError, match=r"feature 1 has an empty name, and DuckDB .* choose dialect='sqlite'"):
        model.export("sql", dialect="duckdb")


def test_errors_say_what_is_accepted(grove, friedman, tmp_path):
    with pytest.raises(ValueError, match=r"cannot export to 'pyton'. Did you mean 'python'"):
        grove.export("pyton")
    with pytest.raises(ValueError, match=r"no option 'tabel'. Accepted: table, dialect, keep"):
        grove.export("sql", tabel="x")
    with pytest.raises(ValueError, match="There are none"):
        grove.export("c", table="x")
    with pytest.raises(ValueError, match="dialect must be one of sqlite, duckdb"):
        grove.export("sql", dialect="oracle")
    with pytest.raises(ValueError, match="give its path"):
        grove.export("excel")
    with pytest.raises(ValueError, match="float64 or float32"):
        grove.export("onnx", dtype="int8")
    with pytest.raises(ValueError, match="not tell the columns 'a' and 'A' apart"):
        export(plan_of(every_primitive(0), ["a", "A", "b", "c"]), "sql", None, {})
    with pytest.raises(ValueError, match="style must be"):
        grove.formula("html")
    with pytest.raises(FileNotFoundError):
        grove.export("c", tmp_path / "no folder" / "model.c")
    assert not list(tmp_path.iterdir())
    own = sg.primitive(lambda a: a + 1.0, name="more")
    model = sg.TwoSEGPRegressor(**SMALL, functions=("mul", own)).fit(*friedman)
    with pytest.raises(ValueError, match="the function 'more' of yours"):
        model.export("c")


def lambdified(expression, X, names):
    functions = {
        "finite": lambda a, b: np.where(np.isfinite(a), a, b),
        "interquartile_mean": lambda *m: _middle(np.stack(np.broadcast_arrays(*m))),
    }
    symbols = [sympy.Symbol(name, real=True) for name in names]
    with np.errstate(all="ignore"):
        return sympy.lambdify(symbols, expression, modules=[functions, "numpy"])(*X.T)


def _middle(members):
    n = len(members) // 4
    return np.sort(members, axis=0)[n : len(members) - n].mean(axis=0)


def test_sympy_computes_the_prediction(grove, segp, friedman):
    X, _ = friedman
    names = [f"x{i}" for i in range(5)]
    for model in (grove, segp):
        np.testing.assert_allclose(lambdified(model.export("sympy"), X, names), model.predict(X), rtol=1e-7)
    member = segp.ensemble_[0]
    alone = sg.TwoSEGPRegressor(**{**SMALL, "n_estimators": 1}).fit(*friedman)
    np.testing.assert_allclose(lambdified(alone.formula("sympy"), X, names), alone.predict(X), rtol=1e-7)
    assert str(member) == member.formula


@pytest.mark.parametrize(("n_classes", "calibration"), [(2, None), (3, 0.3)])
def test_sympy_computes_probabilities(n_classes, calibration):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    settings = {**SMALL, "n_estimators": 2, "generations": 1, "max_terms": 3, "strength": "fixed"}
    model = sg.GroveClassifier(**settings, calibration=calibration).fit(X, y)
    found = [lambdified(share, X, [f"x{i}" for i in range(4)]) for share in model.export("sympy")]
    np.testing.assert_allclose(np.transpose(found), model.predict_proba(X), rtol=1e-7)


def test_a_formula_of_a_mean_is_one_sum(segp, friedman):
    X, _ = friedman
    forest = sg.Forest(5)
    root = sg.parse(forest, segp.formula())
    data = sg.make_dataset(X, np.zeros(len(X)))
    with sg.CpuEngine(data, forest.primitives) as engine:
        found = engine.outputs(forest, np.array([root]))[0]
    np.testing.assert_allclose(found, segp.predict(X), rtol=1e-7)


def test_what_is_no_sum_is_spelled_out(grove, classifier):
    text = grove.formula()
    assert text.startswith("prediction = interquartile_mean(m_1, m_2, m_3, m_4, m_5, m_6)\nm_1 = clip(")
    assert "clip(a, low, high) is a within low and high" in text
    shown = classifier.formula()
    assert ("vote(" in shown) == (len(classifier.classes_) == 2)
    assert grove.formula("latex").startswith("\\begin{aligned}\n\\operatorname{prediction} &= ")


def test_formulas_have_the_digits_that_are_asked_for(segp, grove):
    numbers = re.compile(r"(?<![\w.])\d+\.?\d*(?:e[-+]?\d+)?")
    for model, styles in ((segp, ("text", "latex", "sympy")), (grove, ("text", "latex"))):
        for style in styles:
            shown = str(model.formula(style, digits=3))
            digits = [re.sub(r"e.*|\.", "", n).strip("0") for n in numbers.findall(re.sub(r"[mtx]_?{?\d+", "", shown))]
            assert max(map(len, digits)) == 3, (style, shown)
    assert segp.formula("text", 17) == segp.formula()
    with pytest.raises(ValueError, match="digits must be a whole number of at least 1 or None, got 0"):
        segp.formula(digits=0)
    with pytest.raises(ValueError, match="digits must be a whole number from 1 to 17 or None, got 20"):
        grove.formula(digits=20)


def test_consensus_counts_members(segp):
    found = segp.consensus(None)
    assert all(part.share >= 2 / 6 and part.size >= 3 for part in found)
    assert [part.share for part in found] == sorted((part.share for part in found), reverse=True)
    whole = {str(member.program) for member in segp.ensemble_ if len(member.samples) > 1 and member.evolved_size >= 3}
    assert len(found) >= bool(whole)


def test_notebooks_show_formulas(segp, classifier):
    for model in (segp, classifier):
        html = model._repr_mimebundle_()["text/html"]
        assert "<th>nodes</th>" in html
        assert "<math" in html
    assert "<th>nodes</th>" not in sg.TwoSEGPRegressor()._repr_mimebundle_()["text/html"]
    LogisticRegression()._repr_mimebundle_()  # others are as they were


def test_factors_near_one_are_not_lost(tmp_path):
    """Onnxruntime drops a factor that is one once rounded to float."""
    forest = sg.Forest(1)
    root = forest.apply("mul", forest.feature(0), forest.constant(1 + 3e-8))
    scale = Standardization(np.zeros(1), np.array([1 - 2e-8]))
    ensemble = make_ensemble(forest, np.array([root]), np.ones(1), np.zeros(1), 0.0, scale)
    X = np.array([[3.0], [-7.0]])
    found = RUNNERS["onnx"](plan_of(ensemble, ["x"]), X, tmp_path)
    np.testing.assert_allclose(found, ensemble.predict(X), rtol=1e-12)


def test_sql_refuses_a_table_without_a_feature(segp):
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE data (x0 REAL, x1 REAL, x2 REAL, x3 REAL, y4 REAL)")
        with pytest.raises(sqlite3.OperationalError, match="no such column"):
            base.execute(segp.export("sql", keep="y4"))


def test_sql_fills_in_what_is_missing_or_predicts_nothing(grove, friedman):
    for dialect, base in (("sqlite", sqlite3.connect(":memory:")), ("duckdb", duckdb.connect())):
        base.execute("CREATE TABLE data (x0 DOUBLE, x1 DOUBLE, x2 DOUBLE, x3 DOUBLE, x4 DOUBLE)")
        base.execute("INSERT INTO data VALUES (NULL, NULL, NULL, NULL, NULL), (0.5, 0.5, 0.5, 0.5, 0.5)")
        found = [row[-1] for row in base.execute(grove.export("sql", dialect=dialect)).fetchall()]
        rows = np.array([np.median(friedman[0], axis=0), np.full(5, 0.5)])
        assert found == pytest.approx(grove.predict(rows))
        # A model of an older version, without medians.
        text = export(replace(grove._plan(), given=None), "sql", None, {"dialect": dialect})
        assert [row[-1] for row in base.execute(text).fetchall()] == [None, found[1]]
        base.close()


def test_rows_for_a_workbook_are_checked(grove, friedman, tmp_path):
    with pytest.raises(ValueError, match="2 features"):
        grove.export("excel", tmp_path / "m.xlsx", X=friedman[0][:, :2])
    grove.export("excel", tmp_path / "m.xlsx", X=friedman[0][:3].tolist())
    assert [p.name for p in tmp_path.iterdir()] == ["m.xlsx"]


def test_labels_that_a_language_cannot_hold():
    X, y = load_iris(return_X_y=True)
    model = sg.TwoSEGPClassifier(**SMALL).fit(X[:100], np.array([2**60, 2**60 + 1])[y[:100]])
    with pytest.raises(ValueError, match="above 2\\^53"):
        model.export("javascript")


def test_a_constant_model_compiles_without_warnings(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = sg.GroveRegressor(**SMALL, strength="fixed").fit(X, np.full(40, 3.5))
    np.testing.assert_allclose(RUNNERS["c"](model._plan(), X, tmp_path), 3.5)


@pytest.mark.parametrize(
    ("language", "limit", "message"),
    [
        ("excel", "MOST_CHARACTERS", "characters of formulas for each row.*at most 100.*simplify_ensemble"),
        ("sympy", "MOST_NODES", "written out, .* may have 100.*simplify_ensemble"),
    ],
)
def test_what_would_be_too_large_is_refused_at_once(grove, tmp_path, monkeypatch, language, limit, message):
    monkeypatch.setattr(f"symgrove.export.{language}.{limit}", 100)
    with pytest.raises(ValueError, match=message):
        grove.export(language, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_what_sqlite_has_no_room_for_names_duckdb(grove, monkeypatch):
    monkeypatch.setitem(MOST_TABLES, "sqlite", 3)
    with pytest.raises(ValueError, match="--dialect duckdb"):
        grove.export("sql")
    monkeypatch.setitem(MOST_COLUMNS, "sqlite", 3)
    with pytest.raises(ValueError, match="--dialect duckdb"):
        grove.export("sql")
    assert "WITH" in grove.export("sql", dialect="duckdb")
