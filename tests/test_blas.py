"""Matrix products on one thread, whoever else changes the number of threads of the matrix library."""

import threading

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from threadpoolctl import threadpool_limits

from symgrove import GroveRegressor, TwoSEGPRegressor
from symgrove.blas import limit, on_one_thread, product, single_blas_thread

np.ones((2, 2)) @ np.ones((2, 2))  # loads the matrix library
pytestmark = pytest.mark.skipif(None in limit.get(), reason="the matrix library's threads cannot be set here")


@pytest.fixture(autouse=True)
def two_threads():
    """Two threads as the usual number, on any machine."""
    before = limit.get()
    limit.set([2] * len(before))
    yield
    limit.set(before)


def in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def fitted(kind, n_jobs=1):
    # So many rows that more threads of the matrix library would give other bits.
    X, y = make_friedman1(3000, noise=1.0, random_state=0)
    if kind is GroveRegressor:
        model = GroveRegressor(
            generations=2, population_size=60, n_estimators=4, max_terms=20, strength="fixed", n_jobs=n_jobs
        )
    else:
        model = TwoSEGPRegressor(generations=2, population_size=37, n_estimators=37, n_jobs=n_jobs)
    model.set_params(random_state=0).fit(X, y)
    return model.predict(X[:500]).tobytes(), model.history_["errors"].tobytes()


def test_products_are_those_of_one_thread():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 700, 900)).astype(np.float32)
    with threadpool_limits(1):
        expected = (a @ b.T).tobytes()
    assert product(a, b.T).tobytes() == expected
    assert limit.get() == [2] * len(limit.get())


@pytest.mark.parametrize("kind", [TwoSEGPRegressor, GroveRegressor])
def test_a_limit_that_belongs_to_another_thread_changes_no_bits(kind):
    with threadpool_limits(1):
        expected = fitted(kind)
    with threadpool_limits(2):  # the main thread controls the library from now on
        assert in_thread(lambda: fitted(kind)) == expected
        assert in_thread(lambda: fitted(kind, n_jobs=2)) == expected


def test_a_limit_that_changes_all_the_time_changes_no_bits():
    with threadpool_limits(1):
        expected = fitted(TwoSEGPRegressor)
    stop = threading.Event()

    def change():
        while not stop.wait(1e-4):
            limit.set([2] * len(limit.libraries))

    thread = threading.Thread(target=change)
    thread.start()
    try:
        assert fitted(TwoSEGPRegressor) == expected
    finally:
        stop.set()
        thread.join()


def test_fits_in_two_threads_leave_the_limit_as_it_was():
    for _ in range(5):
        threads = [threading.Thread(target=fitted, args=(TwoSEGPRegressor,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert limit.get() == [2] * len(limit.libraries)


def test_a_limit_set_by_others_meanwhile_is_left_alone():
    n = len(limit.libraries)
    with single_blas_thread:
        assert limit.get() == [1] * n
        limit.set([2] * n)
        assert on_one_thread(limit.get) == [1] * n
        limit.set([2] * n)
    assert limit.get() == [2] * n


def test_errors_leave_the_limit_as_it_was():
    with pytest.raises(ValueError, match="matmul"):
        product(np.ones((2, 3)), np.ones((2, 3)))
    assert limit.get() == [2] * len(limit.libraries)
