"""What the server takes, and what it refuses, without any process at work."""

import json
import socket
import sys

import pytest
from typer.testing import CliRunner

pytest.importorskip("starlette")

from symgrove.cli.app import app as cli
from symgrove.studio import making, server
from symgrove.studio.events import EventLog
from symgrove.studio.folder import Folder, write_json
from symgrove.studio.server import make_app
from symgrove.studio.settings import settings_from
from symgrove.studio.store import StudioStore
from tests.studio.asking import PORT, TOKEN, ask

SETTINGS = {
    "table": "t", "target": "y", "features": ["a"], "categorical": [], "task": "regression", "goal": "law",
    "seconds": 5,
}  # fmt: skip
COLUMNS = [{"name": name, "tasks": ["regression"], "kind": "number"} for name in ("a", "y")]


class NoProcesses:
    """Remembers what it should have started."""

    are_at_work = False

    def __init__(self):
        self.started = []

    def start(self, folder):
        self.started.append(folder)

    def warm_up(self):
        pass

    def is_at_work(self, folder):
        return self.are_at_work


@pytest.fixture
def store(tmp_path):
    return StudioStore(Folder(tmp_path / "studio"), NoProcesses())


@pytest.fixture
def app(store):
    return make_app(store, TOKEN, PORT)


def put(app, name, chunks, headers=None):
    return ask(app, f"/api/tables?name={name}", "PUT", chunks, headers)


def files_below(folder):
    return sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file())


def test_names_of_files_are_never_places(app, store, tmp_path):
    for name in (
        "../../evil.csv",
        "%2Fetc%2Fpasswd.csv",
        "a%00b.csv",
        "..%5C..%5Cx.csv",
        "%3Cscript%3E.csv",
        "x" * 5000 + ".csv",
    ):
        status, _, content = put(app, name, [b"a,y\n1,2\n"])
        if status == 201:
            table = store.table(json.loads(content)["id"])
            assert len(table["name"]) <= 200
            assert table["name"].isprintable()
        else:
            assert status == 400  # the ending is cut off with the rest of a name that is too long
    assert not list(tmp_path.glob("*.csv"))
    assert {f.split("/")[-1] for f in files_below(tmp_path)} == {"table.json", "data.csv"}


@pytest.mark.parametrize("name", ["", "x", "x.exe", "x.csv.html", "x.xlsm", ".csv/x"])
def test_files_that_are_no_tables_are_refused(app, tmp_path, name):
    status, _, content = put(app, name, [b"a,y\n1,2\n"])
    assert status == 400
    assert "accepted: .csv" in json.loads(content)["error"]
    assert files_below(tmp_path) == []


def test_files_that_are_too_large_are_refused_and_leave_nothing(app, store, tmp_path, monkeypatch):
    monkeypatch.setattr(server, "LARGEST_UPLOAD", 1000)
    assert put(app, "x.csv", [b"a" * 10], {"content-length": "1001"})[0] == 413  # before anything is read
    assert put(app, "x.csv", [b"a" * 600, b"a" * 600])[0] == 413  # whatever the length was said to be
    assert put(app, "x.csv", [b"a" * 600, b"a" * 600], {"content-length": "10"})[0] == 413
    assert put(app, "x.csv", [b""])[0] == 400
    assert files_below(tmp_path) == []
    assert store.processes.started == []
    assert put(app, "x.csv", [b"a" * 600, b"a" * 400])[0] == 201


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs/..",
        "/api/runs/../tables",
        "/api/runs/%2e%2e",
        "/api/runs/x/model",
        "/api/tables/..",
        "/page/../server.py",
        "/page/index.html",
        "/api/runs/20260101-000000-00000000/report",
        "/api/runs/20260101-000000-00000000/events",
    ],
)
def test_paths_lead_nowhere_else(app, path):
    assert ask(app, path)[0] == 404


@pytest.mark.parametrize(
    "change",
    [
        {"features": []},
        {"features": ["y"]},
        {"features": "a"},
        {"features": ["a", "a"]},
        {"features": [1]},
        {"features": ["b"]},
        {"target": ""},
        {"target": 3},
        {"target": "z" * 2000},
        {"target": "nothing"},
        {"goal": "rm -rf"},
        {"goal": None},
        {"task": "classification"},
        {"seconds": 0},
        {"seconds": 1e99},
        {"seconds": "5"},
        {"seconds": True},
        {"seconds": None},
        {"categorical": ["y"]},
        {"seed": -1},
        {"table": "../runs"},
        {"generations": 1e12},
    ],
)
def test_settings_that_make_no_sense_are_refused(app, store, change):
    table, _ = store.new_table("x.csv")
    write_json(table / "columns.json", {"state": "ready", "columns": COLUMNS, "rows": 3})
    settings = {**SETTINGS, "table": table.name}
    assert ask(app, "/api/runs", "POST", [json.dumps({**settings, **change}).encode()])[0] in (400, 404)
    assert store.processes.started == []
    assert ask(app, "/api/runs", "POST", [json.dumps(settings).encode()])[0] == 201
    assert len(store.processes.started) == 1


def test_requests_that_are_no_json_or_too_large_are_refused(app, monkeypatch):
    assert ask(app, "/api/runs", "POST", [b"{"])[0] == 400
    assert ask(app, "/api/runs", "POST", [b"[" * 100_000])[0] == 400
    assert ask(app, "/api/runs", "POST", [b"[]"])[0] == 400
    monkeypatch.setattr(server, "LARGEST_REQUEST", 10)
    assert ask(app, "/api/runs", "POST", [b" " * 20])[0] == 413


def make_run(store, *events):
    table, _ = store.new_table("x.csv")
    folder = store.folder.new("runs")
    write_json(folder / "settings.json", {**SETTINGS, "table": table.name, "at": 1.0})
    log = EventLog(folder / "events.jsonl")
    for kind, values in events:
        log.write(kind, **values)
    log.close()
    return folder


def read_stream(content):
    return [json.loads(line[6:]) for line in content.decode().splitlines() if line.startswith("data: ")]


def test_a_stream_goes_on_where_it_broke_off(app, store):
    folder = make_run(store, *(("errors", {"seconds": k}) for k in range(5)), ("end", {"reason": "finished"}))
    _, headers, content = ask(app, f"/api/runs/{folder.name}/events")
    assert headers["content-type"].startswith("text/event-stream")
    ids = [line[4:] for line in content.decode().splitlines() if line.startswith("id: ")]
    assert [e.get("seconds") for e in read_stream(content)] == [0, 1, 2, 3, 4, None, None]  # the last: it is over
    for how in ({"headers": {"last-event-id": ids[2]}}, {"path": f"?after={ids[2]}"}):
        path = f"/api/runs/{folder.name}/events{how.get('path', '')}"
        rest = read_stream(ask(app, path, headers=how.get("headers"))[2])
        assert [e.get("seconds") for e in rest] == [3, 4, None, None]
    for odd in ("x", "-1", "9" * 30, "1e5"):
        assert ask(app, f"/api/runs/{folder.name}/events", headers={"last-event-id": odd})[0] == 200


def test_runs_say_how_they_ended(app, store):
    ends = [("end", {"reason": "finished", "by": "exact"}), ("end", {"reason": "stopped", "by": "interrupted"}),
            ("end", {"reason": "failed", "message": "why"}), ("errors", {"seconds": 1})]  # fmt: skip
    runs = [store.run(make_run(store, own).name) for own in ends]
    assert [run["state"] for run in runs] == ["finished", "stopped", "failed", "broken off"]
    assert [run["can_go_on"] for run in runs] == [False, True, False, True]
    assert runs[2]["message"] == "why"


def test_only_giving_up_asks_for_no_model_however_often_stop_is_pressed(app, store):
    folder = make_run(store, ("begin", {}))
    path = f"/api/runs/{folder.name}"

    def asked(**value):
        status = ask(app, f"{path}/stop", "POST", [json.dumps(value).encode()])[0]
        run = json.loads(ask(app, path)[2])
        return status, (folder / "stop").stat().st_size, run["is_stopping"], run["is_given_up"]

    assert not json.loads(ask(app, path)[2])["is_stopping"]
    assert ask(app, f"{path}/stop", "POST", [b"{}"])[0] == 400  # it has ended
    assert not (folder / "stop").exists()
    store.processes.are_at_work = True
    for value in ({}, {}, {"give_up": False}, {"give_up": "yes"}):
        assert asked(**value) == (204, 1, True, False)
    for value in ({"give_up": True}, {"give_up": True}, {}):
        assert asked(**value) == (204, 2, True, True)


def test_tables_and_runs_can_be_deleted_and_tables_not_below_runs(app, store):
    run = make_run(store, ("end", {"reason": "finished"}))
    table = json.loads((run / "settings.json").read_text())["table"]
    assert ask(app, f"/api/tables/{table}", "DELETE")[0] == 400
    assert ask(app, f"/api/runs/{run.name}", "DELETE")[0] == 204
    assert ask(app, f"/api/tables/{table}", "DELETE")[0] == 204
    assert not run.exists()
    assert ask(app, f"/api/runs/{run.name}")[0] == 404


def test_what_cannot_be_made_or_read_for_want_of_a_package_is_known(app, store, monkeypatch):
    run = make_run(store, ("end", {"reason": "finished"}))
    monkeypatch.setattr(making, "find_spec", lambda name: None if name in ("onnx", "pyarrow") else object())
    for path in ("/api/state", f"/api/runs/{run.name}"):
        assert json.loads(ask(app, path)[2])["missing"] == {"onnx": "onnx", "parquet": "pyarrow"}


def test_settings_come_back_from_their_file():
    settings = settings_from({**SETTINGS, "keeps_out": True, "seed": 3})
    assert settings_from(json.loads(json.dumps(settings.as_dict()))) == settings


def test_the_address_is_passed_to_the_browser_in_a_file_of_ones_own(tmp_path, monkeypatch):
    serving = pytest.importorskip("symgrove.studio.serving")
    opened = []
    monkeypatch.setattr(serving.webbrowser, "open", opened.append)
    serving._open(f"http://127.0.0.1:{PORT}/{TOKEN}/", tmp_path)
    file = tmp_path / "open.html"
    assert opened == [file.as_uri()]
    assert file.stat().st_mode & 0o077 == 0
    assert f'url=http://127.0.0.1:{PORT}/{TOKEN}/"' in file.read_text()


def test_a_missing_table_a_taken_port_and_a_missing_package_are_said(tmp_path, monkeypatch):
    def said(*words):
        done = CliRunner().invoke(cli, ["studio", "--no-browser", "--folder", str(tmp_path), *words])
        assert done.exit_code == 2
        return done.stderr

    assert "there is no file 'nothing.csv'" in said("nothing.csv")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "--port 0 takes one that is free" in said("--port", str(taken.getsockname()[1]))
    monkeypatch.setitem(sys.modules, "symgrove.studio.serving", None)
    assert 'pip install "symgrove[studio]"' in said()
