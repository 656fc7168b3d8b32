"""Hypothesis without deadlines: a first example may compile kernels. Counts of hostile trials are printed."""

import signal

import pytest
from hypothesis import settings

settings.register_profile("symgrove", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("symgrove")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so shells start what is to run in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def no_figures(monkeypatch):
    """Reports without plots and distilled formula, for tests of what the page says: they take most of the time."""
    monkeypatch.setattr("symgrove.report.build.draw_all", lambda *_: [])
    monkeypatch.setattr("symgrove.report.summary.one_formula", lambda *_: None)


@pytest.fixture(scope="session")
def dask_client():
    """A cluster of two workers within this process, one for the whole session: it is up in milliseconds."""
    from distributed import Client, LocalCluster  # noqa: PLC0415 - machines with a card may have no Dask

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def pytest_terminal_summary(terminalreporter):
    """Print what tests have counted."""
    told = [
        text
        for report in terminalreporter.stats.get("passed", [])
        for name, text in getattr(report, "user_properties", [])
        if name == "hostile" and report.when == "call"
    ]
    if told:
        terminalreporter.section("hostile trials")
        terminalreporter.write_line("\n".join(told))
