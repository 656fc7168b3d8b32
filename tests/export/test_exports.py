"""Exports compute what `predict` computes: every estimator, every primitive, on random and hostile rows."""

import warnings

import numpy as np
import onnxruntime
import pytest
from sklearn.datasets import load_iris, make_friedman1

import symgrove as sg
from symgrove.export.c import to_c
from symgrove.export.onnx import MOST_ROWS
from symgrove.export.targets import export
from symgrove.forest.forest import Forest
from symgrove.forest.primitive_table import BUILTIN
from symgrove.forest.primitives import PrimitiveSet
from symgrove.forest.random_programs import RandomPrograms
from symgrove.models.ensemble import make_ensemble
from symgrove.models.program_model import ProgramModel, unknown_errors
from symgrove.models.standardization import Standardization
from symgrove.models.task import Classification
from tests.contracts.test_methods import METHODS, settings_of, target_for
from tests.export.runners import RUNNERS, run_javascript_intervals, run_onnx
from tests.making import plan_of
from tests.naive.plans import agree, evaluate, ill_conditioned, overflows
from tests.naive.programs import PLAIN

AGGREGATIONS = ("mean", "median", "interquartile", "weighted")
TOLERANCE = 1e-9
HOSTILE = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, -1e-300, 1e-10, -1e-10, 1e10, -1e10, 1e150, -1e150)
STRENGTHS = {sg.GroveRegressor: "auto", sg.GroveClassifier: "auto"}


# Gnumeric computes with more than doubles, where less than 1e-308 is not zero.
NOT_TINY = [v for v in HOSTILE if v == 0 or abs(v) > 1e-300]


def rows_for(target, n_features, n_random, scale, centre):
    rng = np.random.default_rng(0)
    near = centre + scale * rng.normal(size=(n_random // 2, n_features))
    far = centre + 100 * scale * rng.normal(size=(n_random - n_random // 2, n_features))
    hostile = rng.choice(NOT_TINY if target == "excel" else HOSTILE, size=(n_random // 4, n_features))
    return np.concatenate([near, far, hostile])


@pytest.fixture(scope="module")
def fitted():
    """Fitted models by name, made when they are first asked for."""
    made = {}

    def get(kind, n_classes):
        if (kind, n_classes) not in made:
            X, y = make_friedman1(120, n_features=5, random_state=0)
            if n_classes:
                X, y = load_iris(return_X_y=True)
                X, y = X[y < n_classes], np.array(["setosa", "it's", 'c"{}\\'])[y[y < n_classes]]
            settings = settings_of(kind, generations=4)
            if kind in STRENGTHS:
                settings["strength"] = STRENGTHS[kind]
            made[kind, n_classes] = kind(**settings).fit(X, target_for(kind, X, y))
        return made[kind, n_classes]

    return get


CASES = [(kind, n) for kind in METHODS for n in ((2, 3) if hasattr(kind, "predict_proba") else (0,))]
NAMES = [f"{kind.__name__}-{n}" if n else kind.__name__ for kind, n in CASES]


# One estimator of each kind of plan: what other estimators' plans mean is tested below.
PLANS = (
    sg.TwoSEGPRegressor,
    sg.SpatialGPRegressor,
    sg.EFSRegressor,
    sg.LawRegressor,
    sg.GroveRegressor,
    sg.TwoSEGPClassifier,
    sg.StandardGPClassifier,
    sg.EGPClassifier,
    sg.M3GPClassifier,
    sg.GroveClassifier,
)


@pytest.mark.parametrize(
    ("target", "kind", "n_classes"),
    [
        pytest.param(target, kind, n, id=f"{target}-{name}")
        for target in RUNNERS
        for (kind, n), name in zip(CASES, NAMES, strict=True)
        if kind in PLANS or target == "python"
    ],
)
def test_every_estimator_exports_what_it_predicts(target, kind, n_classes, fitted, tmp_path):
    model = fitted(kind, n_classes)
    plan = model._plan()
    n = 60 if target == "excel" else 100
    X = rows_for(target, model.n_features_in_, n, 2.0, 1.0)
    wanted = model.predict(X) if not n_classes else model.predict_proba(X)
    is_bad = ill_conditioned(plan, X, TOLERANCE)
    assert is_bad.mean() < 0.1
    is_bad |= target == "excel" and overflows(plan, X)
    ok = agree(RUNNERS[target](plan, X, tmp_path), wanted, TOLERANCE)
    assert (ok | is_bad).all(), X[~(ok | is_bad)][:3]


@pytest.mark.parametrize(("kind", "n_classes"), CASES, ids=NAMES)
def test_a_plan_means_what_the_model_predicts(kind, n_classes, fitted):
    model = fitted(kind, n_classes)
    X = rows_for("plan", model.n_features_in_, 400, 2.0, 1.0)
    wanted = model.predict(X) if not n_classes else model.predict_proba(X)
    plan = model._plan()
    assert (agree(evaluate(plan, X), wanted, TOLERANCE) | ill_conditioned(plan, X, TOLERANCE)).all()


@pytest.mark.parametrize(("kind", "n_classes"), [(sg.TwoSEGPClassifier, 3), (sg.GroveClassifier, 2)])
@pytest.mark.parametrize("target", RUNNERS)
def test_calibrated_probabilities_are_exported(target, kind, n_classes, tmp_path):
    X, y = load_iris(return_X_y=True)
    X, y = X[y >= 3 - n_classes], y[y >= 3 - n_classes]
    model = kind(**{**METHODS[kind], "generations": 2}, calibration=0.4).fit(X, y)
    plan = model._plan()
    assert plan.correction is not None
    found = RUNNERS[target](plan, X[::2], tmp_path)
    assert (agree(found, model.predict_proba(X[::2]), TOLERANCE) | ill_conditioned(plan, X[::2], TOLERANCE)).all()


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (sg.TwoSEGPRegressor, {}),
        (sg.TwoSEGPRegressor, {"aggregation": "weighted"}),
        (sg.TwoSEGPRegressor, {"aggregation": "interquartile"}),
        (sg.SpatialGPRegressor, {}),
        (sg.GroveRegressor, {}),
    ],
)
def test_intervals_in_javascript(kind, more, tmp_path):
    X, y = make_friedman1(200, n_features=5, random_state=0)
    settings = {**METHODS[kind], "generations": 4, **more}
    model = kind(**settings, calibration=0.4).fit(X[:150], y[:150])
    for coverage in (0.9, 0.57, 0.975, 0.99):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # too few rows for 99 %
            wanted = model.predict_interval(X, coverage)
        found = run_javascript_intervals(model._plan(), X, coverage, tmp_path)
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


# Those without protection, which are ill-conditioned more often, have tests of their own: test_plain_primitives.py.
TAME = tuple(name for name in BUILTIN if name not in PLAIN)


def every_primitive(seed, aggregation="mean", epsilon=1e-10, n=40, functions=TAME, heights=(1, 4)):
    """An ensemble of random programs of all primitives."""
    primitives = PrimitiveSet(functions, epsilon)
    forest = Forest(4, primitives)
    source = RandomPrograms(forest, (-5.0, 5.0))
    rng = np.random.default_rng(1000 + seed)
    roots = source.ramped_half_and_half(forest, n, rng, heights)
    slope, intercept = rng.normal(size=(2, roots.size))
    standardization = Standardization(rng.normal(size=4), rng.uniform(0.5, 2, size=4))
    weights = np.where(rng.random(n) < 0.2, 0.0, rng.random(n)) if aggregation == "weighted" else None
    return make_ensemble(forest, roots, slope, intercept, 0.25, standardization, aggregation, 0.5, weights)


def test_ensembles_of_random_programs_have_every_primitive():
    assert set(TAME) <= {step.name for seed in range(3) for step in plan_of(every_primitive(seed), []).steps}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("target", RUNNERS)
def test_every_primitive_on_thousands_of_rows(target, seed, tmp_path, record_property):
    ensemble = every_primitive(seed)
    plan = plan_of(ensemble, list("abcd"))
    n = 200 if target == "excel" else 1000
    X = rows_for(target, 4, n, 1.0, 0.0)
    wanted = ensemble.predict(X)
    is_bad = ill_conditioned(plan, X, TOLERANCE)
    record_property("share of ill-conditioned rows", float(is_bad.mean()))
    assert is_bad.mean() < 0.1
    is_bad |= target == "excel" and overflows(plan, X)
    ok = agree(RUNNERS[target](plan, X, tmp_path), wanted, TOLERANCE)
    assert (ok | is_bad).all(), (X[~(ok | is_bad)][:3], (~(ok | is_bad)).sum())


def test_c_is_a_list_of_operations_where_they_are_many_and_the_same_to_the_last_bit(tmp_path, monkeypatch):
    plan = plan_of(every_primitive(0), list("abcd"))
    X = rows_for("c", 4, 300, 1.0, 0.0)
    (tmp_path / "list").mkdir()
    statements = RUNNERS["c"](plan, X, tmp_path)
    monkeypatch.setattr("symgrove.export.c.MOST_STATEMENTS", 0)
    np.testing.assert_array_equal(RUNNERS["c"](plan, X, tmp_path / "list"), statements)
    assert "switch" in to_c(plan, "0")


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("target", RUNNERS)
def test_without_protection_results_may_be_infinite(target, aggregation, tmp_path):
    """With epsilon 0, quotients by zero and logarithms of zero are not finite, and those members do not count, or as
    the fallback."""
    ensemble = every_primitive(7, aggregation, epsilon=0.0)
    plan = plan_of(ensemble, list("abcd"))
    n = 60 if target == "excel" else 500
    X = rows_for(target, 4, n, 1.0, 0.0)
    X[:5] = ensemble.standardization.mean  # standardised to zero
    is_bad = ill_conditioned(plan, X, TOLERANCE)
    # Among hostile rows the middle half has huge members, which cancel.
    assert is_bad.mean() < (0.25 if aggregation == "interquartile" else 0.2)
    is_bad |= target == "excel" and overflows(plan, X)
    ok = agree(RUNNERS[target](plan, X, tmp_path), ensemble.predict(X), TOLERANCE)
    assert (ok | is_bad).all(), (X[~(ok | is_bad)][:3], (~(ok | is_bad)).sum())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("target", RUNNERS)
def test_votes_with_weights_in_which_some_are_not_finite(target, n_classes, tmp_path):
    n_targets = 1 if n_classes == 2 else n_classes
    ensembles = tuple(every_primitive(20 + k, "weighted", epsilon=0.0, n=20) for k in range(n_targets))
    task, unknown = Classification(np.array(["a", "b", "c"][:n_classes])), unknown_errors(ensembles)
    model = ProgramModel(ensembles, task, unknown, unknown)
    plan = model.plan("test", list("abcd"))
    X = rows_for(target, 4, 40 if target == "excel" else 400, 1.0, 0.0)
    X[:5] = ensembles[0].standardization.mean  # standardised to zero
    wanted = task.as_users_see(model.predict(X))
    is_bad = ill_conditioned(plan, X, TOLERANCE)
    assert is_bad.mean() < 0.2
    assert agree(evaluate(plan, X), wanted, TOLERANCE)[~is_bad].all()
    is_bad |= target == "excel" and overflows(plan, X)
    assert agree(RUNNERS[target](plan, X, tmp_path), wanted, TOLERANCE)[~is_bad].all()


def test_float32_onnx_differs_by_the_rounding_of_its_input_only(fitted, tmp_path):
    model = fitted(sg.GroveRegressor, 0)
    X = rows_for("onnx", 5, 300, 2.0, 1.0)
    X = np.clip(X, -1e30, 1e30).astype(np.float32)
    found = run_onnx(model._plan(), X, tmp_path, "float32")
    np.testing.assert_allclose(found, model.predict(X.astype(np.float64)), rtol=1e-5)


def test_onnx_takes_rows_in_blocks():
    """So that memory does not grow with rows times steps: outside of the loop over blocks there are no steps."""
    ensemble = every_primitive(0, "median")
    made = export(plan_of(ensemble, list("abcd")), "onnx", None, {})
    kinds = [node.op_type for node in made.graph.node]
    assert kinds.count("Scan") == 1
    assert not {"Sin", "Sqrt", "TopK"} & set(kinds)
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    X = np.random.default_rng(0).normal(size=(2 * MOST_ROWS + 1, 4))
    wanted = ensemble.predict(X)[:, np.newaxis]
    for n in (0, 1, MOST_ROWS - 1, MOST_ROWS, MOST_ROWS + 1, len(X)):
        found = session.run(None, {"X": X[:n]})[0]
        assert found.shape == (n, 1)
        np.testing.assert_allclose(found, wanted[:n], rtol=1e-9)
