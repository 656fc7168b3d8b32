"""Reports are quick here."""

import pytest


@pytest.fixture(autouse=True)
def no_distilled_formula(monkeypatch):
    """A search for one formula takes two seconds."""
    monkeypatch.setattr("symgrove.report.summary.one_formula", lambda *_: None)
