"""Events, locks, columns and code of the studio."""

import gzip
import json
import re
import subprocess
import sys

import numpy as np
import pytest

from symgrove.cli.studio_worker import read
from symgrove.studio import events
from symgrove.studio.code import command, python_code
from symgrove.studio.columns import GivenColumn, described, suggested_target
from symgrove.studio.events import EventLog, condensed, events_after, last_event
from symgrove.studio.folder import Folder, is_working, working_in
from symgrove.studio.settings import settings_from

HOSTILE = [
    '<img src=x onerror="alert(1)">',
    "__proto__",
    "=cmd|' /C calc'!A0",
    'a"b\\c\n',
    "x" * 300,
    "données ü 数",
    "`${1}`",
]


def written(file, *lines):
    log = EventLog(file)
    for kind, values in lines:
        log.write(kind, **values)
    log.close()


def test_events_are_followed_while_they_are_written(tmp_path):
    file = tmp_path / "events.jsonl"
    assert events_after(file, 0) == []
    written(file, ("begin", {"rows": 3}), ("errors", {"values": [1.0, float("nan"), float("inf")]}))
    found = events_after(file, 0)
    assert [json.loads(e.text) for e in found] == [
        {"kind": "begin", "rows": 3},
        {"kind": "errors", "values": [1.0, None, None]},
    ]
    with open(file, "a") as stream:
        stream.write('{"kind":"errors","seco')
    assert events_after(file, found[-1].id) == []  # the line is not whole
    with open(file, "a") as stream:
        stream.write('nds":3}\n')
    assert [e.kind for e in events_after(file, found[-1].id)] == ["errors"]


def test_what_a_killed_process_left_is_skipped(tmp_path):
    file = tmp_path / "events.jsonl"
    written(file, ("begin", {}))
    with open(file, "a") as stream:
        stream.write('{"kind":"best","fro')
    assert last_event(file) == {"kind": "begin"}
    written(file, ("end", {"reason": "finished"}))  # the run goes on
    assert [e.kind for e in events_after(file, 0)] == ["begin", "end"]


def test_who_comes_later_is_told_what_still_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(events, "MOST_ERRORS", 10)
    file = tmp_path / "events.jsonl"
    lines = [("begin", {})] + [
        line for k in range(95) for line in (("errors", {"k": k}), ("best", {"k": k}), ("beat", {"k": k}))
    ]
    written(file, *lines, ("end", {}))
    kinds = [e.kind for e in condensed(file)]
    assert kinds.count("best") == kinds.count("beat") == kinds.count("begin") == kinds.count("end") == 1
    errors = [json.loads(e.text)["k"] for e in condensed(file) if e.kind == "errors"]
    assert errors[0] == 0
    assert errors[-1] == 94
    assert len(errors) <= 11
    assert condensed(file)[-1].id == file.stat().st_size


def test_only_one_process_works_in_a_folder_and_its_end_is_seen(tmp_path):
    folder = Folder(tmp_path).new("runs")
    assert not is_working(folder)
    code = (
        "import sys; from pathlib import Path; from symgrove.studio.folder import working_in\n"
        "with working_in(Path(sys.argv[1])): print('in', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"in\n"
        assert is_working(folder)
        with pytest.raises(BlockingIOError, match="another process"), working_in(folder):
            pass
        other.kill()
        other.wait()
        assert not is_working(folder)
    with working_in(folder):
        assert is_working(folder)


def test_columns_are_described_as_people_choose_them():
    rng = np.random.default_rng(0)
    found = described({
        "number": GivenColumn([*rng.normal(size=99).tolist(), None]),
        "code": GivenColumn([float(k % 3) for k in range(100)]),
        "town": GivenColumn(["Rome", "Oslo"] * 50),
        "id": GivenColumn([f"k{k}" for k in range(100)]),
        "empty": GivenColumn([None] * 100),
        "same": GivenColumn([2.0] * 100),
        "huge": GivenColumn([-1.7e308, 1.7e308] * 50),
        "odd": GivenColumn([None] * 100, trouble="why"),
        "day": GivenColumn([float(k) for k in range(100)], is_date=True),
    })  # fmt: skip
    by_name = {own["name"]: own for own in found}
    assert by_name["number"]["missing"] == 1
    assert sum(by_name["number"]["bars"]) == 99
    assert by_name["number"]["tasks"] == ["regression"]
    assert by_name["code"]["tasks"] == ["classification", "regression"]
    assert by_name["code"]["bars"] == [34, 33, 33]
    assert by_name["town"]["tasks"] == ["classification"]
    assert by_name["town"]["common"] == [["Rome", 50], ["Oslo", 50]]
    assert not by_name["id"]["is_feature"]
    assert not by_name["same"]["is_feature"]
    assert by_name["huge"]["bars"] == [50, 50]
    assert [by_name[name]["kind"] for name in ("empty", "odd", "day")] == ["unusable", "unusable", "date"]
    assert by_name["odd"]["trouble"] == "why"
    assert by_name["day"]["tasks"] == []
    assert suggested_target(found) == "huge"
    json.dumps(found, allow_nan=False)


def test_tables_with_too_many_columns_or_too_long_names_are_refused():
    with pytest.raises(ValueError, match="1,001 columns"):
        described({f"c{k}": GivenColumn([1.0]) for k in range(1001)})
    with pytest.raises(ValueError, match="name has 1,001 characters"):
        described({"x" * 1001: GivenColumn([1.0])})


@pytest.mark.parametrize("goal", ["law", "grove", "2segp"])
def test_the_code_that_does_the_same_is_code_whatever_the_names(goal, tmp_path):
    """With columns of any name it fits the columns that were chosen."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    names = [name.strip() for name in HOSTILE]
    frame = pandas.DataFrame(rng.uniform(1, 2, size=(60, len(names))), columns=names).assign(
        y=lambda f: f[names[0]] * f[names[1]]
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    settings = settings_from({
        "table": "t", "target": "y", "features": names, "task": "regression", "goal": goal, "seconds": 1,
        "generations": 2,
    })  # fmt: skip
    code = python_code(settings, str(tmp_path / "data.csv"), "csv", ",")
    compile(code, "code", "exec")
    space = {}
    exec(code.replace('"model.json"', repr(str(tmp_path / "model.json"))), space)
    assert list(space["model"].feature_names_in_) == names
    assert space["model"].get_params()["max_time"] == 1
    assert (tmp_path / "model.json").exists()


def test_the_command_is_left_out_where_names_have_commas():
    given = {"table": "t", "target": "y", "features": ["a b"], "task": "regression", "goal": "grove", "seconds": 60}
    assert command(settings_from(given), "-d.csv") == (
        "symgrove fit ./-d.csv --target=y '--features=a b' --method=grove --task=regression --max-time=60 "
        "--generations=100 --seed=0 -o model.json"
    )
    assert command(settings_from({**given, "features": ["a,b"]}), "d.csv") is None


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.csv", b"a,a\n1,2\n", "columns of the same name: 'a'"),
        ("a.csv", b"a,b\n", "no rows"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"a," + b"b" * 2000 + b"\n1,2\n", "name has 2,000 characters"),
        ("a.csv", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "cannot be unpacked"),
        ("a.csv", bytes(range(256)) * 4, ""),
        ("a.xlsx", b"PK\x03\x04 no workbook", ""),
        ("a.parquet", b"PAR1\x00\x00PAR1", ""),
    ],
)
def test_files_that_cannot_be_used_are_said_to_be(tmp_path, name, content, why, capsys):
    (tmp_path / "table.json").write_text(json.dumps({"name": name, "kind": name[2:]}))
    (tmp_path / f"data.{name[2:]}").write_bytes(content)
    read(tmp_path)
    found = json.loads((tmp_path / "columns.json").read_text())
    assert found["state"] == "failed"
    assert why in found["message"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b\n1\n", ["row 2 of 'mine.csv' has 1 fields, the header 2. Is ',' the separator?"]),
        (
            "a,b\n" + 9 * "1\n",
            [
                "'mine.csv' has 9 troubles:",
                *(f"- row {k} of 'mine.csv' has 1 fields, the header 2. Is ',' the separator?" for k in (2, 3, 4)),
                "and 6 more",
            ],
        ),
        ("a,b\n1,2\n3,inf\n", ["column 'b' of 'mine.csv' has an infinite number, inf, in row 3"]),
    ],
)
def test_troubles_are_listed_and_name_the_file_as_its_owner_does_and_no_option(tmp_path, content, said):
    (tmp_path / "table.json").write_text(json.dumps({"name": "mine.csv", "kind": "csv"}))
    (tmp_path / "data.csv").write_text(content)
    read(tmp_path)
    found = json.loads((tmp_path / "columns.json").read_text())
    message = found["message"] if found["state"] == "failed" else found["columns"][1]["trouble"]
    assert message.split(";")[0].splitlines() == said
    assert not re.search(r"--[a-z]", message)
    assert str(tmp_path) not in message


def test_cells_that_begin_as_formulas_are_texts(tmp_path):
    (tmp_path / "table.json").write_text(json.dumps({"name": "a.csv", "kind": "csv"}))
    (tmp_path / "data.csv").write_text("=1+1;y\n=cmd|' /C calc'!A0;1\n@SUM(A1);2\n")
    read(tmp_path)
    found = json.loads((tmp_path / "columns.json").read_text())
    assert found["separator"] == ";"
    assert [(own["name"], own["kind"]) for own in found["columns"]] == [("=1+1", "text"), ("y", "number")]
    assert found["columns"][0]["common"] == [["=cmd|' /C calc'!A0", 1], ["@SUM(A1)", 1]]
