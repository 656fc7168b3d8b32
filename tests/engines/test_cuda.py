"""The CUDA engine beyond the contract: whole fits, users' functions, what is missing, constants of its kernels."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import symgrove as sg
from symgrove.engines import cuda, cuda_card, cuda_sums, cuda_vectors, registry
from symgrove.engines.cuda import CudaEngine
from symgrove.engines.cuda_functions import translated
from symgrove.engines.cuda_source import kernel_source
from symgrove.engines.own_source import c_function
from symgrove.fitness.named_losses import LOSSES, make_loss
from symgrove.methods.grove.losses import team_loss
from symgrove.models import joint_sums
from symgrove.models.teams import Teams
from tests.contracts.test_engines import reason_to_skip
from tests.engines.played_card import PlayedCard
from tests.strategies import random_data

MAKERS = {
    "cuda": CudaEngine,
    "cuda, played": lambda *given: CudaEngine(*given, card=PlayedCard()),
}


@pytest.fixture(params=MAKERS)
def make(request):
    reason = reason_to_skip(request.param)
    if reason:
        pytest.skip(reason)
    return MAKERS[request.param]


def _logistic(a):
    return 1 / (1 + math.exp(-a))


LIMIT = 0.25


def _bent(a, b):
    """Branches, a chain of conditions, a constant from outside, an update in place."""
    if a > b and not b < -LIMIT:
        c = np.maximum(a, LIMIT) ** 2
    else:
        c = (
            -abs(a)
            if b > 0
            else min(
                a,
                b,
            )
        )
    c += np.square(b)
    return c


def test_users_functions_run_as_on_the_cpu(make):
    own = sg.primitive(_logistic), sg.primitive(_bent), sg.primitive(lambda a: a / 3, name="third", c="{0} / 3.0")
    primitives = sg.PrimitiveSet(("add", *own))
    X, y = random_data(0, 700)
    forest = sg.Forest(3, primitives)
    both = forest.apply("_bent", forest.feature(0), forest.feature(1))
    roots = np.unique([both, forest.apply("_logistic", both), forest.apply("third", forest.feature(2))])
    data = sg.make_dataset(X, y)
    expected = sg.CpuEngine(data, primitives).outputs(forest, roots)
    np.testing.assert_allclose(make(data, primitives).outputs(forest, roots), expected, rtol=1e-13)


def test_a_function_that_cannot_be_translated_is_refused():
    def loops(a):
        for _ in range(3):
            a = a * a
        return a

    for function, what in ((loops, "primitive 'loops'"), (lambda a: np.fft.fft(a), "row loss 'x'")):
        with pytest.raises(ValueError, match=rf"{what} cannot be compiled for the card: .* c='...', instead"):
            c_function("own", function, 1, "double", what)


@pytest.mark.parametrize(
    "estimator",
    [
        sg.TwoSEGPRegressor(n_estimators=3),
        sg.GroveRegressor(strength="fixed", n_estimators=3),
        sg.GroveClassifier(strength="fixed", n_estimators=3),
        sg.M3GPClassifier(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_fits_agree_with_those_of_the_cpu_to_rounding(make, monkeypatch, estimator):
    if make is not CudaEngine:
        monkeypatch.setattr(cuda, "the_card", PlayedCard)
    X, y = random_data(0, 200)
    y = y > np.median(y) if hasattr(estimator, "predict_proba") else y
    estimator.set_params(population_size=30, generations=2, random_state=0, dtype="float64")
    expected = estimator.fit(X, y).predict(X)
    on_card = estimator.set_params(engine="cuda").fit(X, y).predict(X)
    np.testing.assert_allclose(on_card.astype(float), expected.astype(float), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(estimator.fit(X, y).predict(X), on_card)


def test_predictions_of_many_rows_are_made_on_the_card(make, monkeypatch):
    if make is not CudaEngine:
        monkeypatch.setattr(cuda, "the_card", PlayedCard)
    monkeypatch.setattr(registry, "FEWEST_ROWS", 500)
    monkeypatch.setattr(joint_sums, "VALUES_OF_ANOTHER_ENGINE", 1 << 13)
    X, y = random_data(0, 150)
    model = sg.GroveRegressor(strength="fixed", n_estimators=3, population_size=30, generations=2, random_state=0)
    model.fit(X, y)
    Z = random_data(1, 5000)[0]
    expected = model.predict(Z)
    made, launch = [], PlayedCard.launch
    monkeypatch.setattr(PlayedCard, "launch", lambda *given, **more: (made.append(given[2]), launch(*given, **more)))
    model.engine = "cuda"
    np.testing.assert_allclose(model.predict(Z), expected, rtol=1e-12, atol=1e-12)
    assert make is CudaEngine or made.count("weigh") > 1, "in several blocks"
    made.clear()
    np.testing.assert_array_equal(model.predict(Z[:400]), expected[:400])
    assert not made


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_teams_are_kernels_whose_numbers_may_change(name):
    """Else every function of a generation is a dozen launches, or compiled again for each length of a step."""
    y = np.linspace(1.0, 2.0, 20)
    sources = set()
    for scale in (1.0, 3.0):
        loss = team_loss(make_loss(name, 0.3, None, y, None), scale)
        value, share = loss.value, 0.25 * scale
        functions = [(value, 2), (loss.score, 3), (_in_a_step(value, share), 3)]
        functions += [] if loss.curvature is None else [(loss.curvature, 3)]
        found = [translated(*each) for each in functions]
        assert all(found)
        sources.add(tuple(each.source for each in found))
        assert share in found[2].numbers
    assert len(sources) == 1


def _in_a_step(value, share):
    return lambda t, p, c: value(t, p + share * c)


def one_fold(kind):
    """An estimator that holds out some rows once, however few there are."""
    own = kind.configuration
    folds = replace(own.folds, most_rows=100)
    return type(kind.__name__, (kind,), {"configuration": replace(own, folds=folds)})


@pytest.mark.parametrize("kind", [sg.GroveRegressor, sg.GroveClassifier])
def test_the_strength_is_chosen_on_the_card(make, monkeypatch, kind):
    """Predictions of rows held out and sums of all pairs of terms are made there, and the choice is the CPU's."""
    if make is not CudaEngine:
        monkeypatch.setattr(cuda, "the_card", PlayedCard)
    X, y = random_data(0, 200)
    y = y if kind is sg.GroveRegressor else y > np.median(y)
    few = {"n_estimators": 3, "n_populations": 2, "population_size": 30, "max_terms": 5}
    model = one_fold(kind)(generations=5, random_state=0, dtype="float64", **few).fit(X, y)
    expected = model.predict(X).astype(float), [*model.stacking_weights_.values()]
    monkeypatch.setattr(registry, "FEWEST_ROWS", 20)
    monkeypatch.setattr(Teams, "term_values", lambda *_: pytest.fail("terms are brought to the host"))
    model.set_params(engine="cuda").fit(X, y)
    np.testing.assert_allclose([*model.stacking_weights_.values()], expected[1], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.predict(X).astype(float), expected[0], rtol=1e-6, atol=1e-8)


def test_a_model_from_a_card_predicts_where_there_is_none(monkeypatch):
    def none():
        raise RuntimeError("no card")

    monkeypatch.setattr(cuda, "the_card", none)
    assert registry.Workers(3, "cuda").engine == "cpu"
    assert registry.engine_of(registry.Workers(3, "cuda"), 10**7) is None


def test_without_a_card_the_error_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(cuda_card, "missing_for_cuda", lambda: "there is no CuPy: pip install it.")
    cuda_card.the_card.cache_clear()
    with pytest.raises(RuntimeError, match=r"there is no CuPy: pip install it\. `symgrove doctor` shows"):
        sg.TwoSEGPRegressor(engine="cuda").fit(np.ones((9, 1)), np.ones(9))
    monkeypatch.setattr(cuda, "missing_for_cuda", cuda_card.missing_for_cuda)
    found = registry.described_engines()
    assert (found["cpu"], found["cuda"]) == ("everywhere", "there is no CuPy: pip install it.")


def test_constants_are_those_of_the_kernels():
    text = kernel_source([], np.dtype("float32"))
    defined = {name: int(value) for name, value in re.findall(r"#define (\w+) (\d+)\b", text)}
    for module in (cuda, cuda_sums, cuda_vectors):
        names = {"EVALUATORS", "PANEL", "TILE", "SUMMERS", "RIGHT", "EIGHT", "MANY", "TOGETHER", "STEP_ROWS"}
        for name in names & set(vars(module)):
            assert getattr(module, name) == defined[name], name
    assert defined["VECTORS"] == cuda_vectors.VECTORS_OF_A_BLOCK
    for n in range(1, defined["TOGETHER"] + 1):
        n_warps = cuda_vectors.threads_of(n) // 32
        assert n_warps <= defined["MOST_WARPS"]
        assert n < n_warps * defined["AHEAD"], "the weights are read too"
