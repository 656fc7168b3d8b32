"""DivNichGP on rows that are not in memory: a new sample in each generation, and a bounded number of rows looked at."""

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

import symgrove as sg
from symgrove.engines.program_engine import robust_centre
from symgrove.estimators import elsewhere
from symgrove.fitness.block_bootstrap import SpreadCounts
from symgrove.fitness.bootstrap import bootstrap_sample
from symgrove.methods import memory, resampled_rows, spread_evolutions
from symgrove.methods.resampled_rows import RowsElsewhere
from symgrove.shards import pieces
from symgrove.shards.blocks import cut

N_ROWS = 7000
TINY = {"population_size": 40, "generations": 2, "random_state": 1, "memory_budget": 10**8, "standardize": False}
RNG = np.random.default_rng(7)
X = RNG.normal(size=(N_ROWS, 4))
Y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * RNG.normal(size=N_ROWS)
WEIGHT = RNG.integers(1, 4, N_ROWS).astype(float)
SIZES = tuple(own.stop - own.start for own in cut(N_ROWS))


@pytest.fixture
def few_rows(monkeypatch, dask_client):
    """Few rows are spread too."""
    monkeypatch.setattr(elsewhere, "MOST_ROWS", 100)
    monkeypatch.setattr(pieces, "MOST_ROWS", 2048)
    with dask_client.as_current():
        yield


@pytest.fixture
def methods(monkeypatch):
    """The parts of fits."""
    made = []
    for kind in (sg.DivNichGPRegressor, sg.DivNichGPClassifier):
        make = kind.make_part
        monkeypatch.setattr(
            kind, "make_part", lambda own, target, make=make: made.append(make(own, target)) or made[-1]
        )
    return made


def there(*arrays):
    """The same rows in chunks."""
    return [da.from_array(own, chunks=(1000 + 777 * i, *own.shape[1:])) for i, own in enumerate(arrays)]


def drawn_by_blocks(n_rows, seed, j):
    """Counts of all rows, as blocks draw them; of the few rows that kernels are compiled with, as ever."""
    if n_rows != N_ROWS:
        return bootstrap_sample(n_rows, seed, j)
    drawn = SpreadCounts(SIZES, seed, (j,))
    return np.hstack([drawn.of_block(b)[0] for b in range(len(SIZES))]).astype(np.int32)


def test_workers_change_no_bit():
    rng = np.random.default_rng(3)
    own_X = rng.normal(size=(50_001, 2))
    own_y = own_X[:, 0] * own_X[:, 1]
    given = da.from_array(own_X, chunks=(9_000, 2)), da.from_array(own_y, chunks=20_000)
    found = []
    for n_workers in (1, 2):
        cluster = LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=False, dashboard_address=":0")
        with cluster, Client(cluster) as client, client.as_current():
            found.append(sg.DivNichGPRegressor(population_size=16, generations=1, random_state=0).fit(*given))
    assert np.array_equal(found[0].predict(own_X), found[1].predict(own_X))
    assert found[0].oob_score_ == found[1].oob_score_
    assert not hasattr(found[0], "oob_prediction_")


@pytest.mark.parametrize(
    ("kind", "more", "y"),
    [
        (sg.DivNichGPRegressor, {"radius": 30.0, "niche_size": 2, "greedy_order": "best"}, Y),
        (sg.DivNichGPClassifier, {}, (Y > 0).astype(float)),
    ],
)
def test_it_is_the_method_in_memory_if_samples_are_the_same(monkeypatch, few_rows, methods, kind, more, y):
    """As long as all rows are looked at."""
    monkeypatch.setattr(spread_evolutions, "centre_of_target", lambda rows, k: robust_centre(y))
    monkeypatch.setattr(resampled_rows, "bootstrap_sample", drawn_by_blocks)
    found = kind(**{**TINY, **more}).fit(*there(X, y, WEIGHT))
    n_looked_at = [own.rows.n_looked_at for own in methods if isinstance(own.rows, RowsElsewhere)]
    assert n_looked_at == [N_ROWS]
    expected = kind(**{**TINY, **more}, engine="dask").fit(X, y, WEIGHT)
    assert [m.formula for m in found.ensemble_] == [m.formula for m in expected.ensemble_]
    assert np.array_equal(found.predict(X), expected.predict(X))
    assert found.oob_score_ == pytest.approx(expected.oob_score_, rel=1e-12)
    assert found.n_generations_ == expected.n_generations_


def test_a_bounded_number_of_rows_is_looked_at(monkeypatch, few_rows, methods):
    monkeypatch.setattr(memory, "MOST_LOOKED_AT", 500)
    model = sg.DivNichGPRegressor(**{**TINY, "generations": 5}).fit(*there(X, Y, WEIGHT))
    assert model.score(X, Y) > 0.2  # 0.4 in memory
    rows = methods[0].rows
    places = rows.looked_at
    assert places.size == 500
    assert (np.diff(places) > 0).all()
    counts = drawn_by_blocks(N_ROWS, rows.sample_seed, 5)
    monkeypatch.setattr(type(rows.engine), "prepare", lambda *own: None)  # workers have gone
    drawn, often = rows.drawn(5, 40)
    assert np.array_equal(drawn, places[counts[places] > 0])
    assert np.array_equal(often, counts[drawn])
    left_out = rows.left_out(5)  # the end of the fit asked for it
    assert np.array_equal(left_out.rows, places[counts[places] == 0])
    assert np.array_equal(left_out.target, Y[left_out.rows])
    assert np.allclose(left_out.weight, WEIGHT[left_out.rows] / 3)


def test_few_rows_are_looked_at_where_there_is_little_room():
    n_vectors = resampled_rows.vectors_looked_at(1000)
    assert memory.rows_looked_at(10**8, n_vectors, 1 << 31) == 8053
    assert memory.rows_looked_at(10**8, n_vectors, 1 << 20) == 3
    assert memory.rows_looked_at(300, n_vectors, 1 << 31) == 300


def test_a_checkpoint_goes_on_with_the_same_samples_and_rows(tmp_path, few_rows):
    path = tmp_path / "run.npz"
    own, given = {**TINY, "generations": 1}, there(X, Y)
    whole = sg.DivNichGPRegressor(**own).fit(*given)
    sg.DivNichGPRegressor(**{**own, "generations": 0}, checkpoint=path).fit(*given)
    resumed = sg.DivNichGPRegressor(**own, checkpoint=path).fit(*given)
    assert np.array_equal(resumed.predict(X), whole.predict(X))
    assert resumed.oob_score_ == whole.oob_score_
