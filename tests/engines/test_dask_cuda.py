"""Workers that have cards: the same bits on any number of them, nothing on workers without one, rows elsewhere."""

import dask.array as da
import numpy as np
import pytest

import symgrove as sg
from symgrove import Forest, make_dataset
from symgrove.engines import cuda, dask_cuda, registry
from symgrove.engines.dask_cuda import DaskCudaEngine, EnginesOnCard
from tests.contracts.test_engines import reason_to_skip
from tests.engines.played_card import PlayedCard, workers_with_cards
from tests.engines.test_dask import X, Y, cluster_of, everything, forget_block, some_programs
from tests.strategies import ALL

N = 2500  # two blocks
SMALL = {"population_size": 16, "generations": 1, "random_state": 0, "dtype": "float64", "memory_budget": 10**8}
FITS = {
    "2segp": lambda **more: sg.TwoSEGPRegressor(n_estimators=4, **SMALL, **more),
    "grove": lambda **more: sg.GroveRegressor(n_estimators=3, strength="fixed", **SMALL, **more),
}
pytestmark = pytest.mark.skipif(reason_to_skip("played") != "", reason=reason_to_skip("played"))


@pytest.fixture(autouse=True)
def cards():
    with workers_with_cards():
        yield


@pytest.fixture
def make(dask_client):
    with dask_client.as_current():
        yield lambda budget=10**8: DaskCudaEngine(make_dataset(X, Y), ALL, memory_budget=budget)


@pytest.fixture(scope="module")
def on_one_card():
    """What models say that were fitted on one card."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuda, "the_card", PlayedCard)
        return {name: fit(engine="cuda").fit(X[:N], Y[:N]).predict(X) for name, fit in FITS.items()}


@pytest.mark.parametrize("name", FITS)
def test_fits_are_those_of_one_card_to_rounding_whatever_the_number_of_workers(on_one_card, dask_client, name):
    with cluster_of(1, n_threads=2):
        found = FITS[name](engine="dask-cuda").fit(X[:N], Y[:N]).predict(X)
    np.testing.assert_allclose(found, on_one_card[name], rtol=1e-9)
    with dask_client.as_current():
        np.testing.assert_array_equal(FITS[name](engine="dask-cuda").fit(X[:N], Y[:N]).predict(X), found)


def test_what_a_lost_block_held_comes_again(make):
    forest, roots = some_programs()
    with make() as engine:
        kept = engine.evaluate(forest, roots, keep=True)
        handles = kept, engine.combine(np.ones((1, 2)), kept[[0, 3]]), engine.apply(np.exp, kept[[1]])
        before = everything(engine, forest, roots, handles)
        forget_block(engine, 1)
        for a, b in zip(before, everything(engine, forest, roots, handles), strict=True):
            np.testing.assert_array_equal(a, b)


def test_engines_of_blocks_share_the_budget_and_what_scratch_rows_take(make, monkeypatch):
    made = []
    make_engine = EnginesOnCard.make
    monkeypatch.setattr(EnginesOnCard, "make", lambda *given: made.append(make_engine(*given)) or made[-1])
    forest, deep, roots = Forest(6, ALL), 0, []
    for i in range(60):  # more scratch rows than shared memory has
        deep = forest.apply("add", forest.apply("mul", deep, forest.feature(i % 6)), forest.constant(i))
        roots.append(deep)
    with make(20_000_000) as engine:
        monkeypatch.setattr(cuda, "MOST_SHARED_ROWS", 0)
        before = everything(engine, forest, np.array(roots), ())
        for _ in range(2):  # so that vectors are kept
            engine.collected(forest, forest.collect(np.arange(len(forest))))
            for a, b in zip(before, everything(engine, forest, np.array(roots), ()), strict=True):
                np.testing.assert_array_equal(a, b)
    assert len(made) == 5 + 2, "one for each block, and one for the first panel on each worker"
    assert len({id(own._spill) for own in made}) == 2, "one for each worker"
    assert all(own._spill.rows().size > 16 for own in made)
    assert sum(own._store.max_vectors * own._store.vector_bytes for own in made) < 20_000_000


def test_rows_elsewhere_evolve_on_cards_too(dask_client, monkeypatch):
    monkeypatch.setattr("symgrove.estimators.elsewhere.MOST_ROWS", 100)
    given = da.from_array(X[:N], chunks=(1000, 6)), da.from_array(Y[:N], chunks=1000)
    with dask_client.as_current():
        found = FITS["2segp"](engine="dask-cuda").fit(*given).predict(X)
        on_processors = FITS["2segp"](engine="dask").fit(*given).predict(X)
        monkeypatch.setattr("symgrove.estimators.elsewhere.SHARE_OF_BUDGET", 0.001)
        again = FITS["2segp"](engine="dask-cuda").fit(*given).predict(X)
    np.testing.assert_allclose(found, on_processors, rtol=1e-9)
    np.testing.assert_array_equal(again, found, err_msg="blocks that come and go")


def lacking_on_the_second(dask_client):
    """As if one worker had no card."""
    second = sorted(dask_client.scheduler_info()["workers"])[1]
    return second, lambda: "there is no CuPy." if dask_cuda.this_worker().address == second else ""


def test_workers_without_a_card_are_named(dask_client, make, monkeypatch):
    second, lacking = lacking_on_the_second(dask_client)
    monkeypatch.setattr(dask_cuda, "missing_for_cuda", lacking)
    message = rf"needs workers that have a card .* Without one: {second} \(there is no CuPy.\) Start workers only"
    with make() as engine, pytest.raises(RuntimeError, match=message):
        engine.prepare(np.ones((1, len(X))))
    there = da.from_array(X, chunks=(1000, 6)), da.from_array(Y, chunks=1000)
    monkeypatch.setattr("symgrove.estimators.elsewhere.MOST_ROWS", 100)
    with pytest.raises(RuntimeError, match=message):
        FITS["2segp"](engine="dask-cuda").fit(*there)
    assert registry.described_engines()["dask-cuda"].endswith("2 workers, 1 of them without a card")


def test_a_worker_that_takes_over_blocks_must_have_a_card(dask_client, make, monkeypatch):
    _, lacking = lacking_on_the_second(dask_client)
    with make() as engine:
        samples = engine.prepare(np.ones((1, len(X))))
        monkeypatch.setattr(dask_cuda, "missing_for_cuda", lacking)
        for worker in engine._rows.table.map_workers(forget_what_is_shared):
            assert worker
        with pytest.raises(RuntimeError, match=r"Without one: .* \(there is no CuPy.\)"):
            engine.moments(*some_programs(), samples)


def forget_what_is_shared(blocks, context):
    """As if this worker were new."""
    context.shared.clear()
    return [True] * len(blocks)


def test_without_a_client_the_card_of_this_machine_is_described(monkeypatch):
    monkeypatch.setattr(dask_cuda, "missing_for_cuda", lambda: "there is no CuPy.")
    expected = "no process on this machine (there is no CuPy.); or your cluster, once there is a Client"
    assert registry.described_engines()["dask-cuda"] == expected
    monkeypatch.setattr(dask_cuda, "missing_for_dask", lambda: "there is no Dask")
    assert registry.described_engines()["dask-cuda"] == "there is no Dask"


def test_errors_of_cupy_can_be_read_where_there_is_none():
    def made(name, *kinds):
        return type(name, kinds, {"__module__": "cupy.cuda.memory"})("all is full")

    told = EnginesOnCard.as_told(made("OutOfMemoryError", MemoryError))
    assert (type(told), str(told)) == (MemoryError, "OutOfMemoryError: all is full")
    assert type(EnginesOnCard.as_told(made("CUDARuntimeError", RuntimeError))) is RuntimeError
    plain = ValueError("x")
    assert EnginesOnCard.as_told(plain) is plain
