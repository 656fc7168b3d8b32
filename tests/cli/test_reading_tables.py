"""Tables as they come: compressed, from workbooks, with other separators; all that is wrong in one message."""

import gzip
import warnings

import openpyxl
import pytest

from symgrove.cli import _common
from symgrove.cli.tables import TableFormat, format_of, read_table, table_as_bytes
from tests.cli.test_commands import run, write_csv

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
    for row in (["a", "b", 3], [None] * 3, [1, "x", None], [2.5, None, True]):
        book.active.append(row)
    book.create_sheet("other").append(["c"])
    book.save(tmp_path / "d.xlsx")
    table = read_table(str(tmp_path / "d.xlsx"))
    assert table.given == {"a": [1, 2.5], "b": ["x", None], "3": [None, True]}
    assert table.notes == ["of 2 sheets, 'first' is read; --sheet names another"]
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
    with pytest.raises(ValueError, match=r"an Excel workbook such as 'p\.xlsx' is read only"):
        format_of("p.xlsx", None)


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
