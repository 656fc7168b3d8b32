"""Methods of programs on rows that are not in memory: engines, samples and scores where the rows are."""

import os
import random
import signal
import threading
import time
from dataclasses import replace

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster

import symgrove as sg
from symgrove.engines.dask_rows import DaskRows
from symgrove.engines.program_engine import robust_centre
from symgrove.estimators import elsewhere, posing
from symgrove.fitness.block_bootstrap import SpreadCounts
from symgrove.methods import spread_evolutions
from symgrove.methods.programs import TargetSetup
from symgrove.methods.spread_rows import Blocks
from symgrove.shards import pieces
from symgrove.shards.blocks import cut
from symgrove.shards.collections import HostSource
from symgrove.shards.parquet import open_parquet

N_ROWS = 7000
TINY = {"population_size": 40, "generations": 3, "random_state": 1, "memory_budget": 10**8}
BAGGED = {**TINY, "n_estimators": 4}
RNG = np.random.default_rng(7)
X = RNG.normal(size=(N_ROWS, 4))
Y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * RNG.normal(size=N_ROWS)
WEIGHT = RNG.integers(1, 4, N_ROWS).astype(float)
KINDS = np.digitize(Y, [-1, 1])


@pytest.fixture(autouse=True)
def few_rows_are_spread_too(monkeypatch, dask_client):
    monkeypatch.setattr(elsewhere, "MOST_ROWS", 100)
    monkeypatch.setattr(pieces, "MOST_ROWS", 2048)
    with dask_client.as_current():
        yield


@pytest.fixture
def questions(monkeypatch):
    """What engines ask of all rows."""
    asked = []
    ask = DaskRows.ask

    def noting(self, question="", *arguments):
        asked.append(question)
        return ask(self, question, *arguments)

    monkeypatch.setattr(DaskRows, "ask", noting)
    return asked


def there(*arrays):
    """The same rows in chunks."""
    return [da.from_array(own, chunks=(1000 + 777 * i, *own.shape[1:])) for i, own in enumerate(arrays)]


def sizes():
    return tuple(own.stop - own.start for own in cut(N_ROWS))


def counts_of_blocks(target, n_samples):
    """The samples that blocks draw, as a matrix."""
    drawn = SpreadCounts(sizes(), target.sample_seed, tuple(range(n_samples)))
    counts = np.hstack([drawn.of_block(b) for b in range(len(sizes()))])
    return target.engine.prepare(counts, target.weight)


def test_it_is_the_engine_on_host_rows_if_samples_are_the_same(monkeypatch, questions):
    own = {**BAGGED, "standardize": False}
    monkeypatch.setattr(spread_evolutions, "centre_of_target", lambda rows, k: robust_centre(Y))
    found = sg.TwoSEGPRegressor(**own).fit(*there(X, Y, WEIGHT))
    assert not {"outputs", "fetch", "weighted sums"} & set(questions)

    monkeypatch.setattr(TargetSetup, "bootstrap_samples", counts_of_blocks)
    expected = sg.TwoSEGPRegressor(**own, engine="dask").fit(X, Y, WEIGHT)
    assert np.array_equal(found.predict(X), expected.predict(X))
    assert found.oob_score_ == pytest.approx(expected.oob_score_, rel=1e-12)
    errors = [[(m.in_bag_error, m.out_of_bag_error) for m in model.ensemble_] for model in (found, expected)]
    assert np.allclose(*errors, rtol=1e-12)
    assert not hasattr(found, "oob_prediction_")
    assert found._seen["fit"] is None
    assert np.allclose(found.feature_importances_, expected.feature_importances_, atol=0.05)
    inside = found.predict_interval(X, coverage=0.9)
    assert 0.87 < np.mean((inside[:, 0] <= Y) & (inside[:, 1] >= Y)) < 0.93


def test_workers_chunks_kinds_of_input_and_room_change_no_bit(monkeypatch, tmp_path):
    """Also where a block has no row of weight."""
    weight = WEIGHT * (np.arange(N_ROWS) >= 2050)
    expected = sg.TwoSEGPRegressor(**BAGGED).fit(HostSource(X, Y, weight), None)
    table = pa.table({**{f"x{j}": X[:, j] for j in range(4)}, "y": Y, "w": weight})
    for i, (start, stop) in enumerate([(0, 100), (100, 3000), (3000, N_ROWS)]):
        pq.write_table(table[start:stop], tmp_path / f"{i}.parquet", row_group_size=1500)
    files = open_parquet(str(tmp_path))
    columns = files.columns([f"x{j}" for j in range(4)]), files.columns(["y"]), files.columns(["w"])
    kept = []
    n_kept = spread_evolutions.SpreadEngines._n_kept
    monkeypatch.setattr(spread_evolutions.SpreadEngines, "_n_kept", lambda *own: kept.append(n_kept(*own)) or kept[-1])
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        for share, given in ((0.5, there(X, Y, weight)), (2.8e-3, columns), (1e-4, there(X, Y, weight))):
            monkeypatch.setattr(elsewhere, "SHARE_OF_BUDGET", share)
            with client.as_current():
                found = sg.TwoSEGPRegressor(**BAGGED).fit(*given)
            assert np.array_equal(found.model_.predict(X), expected.model_.predict(X))
            assert found.oob_score_ == expected.oob_score_
    assert kept == [None, 1, 0]


@pytest.mark.parametrize(
    ("kind", "more", "y"),
    [
        (sg.ClassicGPRegressor, {}, Y),
        (sg.SpatialGPRegressor, {"n_estimators": 4, "population_size": 36}, Y),
        (sg.IndependentGPRegressor, {"n_estimators": 2, "loss": "huber", "linear_scaling": False}, Y),
        (sg.GOMEARegressor, {"n_estimators": 2, "template_height": 3, "generations": 1}, np.stack([Y, X[:, 3]], 1)),
        (sg.StandardGPClassifier, {}, Y > 0),
        (sg.TwoSEGPClassifier, {"n_estimators": 4, "class_weight": "balanced"}, KINDS),
        (
            sg.TwoSEGPRegressor,
            {"n_estimators": 4, "selection": "partition-lexicase", "target_transform": "log"},
            Y + 15,
        ),
    ],
)
def test_methods_are_as_good_as_in_memory(kind, more, y):
    own = {**TINY, **more, "generations": more.get("generations", 5)}
    own = {name: value for name, value in own.items() if name in kind().get_params()}
    here, away = kind(**own).fit(X, y), kind(**own).fit(*there(X, y))
    assert away.score(X, y) > here.score(X, y) - 0.2
    assert hasattr(away, "oob_score_") == hasattr(here, "oob_score_")
    if hasattr(here, "oob_score_"):
        assert away.oob_score_ == pytest.approx(here.oob_score_, abs=0.12)


def test_errors_of_left_out_rows_are_those_that_are_looked_up(monkeypatch):
    """SpatialGP's members are chosen by them."""
    own = {**TINY, "population_size": 36, "n_estimators": 4, "generations": 0}
    criteria = []
    make_part = sg.SpatialGPRegressor.make_part

    def noting(estimator, target):
        method = make_part(estimator, target)
        if method.left_out is None:
            method = replace(method, samples=counts_of_blocks(target, 4))
        criteria.append(method.init().criterion)
        return method

    monkeypatch.setattr(sg.SpatialGPRegressor, "make_part", noting)
    sg.SpatialGPRegressor(**own).fit(*there(X, Y))
    sg.SpatialGPRegressor(**own, engine="dask").fit(X, Y)
    assert np.isfinite(criteria[1]).all()
    assert np.allclose(*criteria, rtol=1e-6)


def test_rows_for_early_stopping_and_calibration_come_here(monkeypatch):
    given = there(X, Y)
    model = sg.TwoSEGPRegressor(**BAGGED, early_stopping=True, validation_fraction=0.25, calibration=0.2)
    problems = []
    pose = posing._pose_elsewhere
    monkeypatch.setattr(posing, "_pose_elsewhere", lambda *own: problems.append(pose(*own)) or problems[-1])
    model.fit(*given)
    ((problem, _),) = problems
    parts = [problem.training.take(np.arange(4200)), problem.held_out, problem.kept_out]
    assert [own.n_rows for own in parts] == [4200, 1400, 1400]
    assert np.array_equal(np.sort(np.concatenate([own.positions for own in parts])), np.arange(N_ROWS))
    assert all(np.array_equal(own.X, X[own.positions]) for own in parts)
    ends = model.predict_interval(X, coverage=0.8, method="conformal")
    assert 0.77 < np.mean((ends[:, 0] <= Y) & (ends[:, 1] >= Y)) < 0.83


def test_passes_over_all_rows_are_few(monkeypatch, questions):
    passes = []
    of_blocks = Blocks.map
    monkeypatch.setattr(Blocks, "map", lambda self, f, *own, **how: passes.append(f) or of_blocks(self, f, *own, **how))
    sg.TwoSEGPRegressor(**{**BAGGED, "generations": 0}).fit(*there(X, Y))
    assert len(passes) == 2  # a look, and the rows that samples left out
    assert [own for own in questions if own and own != "forget"][:2] == ["target", "moments"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"loss": "absolute"}, "X is a dask collection, and the lines that loss='absolute' gives members"),
        ({"engine": "cuda"}, "by the processors of workers; engine='cuda' is for rows in memory"),
        ({"memory_budget": 10**5}, "memory_budget=100000 bytes is too small: a fit on 7000 rows needs at least"),
    ],
)
def test_what_cannot_be_done_is_told(given, message, monkeypatch):
    monkeypatch.setattr("symgrove.estimators.parameters.check_engine", lambda name: None)
    with pytest.raises(ValueError, match=message):
        sg.TwoSEGPRegressor(**{**BAGGED, **given}).fit(*there(X, Y))


def test_features_too_large_for_float32_are_refused():
    own = X.copy()
    own[4000, 2] = 1e40
    with pytest.raises(ValueError, match="X must be finite in float32; feature 2 is not in row 4000"):
        sg.TwoSEGPRegressor(**BAGGED, dtype="float32", standardize=False).fit(*there(own, Y))


def test_a_checkpoint_and_a_warm_start_go_on_with_the_same_rows(tmp_path):
    path = tmp_path / "run.npz"
    whole = sg.TwoSEGPRegressor(**BAGGED).fit(*there(X, Y)).predict(X)
    begun = sg.TwoSEGPRegressor(**{**BAGGED, "generations": 1}, checkpoint=path, warm_start=True).fit(*there(X, Y))
    resumed = sg.TwoSEGPRegressor(**BAGGED, checkpoint=path).fit(*there(X[:, :], Y))
    assert np.array_equal(resumed.predict(X), whole)
    assert np.array_equal(begun.set_params(generations=3, checkpoint=None).fit(*there(X, Y)).predict(X), whole)
    with pytest.raises(ValueError, match="another"):
        sg.TwoSEGPRegressor(**BAGGED, checkpoint=path).fit(*there(X, Y + 1e-9))


def test_ctrl_c_leaves_a_model():
    def interrupt(progress):
        os.kill(os.getpid(), signal.SIGINT)

    model = sg.TwoSEGPRegressor(**{**BAGGED, "generations": 50}, callbacks=[interrupt]).fit(*there(X, Y))
    assert model.stop_reason_ == "interrupted"
    assert np.isfinite(model.oob_score_)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "own"), [(sg.TwoSEGPRegressor, BAGGED), (sg.DivNichGPRegressor, TINY)])
def test_killed_workers_change_nothing(tmp_path, monkeypatch, kind, own):
    monkeypatch.setattr(elsewhere, "SHARE_OF_BUDGET", 4e-3)  # blocks come and go
    table = pa.table({**{f"x{j}": X[:, j] for j in range(4)}, "y": Y})
    for i in range(6):
        pq.write_table(table, tmp_path / f"{i}.parquet")
    files, rng = open_parquet(str(tmp_path)), random.Random(5)
    given = files.columns([f"x{j}" for j in range(4)]), files.columns(["y"])
    own = {**own, "generations": 2}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
        client.as_current(),
    ):
        begun = time.perf_counter()
        expected = kind(**own).fit(*given)
        seconds = time.perf_counter() - begun
        for _ in range(3):
            killed = threading.Timer(rng.uniform(0, seconds), _kill_one, [client, rng])
            killed.start()
            found = kind(**own).fit(*given)
            killed.join()
            assert found.oob_score_ == expected.oob_score_
            assert [m.formula for m in found.ensemble_] == [m.formula for m in expected.ensemble_]


def _kill_one(client, rng):
    os.kill(rng.choice([*client.run(os.getpid).values()]), signal.SIGKILL)
