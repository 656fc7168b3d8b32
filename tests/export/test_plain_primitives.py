"""Exports of primitives without protection: their values, and that what is not finite is known as such everywhere."""

import itertools

import numpy as np
import pytest

from symgrove.export.targets import export
from symgrove.forest.forest import Forest
from symgrove.forest.primitives import PrimitiveSet
from symgrove.models.ensemble import make_ensemble
from symgrove.models.program_model import ProgramModel, unknown_errors
from symgrove.models.standardization import no_standardization
from symgrove.models.task import Regression
from tests.export.runners import RUNNERS
from tests.export.test_exports import HOSTILE, NOT_TINY, TOLERANCE, every_primitive, rows_for
from tests.making import plan_of
from tests.naive.plans import agree, ill_conditioned, overflows
from tests.naive.programs import PLAIN

FALLBACK = -12345.0
EXPONENTS = (2.0, 3.0, -1.0, -2.0, -0.5, 1 / 3)
EDGES = (0.4999999, 2.0, -2.0, 3.0, 710.0, -700.0, 1e-8)
NEAR_ONE = (1 + 1e-15, -1 - 1e-15, 1 - 1e-15)  # more digits than workbooks show


def without_protection(seed):
    """An ensemble of random programs of the primitives without protection, and of sums and products."""
    return every_primitive(seed, n=60, functions=("add", "sub", "mul", *PLAIN), heights=(1, 2))


def one_target_for_each_primitive():
    """A model whose targets are the primitives of features 0 and 1, and powers with constants, by name."""
    forest = Forest(2, PrimitiveSet(PLAIN))
    a, b = forest.feature(0), forest.feature(1)
    roots = {name: forest.apply(name, *(a, b)[: forest.primitives[name].arity]) for name in PLAIN}
    roots |= {f"to the {e}": forest.apply("power", a, forest.constant(e)) for e in EXPONENTS}
    roots |= {f"{e} to it": forest.apply("power", forest.constant(e), a) for e in (-2.0, 0.3)}
    roots["nothing"] = forest.apply("plain_sqrt", forest.constant(-2.0))
    roots["pole"] = forest.apply("plain_div", forest.constant(1.0), forest.constant(0.0))
    one, none = np.ones(1), np.zeros(1)
    ensembles = tuple(
        make_ensemble(forest, np.array([root]), one, none, FALLBACK, no_standardization(2)) for root in roots.values()
    )
    unknown = unknown_errors(ensembles)
    return ProgramModel(ensembles, Regression(tuple(roots)), unknown, unknown)


@pytest.mark.parametrize("target", RUNNERS)
def test_each_is_what_it_says_in_every_language(target, tmp_path):
    model = one_target_for_each_primitive()
    values = (*EDGES, *(NOT_TINY if target == "excel" else (*HOSTILE, *NEAR_ONE)))
    rng = np.random.default_rng(0)
    near = rng.normal(size=(100, 2)) * [2.0, 3.0]
    X = np.concatenate([np.array(list(itertools.product(values, values))), near, np.abs(near)])
    wanted = model.task.as_users_see(model.predict(X))
    found = RUNNERS[target](model.plan("test", ["a", "b"]), X, tmp_path)
    if target == "excel":  # Gnumeric computes with more than doubles
        found = np.where(np.isinf(found), FALLBACK, found)
    for k, name in enumerate(model.task.target_names):
        assert name not in PLAIN or (wanted[:, k] == FALLBACK).mean() > 0.02, name
        np.testing.assert_allclose(found[:, k], wanted[:, k], rtol=1e-9, atol=1e-305, err_msg=name)


def test_random_programs_have_every_primitive():
    steps = {step.name for seed in range(3) for step in plan_of(without_protection(seed), []).steps}
    assert set(PLAIN) <= steps


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("target", RUNNERS)
def test_programs_without_protection(target, seed, tmp_path):
    ensemble = without_protection(seed)
    plan = plan_of(ensemble, list("abcd"))
    X = rows_for(target, 4, 60 if target == "excel" else 500, 1.0, 0.0)
    X = X[np.abs(X).max(axis=1) < 100]
    is_bad = ill_conditioned(plan, X, TOLERANCE)
    assert is_bad.mean() < 0.3
    is_bad |= target == "excel" and overflows(plan, X)
    assert target == "excel" or not is_bad.all()
    ok = agree(RUNNERS[target](plan, X, tmp_path), ensemble.predict(X), TOLERANCE)
    assert (ok | is_bad).all(), (X[~(ok | is_bad)][:3], (~(ok | is_bad)).sum())


def test_equations_say_which_power_is_raised():
    forest = Forest(2, PrimitiveSet(("square", "power", "plain_div", "plain_log")))
    a, b = forest.feature(0), forest.feature(1)
    squared = forest.apply("power", forest.apply("square", a), forest.constant(-1.5))
    root = forest.apply("plain_div", squared, forest.apply("plain_log", forest.apply("power", b, b)))
    ensemble = make_ensemble(forest, np.array([root]), np.ones(1), np.zeros(1), 0.0, no_standardization(2))
    text = export(plan_of(ensemble, ["a", "b"]), "text", None, {})
    assert "(((a^2)^(-1.5)) / log((b^b)))" in text
