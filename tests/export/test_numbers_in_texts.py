"""Numbers in texts: `predict` of raw rows and every export that takes texts read the same, and refuse the same."""

import math
import sqlite3
from contextlib import closing

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import pytest

import symgrove as sg
from symgrove.models.number_text import NumberFormat, format_of_texts
from symgrove.models.table_frame import TableFrame
from tests.export.runners import javascript_predictions

FORMATS = {"a": NumberFormat(",", "€"), "b": NumberFormat(".", ""), "c": NumberFormat(".", "%")}
BAD = "refused"
# A text of each column, and its number.
TEXTS = [
    *[("a", t, 1250.5) for t in ("1.250,5 €", "€1250,5", "1 250,50", "1\u2019250,5", "+1250,5", "1,2505E+3 €")],
    *[("a", t, -3.0) for t in ("-€ 3", "(3,00 €)", "\u22123", "- 3")],
    *[("a", t, math.nan) for t in (None, "", "N/A", "null", "?")],
    *[
        ("a", t, BAD)
        for t in ("1.5", "12.50", "1.2505", "0.250,5", "1,5.000", "x", "€", "1,2,3", "3 $", "1e", "1.250.5")
    ],
    *[("b", t, 1250.0) for t in ("1,250", "1250", "1,250.00", "1 250", 1250.0)],
    *[("b", t, BAD) for t in ("1,25", "1250,5", "12,5000", "--5", ".")],
    *[("c", t, 0.125) for t in ("12.5 %", "12.5%", "+12.5 %", 0.125)],
    *[("c", t, 0.0) for t in ("0", "0 %")],
    *[("c", t, BAD) for t in ("12.5", "%", "12,5 %")],
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = {name: rng.uniform(0, 2000, 100) for name in FORMATS}
    own = {"population_size": 40, "n_estimators": 2, "generations": 3, "functions": ("add", "mul"), "random_state": 0}
    fitted = sg.TwoSEGPRegressor(**own).fit(TableFrame(X, 100, FORMATS), X["a"] + 2 * X["b"] + X["c"])
    path = tmp_path_factory.mktemp("model") / "m.json"
    fitted.save(path)
    loaded = sg.load(path)
    assert loaded.columns_ == fitted.columns_
    return loaded


def rows():
    return [{name: text if name == own else 1.0 for name in FORMATS} for own, text, _ in TEXTS]


@pytest.fixture(scope="module")
def wanted(model):
    """Predictions from plain numbers; None where a text is refused."""
    numbers = [
        {**row, own: np.nan if value == BAD else value} for row, (own, _, value) in zip(rows(), TEXTS, strict=True)
    ]
    found = model.predict(pd.DataFrame(numbers)).tolist()
    return [None if value == BAD else y for y, (_, _, value) in zip(found, TEXTS, strict=True)]


def each(predict):
    found = []
    for row in rows():
        try:
            found.append(float(predict(pd.DataFrame([row]))[0]))
        except ValueError:
            found.append(None)
    return found


def check(found, wanted):
    assert [y is None for y in found] == [y is None for y in wanted]
    known = [[y for y in ys if y is not None] for ys in (found, wanted)]
    np.testing.assert_allclose(*known, rtol=1e-9)


def test_predict_reads_raw_rows(model, wanted):
    check(each(model.predict), wanted)
    with pytest.raises(
        ValueError, match="column 'a' must be numbers as it was for the fit, with a decimal comma and with €, but"
    ):
        model.predict(pd.DataFrame([{**rows()[0], "a": "1.5"}]))


def test_python(model, wanted):
    parts = {}
    exec(model.export("python"), parts)
    check(each(parts["predict"]), wanted)


def test_javascript(model, wanted, tmp_path):
    check(javascript_predictions(model, rows(), tmp_path), wanted)


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_sql_has_no_prediction_where_a_text_is_no_number(dialect, model, wanted):
    with closing(sqlite3.connect(":memory:") if dialect == "sqlite" else duckdb.connect()) as base:
        base.execute("CREATE TABLE data (a VARCHAR, b VARCHAR, c VARCHAR)")
        given = [[v if v is None else str(v) for v in row.values()] for row in rows()]
        # 1.0 is no number of these columns, so the others are 1.
        given = [
            ["1" if v == "1.0" and name == "a" else v for name, v in zip("abc", row, strict=True)] for row in given
        ]
        given = [
            ["100 %" if v == "1.0" and k == 2 else "12.5 %" if v == "0.125" else v for k, v in enumerate(row)]
            for row in given
        ]
        base.executemany("INSERT INTO data VALUES (?, ?, ?)", given)
        check([row[-1] for row in base.execute(model.export("sql", dialect=dialect)).fetchall()], wanted)
        base.execute("CREATE TABLE typed (a DOUBLE, b INTEGER, c DOUBLE)")
        base.execute("INSERT INTO typed VALUES (1.5, 2, 0.25)")
        found = base.execute(model.export("sql", dialect=dialect, table="typed")).fetchall()[0][-1]
        assert found == pytest.approx(model.predict(pd.DataFrame({"a": [1.5], "b": [2], "c": [0.25]}))[0], rel=1e-9)


def test_languages_of_numbers_say_so(model, tmp_path):
    said = "'a' is a number: 1250.5 for '€ 1.250,5'"
    assert said in model.export("c")
    assert said in model.export("onnx").doc_string
    model.export("excel", tmp_path / "m.xlsx")
    book = openpyxl.load_workbook(tmp_path / "m.xlsx")
    assert f"{said}." in [row[0] for row in book["about"].iter_rows(values_only=True)]
    assert book["predict"]["D2"].value.startswith("=IF(OR(ISTEXT(A2),ISTEXT(B2),ISTEXT(C2)),NA(),")


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["$1,250.00", "3"], (".", "$")),
        (["CHF 1'250.50"], (".", "CHF")),
        (["12 %", "0"], (".", "%")),
        (["1.250,50", "3"], (",", "")),
        (["0,250"], (",", "")),
        (["1,250"], (".", "")),
        *[
            (texts, None)
            for texts in (["$5", "€6"], ["12 %", "3"], ["5 kg"], ["A12"], ["2024-01-05"], ["1/2"], ["1.5", "2,5"], [])
        ],
    ],
)
def test_formats_are_found(texts, found):
    assert format_of_texts(texts) == found
