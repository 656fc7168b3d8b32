"""Sizes that people see: nodes of formulas as they are shown, as SymPy counts them."""

import numpy as np
import pytest
import sympy

import symgrove as sg
from symgrove.forest.sympy_size import sympy_size
from symgrove.models import members, team_members

SMALL = {"population_size": 60, "generations": 4, "random_state": 0, "functions": ("add", "sub", "mul", "aq", "sin")}
KINDS = {
    "grove": sg.GroveRegressor(n_estimators=4, strength="fixed", max_terms=6, **SMALL),
    "2segp": sg.TwoSEGPRegressor(n_estimators=4, max_size=9, **SMALL),
}


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, size=(80, 3))
    return KINDS[request.param].fit(X, X[:, 0] * X[:, 1] + np.sin(X[:, 2]) + 0.1 * rng.normal(size=80))


def nodes(text):
    symbols = {f"x{i}": sympy.Symbol(f"x{i}", real=True) for i in range(3)}
    names = {"aq": sympy.Function("aq"), **symbols}
    return sum(1 for _ in sympy.preorder_traversal(sympy.sympify(text.replace("^", "**"), locals=names)))


def test_the_size_of_a_member_is_that_of_its_formula(model):
    for member in model.ensemble_:
        assert member.size == nodes(member.formula), member.formula
    (recurring, *_) = model.consensus(3)
    assert recurring.size == nodes(recurring.formula)


def test_long_members_are_counted_before_they_are_shortened(model, monkeypatch):
    for place in (members, team_members):
        monkeypatch.setattr(place, "LONGEST_COUNTED", 0)
    for member in model.model_.members(None):
        own = member._scaled() if hasattr(member, "_scaled") else member._own_sum(is_in_user_units=True)
        assert member.size == sympy_size(*own)
        if hasattr(member, "_sizes"):
            assert member._sizes.of_all(np.flatnonzero(member._teams.coefficients[member.samples[0]])) == own[0].size(
                own[1]
            )
