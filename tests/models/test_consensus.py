"""Parts that recur, counted whatever the order of their operands."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given

from symgrove import Forest, parse
from symgrove.forest.canonical import in_one_order
from symgrove.models.consensus import recurring_parts, recurring_terms
from symgrove.models.ensemble import make_ensemble
from symgrove.models.standardization import no_standardization
from tests.naive.programs import evaluate
from tests.strategies import ALL, plant, programs, uproot


def test_parts_count_in_any_order_of_operands():
    forest = Forest(3, ALL)
    texts = ["sin(x0 + x1)", "x2 * (x1 + x0)", "min(x2, x0 + x1)", "x0 - x1", "(x0 + x1) + (x1 + x0)"]
    roots = np.array([parse(forest, text) for text in texts])
    ensemble = make_ensemble(forest, roots, np.ones(5), np.zeros(5), 0.0, no_standardization(3), "mean", 0.5)
    (found,) = recurring_parts(ensemble, None)
    assert found == ("x0 + x1", 0.8, 3)


def test_terms_count_in_any_order_of_operands():
    forest = Forest(3, ALL)
    roots = np.array([parse(forest, text) for text in ("x0 * max(x1, x2)", "max(x2, x1) * x0", "x2 - x1")])
    coefficients = np.array([[1.0, 0, 0], [0, 2.0, 0], [1.0, 1.0, 3.0], [0, 0, 0]])
    teams = SimpleNamespace(
        forest=forest, programs=roots, coefficients=coefficients, n_teams=4, standardization=no_standardization(3)
    )
    (found,) = recurring_terms(teams, None)
    assert found == ("x0 * max(x1, x2)", 0.75, 5)


@given(programs())
def test_one_order_keeps_what_is_computed(program):
    forest = Forest(3, ALL)
    own, (root,) = in_one_order(forest, [plant(forest, program)])
    X = np.random.default_rng(0).normal(size=(30, 3))
    np.testing.assert_array_equal(evaluate(uproot(own, int(root)), X), evaluate(program, X))
