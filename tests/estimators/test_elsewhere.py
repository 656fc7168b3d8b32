"""Rows that are not in memory: Dask's collections and Parquet files give what arrays give."""

import os
import random
import signal
import threading
import time
from dataclasses import replace

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster

import symgrove as sg
from symgrove.estimators import elsewhere, looking
from symgrove.methods.grove import many_rows
from symgrove.methods.grove.configuration import ManyRows
from symgrove.methods.spread_rows import Blocks
from symgrove.shards import pieces
from symgrove.shards.collections import HostSource
from symgrove.shards.parquet import open_parquet

N_ROWS = 9000
TINY = {"population_size": 40, "n_estimators": 6, "n_populations": 2, "max_terms": 8, "generations": 18}
MANY = ManyRows(fewest_rows=200, rows_of_a_turn=150)
RNG = np.random.default_rng(7)
X = RNG.normal(size=(N_ROWS, 4))
Y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * RNG.normal(size=N_ROWS)
WEIGHT = RNG.integers(0, 3, N_ROWS).astype(float)


class Regressor(sg.GroveRegressor):
    configuration = replace(sg.GroveRegressor.configuration, many=MANY)


class Classifier(sg.GroveClassifier):
    configuration = replace(sg.GroveClassifier.configuration, many=MANY)


@pytest.fixture(autouse=True)
def few_rows_are_spread_too(monkeypatch, dask_client):
    monkeypatch.setattr(elsewhere, "MOST_ROWS", 100)
    monkeypatch.setattr(pieces, "MOST_ROWS", 2048)
    with dask_client.as_current():
        yield


@pytest.fixture
def passes(monkeypatch):
    """What goes through all rows, by name."""
    counted = []
    map_blocks = Blocks.map

    def counting(self, function, *arguments, **more):
        counted.append(function.__name__)
        return map_blocks(self, function, *arguments, **more)

    monkeypatch.setattr(Blocks, "map", counting)
    return counted


def chunked(array, n_rows):
    return da.from_array(array, chunks=(n_rows, *array.shape[1:]))


def frame(n_rows=N_ROWS):
    own = pd.DataFrame(X[:n_rows], columns=list("abcd"))
    own.loc[::9, "b"] = np.nan
    own["kind"] = pd.Categorical(np.where(X[:n_rows, 3] > 0, "up", "down"))
    return own


def test_chunks_workers_and_kinds_of_input_change_no_bit(passes, monkeypatch):
    expected = Regressor(**TINY, random_state=1).fit(HostSource(X, Y, WEIGHT), None).predict(X)
    assert passes == ["_looked", "_taken", "summed"]
    given = chunked(X, 1000).rechunk((1000, 3)), chunked(Y, 777), chunked(WEIGHT, N_ROWS)
    assert np.array_equal(Regressor(**TINY, random_state=1, engine="dask").fit(*given).predict(X), expected)
    monkeypatch.setattr(elsewhere, "SHARE_OF_BUDGET", 1e-3)  # no block is kept
    unknown = [part[da.ones(N_ROWS, chunks=part.chunks[0]) > 0] for part in (chunked(X, 4000), chunked(Y, 4000))]
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        client.as_current(),
    ):
        found = Regressor(**TINY, random_state=1, memory_budget=10**7).fit(*unknown, chunked(WEIGHT, 4000))
    assert np.array_equal(found.predict(X), expected)
    assert found.score(X, Y) > 0.9


def test_a_fit_is_as_good_as_one_in_memory():
    here = Regressor(**TINY, random_state=1).fit(X, Y, WEIGHT)
    there = Regressor(**TINY, random_state=1).fit(chunked(X, 2000), chunked(Y, 2000), chunked(WEIGHT, 2000))
    assert there.score(X, Y) > here.score(X, Y) - 0.01
    assert there.validation_score_ == pytest.approx(here.validation_score_, abs=0.02)
    assert np.allclose(there.feature_importances_, here.feature_importances_, atol=0.1)
    inside = there.predict_interval(X, coverage=0.9)
    assert 0.85 < np.mean((inside[:, 0] <= Y) & (inside[:, 1] >= Y)) < 0.95
    assert there._seen["fit"] is None


def test_columns_of_frames_and_of_parquet_files_are_those_of_a_frame_in_memory(tmp_path, monkeypatch):
    own = frame()
    here = Regressor(**TINY, random_state=1).fit(own, Y)
    there = Regressor(**TINY, random_state=1).fit(dd.from_pandas(own, npartitions=5), chunked(Y, 999))
    assert np.allclose([c.fill for c in there.columns_], [c.fill for c in here.columns_], atol=0.002)
    assert [c._replace(fill=0.0) for c in there.columns_] == [c._replace(fill=0.0) for c in here.columns_]
    assert [*there.feature_names_in_] == [*own.columns]
    assert there.predict(own[:9]).shape == (9,)
    table = pa.Table.from_pandas(own.assign(kind=own["kind"].astype(str), target=Y, weight=1.0), preserve_index=False)
    for i, (start, stop) in enumerate([(0, 100), (100, 5000), (5000, N_ROWS)]):
        pq.write_table(table[start:stop], tmp_path / f"part-{i}.parquet", row_group_size=1500)
    files = open_parquet(str(tmp_path / "part-*.parquet"))
    columns = files.columns([*own.columns]), files.columns(["target"]), files.columns(["weight"])
    for share in (0.5, 0.02, 0.0):  # workers keep all rows, some, and none
        monkeypatch.setattr(elsewhere, "SHARE_OF_BUDGET", share)
        more = {"memory_budget": 10**7, "categorical_features": ["kind"]}
        read = Regressor(**TINY, random_state=1, **more).fit(*columns)
        assert np.array_equal(read.predict(own), there.predict(own))
    assert read.columns_ == there.columns_


def test_columns_of_an_array_may_hold_categories():
    own = np.column_stack([X[:, :3], np.digitize(X[:, 3], [-1, 1])])
    model = Regressor(**TINY, random_state=0, categorical_features=[3]).fit(chunked(own, 2000), chunked(Y, 2000))
    assert model.columns_.labels[3:] == ["[x3 is 0]", "[x3 is 1]", "[x3 is 2]"]
    assert model.score(own, Y) > 0.9


@pytest.mark.parametrize(
    "more", [{"loss": "absolute"}, {"loss": "poisson"}, {"target_transform": "log"}, {"calibration": 0.2}], ids=str
)
def test_losses_transforms_and_calibration(more, passes):
    y = np.exp(Y)
    model = Regressor(**TINY, **more, random_state=0).fit(chunked(X, 2000), chunked(y, 2000))
    here = Regressor(**TINY, **more, random_state=0).fit(X, y)
    assert model.validation_score_ > here.validation_score_ - 0.1
    assert len(passes) <= 6
    if "calibration" in more:
        assert model._held_out["n_rows"] == 1800
        ends = model.predict_interval(X, coverage=0.8, method="conformal")
        assert 0.77 < np.mean((ends[:, 0] <= y) & (ends[:, 1] >= y)) < 0.83


def test_coefficients_of_some_panels_are_as_good(monkeypatch):
    whole = Regressor(**TINY, random_state=1).fit(HostSource(X, Y), None)
    n_terms = whole.model_.heaviest.programs.size
    monkeypatch.setattr(many_rows, "MOST_PRODUCTS", N_ROWS * n_terms**2 / 1.5)
    some = Regressor(**TINY, random_state=1).fit(HostSource(X, Y), None)
    assert not np.array_equal(some.predict(X), whole.predict(X))
    assert some.score(X, Y) == pytest.approx(whole.score(X, Y), abs=0.005)


def test_several_targets():
    both = np.column_stack([Y, X[:, 3]])
    model = Regressor(**TINY, random_state=0).fit(chunked(X, 2000), chunked(both, 3000))
    assert model.score(X, both) > 0.9


@pytest.mark.parametrize("class_weight", ["balanced", {"no": 1.0, "yes": 2.0}])
def test_classes(class_weight):
    labels = np.where(Y > 1, "yes", "no")
    own = {**TINY, "n_populations": 1, "strength": "fixed", "class_weight": class_weight, "random_state": 0}
    there = Classifier(**own).fit(chunked(X, 2000), chunked(labels, 3000), chunked(WEIGHT, N_ROWS))
    here = Classifier(**own).fit(X, labels, WEIGHT)
    assert [*there.classes_] == ["no", "yes"]
    assert there.score(X, labels) > here.score(X, labels) - 0.06
    assert there.model_.base == pytest.approx(here.model_.base)


def spoiled(row, column, value):
    own = X.copy()
    own[row, column] = value
    return own


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((spoiled(7000, 1, np.inf), Y), "X contains infinity in column 1"),
        ((spoiled(7000, 2, 1e200), Y), "X has values above 1e\\+150 in column 2"),
        ((X, np.where(np.arange(N_ROWS) == 8000, np.nan, Y)), "Input y contains NaN"),
        ((X, Y[:-1]), "inconsistent numbers of samples: \\[9000, 8999\\]"),
        ((X, Y, np.where(np.arange(N_ROWS) == 8000, -1.0, 1.0)), "sample_weight .* row 8000 has -1.0"),
        ((X[0], Y), "X must be a matrix or a frame"),
        ((X, Y, np.zeros(N_ROWS)), "sample_weight is zero on every row"),
        ((X, 1e120 * Y), "y has values above 1e\\+100"),
    ],
)
def test_what_is_wrong_is_told_as_of_arrays(given, message):
    with pytest.raises(ValueError, match=message):
        Regressor(**TINY).fit(*(chunked(own, 2000) for own in given))


def test_the_first_trouble_in_the_order_of_the_rows_is_told():
    own = spoiled(100, 3, np.inf)
    own[8000, 1] = np.inf
    with pytest.raises(ValueError, match="infinity in column 3"):
        Regressor(**TINY).fit(chunked(own, 2000), chunked(Y, 2000))


def test_texts_in_a_frame_are_named():
    own = dd.from_pandas(frame().assign(note="x"), npartitions=3)
    with pytest.raises(ValueError, match="X has columns that are not numbers: 'note'"):
        Regressor(**TINY).fit(own, chunked(Y, 2000))


def test_texts_that_name_rows_are_refused(monkeypatch):
    monkeypatch.setattr(looking, "MOST_TEXTS", 50)
    own = dd.from_pandas(frame().assign(name=[f"row {i}" for i in range(N_ROWS)]), npartitions=3)
    with pytest.raises(ValueError, match="column 'name' of categories has more than 50 different values"):
        Regressor(**TINY, categorical_features=["kind", "name"]).fit(own, chunked(Y, 2000))


@pytest.mark.parametrize("kind", [object, "string", "string[pyarrow]"])
def test_missing_labels_are_refused(kind):
    labels = pd.Series(np.where(Y > 1, "yes", "no"), dtype=kind)
    labels[8000] = None
    there = dd.from_pandas(frame(), npartitions=3), dd.from_pandas(labels, npartitions=3)
    for given in (there, (X, labels)):
        with pytest.raises(ValueError, match="y has rows without a value"):
            Classifier(**TINY).fit(*given)


def test_a_target_is_needed(tmp_path):
    pq.write_table(pa.table({"a": X[:, 0]}), tmp_path / "0.parquet")
    for own in (chunked(X, 2000), open_parquet(str(tmp_path)).columns(["a"])):
        with pytest.raises(ValueError, match="This Regressor estimator requires y to be passed"):
            Regressor(**TINY).fit(own, None)


@pytest.mark.filterwarnings("error")
def test_a_target_may_be_a_frame_or_a_matrix_of_one_column():
    own = {**TINY, "generations": 2, "random_state": 0}
    expected = Regressor(**own).fit(HostSource(X, Y), None).predict(X)
    for y in (chunked(Y[:, None], 2000), dd.from_pandas(pd.DataFrame({"y": Y}), npartitions=3)):
        assert np.array_equal(Regressor(**own).fit(chunked(X, 2000), y).predict(X), expected)


def test_weights_are_one_column_of_the_same_files(tmp_path):
    for i in range(2):
        pq.write_table(pa.table({"a": X[:, 0], "y": Y, "w": WEIGHT + i}), tmp_path / f"{i}.parquet")
    one, other = (open_parquet(str(tmp_path / f"{i}.parquet")) for i in range(2))
    given = one.columns(["a"]), one.columns(["y"])
    for weight in (other.columns(["w"]), WEIGHT):
        with pytest.raises(ValueError, match="must be columns of the same files"):
            Regressor(**TINY).fit(*given, weight)
    with pytest.raises(ValueError, match="sample_weight must be one column, got 2: 'w', 'y'"):
        Regressor(**TINY).fit(*given, one.columns(["w", "y"]))


def test_labels_of_rows_of_weight_0_are_no_classes():
    labels, weight = np.where(Y > 1, 1, 0), np.where(np.arange(N_ROWS) < 5, 0.0, 1.0)
    labels[:5] = [9, -1, 9, 9, -1]
    own = {**TINY, "n_populations": 1, "strength": "fixed", "generations": 3, "class_weight": "balanced"}
    model = Classifier(**own, random_state=0).fit(chunked(X, 2000), chunked(labels, 3000), chunked(weight, 2000))
    assert model.classes_.tolist() == [0, 1]
    assert model.score(X[5:], labels[5:]) > 0.7


def test_other_methods_say_that_they_need_rows_in_memory():
    with pytest.raises(ValueError, match=r"GPTIPSRegressor needs all rows in memory: .* or take Grove, 2SEGP, classic"):
        sg.GPTIPSRegressor().fit(chunked(X, 2000), chunked(Y, 2000))


def test_few_rows_are_fitted_in_memory(monkeypatch):
    monkeypatch.setattr(elsewhere, "MOST_ROWS", 500)
    own = Regressor(**TINY, random_state=0).fit(chunked(X[:400], 99), chunked(Y[:400], 99))
    assert np.array_equal(own.predict(X), Regressor(**TINY, random_state=0).fit(X[:400], Y[:400]).predict(X))


def test_predictions_of_collections_are_promises_with_the_numbers_of_the_rows():
    own, labels = frame(500), np.where(Y[:500] > 1, "yes", "no")
    model = Regressor(**TINY, random_state=0, calibration=0.3).fit(X[:500], Y[:500])
    lazy = model.predict(chunked(X, 4000).rechunk((4000, 3)))
    assert isinstance(lazy, da.Array)
    assert np.array_equal(lazy.compute(), model.predict(X))
    assert np.array_equal(model.predict_interval(chunked(X, 4000), 0.8).compute(), model.predict_interval(X, 0.8))
    assert model.predict_quantiles(chunked(X, 4000), [0.1, 0.9]).compute().shape == (N_ROWS, 2)
    with pytest.raises(ValueError, match="return_std=True gives two arrays"):
        model.predict(chunked(X, 4000), return_std=True)
    classes = Classifier(**{**TINY, "generations": 3}, strength="fixed", random_state=0).fit(own, labels)
    parts = dd.from_pandas(own, npartitions=3)
    parts = dd.concat([parts, parts.loc[parts["a"] > 100]])  # partitions without rows
    shares = classes.predict_proba(parts).compute()
    assert [*shares.columns] == ["no", "yes"]
    assert np.array_equal(shares, classes.predict_proba(own))
    assert classes.predict(parts).compute().tolist() == classes.predict(own).tolist()
    assert np.array_equal(classes.decision_function(parts), classes.decision_function(own))


def test_a_checkpoint_goes_on_with_the_same_rows_only(tmp_path):
    path = tmp_path / "run.npz"
    given = chunked(X, 2000), chunked(Y, 2000)
    whole = Regressor(**TINY, random_state=0).fit(*given).predict(X)
    Regressor(**{**TINY, "generations": 9}, random_state=0, checkpoint=path).fit(*given)
    resumed = Regressor(**TINY, random_state=0, checkpoint=path).fit(chunked(X, 1234), chunked(Y, 4321))
    assert np.array_equal(resumed.predict(X), whole)
    with pytest.raises(ValueError, match="another"):
        Regressor(**TINY, random_state=0, checkpoint=path).fit(chunked(X, 2000), chunked(Y + 1e-9, 2000))


@pytest.mark.slow
def test_killed_workers_change_nothing(tmp_path):
    table = pa.table({**{name: X[:, j] for j, name in enumerate("abcd")}, "y": Y})
    for i in range(12):
        pq.write_table(table, tmp_path / f"{i}.parquet")
    files, rng = open_parquet(str(tmp_path)), random.Random(5)
    given = files.columns([*"abcd"]), files.columns(["y"])
    own = {**TINY, "n_estimators": 60, "max_terms": 30, "random_state": 0}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
        client.as_current(),
    ):
        begun = time.perf_counter()
        expected = Regressor(**own).fit(*given).predict(frame()[[*"abcd"]].fillna(0))
        seconds = time.perf_counter() - begun
        for _ in range(5):
            killed = threading.Timer(rng.uniform(0, seconds), _kill_one, [client, rng])
            killed.start()
            found = Regressor(**own).fit(*given).predict(frame()[[*"abcd"]].fillna(0))
            killed.join()
            assert np.array_equal(found, expected)


def _chunk_once_slow(log):
    with open(log, "a") as file:
        file.write(f"{os.getpid()}\n")
    with open(log) as file:
        if len(file.readlines()) == 1:
            time.sleep(60)  # until this worker is killed
    return X


@pytest.mark.slow
def test_a_worker_killed_in_a_chunk_of_two_blocks(tmp_path):
    log = tmp_path / "log"

    def kill():
        while not (log.exists() and log.read_text().strip()):
            time.sleep(0.05)
        os.kill(int(log.read_text().split()[0]), signal.SIGKILL)

    own = {**TINY, "generations": 2, "random_state": 0}
    expected = Regressor(**own).fit(HostSource(X, Y), None).predict(X)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
        client.as_current(),
    ):
        shared = da.from_delayed(dask.delayed(_chunk_once_slow)(str(log)), shape=X.shape, dtype=float)
        killed = threading.Thread(target=kill)
        killed.start()
        found = Regressor(**own).fit(shared, chunked(Y, 4000)).predict(X)
        killed.join()
    assert np.array_equal(found, expected)


def _kill_one(client, rng):
    os.kill(rng.choice([*client.run(os.getpid).values()]), signal.SIGKILL)
