"""Units as people give them to LawRegressor: what is found with them, what is refused, files; size and nesting."""

import sys
import time
import warnings

import numpy as np
import pandas as pd
import pytest
import sympy

import symgrove as sg


def speeds(n=300, noise=0.1):
    """Of what was at v0 and was accelerated by a over s."""
    rng = np.random.default_rng(6)
    X = pd.DataFrame(rng.uniform(1, 5, size=(3, n)).T, columns=["v0", "a", "s"])
    y = np.sqrt(X["v0"] ** 2 + 2 * X["a"] * X["s"]).to_numpy()
    return X, y + noise * y.mean() * rng.normal(size=n), y


SPEED = {"units": {"v0": "m/s", "a": "m/s**2", "s": "m"}, "target_unit": "m/s"}


def fit(X, y, **more):
    return sg.LawRegressor(**{"random_state": 0, "functions": ("exp",), **more}).fit(X, y)


def powers_of(model, name):
    """Exponents of a column in a formula."""
    symbol = next(s for s in model.formula("sympy").free_symbols if s.name == name)
    return sorted({float(p.exp) for p in model.formula("sympy").atoms(sympy.Pow) if p.base == symbol})


@pytest.fixture(scope="module")
def law():
    X, y, _ = speeds()
    return fit(X, y, **SPEED)


def test_units_find_the_law_among_formulas_that_are_right_in_units(law):
    X, y, truth = speeds()
    np.testing.assert_allclose(powers_of(law, "v0"), [2.0])
    assert np.sqrt(np.mean((law.predict(X) - truth) ** 2)) < 0.01 * np.std(truth)
    assert len(law.front_) > 1
    assert all("v0" in p.formula or "sqrt(a * s)" in p.formula for p in law.front_)  # the mean is not there
    without = fit(X, y)
    assert not any(c.isalpha() for c in without.front_[0].formula)  # there it is


def test_files_hold_units_and_need_no_pint(law, tmp_path, monkeypatch):
    law.save(tmp_path / "model.json")
    monkeypatch.setitem(sys.modules, "pint", None)
    loaded = sg.load(tmp_path / "model.json")
    X, y, _ = speeds()
    assert (loaded.units, loaded.target_unit) == (SPEED["units"], SPEED["target_unit"])
    np.testing.assert_array_equal(loaded.predict(X), law.predict(X))
    with pytest.raises(ImportError, match=r"pip install 'symgrove\[units\]'"):
        loaded.fit(X, y)
    assert "m/s**2" in repr(loaded)


def test_columns_of_arrays_have_places_and_only_dimensions_count():
    X, y, _ = speeds(noise=0.01)
    by_name = fit(X, y, **SPEED)
    by_place = fit(X.to_numpy(), y, units={0: "km/hour", 1: "m/s^2", 2: "inch"}, target_unit="mile/day")
    by_label = fit(X.to_numpy(), y, units={"x0": "m/s", "x1": "m/s^2", "x2": "m"}, target_unit="m/s")
    for other in (by_place, by_label):
        np.testing.assert_array_equal(other.predict(X.to_numpy()), by_name.predict(X))


def test_a_constant_of_nature_is_a_column():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"n": rng.uniform(1, 5, 100), "T": rng.uniform(250, 350, 100), "V": rng.uniform(1, 5, 100)})
    y = 8.314 * X["n"] * X["T"] / X["V"] * (1 + 0.02 * rng.normal(size=100))
    units = {"n": "mol", "T": "K", "V": "m^3"}
    with pytest.raises(ValueError, match=r"no formula of the columns can have the unit 'Pa' of the target, .*\[mass\]"):
        fit(X, y, units=units, target_unit="Pa")
    model = fit(X.assign(R=8.314), y, units={**units, "R": "J/(mol*K)"}, target_unit="Pa")
    assert {s.name for s in model.formula("sympy").free_symbols} == {"n", "T", "V", "R"}
    free = fit(X, y, units=units, target_unit="Pa", constants_have_units=True, max_time=1.0)
    np.testing.assert_allclose(free.predict(X), y, rtol=0.1)


def test_categories_and_missing_values_have_no_unit():
    X, y, _ = speeds(noise=0.01)
    X.loc[:9, "s"] = np.nan
    X["kind"] = pd.Categorical(np.where(np.arange(300) % 2, "a", "b"))
    model = fit(X, np.where(np.arange(300) < 10, y.mean(), y), **SPEED, max_time=2.0)
    assert model.columns_.labels == ["v0", "a", "s", "[s is missing]", "[kind is a]", "[kind is b]"]
    assert len(model.front_) > 1


def test_targets_have_units_of_their_own():
    X, y, _ = speeds(noise=0.0)
    both = np.column_stack([y, X["a"] * X["s"]])
    model = fit(X, both, units=SPEED["units"], target_unit=["m/s", "m^2/s^2"])
    np.testing.assert_allclose(model.predict(X), both, rtol=1e-6)
    with pytest.raises(ValueError, match="target_unit has 3 units for 2 targets"):
        fit(X, both, units=SPEED["units"], target_unit=["m/s", "m", "m"])


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"units": SPEED["units"]}, ValueError, "go together"),
        ({"target_unit": "m"}, ValueError, "go together"),
        ({"units": "m", "target_unit": "m"}, TypeError, "must be a dictionary from columns"),
        ({"units": {"v0": 3}, "target_unit": "m"}, TypeError, "must be a dictionary from columns"),
        ({"units": {}, "target_unit": 3}, TypeError, "target_unit must be a text"),
        ({"constants_have_units": True}, ValueError, "no effect without units"),
        ({"constants_have_units": "yes"}, TypeError, "True or False"),
        ({"units": {"v0": "m/s"}, "target_unit": "m"}, ValueError, "units has no unit of 'a', 's'"),
        (
            {"units": {**SPEED["units"], "w": "m"}, "target_unit": "m"},
            ValueError,
            "names a column 'w' that is not in X",
        ),
        ({"units": {**SPEED["units"], 5: "m"}, "target_unit": "m"}, ValueError, "names a column 5 that is not in X"),
        ({"units": {**SPEED["units"], 0: "m"}, "target_unit": "m"}, ValueError, "names the column 'v0' twice"),
        ({"units": {**SPEED["units"], "a": "m s **"}, "target_unit": "m"}, ValueError, "cannot be read"),
        ({"units": {**SPEED["units"], "a": "furlongsworth"}, "target_unit": "m"}, ValueError, "of 'a' cannot be read"),
        ({**SPEED, "target_unit": "3 m"}, ValueError, "of the target cannot be read"),
        ({"units": {**SPEED["units"], "a": "degC"}, "target_unit": "m"}, ValueError, "does not begin at zero"),
        ({"units": {**SPEED["units"], "a": "dB"}, "target_unit": "m"}, ValueError, "does not begin at zero"),
        ({**SPEED, "target_unit": "kg"}, ValueError, r"\[mass\]: no product of powers of them has \('v0': \[length\]"),
        ({"max_size": 0}, ValueError, "max_size"),
        ({"nested_constraints": ["sin"]}, TypeError, "must be a dictionary such as"),
        ({"nested_constraints": {"sin": "cos"}}, TypeError, "for 'sin'"),
        ({"nested_constraints": {"sinus": {"cos": 0}}}, ValueError, "sinus"),
        ({"nested_constraints": {"sin": {"cosine": 0}}}, ValueError, "cosine"),
        ({"nested_constraints": {"sin": {"cos": -1}}}, ValueError, r"nested_constraints\['sin'\]\['cos'\]"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_search(given, error, message):
    X, y, _ = speeds(20)
    start = time.perf_counter()
    with pytest.raises(error, match=message):
        fit(X, y, **given)
    assert time.perf_counter() - start < 5.0


def test_a_mean_that_is_no_law_is_said_to_be_one():
    X, _, _ = speeds(50)
    y = 100.0 + np.random.default_rng(0).normal(size=50)
    with pytest.warns(UserWarning, match="no formula was found that is right in units"):
        model = fit(X, y, **SPEED, max_time=1e-9)
    np.testing.assert_allclose(model.predict(X), y.mean())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(X, y, units=dict.fromkeys(X, ""), target_unit="", max_time=1e-9)
        fit(X, np.full(50, 2.0), **SPEED)


def test_the_front_has_no_formula_above_the_largest_size(law):
    X, y, _ = speeds(100)
    assert max(p.size for p in law.front_) > 9
    model = fit(X, y, max_size=7, nested_constraints={"exp": {"exp": 0, "log": 0}}, max_time=2.0)
    sizes = [sum(1 for _ in sympy.preorder_traversal(p.sympy)) for p in model.front_]
    assert sizes == [p.size for p in model.front_]
    assert max(sizes) <= 7
    assert len(sizes) > 1


@pytest.mark.parametrize("shape", [(300, 4), (2000, 30)])
def test_a_fit_ends_soon_after_its_time(shape):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 3, size=shape)
    y = np.sin(X[:, 0] * X[:, 1]) * X[:, 2] + np.exp(X[:, 3]) + rng.normal(size=shape[0])
    fit(X[:, :2], y, max_time=0.01)  # what is compiled and imported once
    used = time.process_time()
    model = sg.LawRegressor(max_time=0.5, random_state=0).fit(X, y)
    assert time.process_time() - used < 1.5
    assert model.stop_reason_ == "time"


@pytest.mark.parametrize("scale", [1e-140, 1e-30, 1e30, 1e140])
def test_extreme_data_raise_no_warnings(scale):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 2.0, size=(80, 3)) * np.array([scale, 1.0, 1 / scale])
    for y in (X[:, 0] ** 0.5 * X[:, 1], rng.normal(size=80) * scale, np.exp(60 * X[:, 1])):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = sg.LawRegressor(random_state=0, max_time=1.0).fit(X, y)
        assert np.isfinite(model.predict(X)).all()
