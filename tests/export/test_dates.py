"""Dates: features of a column, and every export computes them from what it takes: texts, days, or Excel's dates."""

import datetime
import json
import sqlite3
import subprocess
from contextlib import closing

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pytest

import symgrove as sg
from symgrove.models.date_text import DateFormat, date_formats_of, date_parts
from symgrove.models.table_frame import TableFrame
from tests.export.runners import javascript_predictions, need, sheet_rows

FORMATS = {"at": DateFormat("ymd", True), "on": DateFormat("dmy"), "us": DateFormat("mdy")}
ANY = "2020-02-03"  # what is right in every format
REFUSED = {
    "at": [
        "2023-02-29",
        "2024-1/5",
        "5.1.2024",
        "2024-01-05 24:00",
        "2024-01-05 12:60",
        "x",
        "2024-01-05 7",
        "2024-00-10",
    ],
    "on": ["2/29/2024", "1/13/2024", "01/02/24", "31/04/2024", "1//2024", "0/1/2024", "1.2-2024"],
    "us": ["29/2/2024", "1/1/10000", "4/31/2024", "12/31/2024 1:2"],
}
READ = {
    "at": {
        "2024-02-29 13:45": (2024, 2, 29, 13, 45),
        "2024/2/9T23:59:59": (2024, 2, 9, 23, 59, 59),
        "1969-12-31": (1969, 12, 31),
    },
    "on": {"5/1/2024": (2024, 1, 5), "29.2.2024": (2024, 2, 29), " 31-12-1999 ": (1999, 12, 31), ANY: (2020, 2, 3)},
    "us": {"5/1/2024": (2024, 5, 1), "12/31/1899": (1899, 12, 31), "9999-12-31": (9999, 12, 31)},
}
MISSING = ["", "N/A", None]
CASES = [(name, text) for group in (REFUSED, READ) for name, texts in group.items() for text in texts]
CASES += [(name, text) for name in FORMATS for text in MISSING]


def days_of(parts):
    return (datetime.datetime(*parts) - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = {"at": rng.uniform(-5000, 20000, 150), **{n: np.floor(rng.uniform(-5000, 20000, 150)) for n in ("on", "us")}}
    X["on"][:20] = np.nan
    at, on, us = (date_parts(np.nan_to_num(column, nan=7000.0), has_time=True) for column in X.values())
    y = at[:, 4] + at[:, 2] * 3 + on[:, 3] * 5 + us[:, 1] - 2000 + us[:, 0] / 100
    own = {"n_estimators": 2, "max_terms": 8, "max_size": 5, "strength": "fixed", "generations": 12, "random_state": 0}
    return sg.GroveRegressor(**own).fit(TableFrame(X, 150, FORMATS), y)


@pytest.fixture(scope="module")
def wanted(model):
    """Predictions of the cases from days; None where a text is refused."""
    days = {name: {text: days_of(parts) for text, parts in texts.items()} for name, texts in READ.items()}
    rows = [
        {n: days[name].get(text, np.nan) if n == name else days_of((2020, 2, 3)) for n in FORMATS}
        for name, text in CASES
    ]
    return [None if t in REFUSED[n] else y for (n, t), y in zip(CASES, model.predict(pd.DataFrame(rows)), strict=True)]


def rows():
    return [{n: text if n == name else ANY for n in FORMATS} for name, text in CASES]


def check(found, wanted):
    assert [y is None for y in found] == [y is None for y in wanted]
    known = [[y for y in ys if y is not None] for ys in (found, wanted)]
    np.testing.assert_allclose(*known, rtol=1e-9)


def each(predict):
    found = []
    for row in rows():
        try:
            found.append(float(predict(pd.DataFrame([row]))[0]))
        except ValueError:
            found.append(None)
    return found


def test_a_date_is_features_that_say_what_they_are(model, tmp_path):
    assert model.columns_.labels[:6] == [
        *("[days of at]", "[year of at]", "[month of at]", "[weekday of at]", "[hour of at]", "[days of on]")
    ]
    assert "[on is missing]" in model.columns_.labels
    assert model.feature_importances_.shape == (3,)
    days = np.arange(-719162.0, 2932896.0, 997.0)
    dates = [datetime.date.fromordinal(int(d) + 719163) for d in days]
    wanted = [[d, date.year, date.month, date.isoweekday()] for d, date in zip(days, dates, strict=True)]
    np.testing.assert_array_equal(date_parts(days, has_time=False), wanted)
    model.save(tmp_path / "m.json")
    assert sg.load(tmp_path / "m.json").columns_ == model.columns_
    assert "[weekday of ...] from 1 (Monday)" in model.export("text")
    formula = model.ensemble_[0].formula
    labels = model.columns_.labels
    forest = sg.Forest(len(labels), model.model_.primitives)
    assert "`" not in sg.to_text(forest, sg.parse(forest, formula, labels), labels)


def test_predict_and_python_read_raw_rows(model, wanted):
    check(each(model.predict), wanted)
    with pytest.raises(ValueError, match="column 'on' must be dates as it was for the fit, such as '31/12/2025'"):
        model.predict(pd.DataFrame({"at": [ANY], "on": ["1/13/2024"], "us": [ANY]}))
    parts = {}
    exec(model.export("python"), parts)
    check(each(parts["predict"]), wanted)
    at = pd.to_datetime(["2024-01-05 13:45:10", None])
    frame = pd.DataFrame({"at": at, "on": at.normalize(), "us": [datetime.date(2023, 12, 31), None]})
    texts = pd.DataFrame({"at": ["2024-01-05 13:45:10", None], "on": ["5.1.2024", None], "us": ["12/31/2023", None]})
    for predict in (model.predict, parts["predict"]):
        np.testing.assert_allclose(predict(frame), model.predict(texts), rtol=1e-12)
    with pytest.raises(ValueError, match="must be dates"):
        model.predict(frame.assign(at=at.tz_localize("UTC")))


def test_javascript(model, wanted, tmp_path):
    check(javascript_predictions(model, rows(), tmp_path), wanted)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_sql(dialect, model, wanted):
    with closing(sqlite3.connect(":memory:") if dialect == "sqlite" else duckdb.connect()) as base:
        base.execute('CREATE TABLE data ("at" VARCHAR, "on" VARCHAR, us VARCHAR)')
        base.executemany("INSERT INTO data VALUES (?, ?, ?)", [list(row.values()) for row in rows()])
        check([row[-1] for row in base.execute(model.export("sql", dialect=dialect)).fetchall()], wanted)
        kinds = ("TIMESTAMP", "DATE", "DOUBLE") if dialect == "duckdb" else ("DOUBLE", "TEXT", "DOUBLE")
        base.execute('CREATE TABLE typed ("at" {}, "on" {}, us {})'.format(*kinds))
        at = "2024-01-05 12:00:00" if dialect == "duckdb" else days_of((2024, 1, 5, 12))
        base.execute("INSERT INTO typed VALUES (?, ?, ?)", [at, "2024-01-05", 19000.0])
        found = base.execute(model.export("sql", dialect=dialect, table="typed")).fetchall()[0][-1]
        wanted = model.predict(pd.DataFrame({"at": ["2024-01-05 12:00"], "on": ["5/1/2024"], "us": [19000.0]}))
        assert found == pytest.approx(wanted[0], rel=1e-9)


def days(n):
    rng = np.random.default_rng(1)
    X = np.vstack([rng.uniform(-20000, 60000, (n, 3)), np.full(3, np.nan)])
    X[:, 1:] = np.floor(X[:, 1:])
    return X


def test_onnx_and_c_take_days(model, tmp_path):
    X = days(200)
    wanted = model.predict(pd.DataFrame(X, columns=list(FORMATS)))
    exported = model.export("onnx")
    assert "'us' is days since 1970-01-01: 20453 for '12/31/2025'" in exported.doc_string
    session = onnxruntime.InferenceSession(exported.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"X": X})[0].ravel(), wanted, rtol=1e-9)
    need("gcc")
    main = (
        "double x[3]; while (fread(x, 8, 3, stdin) == 3) { double y = predict(x); fwrite(&y, 8, 1, stdout); } return 0;"
    )
    (tmp_path / "m.c").write_text(f"{model.export('c')}\n#include <stdio.h>\nint main(void) {{ {main} }}")
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, "-o", tmp_path / "m", tmp_path / "m.c", "-lm"], check=True)
    done = subprocess.run([tmp_path / "m"], input=X.tobytes(), capture_output=True, check=True)
    np.testing.assert_allclose(np.frombuffer(done.stdout), wanted, rtol=1e-9)


def test_excel_has_dates_of_its_own(model, tmp_path):
    need("ssconvert")
    X = days(30)
    X[:30] = np.abs(X[:30])
    frame = pd.DataFrame(X, columns=list(FORMATS))
    model.export("excel", tmp_path / "model.xlsx", X=frame)
    found = [float(row[3]) for row in sheet_rows(tmp_path)[: len(X)]]
    np.testing.assert_allclose(found, model.predict(frame), rtol=1e-8)


@pytest.mark.parametrize(
    ("values", "orders"),
    [
        (["2024-01-05", "2024-2-29"], ["ymd"]),
        (["31/12/2023", "1/2/2023"], ["dmy"]),
        (["12/31/2023", "2024-01-01"], ["mdy"]),
        (["3.4.2023"], ["dmy"]),
        (["3/4/2023"], ["dmy", "mdy"]),
        ([datetime.date(2024, 1, 5), "2024-01-06"], ["ymd"]),
        *[(values, []) for values in (["2023-02-29"], ["20240101"], ["2024"], ["1.5.24"], ["2024-01-01", "x"], [])],
    ],
)
def test_formats_are_found(values, orders):
    assert [form.order for form in date_formats_of(values)] == orders


def test_a_damaged_format_is_refused(model, tmp_path):
    model.save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    for change in ({"order": "ydm"}, {"kind": "time"}, {"has_time": 1}):
        document["columns"][0]["text_format"] = {"kind": "date", "order": "ymd", "has_time": True, **change}
        (tmp_path / "m.json").write_text(json.dumps(document))
        with pytest.raises(ValueError, match=next(iter(change))):
            sg.load(tmp_path / "m.json")
