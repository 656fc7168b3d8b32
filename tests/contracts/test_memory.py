"""What every method promises of its memory: a budget is kept, or refused with a number that suffices."""

import re
import tracemalloc

import numpy as np
import pytest

from symgrove.estimators.base import Estimator
from tests.contracts.test_methods import GROVE, MAKERS, TYPICAL, Maker, evolves, target_of

# Methods that keep a vector for each individual, of which few fit into a small budget, or try many changes of each.
IN_SMALL_MEMORY = {
    **{f"GOMEA{name}": {"population_size": 60} for name in ("Regressor", "Classifier", "Regressor-bagged")},
    **{f"M3GP{name}": {"population_size": 60, "max_dimensions": 8} for name in ("Regressor", "Classifier")},
    "GSGPRegressor": {"population_size": 16, "n_estimators": 1},
    "EFSRegressor": {"population_size": 16, "archive_size": 16},
    "GSGPRegressor-bagged": {"population_size": 10, "n_estimators": 6},
}


@pytest.fixture(
    params=[
        pytest.param(make, id=make.name, marks=() if make.kind in TYPICAL else pytest.mark.slow)
        for make in MAKERS
        if evolves(make)  # a search takes half a gigabyte, whatever the rows
    ]
)
def make(request):
    return request.param


def peak_of(call):
    """Bytes that a call takes at its peak, beyond what it returns or a fitted estimator keeps."""
    tracemalloc.start()
    result = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    kept = vars(result).get("_outside") if isinstance(result, Estimator) else result
    arrays = [result] if isinstance(kept, np.ndarray) else [] if kept is None else [*kept.packed, kept.rows]
    if hasattr(result, "oob_prediction_"):
        arrays.append(result.oob_prediction_)
    return peak - sum(array.nbytes for array in arrays)


def test_the_memory_budget_is_kept(make):
    n_rows, budget = 30_000, 32 << 20
    X = np.random.default_rng(0).normal(size=(n_rows, 24))
    y = target_of(make, X[:, 0] * X[:, 1] + X[:, 2])
    settings = {"population_size": 196, "generations": 2, "memory_budget": budget}
    if "n_estimators" in make.names and "Independent" not in make.kind.__name__:
        settings["n_estimators"] = 20
    settings |= IN_SMALL_MEMORY.get(make.name, {})
    small = make(**settings).fit(X[:100], y[:100])  # compiled code is not counted
    small.predict(X[:100])
    model = make(**settings)
    assert peak_of(lambda: model.fit(X, y)) <= 1.05 * budget
    asked = ["predict", "predict_proba" if make.is_classifier else "predict"]
    if not make.is_classifier and model._intervals.known:
        asked.append("predict_interval")
    for name in asked:
        assert peak_of(lambda name=name: getattr(model, name)(X)) <= 1.05 * budget


def test_a_budget_without_room_for_the_data_is_refused_and_what_it_says_is_enough(make):
    X = np.random.default_rng(0).normal(size=(20_000, 30)).astype(np.float32)
    y = target_of(make, X[:, 0])
    few = {"generations": 1, "n_jobs": 2}
    model = make(**few, memory_budget=1 << 20, callbacks=lambda progress: pytest.fail("it began"))
    with pytest.raises(ValueError, match=r"memory_budget=1048576 bytes is too small: .* needs at least \d+") as refused:
        model.fit(X, y)
    enough = int(re.search(r"at least (\d+)", str(refused.value))[1])
    small = make(**few).fit(X[:100], y[:100])  # compiled code is not counted
    assert np.isfinite(small.feature_importances_).all()
    assert peak_of(lambda: make(**few, memory_budget=enough).fit(X, y)) <= 1.05 * enough


@pytest.mark.parametrize(
    ("kind", "how"), [(GROVE[0], "float32"), (GROVE[0], "calibration"), (GROVE[1], "weights"), (GROVE[1], "float32")]
)
def test_grove_counts_copies_of_the_data(kind, how):
    make, n_rows, budget = Maker(kind), 40_000, 32 << 20
    X = np.random.default_rng(0).normal(size=(n_rows, 40))
    y = target_of(make, X[:, 0])
    X = X.astype(np.float32) if how == "float32" else X
    weight = np.linspace(1, 2, n_rows) if how == "weights" else None
    settings = {"generations": 1, "calibration": 0.3 if how == "calibration" else None}
    make(**settings).fit(X[:100], y[:100])
    model = make(**settings, memory_budget=budget)
    assert peak_of(lambda: model.fit(X, y, sample_weight=weight)) <= 1.05 * budget
