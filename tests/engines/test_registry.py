"""Engines by name."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import symgrove as sg
from symgrove.engines import registry
from symgrove.engines.cpu import CpuEngine


class NoisyEngine(CpuEngine):
    """An engine that shows that it was asked."""

    made = 0

    def __init__(self, *arguments):
        super().__init__(*arguments)
        NoisyEngine.made += 1


@pytest.mark.parametrize("name", ["gpu", None, 3, ""])
def test_an_engine_that_is_not_known_is_refused(name):
    with pytest.raises(ValueError, match="engine must be one of 'cpu', 'cuda', 'dask', 'dask-cuda', got"):
        registry.check_engine(name)


@pytest.mark.parametrize("kind", [sg.TwoSEGPRegressor, sg.GroveRegressor])
def test_an_engine_that_enters_the_registry_is_used_by_every_estimator(kind, monkeypatch):
    monkeypatch.setitem(registry.ENGINES, "noisy", f"{__name__}:NoisyEngine")
    X, y = make_friedman1(60, random_state=0)
    settings = {"population_size": 30, "generations": 2, "n_estimators": 3, "random_state": 0}
    monkeypatch.setattr(NoisyEngine, "made", 0)
    own = kind(**settings, engine="noisy").fit(X, y)
    assert NoisyEngine.made > 0
    np.testing.assert_array_equal(own.predict(X), kind(**settings).fit(X, y).predict(X))
