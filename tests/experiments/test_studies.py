"""Studies end to end: planned, run, killed, resumed, shown."""

import dataclasses
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import dask.distributed
import joblib
import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from symgrove import TwoSEGPRegressor, to_text
from symgrove.estimators.standard_gp import DECEMBER_2019
from symgrove.experiments import figures, runner, tables
from symgrove.experiments.datasets import KNOWN, DataSet, fingerprint_of
from symgrove.experiments.latex import to_latex
from symgrove.experiments.paper import choose, run_study, tasks_of, write_results
from symgrove.experiments.records import rounded
from symgrove.experiments.study import KINDS, NAMES, Run, load_study, published
from symgrove.rng import stream
from tests.making import method_of

TINY = """
title = "A tiny study"
kind = "table"
datasets = ["friedman"]
runs = 6

[methods.2segp]
label = "2SEGP"
regressor = "TwoSEGPRegressor"
parameters = {{ population_size = 20, n_estimators = 4, generations = {generations} }}

[methods.cgp]
label = "cGP"
regressor = "ClassicGPRegressor"
parameters = {{ population_size = 20, generations = {generations}, functions = ["add", "mul"] }}
"""


def friedman():
    X, y = make_friedman1(120, random_state=0)
    return {"friedman": DataSet("friedman", X, y, "regression")}


@pytest.fixture
def tiny(tmp_path):
    file = tmp_path / "tiny.toml"
    file.write_text(TINY.format(generations=2))
    return load_study(str(file))


def results(found):
    return {key: (row["train"], row["test"], row["error"]) for key, row in found.rows.items()}


@pytest.mark.parametrize("name", NAMES)
def test_built_in_studies_can_be_planned(name):
    study = load_study(name)
    tasks = tasks_of(study, {})
    planned = study.plan(None, tasks)
    assert len(planned) == len(set(planned)) > 0
    assert {run.split for run in planned} == set(range(study.runs))
    for method in study.methods:
        runs = [study.run_of(method, d, 0, tasks) for d in study.datasets]
        assert any(runs) or any(published()[method.published or method.name])


def test_tables_have_40_runs_and_share_them():
    plans = {name: set(load_study(name).plan(None, {n: k.task for n, k in KNOWN.items()})) for name in NAMES}
    assert load_study("table1").runs == load_study("table2").runs == load_study("table3").runs == 40
    ours = {run for run in plans["table2"] if run.estimator == "TwoSEGPRegressor"}
    assert len(ours) == 160
    assert ours <= plans["table3"]
    assert ours <= plans["pruning"]
    assert ours <= plans["figure-beta"]


def test_keys_tell_runs_apart_by_what_they_compute():
    run = Run("asn", 3, "TwoSEGPRegressor", (("n_estimators", 5),), "")
    others = [
        run._replace(dataset="ccs"),
        run._replace(split=4),
        run._replace(estimator="ClassicGPRegressor"),
        run._replace(parameters=()),
        run._replace(record="diversity"),
        run._replace(fingerprint="0123"),
        run._replace(order="files"),
    ]
    assert len({r.key for r in (run, *others)}) == 8
    assert run.key == run._replace(order="sorted").key
    assert run.key == Run("asn", 3, "TwoSEGPRegressor", (("n_estimators", 5),), "").key


def test_a_study_is_run_once_and_shown(tiny, tmp_path):
    out = tmp_path / "out"
    told = []
    rows = run_study(tiny, out, own=friedman(), show=lambda *values: told.append(values))
    assert len(rows.rows) == 12
    assert {f.name for f in rows.files} == {"tiny.md", "tiny.tex", "tiny.html"}
    assert [n for n, _, _ in told] == list(range(1, 13))
    lines = (out / "runs.jsonl").read_text().splitlines()
    assert len(lines) == 12
    again = run_study(tiny, out, own=friedman(), show=lambda *_: pytest.fail("nothing was missing"))
    assert results(again) == results(rows)
    for row in map(json.loads, lines):
        assert {"commit", "split", "numpy", "numba", "python", "machine", "seconds", "symgrove"} <= row.keys()
    text = (out / "tiny.md").read_text()
    assert "| 2SEGP |" in text
    assert "Median (interquartile range) of 6 runs" in text
    assert "\\toprule" in (out / "tiny.tex").read_text()
    ElementTree.fromstring(
        (out / "tiny.html")
        .read_text()
        .split("\n", 1)[1]
        .replace("<meta charset='utf-8'>", "")
        .replace("<meta name='viewport' content='width=device-width'>", "")
    )


def test_splits_are_the_same_for_all_methods_and_as_committed(tiny, tmp_path, monkeypatch):
    seen = []
    split = runner.train_test_split

    def spy(X, y, **options):
        parts = split(X, y, **options)
        seen.append((options["random_state"], options["test_size"], parts[1].tobytes()))
        return parts

    monkeypatch.setattr(runner, "train_test_split", spy)
    run_study(tiny, tmp_path / "out", own=friedman())
    assert {(s, share) for s, share, _ in seen} == {(s, 0.3) for s in range(6)}
    assert len({(s, test) for s, _, test in seen}) == 6


def test_runs_are_done_again_or_only_shown(tiny, tmp_path):
    with pytest.raises(runner.NoRowsError, match="has no runs of it"):
        run_study(tiny, tmp_path, own=friedman(), only_show=True, show=lambda *_: pytest.fail("no runs"))
    first = run_study(tiny, tmp_path, own=friedman(), n_runs=1)
    told = []
    again = run_study(tiny, tmp_path, own=friedman(), n_runs=1, again=True, show=lambda *values: told.append(values))
    assert [(n, of) for n, of, _ in told] == [(1, 2), (2, 2)]
    assert results(again) == results(first)
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 4  # the last row of a run counts
    (tmp_path / "tiny.md").unlink()
    shown = run_study(tiny, tmp_path, own=friedman(), n_runs=1, only_show=True)
    assert shown.rows == again.rows
    assert (tmp_path / "tiny.md").exists()


def test_a_run_that_fails_is_recorded_and_tried_again(tiny, tmp_path, monkeypatch):
    out = tmp_path / "out"
    measure = runner._measure

    def fail_once(run, data):
        if run.split == 2 and run.estimator == "TwoSEGPRegressor":
            raise RuntimeError("out of luck")
        return measure(run, data)

    monkeypatch.setattr(runner, "_measure", fail_once)
    rows = run_study(tiny, out, own=friedman())
    assert rows.failures == ["RuntimeError: out of luck"]
    assert "1 failed" in (out / "tiny.md").read_text()
    monkeypatch.setattr(runner, "_measure", measure)
    rows = run_study(tiny, out, own=friedman())
    assert rows.failures == []
    assert len((out / "runs.jsonl").read_text().splitlines()) == 13


def test_a_line_that_was_cut_off_is_done_again(tiny, tmp_path):
    out = tmp_path / "out"
    rows = run_study(tiny, out, own=friedman())
    file = out / "runs.jsonl"
    file.write_bytes(file.read_bytes()[:-30])
    assert results(run_study(tiny, out, own=friedman())) == results(rows)
    assert len(file.read_text().splitlines()) == 12
    file.write_text("nonsense\n" + file.read_text())
    with pytest.raises(ValueError, match=r"line 1 of .* is not a row of results"):
        run_study(tiny, out, own=friedman())


KILLED = """
import sys
from pathlib import Path
from symgrove.experiments.paper import run_study
from symgrove.experiments.study import load_study
from tests.experiments.test_studies import friedman
print("ready", flush=True)
run_study(load_study(sys.argv[1]), Path(sys.argv[2]), own=friedman())
"""


@pytest.mark.slow
def test_killed_and_started_again_it_ends_with_the_same_rows(tmp_path):
    study = tmp_path / "tiny.toml"
    study.write_text(TINY.format(generations=40))
    out = tmp_path / "out"
    n_lines = 0
    for _ in range(3):
        command = [sys.executable, "-c", KILLED, str(study), str(out)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:  # until it has got further
            lines = (out / "runs.jsonl").read_text().splitlines() if (out / "runs.jsonl").exists() else []
            if len(lines) > n_lines or process.poll() is not None:
                break
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        process.stdout.close()
        n_lines = len(lines)
        assert 0 < n_lines < 12
    rows = run_study(load_study(str(study)), out, own=friedman())
    whole = run_study(load_study(str(study)), tmp_path / "whole", own=friedman())
    assert results(rows) == results(whole)
    assert (out / "tiny.md").read_text() == (tmp_path / "whole" / "tiny.md").read_text()


# The last returns all results at the end.
@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_runs_in_parallel_give_the_same_rows(tiny, tmp_path, backend):
    alone = run_study(tiny, tmp_path / "alone", own=friedman(), n_runs=2)
    with joblib.parallel_config(backend=backend):
        together = run_study(tiny, tmp_path / "together", own=friedman(), n_jobs=2, n_runs=2)
    assert results(together) == results(alone)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # whatever dask warns of at shutdown
def test_a_dask_cluster_gives_the_same_rows(tiny, tmp_path):
    alone = run_study(tiny, tmp_path / "alone", own=friedman(), n_runs=2)
    with (
        dask.distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0") as cluster,
        dask.distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        together = run_study(tiny, tmp_path / "together", own=friedman(), n_jobs=2, n_runs=2)
    assert results(together) == results(alone)


def test_own_data_are_told_apart_by_what_they_hold(tiny, tmp_path):
    first = run_study(tiny, tmp_path, own=friedman(), n_runs=1)
    other = {"friedman": friedman()["friedman"]._replace(y=friedman()["friedman"].y * 2)}
    second = run_study(tiny, tmp_path, own=other, n_runs=1)
    assert not first.rows.keys() & second.rows.keys()
    assert run_study(tiny, tmp_path, own=friedman(), n_runs=1).rows == first.rows


def test_numbers_that_are_not_finite_are_a_failure_of_the_run_alone(tiny, tmp_path):
    data = friedman()["friedman"]
    with np.errstate(all="ignore"):
        found = run_study(tiny, tmp_path, own={"friedman": data._replace(y=data.y * 1e200)}, n_runs=1)
    assert len(found.failures) == 2
    text = (tmp_path / "tiny.md").read_text()
    assert "| 2SEGP | 1 failed |" in text


def test_a_second_process_is_refused(tiny, tmp_path):
    with runner.only_process(tmp_path), pytest.raises(ValueError, match="another process is writing"):
        run_study(tiny, tmp_path, own=friedman())


def test_more_runs_than_the_study_says(tiny, tmp_path):
    assert len(run_study(tiny, tmp_path, own=friedman(), n_runs=7).rows) == 14
    assert "Median (interquartile range) of 7 runs" in (tmp_path / "tiny.md").read_text()


def test_the_commit_is_that_of_the_package():
    commit = runner._commit()
    assert commit == "" or len(commit.removesuffix("-dirty")) == 12


def test_text_of_any_kind_is_escaped():
    page = tables.Page("a & b", [], [("", [["x", "y"], ["a|b", "$5_{%}\\ ~^#<>"]])], ["<b>"])
    assert "a\\|b" in tables.to_markdown(page)
    assert r"\$5\_\{\%\}\textbackslash{} \textasciitilde{}\textasciicircum{}\#$<$$>$" in to_latex(page)
    assert "<b>" not in tables.to_html(page)


def test_verdicts_compare_with_the_published_numbers():
    study = choose(load_study("table2"), ["asn"], ["2segp", "gptips"])
    tasks = {"asn": "regression"}
    rng = np.random.default_rng(0)
    rows = {}
    for run in study.plan(None, tasks):
        if run.estimator == "TwoSEGPRegressor":
            rows[run.key] = {"error": None, "train": 2.9 + 0.1 * rng.random(), "test": 9.0 + rng.random()}
    table = tables.make_table(study, rows, tasks)
    assert table.cells["train", "2segp", "asn"].verdict == "agrees"
    assert table.cells["test", "2segp", "asn"].verdict == "differs"
    assert table.cells["test", "gptips", "asn"].verdict == ""
    assert table.verdicts == (1, 2)
    text = tables.to_markdown(tables.page_of_table(table))
    assert "[3.082 (0.438)] ≠" in text
    assert "| GPTIPS | [4.138] |" in text
    assert "rows with brackets only" in text
    assert "1 of 2 cells agree" in text


def test_methods_with_few_runs_so_far_are_shown_but_not_compared():
    study = choose(load_study("table2"), ["asn"], ["2segp", "cgp"])
    tasks = {"asn": "regression"}
    rng = np.random.default_rng(0)
    rows = {
        run.key: {"error": None, "train": 2.9 + 0.1 * rng.random(), "test": 9.0 + rng.random()}
        for run in study.plan(None, tasks)
        if run.estimator == "TwoSEGPRegressor" or run.split < 3
    }
    table = tables.make_table(study, rows, tasks)
    assert table.cells["test", "cgp", "asn"].is_unfinished
    assert not table.cells["test", "cgp", "asn"].is_best
    assert table.cells["test", "2segp", "asn"].is_best
    assert table.level["asn"] == []
    assert "; 3 runs so far)" in tables.to_markdown(tables.page_of_table(table))
    few = tables.make_table(study, rows, tasks, n_runs=3)  # asked for no more
    assert not few.cells["test", "cgp", "asn"].is_unfinished


def test_numbers_without_a_range_are_compared_by_ratio_and_interval():
    cell = tables.Cell(tables.Summary(6.0, 1.0, 40), [4.0], is_best=False, n_failed=0, interval=(3.9, 7.0))
    assert cell.ratio == "×1.50, within"
    assert dataclasses.replace(cell, interval=(4.1, 7.0)).ratio == "×1.50, outside"
    assert dataclasses.replace(cell, ours=tables.Summary(6.0, 1.0, 5)).ratio == ""
    assert dataclasses.replace(cell, theirs=[4.0, 0.1]).ratio == ""


def test_a_method_may_have_fewer_splits(tmp_path):
    method = '[methods.a]\nlabel = "a"\nregressor = "TwoSEGPRegressor"\nruns = {}\n'
    text = 'title = "t"\nkind = "table"\ndatasets = ["asn"]\nruns = 4\n'
    file = tmp_path / "own.toml"
    file.write_text(text + method.format(2))
    tasks = {"asn": "regression"}
    assert len(load_study(file).plan(None, tasks)) == 2
    assert len(load_study(file).plan(1, tasks)) == 1
    for bad in ("0", "true", '"3"', "2\nranked = 1"):
        file.write_text(text + method.format(bad))
        with pytest.raises(ValueError, match=r"runs a whole number of at least 1 and the rest texts, got r"):
            load_study(file)


def committed(name):
    study = load_study(name)
    tasks = tasks_of(study, {})
    return tables.make_table(study, runner.read_rows(Path(__file__).parents[2] / "docs/results/runs.jsonl"), tasks)


@pytest.mark.parametrize(("name", "expected"), [("table1", 90), ("table2", 64), ("table3", 28), ("budget", 0)])
def test_only_cells_that_the_paper_has_in_a_table_are_counted(name, expected):
    assert committed(name).verdicts[1] == expected


def test_what_the_documents_say_of_table_3_is_what_was_found():
    assert committed("table3").verdicts == (26, 28)


def test_methods_that_are_level_with_2segp_are_named():
    level = committed("table1").level
    assert {d for d, labels in level.items() if "cGP (like for like)" in labels} == {"heart", "iono", "sonar"}
    table2 = committed("table2")
    assert {"cGP", "SS+BE", "GP-GOMEA"} <= set(table2.level["asn"])
    text = tables.to_markdown(tables.page_of_table(table2))
    shown = next(line for line in text.splitlines() if line.startswith("Not significantly different from 2SEGP on "))
    assert shown.partition("ASN: ")[2].startswith(" · ".join(table2.level["asn"]) + "; CCS: ")


def test_pruning_shows_what_is_left():
    study = load_study("pruning")
    rows = runner.read_rows(Path(__file__).parents[2] / "docs/results/runs.jsonl")
    ((_, lines),) = tables.page_of_pruning(study, rows, tasks_of(study, {}), None).tables
    left = {line[0]: line[3] for line in lines}
    assert (left["data"], left["ENH"], left["CCS"]) == ("left, median", "35%", "77%")


def test_the_study_has_the_settings_of_the_preset():
    method = next(m for m in load_study("table1").methods if m.name == "cgp-2019")
    assert {n: tuple(v) if isinstance(v, list) else v for n, v in method.parameters.items()} == DECEMBER_2019


def small(study, n_methods=99):
    """The study with small populations on the stand-in data."""
    methods = [
        method.__class__(
            **{
                **vars(method),
                "parameters": {**method.parameters, "population_size": 60, "generations": 4}
                | (
                    {"n_estimators": min(5, method.parameters.get("n_estimators", 5))} if "2segp" in method.name else {}
                ),
            }
        )
        for method in study.methods[:n_methods]
        if method.name != "ss+be"
    ]
    return study.__class__(**{**vars(study), "methods": methods, "datasets": ["friedman"], "runs": 2})


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("figure")])
def test_every_figure_is_drawn(name, tmp_path):
    own = friedman()
    study = replace(small(load_study(name)), fingerprints={"friedman": fingerprint_of(own["friedman"])})
    tasks = tasks_of(study, own)
    with pytest.raises(ValueError, match="run the study first"):
        write_results(study, {}, tasks, tmp_path)
    run_study(study, tmp_path, own=own)
    for suffix in ("png", "svg"):
        assert (tmp_path / f"{name}.{suffix}").stat().st_size > 5000
    ElementTree.parse(tmp_path / f"{name}.svg")
    before = (tmp_path / f"{name}.svg").read_bytes()
    write_results(study, runner.read_rows(tmp_path / "runs.jsonl"), tasks, tmp_path)
    assert (tmp_path / f"{name}.svg").read_bytes() == before


def test_records_are_what_they_say():
    data = friedman()["friedman"]
    parameters = (("generations", 12), ("n_estimators", 4), ("population_size", 30))
    rows = {
        record: runner.run_one(Run("friedman", 0, "TwoSEGPRegressor", parameters, record), data)
        for record in ("", "diversity", "elites", "evolvability", "cost")
    }
    assert {row["error"] for row in rows.values()} == {None}
    assert len({(row["train"], row["test"]) for row in rows.values()}) == 1  # recording changes nothing
    expected = by_hand(data, dict(parameters))
    assert rows["diversity"]["generation"] == [*range(11)]
    for name in ("distinct_elites", "distinct_programs", "frequent_elite", "frequent_program"):
        np.testing.assert_allclose(rows["diversity"][name], expected[name][:11], rtol=1e-3)
    np.testing.assert_allclose(rows["elites"]["elite_errors"], expected["elite_errors"][:11], rtol=1e-3)
    np.testing.assert_allclose(rows["evolvability"]["same"], expected["same"], atol=1e-4)
    np.testing.assert_allclose(rows["evolvability"]["other"], expected["other"], atol=1e-4)
    np.testing.assert_allclose(rows["cost"]["sizes"], expected["sizes"], rtol=1e-3)


def by_hand(data, parameters):
    """The records from programs as text, one pair of parent and child after the other."""
    X, _, y, _ = runner.train_test_split(data.X, data.y, test_size=0.3, random_state=0)
    found = {name: [] for name in ("same", "other", "sizes", "elite_errors")}
    found |= {f"{what}_{whom}": [] for what in ("distinct", "frequent") for whom in ("elites", "programs")}
    with method_of(TwoSEGPRegressor(**parameters, random_state=0), X, y, 0) as method:
        state = method.init()
        for generation in range(parameters["generations"] + 1):
            for whom, roots in (("elites", state.elites.root), ("programs", state.population)):
                counts = Counter(to_text(state.forest, root) for root in roots)
                found[f"distinct_{whom}"].append(len(counts) / len(roots))
                found[f"frequent_{whom}"].append(max(counts.values()) / len(roots))
            found["elite_errors"].append(np.sqrt(state.elites.error))
            if generation == parameters["generations"]:
                break
            children = method.vary(state.forest, state.population, stream(0, "variation", generation))
            new = [c for c in dict.fromkeys(children.tolist()) if c not in state.population]
            found["sizes"].append(np.mean([state.forest.size(c) for c in new]))
            if generation < 10:
                parents, kids = (
                    method.score(state.forest, roots, method.samples).errors for roots in (state.population, children)
                )
                better = kids < parents * (1 - 1e-9)
                found["same"].append([np.mean([row[j] for row in better]) for j in range(4)])
                found["other"].append([np.mean([not row[j] and any(row) for row in better]) for j in range(4)])
            state = method.rollback(state)
            state = method.step(state)
    found["frequent_elite"], found["frequent_program"] = found.pop("frequent_elites"), found.pop("frequent_programs")
    return found


def test_prefixes_are_the_smaller_ensembles():
    data = friedman()["friedman"]
    settings = (("generations", 3), ("population_size", 30))
    ten = runner.run_one(
        Run("friedman", 0, "IndependentGPRegressor", (*settings, ("n_estimators", 4)), "prefixes"), data
    )
    two = runner.run_one(Run("friedman", 0, "IndependentGPRegressor", (*settings, ("n_estimators", 2)), ""), data)
    np.testing.assert_allclose(ten["prefix_test"][1], two["test"], rtol=1e-4)
    np.testing.assert_allclose(ten["prefix_test"][-1], ten["test"], rtol=1e-4)


def test_rounding_keeps_significant_digits():
    assert rounded([0.0, 123456.0, -0.000123456], 3) == [0.0, 123000.0, -0.000123]


def test_choices_that_do_not_exist_get_a_clear_error(tiny):
    with pytest.raises(ValueError, match="has no method 'xgboost'; it has 2segp, cgp"):
        choose(tiny, methods=["xgboost"])
    with pytest.raises(ValueError, match="unknown data set 'iris'"):
        tasks_of(choose(tiny, ["iris"]), {})


def test_every_kind_of_study_is_known():
    known = {"table", "comparison", "pruning", "intervals", *figures.FIGURES}
    assert {load_study(name).kind for name in NAMES} == set(KINDS) == known
