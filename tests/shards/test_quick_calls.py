"""Calls past the scheduler: the same answers as of tasks, and whatever goes wrong ends as one."""

import time

import pytest

from symgrove.shards import quick_calls
from symgrove.shards.cluster import Cluster

pytest.importorskip("distributed")


def half(number):
    return quick_calls.this_worker().address, number / 2


@pytest.fixture
def cluster(dask_client):
    """One that counts its calls that are tasks."""
    found = Cluster(dask_client)
    found.n_tasks = 0
    plain = found._call_as_tasks

    def as_tasks(*arguments):
        found.n_tasks += 1
        return plain(*arguments)

    found._call_as_tasks = as_tasks
    return found


def ask(cluster, number=3.0):
    arguments = dict.fromkeys(cluster.workers(), (number,))
    answers = cluster.call(half, arguments)
    assert answers == {worker: (worker, number / 2) for worker in arguments}


def test_after_a_task_calls_are_none_for_a_while(cluster, monkeypatch):
    for _ in range(5):
        ask(cluster)
    assert cluster.n_tasks == 1
    monkeypatch.setattr(quick_calls, "SECONDS_BETWEEN_TASKS", 0.0)
    cluster._quick.allow()
    ask(cluster)
    assert cluster.n_tasks == 2


def test_what_a_function_raises_is_raised(cluster):
    ask(cluster)
    with pytest.raises(TypeError, match="unsupported operand"):
        cluster.call(half, dict.fromkeys(cluster.workers(), ("three",)))
    assert cluster.n_tasks == 1


def test_a_worker_without_the_handler_gets_a_task(cluster):
    ask(cluster)
    ask(cluster)

    def forget(dask_worker):
        del dask_worker.handlers[quick_calls.HANDLER]

    cluster.client.run(forget)
    ask(cluster)
    assert cluster.n_tasks == 2


def test_a_worker_that_is_not_reached_gets_a_task(cluster, monkeypatch):
    ask(cluster)
    ask(cluster)

    async def unreachable(*arguments):
        return None

    monkeypatch.setattr(cluster._quick, "_ask_one", unreachable)
    ask(cluster)
    assert cluster.n_tasks == 2


def test_whoever_watches_may_give_up(cluster):
    ask(cluster)

    def give_up():
        raise InterruptedError

    start = time.monotonic()
    with pytest.raises(InterruptedError):
        cluster.call(time.sleep, dict.fromkeys(cluster.workers(), (1.0,)), give_up)
    assert time.monotonic() - start < 0.9
    assert cluster.n_tasks == 1
