"""Losses of one's own as values: what is refused, what they give, how they travel and are told apart."""

import copy
import math
import pickle

import numpy as np
import pytest

from symgrove import ClassicGPRegressor, ClassificationError, MeanRowLoss, MeanSquaredError, row_loss
from symgrove.evolution.checkpoint import fingerprint
from tests.naive import fitness as naive


def raises(y, prediction):
    if prediction < 0:
        raise ValueError("negative")
    return y - prediction


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((abs,), "made of a plain Python function .* of target and prediction, got <built-in function abs>"),
        ((np.subtract,), "made of a plain Python function"),
        ((lambda y, prediction: y,), "row loss name '<lambda>' is not a plain name; pass name="),
        ((naive.absolute, "least squares"), "row loss name 'least squares' is not a plain name"),
        ((naive.absolute, 3), "row loss name 3 is not a plain name"),
        ((raises,), "row loss 'raises' raises, which compiled code cannot"),
        ((lambda y: y, "f"), "row loss 'f' takes 1 arguments; it must take two, the target and the prediction"),
        ((lambda y, *rest: y, "f"), "row loss 'f' must take plain positional arguments"),
    ],
)
def test_what_cannot_be_a_row_loss_gets_a_clear_error(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        row_loss(*arguments)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda y, prediction: y.name,
            "row loss 'f' cannot be compiled: .* It may use arithmetic, comparisons, math",
        ),
        (lambda y, prediction: (y, prediction), "row loss 'f' must return one number on every path"),
        (lambda y, prediction: y if y > prediction else None, "row loss 'f' must return one number on every path"),
    ],
)
def test_what_cannot_be_compiled_says_so_when_it_is_first_used(function, message):
    with pytest.raises(ValueError, match=message):
        row_loss(function, "f")([1.0], [2.0])


def test_functions_made_by_exec_which_have_no_module_are_compiled():
    names = {"__builtins__": __builtins__}
    exec("def distance(y, prediction):\n    return abs(y - prediction)", names)
    X = np.linspace(0, 1, 20)[:, None]
    model = ClassicGPRegressor(population_size=20, generations=1, loss=names["distance"], random_state=0)
    assert model.fit(X, X[:, 0]).score(X, X[:, 0]) > 0.5


def test_a_mean_takes_row_losses_only():
    with pytest.raises(TypeError, match=r"takes what symgrove.row_loss\(function\) makes, got <function absolute"):
        MeanRowLoss(naive.absolute)


@pytest.mark.parametrize("function", [naive.absolute, naive.pinball, naive.huber])
def test_losses_of_rows_are_those_of_the_function(function):
    y, prediction = np.random.default_rng(0).normal(size=(2, 7, 30)) * 2
    expected = [[function(a, b) for a, b in zip(*rows, strict=True)] for rows in zip(y, prediction, strict=True)]
    loss = MeanRowLoss(row_loss(function))
    np.testing.assert_array_equal(loss.of_rows(y, prediction), expected)
    np.testing.assert_array_equal(loss.of_rows(y[:, 3], prediction[:, 3]), np.array(expected)[:, 3])  # with strides
    np.testing.assert_array_equal(loss.of_rows(y[:, :1], 1), [[function(a, 1.0)] for a in y[:, 0]])
    assert loss.of_rows(2, 1) == function(2.0, 1.0)


def test_losses_of_rows_of_the_other_losses():
    y, prediction = np.array([0, 1, 1, 0]), np.array([0.2, 0.4, 0.9, 1e200])
    np.testing.assert_array_equal(ClassificationError().of_rows(y, prediction), [0, 1, 0, 1])
    np.testing.assert_array_equal(ClassificationError(threshold=0.3).of_rows(y, prediction), [0, 0, 0, 1])
    np.testing.assert_allclose(MeanSquaredError().of_rows(y, prediction), [0.04, 0.36, 0.01, np.inf])


def test_where_python_would_raise_compiled_code_gives_numbers_that_are_not_finite():
    logarithmic = row_loss(lambda y, prediction: math.log(prediction) + y / prediction, "logarithmic")
    assert not np.isfinite(logarithmic(1.0, [0.0, -1.0])).any()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_equal_and_do_the_same(duplicate):
    loss = MeanRowLoss(row_loss(naive.pinball, "p90"), linear_scaling=False)
    loss.of_rows(1.0, 2.0)  # machine code stays behind
    twin = duplicate(loss)
    assert twin == loss
    assert hash(twin) == hash(loss)
    assert repr(twin) == "MeanRowLoss(row_loss=row_loss(p90), linear_scaling=False)"
    np.testing.assert_array_equal(twin.of_rows(1.0, [0.0, 3.0]), [0.9, 0.2])


def test_functions_are_described_by_what_they_do():
    def pinball(share):
        def loss(y, prediction):
            return share * (y - prediction) if y > prediction else (1 - share) * (prediction - y)

        return row_loss(loss)

    marks = [fingerprint({}, {"loss": pinball(share).function}) for share in (0.9, 0.9, 0.5)]
    assert marks[0] == marks[1] != marks[2]
    assert pinball(0.9).block.address == pinball(0.9).block.address != pinball(0.5).block.address
