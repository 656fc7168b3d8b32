"""The entry for SRBench does what SRBench's tests ask of it (contrib/srbench)."""

import importlib.util
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sympy import Symbol, lambdify
from sympy.parsing.sympy_parser import parse_expr

ENTRY = Path(__file__).parents[1] / "contrib" / "srbench" / "symgrove"
OPTIONS = {
    "test_params": dict,
    "max_train_samples": int,
    "scale_x": bool,
    "scale_y": bool,
    "pre_train": types.FunctionType,
    "use_dataframe": bool,
}


@pytest.fixture
def entry():
    spec = importlib.util.spec_from_file_location("regressor", ENTRY / "regressor.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_srbench_can_fit_it_within_a_time_limit_and_read_its_formula(entry):
    assert all(isinstance(value, OPTIONS[name]) for name, value in entry.eval_kwargs.items())
    rng = np.random.default_rng(42)
    X = pd.DataFrame(rng.uniform(1, 3, (80, 2)), columns=["theta_1", "E"])  # E is a number in SymPy unless it is told
    y = (2 * X["theta_1"] ** 2 / X["E"]).to_numpy()
    est = entry.est
    assert hasattr(est, "random_state")
    assert hasattr(est, "max_time")
    est.random_state = 42
    est.set_params(**entry.eval_kwargs["test_params"])
    est.max_time = 360
    est.fit(X, y)
    text = entry.model(est, X)
    assert isinstance(text, str)
    symbols = {name: Symbol(name) for name in X.columns}
    expression = parse_expr(text, local_dict=symbols)
    by_text = lambdify(list(symbols.values()), expression)(*X.to_numpy().T)
    np.testing.assert_allclose(by_text, est.predict(X), rtol=1e-9)
    np.testing.assert_allclose(by_text, y, rtol=1e-9)


def test_names_that_sympy_cannot_read_are_refused(entry):
    with pytest.raises(ValueError, match="two words"):
        entry.model(entry.est, pd.DataFrame({"two words": [1.0]}))


def test_the_entry_has_the_files_that_srbench_asks_for():
    assert {path.name for path in ENTRY.iterdir()} >= {"metadata.yml", "regressor.py", "requirements.txt"}
