"""A studio with its processes: runs outlive the server, stop, and go on."""

import csv
import io
import json
import os
import urllib.error

import numpy as np
import psutil
import pytest

pytest.importorskip("uvicorn")

import symgrove
from symgrove.studio.folder import is_working
from tests.studio.asking import Studio, until

HOSTILE = ['<img src=x onerror="alert(1)">', "__proto__", "=1+1", "x,y", 'quote"\\']


def make_table(n_rows=150):
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, size=(n_rows, len(HOSTILE)))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=n_rows)
    kinds = np.array(["=low", "<b>middle</b>", "high"])[np.digitize(y, [1.7, 2.6])]
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow([*HOSTILE, "y", "kind"])
    writer.writerows([*row, target, kind] for row, target, kind in zip(X.tolist(), y.tolist(), kinds, strict=True))
    return stream.getvalue().encode()


def begin(studio, table, goal, seconds, **more):
    wanted = {"table": table["id"], "target": "y", "features": HOSTILE, "categorical": [], "task": "regression"}
    return studio.json("api/runs", "POST", {**wanted, "goal": goal, "seconds": seconds, **more})["id"]


def events_of(folder, name, kind):
    lines = (folder / "runs" / name / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["kind"] == kind]


def test_a_run_outlives_the_server_and_stops_and_goes_on(tmp_path):
    studio = Studio(tmp_path)
    try:
        listening = [c.laddr for c in psutil.Process(studio.process.pid).net_connections() if c.status == "LISTEN"]
        assert [address.ip for address in listening] == ["127.0.0.1"]
        assert os.stat(tmp_path / "runs").st_mode & 0o077 == 0
        table = studio.upload("y.csv", make_table())
        classes = {"target": "kind", "task": "classification"}  # of three there is no one formula, which takes seconds
        run = begin(studio, table, "2segp", 60, generations=100_000, **classes)
        until(lambda: events_of(tmp_path, run, "best") if (tmp_path / "runs" / run).exists() else [], bool)
        studio.kill()
        assert is_working(tmp_path / "runs" / run)
        before = len(events_of(tmp_path, run, "errors"))
        until(lambda: len(events_of(tmp_path, run, "errors")), lambda n: n > before)
        studio = Studio(tmp_path)
        assert studio.json("api/state")["runs"][0]["state"] == "running"
        assert studio.status(f"api/runs/{run}", method="DELETE") == 400  # not while it is under way
        studio.json(f"api/runs/{run}/stop", "POST", {})
        stopped = studio.run(run, state="stopped")
        result, first = stopped["result"], symgrove.load(tmp_path / "runs" / run / "model.json")
        assert result["in_one_formula"] is None
        assert "more than two classes" in result["why_no_formula"]
        assert result["score"]["measure"] == "accuracy"
        assert result["score"]["value"] > 0.7
        assert stopped["can_go_on"]
        studio.json(f"api/runs/{run}/continue", "POST", {"seconds": 1})
        finished = studio.run(run, state="finished")
        again = symgrove.load(tmp_path / "runs" / run / "model.json")
        assert again.n_generations_ > first.n_generations_  # it went on
        seconds = [e["seconds"] for e in events_of(tmp_path, run, "errors")]
        assert seconds == sorted(seconds)
        assert finished["result"]["stopped_by"] == "max_time"
        said = events_of(tmp_path, run, "best")[-1]["said"]
        assert len(said) == 150
        assert {place for place, _ in said} == {0, 1, 2}
        assert events_of(tmp_path, run, "begin")[-1]["classes"] == ["<b>middle</b>", "=low", "high"]
        code = studio.json(f"api/runs/{run}/code")
        assert "max_time=61" in code["python"]
        assert "TwoSEGPClassifier" in code["python"]
        assert code["command"] is None  # a name has a comma
        assert b"symgroveModel" in studio.get(f"api/runs/{run}/export/javascript")
        assert studio.status(f"api/runs/{run}", method="DELETE") == 200
    finally:
        studio.end()


def test_searches_and_ensembles_say_what_they_are_in_one_formula(tmp_path):
    (tmp_path / "given.csv").write_bytes(make_table())
    studio = Studio(tmp_path / "folder", str(tmp_path / "given.csv"))
    try:
        first = studio.json("api/state")["first"]
        table = until(lambda: studio.json(f"api/tables/{first}"), lambda own: own["state"] != "reading")
        assert [column["name"] for column in table["columns"]] == [*HOSTILE, "y", "kind"]
        runs = [begin(studio, table, goal, 2, keeps_out=goal == "grove", generations=3) for goal in ("law", "grove")]
        law, grove = (studio.run(run, state="finished")["result"] for run in runs)
        assert law["in_one_formula"]["mathml"].startswith("<math>")
        assert sum(point["is_chosen"] for point in law["front"]) == 1
        assert "rows held out of the search" in law["in_one_formula"]["scores"]
        assert grove["estimator"] == "GroveRegressor"
        assert "rows kept out of the fit" in grove["score"]["on"]
        assert grove["in_one_formula"]["left"] == "y"
        assert "; the ensemble 0." in grove["in_one_formula"]["scores"]  # one beside the other
        for run in runs:
            for snapshot in events_of(tmp_path / "folder", run, "best"):
                assert sum(p["is_best"] for p in snapshot["front"]) == 1
                sizes, errors = zip(*((p["size"], p["error"]) for p in snapshot["front"]), strict=True)
                assert list(sizes) == sorted(set(sizes))
                assert list(errors) == sorted(errors, reverse=True)
        seconds = [event["seconds"] for event in events_of(tmp_path / "folder", runs[0], "errors")]
        assert seconds == sorted(seconds)
        (tmp_path / "given.csv").write_bytes(b"a,b\n1,2\n")
        with pytest.raises(urllib.error.HTTPError) as refused:
            studio.get(f"api/runs/{runs[0]}/report")
        assert "has changed" in json.load(refused.value)["error"]
    finally:
        studio.end()
