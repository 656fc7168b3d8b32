"""Rows on workers: the cut does not depend on them, results come in order, lost blocks come again."""

import numpy as np
import pytest
from distributed import Client, LocalCluster

from symgrove.engines import workspace
from symgrove.shards import blocks, cluster, holding
from symgrove.shards.blocks import cut
from symgrove.shards.cluster import Cluster, open_cluster
from symgrove.shards.table import MOST_LOSSES, Each, HostRows, Table

N_ROWS = 20_001
ROWS = np.arange(3.0 * N_ROWS).reshape(3, N_ROWS)


@pytest.fixture
def table(dask_client):
    with Table(Cluster(dask_client), HostRows({"X": ROWS})) as made:
        yield made


def total(block, factor=1.0):
    return factor * block.value["X"].sum()


def doubled(block):
    return {"X": 2 * block.value["X"]}


@pytest.mark.parametrize("n_rows", [1, 2048, 2049, 130_000, 131_073, 1_000_000])
def test_blocks_have_whole_panels_and_all_rows(n_rows):
    found = cut(n_rows)
    assert len(found) == min(64, -(-n_rows // 2048))
    assert [b.start for b in found] == [0, *(b.stop for b in found[:-1])]
    assert found[-1].stop == n_rows
    assert all(b.start % 2048 == 0 for b in found)
    assert blocks.PANEL_ROWS == workspace.PANEL_ROWS


def test_blocks_may_be_larger():
    assert [rows.start for rows in cut(600_000, 1 << 18)] == [0, 97 * 2048, 195 * 2048]
    assert cut(10**8, 1 << 18) == cut(10**8)


def test_results_come_in_the_order_of_the_blocks(table):
    expected = [ROWS[:, rows].sum() for rows in cut(N_ROWS)]
    assert len(expected) == 10
    assert table.map_blocks(total) == expected
    assert table.map_blocks(total, 2.0, only=[7, 2]) == [2 * expected[7], 2 * expected[2]]
    assert table.map_blocks(total, Each(range(10))) == [i * x for i, x in enumerate(expected)]
    assert table.map_blocks(lambda block: (block.number, slice(block.start, block.stop))) == [*enumerate(table.blocks)]


def test_a_worker_is_called_once_with_all_its_blocks(table):
    def together(blocks, context):
        context.shared["calls"] = context.shared.get("calls", 0) + 1
        return [(len(blocks), context.shared["calls"])] * len(blocks)

    assert table.map_workers(together) == [(5, 1)] * 10
    assert table.map_workers(together, only=[0, 3]) != [(5, 1)] * 2


def test_what_is_derived_comes_again_when_it_was_lost(table):
    derived = table.derive(doubled, gives_up=True).derive(doubled)
    expected = [4 * ROWS[:, rows].sum() for rows in cut(N_ROWS)]
    assert derived.map_blocks(total) == expected
    assert table.map_blocks(total, 4.0) == expected  # what was given up
    for index in (0, 9):  # as if their worker had died
        table._home.leases[index] = None
    assert derived.map_blocks(total) == expected
    derived.close()
    assert derived.map_blocks(total) == expected


def test_blocks_leave_the_workers_with_the_table(table):
    def n_held(blocks, context):
        return [sum(len(own.values) for sources in holding._holdings.values() for own in sources.values())] * len(
            blocks
        )

    assert table.map_workers(n_held)[0] >= 10
    with Table(table.cluster, HostRows({"X": ROWS})) as other:
        other.map_blocks(total)
        n_before = table.map_workers(n_held)[0]
    while table.map_workers(n_held)[0] != n_before - 10:  # Dask frees results in its own time
        pass


def test_a_worker_that_closes_takes_nothing_along():
    with (
        LocalCluster(n_workers=2, threads_per_worker=2, processes=False, dashboard_address=":0") as own,
        Client(own, set_as_default=False) as client,
        Table(Cluster(client), HostRows({"X": ROWS})) as table,
    ):
        expected = table.map_blocks(total)
        client.retire_workers([next(iter(own.workers.values())).worker_address], close_workers=True)
        assert table.map_blocks(total) == expected


def test_a_block_that_never_stays_is_named(table):
    table.map_blocks(total)
    for _ in range(MOST_LOSSES - 1):
        table._home.forget_blocks([4])
        table._home.settle([4], None)
    with pytest.raises(MemoryError, match=r"block 4 \(rows 8192 to 10240\) was lost with its worker 4 times"):
        table._home.forget_blocks([4])


def test_a_block_that_does_not_fit_is_named(table):
    def too_large(block):
        if block.number == 3:
            raise MemoryError
        return 0

    with pytest.raises(
        MemoryError, match=r"block 3 \(rows 6144 to 8192\) does not fit into the memory of worker inproc"
    ):
        table.map_blocks(too_large)
    with pytest.raises(ZeroDivisionError):
        table.map_blocks(lambda block: 1 / 0)


def test_whoever_watches_may_give_up(table):
    def give_up():
        raise InterruptedError

    table.map_blocks(total)
    table.watch(give_up)
    with pytest.raises(InterruptedError):
        table.map_blocks(total)
    table.watch(None)
    assert len(table.map_blocks(total)) == 10


def test_the_current_client_is_used_and_none_within_a_task(dask_client):
    with dask_client.as_current(), open_cluster(1) as found:
        assert found.client is dask_client
    assert "2 workers, 2 threads" in _described(dask_client)

    def fit():
        with open_cluster(1):
            pass

    with pytest.raises(RuntimeError, match="a fit within a task of Dask cannot use engine='dask'"):
        dask_client.submit(fit, pure=False).result()


def _described(client):
    with client.as_current():
        return cluster.described()


def test_workers_end_if_no_client_reaches_them(monkeypatch):
    closed = []

    class Workers:
        def __init__(self, **_):
            pass

        def close(self):
            closed.append(self)

    def unreachable(*_, **__):
        raise OSError("no scheduler")

    monkeypatch.setattr("distributed.LocalCluster", Workers)
    monkeypatch.setattr("distributed.Client", unreachable)
    monkeypatch.setattr(cluster, "_current_client", lambda: None)
    for n in (1, 2):
        with pytest.raises(OSError, match="no scheduler"), open_cluster(1):
            pass
        assert len(closed) == n
    assert cluster._Local.cluster is None


def test_without_the_extra_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"pip install 'symgrove\[dask\]'"), open_cluster(1):
        pass
    assert "symgrove[dask]" in cluster.described()
