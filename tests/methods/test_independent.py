"""Budgets of independent runs."""

import pytest

from symgrove.methods.matched_budget import matched_budget


# The examples of the paper, for programs of 100 nodes.
@pytest.mark.parametrize(("n_estimators", "expected"), [(50, (100, 15)), (5, (105, 100)), (1, (505, 100))])
def test_matched_budgets_are_those_of_the_paper(n_estimators, expected):
    assert matched_budget(n_estimators, 500, 100) == expected
