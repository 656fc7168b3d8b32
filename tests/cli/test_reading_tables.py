"""Tables as they come: compressed, from workbooks, with other separators; all that is wrong in one message."""

import datetime
import gzip
import json
import math
import warnings
from datetime import date, timedelta

import openpyxl
import pandas as pd
import pytest
import typer

import symgrove as sg
from symgrove.cli import _common
from symgrove.cli.tables import TableFormat, format_of, read_table, table_as_bytes
from tests.cli.test_commands import SMALL, column, run, write_csv

ROWS = {"a, b": ["1", "2", "3"], "c;d": ["x", "y;z", "NA"], "e": ["0.5", "", "1"]}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_and_compression_are_found_out(separator, tmp_path):
    write_csv(tmp_path / "d.csv", ROWS, separator)
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress((tmp_path / "d.csv").read_bytes()))
    for name in ("d.csv", "d.csv.gz"):
        table = read_table(str(tmp_path / name))
        assert (table.given, table.troubles) == (ROWS, [])


def test_a_damaged_archive_is_said(tmp_path):
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(b"a,y\n1,2\n")[:-9])
    with pytest.raises(ValueError, match="is compressed, and cannot be unpacked"):
        read_table(str(tmp_path / "d.csv.gz"))


def test_sheets_of_a_workbook(tmp_path):
    book = openpyxl.Workbook()
    book.active.title = "first"
    for row in (["a", "b", 3], [None] * 3, [1, "x", "#DIV/0!"], [2.5, None, True]):
        book.active.append(row)
    book.create_sheet("other").append(["c"])
    book.save(tmp_path / "d.xlsx")
    table = read_table(str(tmp_path / "d.xlsx"))
    assert table.given == {"a": [1, 2.5], "b": ["x", None], "3": [None, True]}
    assert table.notes == [
        "of 2 sheets, 'first' is read; --sheet names another",
        "1 cells with errors of Excel, such as #N/A, are missing values",
    ]
    assert read_table(str(tmp_path / "d.xlsx"), TableFormat(sheet="other")).given == {"c": []}
    done = run("fit", tmp_path / "d.xlsx", "-t", "a", "--sheet", "othr", "-q", "-o", tmp_path / "m.json")
    assert "has no sheet 'othr'. Did you mean 'other'?" in done.stderr
    done = run("fit", "-", "-t", "a", "--input-format", "xlsx", "-q", "-o", tmp_path / "m.json", stdin="a,b\n1,2\n")
    assert "cannot be read as an Excel workbook" in done.stderr
    assert (
        "--sheet is for Excel" in run("fit", "-", "-t", "a", "--sheet", "s", "-o", tmp_path / "m", stdin="a\n").stderr
    )


def test_predictions_are_compressed_where_the_name_says_so(tmp_path):
    assert gzip.decompress(table_as_bytes({"a": [1.0, None]}, format_of("p.tsv.gz", None), "p.tsv.gz")) == b'a\n1\n""\n'
    with pytest.raises(ValueError, match=r"a workbook with macros such as 'p\.xlsm' is read only"):
        format_of("p.xlsm", None)


def test_predictions_in_a_workbook(tmp_path):
    day = datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC)
    columns = {
        "=name": ["=1+1", "a\x01", None],
        "when": [day.replace(tzinfo=None), day, None],
        "p": [0.1, math.inf, 3],
    }
    (tmp_path / "p.xlsx").write_bytes(table_as_bytes(columns, format_of("p.xlsx", None)))
    sheet = openpyxl.load_workbook(tmp_path / "p.xlsx").active
    assert [[c.value for c in row] for row in sheet.rows] == [
        ["=name", "when", "p"],
        ["=1+1", day.replace(tzinfo=None), 0.1],
        ["a\ufffd", "2024-02-29 00:00:00+00:00", None],
        [None, None, 3],
    ]
    assert sheet["A2"].data_type == "s"  # no formula


def test_all_troubles_of_a_table_are_one_message(tmp_path):
    text = "a,a,b,y,\n1,2,inf,,\n1,2\n1,2,3,x\n2,3,4,5,6\n"
    (tmp_path / "d.csv").write_text(text)
    done = run("fit", tmp_path / "d.csv", "-t", "y", "--ignore", "z", "--missing", "error", "-o", tmp_path / "m.json")
    wanted = [
        "has 6 troubles:",
        "- row 3 of",
        "- row 4 of",
        "columns of the same name: 'a'",
        "- column 5 of",
        "- an option names the column 'z', which is not there.",
        "- column 'b' of",
    ]
    assert [w for w in wanted if w not in done.stderr] == [], done.stderr
    assert (done.exit_code, list(tmp_path.iterdir())) == (2, [tmp_path / "d.csv"])


def test_warnings_are_notes_without_places(capsys):
    with _common.clean_errors():
        warnings.simplefilter("always")
        for _ in range(2):
            warnings.warn("few rows", stacklevel=1)
    assert capsys.readouterr().err == "note: few rows\n"


def written(value, digits):
    """As in Germany."""
    return f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def test_numbers_in_texts_are_numbers_everywhere(tmp_path):
    n = 60
    rows = {
        "price": [f"${1000 + 37 * i % 900:,.2f}" for i in range(n)],
        "rate": [f"{i % 13} %" for i in range(n)],
        "size": ["N/A" if i % 9 == 0 else written(31.5 * i, 2) for i in range(n)],
        "count": [str(i) for i in range(n)],
        "y": [written(2.5 * i + 0.25, 2) + " €" for i in range(n)],
    }
    write_csv(tmp_path / "d.csv", rows, ";")
    done = run("fit", tmp_path / "d.csv", "-t", "y", "-o", tmp_path / "m.json", "-q", *SMALL)
    said = (
        "note: texts that are numbers: 'price' ('$1,000.00' is 1000), 'rate' ('0 %' is 0), 'size' ('31,50' is 31.5), "
        "'y' ('0,25 €' is 0.25)"
    )
    assert said in done.stderr.splitlines()
    model = sg.load(tmp_path / "m.json")
    assert [c.text_format for c in model.columns_] == [(".", "$"), (".", "%"), (",", ""), None]
    found = column(run("predict", tmp_path / "m.json", tmp_path / "d.csv", "--only").stdout, "prediction")
    raw = pd.read_csv(tmp_path / "d.csv", sep=";", dtype=str)
    assert model.predict(raw[["price", "rate", "size", "count"]]).tolist() == found
    done = run("report", tmp_path / "m.json", tmp_path / "d.csv", "-o", tmp_path / "page.html")
    assert done.exit_code == 0, done.output
    raw.assign(size="1.5").to_csv(tmp_path / "n.csv", index=False)
    done = run("predict", tmp_path / "m.json", tmp_path / "n.csv")
    assert "column 'size' must be numbers as it was for the fit, with a decimal comma, but holds '1.5'" in done.stderr


def test_what_a_comma_means_is_asked_where_both_are_in_a_table(tmp_path):
    rows = {"a": ["1.5", "2.25"], "b": ["3,5", "4"], "c": ["1,250", "2"], "d": ["1.250,5", "7"]}
    write_csv(tmp_path / "d.csv", rows, ";")
    table = read_table(str(tmp_path / "d.csv"))
    assert (table.column("a"), table.column("b")) == ([1.5, 2.25], [3.5, 4.0])
    with pytest.raises(ValueError, match="whose point or comma may be decimal, or between thousands"):
        table.column("c")
    assert read_table(str(tmp_path / "d.csv"), TableFormat(decimal=",")).column("c") == [1.25, 2.0]
    assert read_table(str(tmp_path / "d.csv"), TableFormat(decimal=".")).column("c") == [1250.0, 2.0]
    # Where no column has a decimal point, all have the comma.
    write_csv(tmp_path / "e.csv", {"b": rows["b"], "c": rows["c"], "n": ["1.250", "7"]}, ";")
    table = read_table(str(tmp_path / "e.csv"))
    assert (table.column("c"), table.column("n")) == ([1.25, 2.0], [1250.0, 7.0])


def test_dates_are_features_and_their_order_is_asked_for(tmp_path):
    days = [date(2024, 1, 1) + timedelta(days=5 * i) for i in range(60)]
    rows = {"on": [f"{d.day}.{d.month}.{d.year}" for d in days], "y": [d.month + 0.1 * d.isoweekday() for d in days]}
    write_csv(tmp_path / "d.csv", rows)
    fit = ["fit", tmp_path / "d.csv", "-t", "y", "-o", tmp_path / "m.json", "-q", *SMALL]
    done = run(*fit)
    said = "note: dates, as days since 1970-01-01, year, month, weekday: 'on' ('1.1.2024' is 2024-01-01)"
    assert said in done.stderr.splitlines()
    found = column(run("predict", tmp_path / "m.json", tmp_path / "d.csv", "--only").stdout, "prediction")
    model = sg.load(tmp_path / "m.json")
    assert model.columns_.labels == ["[days of on]", "[year of on]", "[month of on]", "[weekday of on]"]
    assert model.predict(pd.DataFrame({"on": rows["on"]})).tolist() == found
    assert model.predict(pd.DataFrame({"on": pd.to_datetime(days)})).tolist() == found
    run("report", tmp_path / "m.json", tmp_path / "d.csv", "-o", tmp_path / "page.html")
    assert '"is_date": true' in (tmp_path / "page.html").read_text()
    assert "the target 'on' holds dates" in run(*fit[:3], "on", *fit[4:]).stderr
    pd.DataFrame({"on": pd.to_datetime(days), "y": rows["y"]}).to_parquet(tmp_path / "d.parquet")
    again = run("predict", tmp_path / "m.json", tmp_path / "d.parquet", "--only").stdout
    assert column(again, "prediction") == found
    # A model of dates with the year first takes what a table shows clearly.
    run("fit", tmp_path / "d.parquet", *fit[2:])
    again = run("predict", tmp_path / "m.json", tmp_path / "d.csv", "--only").stdout
    assert column(again, "prediction") == found
    rows["on"] = [f"{i % 12 + 1}/{i % 11 + 1}/2024" for i in range(60)]
    write_csv(tmp_path / "d.csv", rows)
    assert "such as '1/1/2024', in which the day or the month may come first. Say --dates dmy" in run(*fit).stderr
    for order in ("dmy", "mdy"):
        assert run(*fit, "--dates", order).exit_code == 0
        assert json.loads((tmp_path / "m.json").read_text())["columns"][0]["text_format"]["order"] == order
    assert run(*fit, "--categorical-features", "on").exit_code == 0


@pytest.mark.parametrize(
    ("values", "task", "message"),
    [
        (["$5.20", "n.k."], "auto", "the target 'y' is a number in most rows, and in 4 of 24 it is none ('n.k.')"),
        (["$5.20", "n.k."], "regression", "Correct these or leave them empty: rows without a target are left out."),
        (["$5.20", "€5.20"], "auto", "numbers that are not written alike ('$5.20', '€5.20'): different currencies"),
        (["red", "blue"], "regression", "Columns of numbers: 'a', 'b'. symgrove fit --task classification takes"),
        (None, "auto", "the target 'y' has 24 different texts in 24 rows ('n0', 'n1', 'n2', ...), which is too many"),
        (["0.5", "1.5"], "classification", "--task regression predicts the numbers."),
    ],
)
def test_targets_that_look_like_something_else(values, task, message, tmp_path):
    y = [f"n{i}" for i in range(24)] if values is None else [values[i % 6 == 5] for i in range(24)]
    write_csv(tmp_path / "d.csv", {"a": range(24), "c": ["x", "y"] * 12, "b": range(24), "y": y})
    done = run("fit", tmp_path / "d.csv", "-t", "y", "--task", task, "-o", tmp_path / "m.json", "-q")
    assert (done.exit_code, message in done.stderr) == (2, True), done.stderr


def test_codes_and_almost_numbers_are_said(tmp_path):
    rows = {
        "zip": [f"{i % 4:03}" for i in range(24)],
        "size": [*map(str, range(23)), "big"],
        "y": [0.5 * i for i in range(24)],
    }
    write_csv(tmp_path / "d.csv", rows)
    own = ["law", tmp_path / "d.csv", "-t", "y", "--max-time", "0.5", "-q", "-o", tmp_path / "m.json"]
    done = run(*own)
    assert (
        "column 'zip' is taken for numbers, such as '000'; if they are codes, say --categorical-features zip"
        in done.stderr
    )
    assert "column 'size' is taken for categories, because some of its values are no numbers ('big')" in done.stderr
    assert "zip" not in run(*own, "--categorical-features", "zip").stderr
    assert sg.load(tmp_path / "m.json").columns_.columns[0].categories == ("000", "001", "002", "003")


@pytest.mark.parametrize("error", [RuntimeError("engine='cuda' needs CuPy."), MemoryError("block 3 was lost.")])
def test_what_a_machine_lacks_is_a_message(error, capsys):
    with pytest.raises(typer.Exit), _common.clean_errors():
        raise error
    assert capsys.readouterr().err == f"symgrove: {error}\n"
    with pytest.raises(NotImplementedError), _common.clean_errors():
        raise NotImplementedError
