"""symgrove's LawRegressor as SRBench runs it: an estimator, its formula for SymPy, and how data are to be given."""

from symgrove import LawRegressor

# SRBench sets `random_state` and `max_time` (seconds).
est = LawRegressor(max_time=3600, random_state=0)


def model(est, X=None):
    """The formula as text that SymPy reads, with the names of the columns."""
    names = [] if X is None else [str(name) for name in X.columns]
    bad = [name for name in names if not name.isidentifier()]
    if bad:
        raise ValueError(f"columns {bad} have names that SymPy cannot read; letters, digits and _ are accepted")
    return str(est.formula("sympy"))


# Laws are simple in the units of the data, not in standard deviations.
eval_kwargs = {
    "test_params": {"effort": "quick"},
    "scale_x": False,
    "scale_y": False,
    "use_dataframe": True,
}
