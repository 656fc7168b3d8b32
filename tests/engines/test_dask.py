"""The Dask engine: the same bits on any cluster, and after anything that happens to it."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from distributed import Client, LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_friedman1

import symgrove as sg
from symgrove import Forest, bootstrap_counts, make_dataset
from symgrove.engines.block_sums import BlockSum, add_up
from symgrove.engines.dask import DaskEngine
from symgrove.engines.dask_rows import TableRows
from symgrove.engines.forest_mirror import Mirror, NewNodes, nodes_from, nodes_of_programs, renumbered
from symgrove.shards.cluster import Cluster
from symgrove.shards.table import HostRows, Table
from tests.naive import block_sums as naive
from tests.strategies import ALL, plant, programs

N_ROWS = 9000  # five blocks
X, Y = make_friedman1(N_ROWS, n_features=6, random_state=0)
FITS = {
    "2segp": lambda **more: sg.TwoSEGPRegressor(population_size=40, n_estimators=6, **more),
    "classifier": lambda **more: sg.TwoSEGPClassifier(population_size=40, n_estimators=6, dtype="float32", **more),
    "grove": lambda **more: sg.GroveRegressor(population_size=40, n_estimators=4, strength="fixed", **more),
    "gsgp": lambda **more: sg.GSGPRegressor(population_size=20, **more),
}


@contextmanager
def cluster_of(n_workers, n_threads=1, *, processes=False):
    """A cluster of this test alone, whose client is the current one."""
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=n_threads,
            processes=processes,
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):
        yield cluster


def fit(name, generations=3, **more):
    """What a small model says."""
    target = (Y > 14).astype(int) if name == "classifier" else Y
    model = FITS[name](generations=generations, random_state=0, engine="dask", **more).fit(X, target)
    return model.predict_proba(X[:500]) if name == "classifier" else model.predict(X[:500])


@pytest.fixture(scope="module")
def expected():
    """What models say that were fitted on one worker."""
    with cluster_of(1):
        return {name: fit(name) for name in FITS}


@pytest.mark.parametrize("n_workers", [2, 3, 7])
def test_the_number_of_workers_changes_no_bit(expected, n_workers):
    with cluster_of(n_workers, n_threads=1 + n_workers % 2):
        for name, known in expected.items():
            np.testing.assert_array_equal(fit(name), known)


@given(data=st.data(), n_blocks=st.integers(1, 64))
def test_sums_do_not_depend_on_who_adds_what(data, n_blocks):
    values = np.random.default_rng(n_blocks).lognormal(sigma=3, size=n_blocks)
    worker_of = data.draw(st.lists(st.integers(0, 3), min_size=n_blocks, max_size=n_blocks))
    parts = []
    for worker in set(worker_of):
        own = [BlockSum(i, 0, values[i]) for i in range(n_blocks) if worker_of[i] == worker]
        parts += add_up(own, n_blocks, np.add)
    (whole,) = add_up(sorted(parts), n_blocks, np.add)
    assert whole.value == naive.total(values)
    assert len(add_up([BlockSum(i, 0, v) for i, v in enumerate(values)], n_blocks, np.add)) == 1


@settings(max_examples=20)
@given(rounds=st.lists(st.lists(programs(), min_size=1, max_size=6), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_a_mirror_follows_its_forest(rounds, seed):
    rng = np.random.default_rng(seed)
    forest, mirror = Forest(3, ALL), Mirror(3, ALL)
    for population in rounds:
        roots = np.array([plant(forest, program) for program in population])
        if rng.random() < 0.7:  # else its nodes are dropped before anybody heard of them
            mirror.apply_event(nodes_from(forest, len(mirror)))
        drop = forest.collect if rng.random() < 0.5 else forest.truncate
        ids = drop(rng.choice(roots, 2)) if drop == forest.collect else drop(rng.integers(len(forest)) + 1)
        known = mirror.apply_event(renumbered(ids[: len(mirror)]))
        np.testing.assert_array_equal(known, ids[: known.size])
        mirror.apply_event(nodes_from(forest, len(mirror)))
        for name in ("code", "left", "right", "value"):
            np.testing.assert_array_equal(
                getattr(mirror.columns, name)[: len(mirror)], getattr(forest.columns, name)[: len(forest)]
            )
        root = len(forest) - 1
        nodes, (own_root,) = nodes_of_programs(forest, np.array([root]))
        assert isinstance(nodes, NewNodes)
        alone = Mirror(3, ALL)
        alone.apply_event(nodes)
        assert [alone.name(i) for i in alone.prefix(own_root)] == [forest.name(i) for i in forest.prefix(root)]


@pytest.fixture
def engine(dask_client):
    with dask_client.as_current(), DaskEngine(make_dataset(X, Y), ALL) as made:
        yield made


def some_programs():
    forest = Forest(6, ALL)
    roots = [forest.apply("mul", forest.feature(i), forest.feature(j)) for i in range(6) for j in range(i)]
    return forest, np.array(roots)


def everything(engine, forest, roots, handles):
    """Answers to all kinds of questions."""
    samples = engine.prepare(bootstrap_counts(N_ROWS, 5, seed=0))
    moments = engine.moments(forest, roots, samples)
    found = [moments.first, moments.cross, moments.second, moments.reach, *moments.centre]
    for handle in handles:
        found += [engine.fetch(handle), engine.products(handle, handle)]
        found += engine.summaries(handle, np.ones(N_ROWS), Y)
    return found


def forget_block(engine, number):
    """As if its worker had died."""
    engine._rows.table._home.leases[number] = None


def test_what_a_lost_block_held_comes_again(engine):
    forest, roots = some_programs()
    kept = engine.evaluate(forest, roots, keep=True)
    put = engine.put(np.random.default_rng(0).normal(size=(3, N_ROWS)))
    combined = engine.combine(np.ones((2, 2)), kept + put, np.array([[0, 15], [3, 17]]))
    again = engine.combine(np.full((1, 2), 0.3), combined)  # made of what nobody holds any more
    applied = engine.apply(np.exp, again)
    del combined
    distances = engine.distances(put, np.array([[0, 2]]), np.zeros((1, 2)), np.eye(2)[None])
    z = put.standardized(np.ones(3), np.full(3, 2.0))
    handles = kept, put, again, applied, distances, z
    before = everything(engine, forest, roots, handles)
    roots = forest.collect(roots)[roots]
    for number in (0, 4, 2):
        forget_block(engine, number)
        for a, b in zip(before, everything(engine, forest, roots, handles), strict=True):
            np.testing.assert_array_equal(a, b)


def test_blocks_of_weight_zero_are_in_projections(engine):
    weight = np.repeat([0.0, 1.0], [2500, N_ROWS - 2500])  # of the first block no row counts
    rows = 5 + np.random.default_rng(0).normal(size=(3, N_ROWS))
    centre, spread = np.full((2, 3), 2.0)
    found = engine.summaries(engine.put(rows).standardized(centre, spread), weight, Y)
    with sg.CpuEngine(make_dataset(X, Y), ALL) as cpu:
        expected = cpu.summaries(cpu.put(rows).standardized(centre, spread), weight, Y)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_what_nobody_holds_leaves_the_workers(engine):
    def n_held(blocks, context):
        return [len(block.value.made) for block in blocks]

    handle = engine.put(np.ones((2, N_ROWS)))
    samples = engine.prepare(np.ones((1, N_ROWS)))
    other = engine.apply(np.exp, handle)
    engine.fetch(other)
    assert engine._rows.table.map_workers(n_held) == [3] * 5
    del handle, samples
    engine.fetch(other)
    assert engine._rows.table.map_workers(n_held) == [1] * 5


def test_a_call_that_was_given_up_changes_nothing(engine):
    forest, roots = some_programs()
    vectors = engine.evaluate(forest, roots, keep=True)
    handles = vectors, engine.combine(np.ones((1, 2)), vectors[[0, 3]])
    expected = everything(engine, forest, roots, handles)
    calls = []

    def check():
        calls.append(1)
        raise TimeoutError

    for i in range(3):
        more = forest.apply("add", roots[i], roots[i + 1])
        late = engine.put(np.full((1, N_ROWS), 2.0))
        engine.watch(check)
        newest = engine.evaluate(forest, np.array([more]), keep=True)
        with pytest.raises(TimeoutError):
            engine.fetch(newest)
        engine.watch(None)
        engine.collected(forest, forest.truncate(len(forest) - 1))
        for a, b in zip(expected, everything(engine, forest, roots, handles), strict=True):
            np.testing.assert_array_equal(a, b)
        assert (engine.fetch(late) == 2).all()
    assert len(calls) == 3


def test_an_engine_takes_rows_that_are_on_workers(dask_client, engine):
    data = make_dataset(X, Y)
    forest, roots = some_programs()
    with Table(Cluster(dask_client), HostRows({"X": data.columns, "y": data.y})) as table:
        rows = TableRows(table, 6, data.dtype, *engine._rows.target)
        with DaskEngine(rows, ALL) as other:
            np.testing.assert_array_equal(other.target, Y)
            for a, b in zip(everything(engine, forest, roots, ()), everything(other, forest, roots, ()), strict=True):
                np.testing.assert_array_equal(a, b)


def test_however_small_the_budget_what_workers_have_kept_changes_no_bit(dask_client):
    """Programs are cut into batches by what they are, so that a block that came again sums the same."""
    forest = Forest(6, ALL)
    deep = forest.feature(0)
    roots = []
    for i in range(300):
        deep = forest.apply("add", deep, forest.apply("mul", forest.feature(i % 6), forest.constant(i)))
        roots.append(deep)
    roots = np.array(roots)
    with dask_client.as_current(), DaskEngine(make_dataset(X, Y), ALL, memory_budget=5_000_000) as engine:
        assert len(engine._cuts(forest, roots, 15)) > 3
        first = everything(engine, forest, roots, ())
        samples = engine.prepare(np.ones((1, N_ROWS)))
        for _ in range(2):
            engine.moments(forest, roots[::7], samples, expect_more=True)
            engine.collected(forest, forest.collect(np.arange(len(forest))))
        for a, b in zip(first, everything(engine, forest, roots, ()), strict=True):
            np.testing.assert_array_equal(a, b)
        forget_block(engine, 1)
        for a, b in zip(first, everything(engine, forest, roots, ()), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_checkpoint_goes_on_as_if_nothing_had_been(expected, dask_client, tmp_path):
    with dask_client.as_current():
        for name in ("2segp", "grove", "gsgp"):
            file = tmp_path / name
            fit(name, generations=1, checkpoint=file)
            np.testing.assert_array_equal(fit(name, checkpoint=file), expected[name])


def test_ctrl_c_leaves_a_model(dask_client):
    def interrupt(progress):
        os.kill(os.getpid(), signal.SIGINT)

    with dask_client.as_current():
        model = FITS["2segp"](generations=50, random_state=0, engine="dask", callbacks=[interrupt]).fit(X, Y)
    assert model.stop_reason_ == "interrupted"
    assert np.isfinite(model.predict(X[:10])).all()


def kill_one(cluster, rng, seconds, done):
    """End a worker's process after some time, if nobody is done by then."""
    if not done.wait(seconds):
        pids = [own.pid for own in cluster.workers.values() if own.pid]
        os.kill(int(rng.choice(pids)), signal.SIGKILL)


def fit_and_kill(cluster, name, rng, seconds):
    """What a model says during whose fit a worker ended."""
    done = threading.Event()
    thread = threading.Thread(target=kill_one, args=(cluster, rng, seconds, done))
    thread.start()
    try:
        return fit(name, generations=6)
    finally:
        done.set()
        thread.join()


def test_a_killed_worker_changes_nothing():
    with cluster_of(2, processes=True) as cluster:
        known = fit("2segp", generations=6)
        found = fit_and_kill(cluster, "2segp", np.random.default_rng(0), 0.15)
        np.testing.assert_array_equal(found, known)


@pytest.mark.slow
def test_twenty_killed_workers_change_nothing():
    rng = np.random.default_rng(1)
    with cluster_of(3, processes=True) as cluster:
        for name in ("2segp", "grove"):
            fit(name, generations=6)
            start = time.monotonic()
            known = fit(name, generations=6)
            seconds = time.monotonic() - start
            for _ in range(10):
                np.testing.assert_array_equal(fit_and_kill(cluster, name, rng, rng.random() * seconds), known)


PROGRAM = """
import symgrove as sg
from sklearn.datasets import make_friedman1

def main():
    X, y = make_friedman1(9000, random_state=0)
    told = [lambda progress: print("generation", flush=True)]
    model = sg.TwoSEGPRegressor(generations=5000, random_state=0, engine="dask", n_jobs=2, callbacks=told).fit(X, y)
    print(model.stop_reason_, model.predict(X[:2]).size)

"""


@pytest.mark.slow
def test_ctrl_c_ends_a_fit_and_spares_the_processes_that_were_made_for_it(tmp_path):
    """It reaches all processes of a terminal."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM + 'if __name__ == "__main__":\n    main()\n')
    program = subprocess.Popen([sys.executable, file], stdout=subprocess.PIPE, text=True, start_new_session=True)
    lines = [program.stdout.readline() for _ in range(3)]
    os.killpg(program.pid, signal.SIGINT)
    rest, _ = program.communicate(timeout=120)
    assert lines == ["generation\n"] * 3
    assert rest.splitlines()[-1] == "interrupted 2"
    assert program.returncode == 0


@pytest.mark.slow
def test_a_program_that_cannot_be_imported_is_told_what_to_do(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM + "main()\n")
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert 'put what it does under `if __name__ == "__main__":`' in done.stderr
