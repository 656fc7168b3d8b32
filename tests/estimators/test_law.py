"""Law as people use it: the front and its formulas, `use`, files, laws that are found, the same bits everywhere."""

import hashlib
import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import sympy

import symgrove as sg
from symgrove.estimators import law as module
from symgrove.evolution.watching import watched_by


def rows(n=200, k=3, seed=0, low=0.5, high=4.0):
    return np.random.default_rng(seed).uniform(low, high, size=(n, k))


def fit(X, y, **more):
    return sg.LawRegressor(**{"functions": ("exp",), "random_state": 0, **more}).fit(X, y)


def noisy(y, share=0.01, seed=1):
    return y + share * y.std() * np.random.default_rng(seed).normal(size=y.size)


@pytest.fixture(scope="module")
def pendulum():
    """Of a frame with a feature that does not matter, and a little noise."""
    X = pd.DataFrame(rows(200, 3), columns=["L", "g", "mass"])
    y = noisy(2 * np.pi * np.sqrt(X["L"] / X["g"]).to_numpy())
    return sg.LawRegressor(functions=("sin",), random_state=0, calibration=0.25, max_time=4.0).fit(X, y), X, y


def nodes(expression):
    """Of a SymPy expression."""
    return sum(1 for _ in sympy.preorder_traversal(expression))


def evaluated(point, X):
    """A point's SymPy expression on rows."""
    symbols = [sympy.Symbol(name) for name in X.columns]
    return np.broadcast_to(sympy.lambdify(symbols, point.sympy)(*X.to_numpy().T), len(X))


def test_the_law_is_found_in_the_users_names(pendulum):
    model, X, _ = pendulum
    truth = 2 * np.pi * np.sqrt(X["L"] / X["g"])
    np.testing.assert_allclose(model.predict(X), truth, rtol=0.005)
    assert {str(s) for s in model.formula("sympy").free_symbols} == {"L", "g"}
    assert model.feature_importances_[2] == 0
    assert len(model.ensemble_) == 1


def test_the_front_is_sorted_and_its_points_predict_what_they_show(pendulum):
    model, X, y = pendulum
    sizes, errors = [p.size for p in model.front_], [p.error for p in model.front_]
    assert sizes == sorted(set(sizes))
    assert len(sizes) > 2
    assert all(np.diff(errors) < 0)
    for point in model.front_:
        np.testing.assert_allclose(point.predict(X), evaluated(point, X), rtol=1e-6)
        np.testing.assert_array_equal(point.predict(X[["mass", "g", "L"]]), point.predict(X))
        assert point.description_length < np.inf
        assert 0 < point.held_out_error < 10 * y.std()
        assert str(point) == point.formula
        assert point.latex


def test_use_picks_by_rule_and_by_size(pendulum):
    model, X, y = pendulum
    model = pickle.loads(pickle.dumps(model))
    by_held_out = min(model.front_, key=lambda p: p.held_out_error)
    assert model.use("accuracy") is model
    assert model.choose == "accuracy"
    assert model.ensemble_[0].formula == by_held_out.formula
    sizes = {rule: nodes(model.use(rule).formula("sympy")) for rule in module.RULES}
    assert sizes["one_se"] <= sizes["mdl"]
    assert sizes["one_se"] <= sizes["accuracy"]
    for point in model.front_:
        model.use(point.size)
        np.testing.assert_array_equal(model.predict(X), point.predict(X))
        assert model.ensemble_[0].formula == point.formula
        low, high = model.predict_interval(X).T  # of rows that the search did not see
        assert (low <= high).all()
        with pytest.raises(ValueError, match="no rows were kept out"):
            model.predict_interval(X, method="conformal")
    model.use(10_000)
    np.testing.assert_array_equal(model.predict(X), model.front_[-1].predict(X))
    assert model.use(size=5).model_ is not model.use(1).model_
    assert model.use(size=5).choose == 5
    for given in ({}, {"choose": "mdl", "size": 5}):
        with pytest.raises(TypeError, match="a rule or a size, one of both"):
            model.use(**given)
    with pytest.raises(ValueError, match="size must be a whole number"):
        model.use(size=0)
    model.use(1).calibrate(X, y)
    low, high = model.predict_interval(X, 0.9, "conformal").T
    assert np.mean((low <= y) & (y <= high)) == pytest.approx(0.9, abs=0.05)
    with pytest.raises(ValueError, match=r"choose must be one of .*, or a size \(int\), got 'best'"):
        model.use("best")
    with pytest.raises(ValueError, match="not fitted"):
        sg.LawRegressor().use("mdl")


def test_files_and_pickles_keep_the_front(pendulum, tmp_path):
    model, X, _ = pendulum
    model.save(tmp_path / "model.json")
    loaded, unpickled = sg.load(tmp_path / "model.json"), pickle.loads(pickle.dumps(model))
    for again in (loaded, unpickled):
        assert again.front_ == model.front_
        assert [p.formula for p in again.front_] == [p.formula for p in model.front_]
        np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))
        for point in model.front_:
            np.testing.assert_array_equal(again.use(point.size).predict(X), point.predict(X))
    np.testing.assert_array_equal(unpickled.use(3).predict_interval(X), unpickled.predict_interval(X, method="oob"))
    with pytest.raises(ValueError, match="knows of no training rows"):  # files do not hold rows
        loaded.predict_interval(X)
    loaded.save(tmp_path / "again.json")
    again = sg.load(tmp_path / "again.json")
    assert again.choose == loaded.choose
    np.testing.assert_array_equal(again.predict(X), loaded.predict(X))


X3 = rows()
SHAPES = {
    "c*sqrt(x/z)": (X3[:, :2], 1.7 * np.sqrt(X3[:, 0] / X3[:, 1]), 8),
    "a*x + b": (X3[:, :1], 2.31 * X3[:, 0] + 1.77, 5),
    "x*exp(-c*z)": (X3[:, :2], X3[:, 0] * np.exp(-0.71 * X3[:, 1]), 6),
    "x/(1 + z)": (X3[:, :2], X3[:, 0] / (1 + X3[:, 1]), 7),
    "x*z": (X3[:, :2], X3[:, 0] * X3[:, 1], 3),
}


@pytest.mark.parametrize("name", SHAPES)
def test_size_is_the_number_of_nodes_of_the_sympy_expression(name):
    X, y, size = SHAPES[name]
    model = fit(X, y)
    assert model.stop_reason_ == "exact"
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-6)
    law = model.front_[-1]
    assert (law.size, nodes(law.sympy)) == (size, size), law.formula
    assert [point.size for point in model.front_] == [nodes(point.sympy) for point in model.front_]


S = rows(200, 1, 5)[:, 0]
GAS = rows(200, 3, 6)
NORMAL = np.random.default_rng(7).normal(size=(200, 3))
LAWS = {
    "gas": (GAS, 8.314 * GAS[:, 0] * GAS[:, 1] / GAS[:, 2]),
    "michaelis": (S[:, None], 3.2 * S / (0.73 + S)),
    "negative": (NORMAL, NORMAL[:, 0] * NORMAL[:, 1] + NORMAL[:, 2]),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws_are_found_in_200_noisy_rows(name):
    X, y = LAWS[name]
    model = fit(X, noisy(y), max_time=5.0)
    assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 0.005 * y.std()
    assert len(model.formula("sympy").free_symbols) == X.shape[1]
    assert nodes(model.formula("sympy")) <= 9


def test_weights_say_which_of_two_laws_holds():
    X = rows(100, 2)
    is_first = np.arange(100) % 2 == 0
    y = np.where(is_first, 3 * X[:, 0], 5 * X[:, 1])
    for law, chosen in ((3 * X[:, 0], is_first), (5 * X[:, 1], ~is_first)):
        weighted = sg.LawRegressor(functions=("exp",), max_time=1.0).fit(X, y, np.where(chosen, 1.0, 1e-14))
        np.testing.assert_allclose(weighted.predict(X), law, rtol=1e-4)


BITS = """
import hashlib, sys
import numpy as np
import symgrove as sg
rng = np.random.default_rng(0)
X = rng.uniform(0.5, 4.0, size=(300, 2))
y = np.exp(-X[:, 0]) * np.sqrt(1 + X[:, 1]) / (1 + X[:, 0]) + 0.05 * rng.normal(size=300)
model = sg.LawRegressor(functions=("exp",), random_state=int(sys.argv[1]), n_jobs=int(sys.argv[2])).fit(X, y)
print(hashlib.sha256(repr([(p.formula, p.held_out_error) for p in model.front_]).encode()).hexdigest())
"""


def bits(seed, n_jobs, n_blas):
    """What a search of all steps finds, in a process with so many threads of the matrix library."""
    changed = {**os.environ, "OPENBLAS_NUM_THREADS": str(n_blas), "OMP_NUM_THREADS": str(n_blas)}
    done = subprocess.run(
        [sys.executable, "-c", BITS, str(seed), str(n_jobs)], env=changed, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_same_bits_for_any_number_of_threads_and_others_for_another_seed():
    found = bits(0, 1, 1)
    assert len(found.strip()) == hashlib.sha256().digest_size * 2
    assert bits(0, 3, 4) == found
    assert bits(1, 1, 1) != found


def test_ctrl_c_ends_the_search_and_leaves_a_model():
    told = []

    def interrupt(moment):
        told.append(moment.what)
        os.kill(os.getpid(), signal.SIGINT)

    X = rows(100)
    with watched_by(interrupt):
        model = fit(X, np.random.default_rng(0).normal(size=100))
    assert model.stop_reason_ == "interrupted"
    assert len(told) < 4
    assert np.isfinite(model.predict(X)).all()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_quick_is_a_short_search_and_no_others_on_folds():
    told = []
    X = rows(60)
    with watched_by(lambda moment: told.append(moment.what)):
        model = fit(X, np.random.default_rng(0).normal(size=60), effort="quick", max_size=9)
    assert told[-3:] == ["generation 20", "generation 40", "generation 60"]
    assert not [step for step in told if "another search" in step]  # on folds
    assert not [step for step in told if "atom" in step or "library" in step]
    assert max(point.size for point in model.front_) <= 9


def test_a_failing_fit_changes_nothing(monkeypatch):
    X = rows(50)
    model = fit(X, X[:, 0])
    before = dict(vars(model))

    def fail(*_):
        raise RuntimeError("no search")

    monkeypatch.setattr(module, "find_front", fail)
    with pytest.raises(RuntimeError, match="no search"):
        model.fit(X, X[:, 1])
    assert vars(model) == before


def test_verbose_shows_the_best_formula_on_stderr(capsys):
    X = rows(100)
    fit(pd.DataFrame(X, columns=[f"mass{j}" for j in range(X.shape[1])]), 3 * X[:, 0] / X[:, 1], verbose=1)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("LawRegressor: monomials: ")
    assert "mass0" in captured.err
    fit(X, 3 * X[:, 0] / X[:, 1])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("n_rows", [1, 2, 4, 6])
def test_few_rows(n_rows):
    X = rows(n_rows)
    model = fit(X, X[:, 0], max_time=2.0)
    np.testing.assert_allclose(model.predict(X), X[:, 0], rtol=1e-6)


def test_a_constant_target_is_a_number():
    model = fit(rows(150), np.full(150, 2.5))
    assert (model.formula(), model.stop_reason_) == ("2.5", "exact")


@pytest.mark.parametrize("scale", [1e-150, 1e-60, 1e60, 1e150])
def test_huge_and_tiny_units(scale):
    X = rows(80)
    y = X[:, 0] * np.sqrt(X[:, 1])
    np.testing.assert_allclose(fit(X, scale * y).predict(X), scale * y, rtol=1e-9)
    far = 0.1 * scale * X
    model = fit(far, y)
    np.testing.assert_allclose(model.predict(far), y, rtol=1e-9)
    np.testing.assert_allclose(model.front_[-1].predict(far), y, rtol=1e-9)
    noise = np.random.default_rng(0).normal(size=80)
    for own, target in ((X, scale * noise), (far, noise), (0.1 * scale * noise[:, None], noise[::-1])):
        assert np.isfinite(fit(own, target, max_time=0.5).predict(own)).all()


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e149])
def test_30_features_of_which_two_matter(scale):
    X = scale * np.random.default_rng(0).normal(size=(200, 30))
    model = fit(X, 2 * (X[:, 3] / scale) * (X[:, 7] / scale))
    assert model.stop_reason_ == "exact"
    assert np.flatnonzero(model.feature_importances_).tolist() == [3, 7]


def test_whole_numbers_as_features():
    X = np.random.default_rng(0).integers(1, 50, size=(100, 2))
    np.testing.assert_allclose(fit(X, 3.0 * X[:, 0] ** 2 / X[:, 1]).predict(X), 3.0 * X[:, 0] ** 2 / X[:, 1])


def test_the_criterion_counts_rows_that_were_held_out_twice():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = np.sign(X[:, 0]) * X[:, 1] + 0.3 * rng.normal(size=400)
    model = sg.LawRegressor(functions=(), max_time=2, random_state=0).fit(X, y)
    entries = model._searched.entries[0]
    assert [point.size for point in model.front_] == [nodes(point.sympy) for point in model.front_]
    for point, entry in zip(model.front_, entries, strict=True):
        likelihood = 400 * np.log(point.error**2) + 80 * np.log(point.held_out_error**2)
        n_nodes = (entry.criterion - likelihood) / 2  # as the search counted them
        assert n_nodes == pytest.approx(round(n_nodes), abs=1e-6)
        assert abs(n_nodes - entry.size) < 0.2 * entry.size
    chosen = min(entries, key=lambda entry: entry.criterion)
    assert model.ensemble_[0].formula == model.front_[entries.index(chosen)].formula
