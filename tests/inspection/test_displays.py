"""Displays draw what was computed, on axes that are given or new, without a screen."""

import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_friedman1

import symgrove as sg
from symgrove import inspection
from tests.contracts.test_methods import METHODS

matplotlib.use("agg")
from matplotlib import pyplot as plt


@pytest.fixture(scope="module")
def regressor():
    X, y = make_friedman1(120, n_features=5, random_state=0)
    return sg.TwoSEGPRegressor(**METHODS[sg.TwoSEGPRegressor], calibration=0.3).fit(X, y), X, y


@pytest.fixture(scope="module")
def classifier():
    X, y = load_iris(return_X_y=True)
    return sg.GroveClassifier(**METHODS[sg.GroveClassifier]).fit(X, y), X, y


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_errors_of_predictions_are_of_numbers(classifier):
    model, X, y = classifier
    names = np.array(["setosa", "versicolor", "virginica"])
    texts = sg.GroveClassifier(**METHODS[sg.GroveClassifier]).fit(X, names[y])
    for known, labels in ((model, y), (texts, names[y])):
        with pytest.raises(ValueError, match=r"GroveClassifier predicts classes\. CalibrationDisplay shows"):
            inspection.PredictionErrorDisplay.from_estimator(known, X, labels)
    with pytest.raises(ValueError, match="actual must hold real numbers"):
        inspection.PredictionErrorDisplay(names[y], names[y])


def test_partial_dependence(regressor):
    model, X, _ = regressor
    display = inspection.PartialDependenceDisplay.from_estimator(model, X, ["x0", 3], n_points=9)
    assert [axes.get_xlabel() for axes in display.axes_] == ["x0", "x3"]
    line = display.axes_[0].lines[-1]
    assert np.array_equal(line.get_ydata(), display.curves[0].average)
    axes = plt.subplots(1, 2)[1]
    assert display.plot(ax=axes).axes_[1] is axes[1]
    with pytest.raises(ValueError, match="ax must have 2 axes"):
        display.plot(ax=axes[:1])


def test_dollars_are_no_mathematics():
    X, y = make_friedman1(60, n_features=5, random_state=0)
    frame = pd.DataFrame(X, columns=["$a_$", "price ($)", "$\\frac{$", "d", "e"])
    model = sg.TwoSEGPRegressor(**METHODS[sg.TwoSEGPRegressor]).fit(frame, y)
    shown = inspection.PartialDependenceDisplay.from_estimator(model, frame, [2], n_points=3)
    for display in (
        inspection.ImportanceDisplay.from_estimator(model, frame, y, n_repeats=1),
        inspection.InteractionDisplay.from_estimator(model, frame, n_rows=5),
        inspection.DerivativeDisplay.from_estimator(model, frame),
    ):
        display.figure_.canvas.draw()
    shown.axes_[0].figure.canvas.draw()
    assert shown.axes_[0].get_xlabel() == r"\$\frac{\$"


def test_classes_are_named(classifier):
    model, X, y = classifier
    display = inspection.PartialDependenceDisplay.from_estimator(model, X, n_most=1, target=0)
    assert display.axes_[0].get_ylabel() == "probability of 0"
    assert inspection.CalibrationDisplay.from_estimator(model, X, y).ax_.get_xlabel() == "promised: probability of 2"


def test_bars(regressor):
    model, X, y = regressor
    importance = inspection.ImportanceDisplay.from_estimator(model, X, y, n_repeats=2)
    heights = [bar.get_width() for bar in importance.ax_.patches]
    assert heights == sorted(importance.found.mean.tolist())
    pairs = inspection.InteractionDisplay.from_estimator(model, X, n_rows=10, n_most=3)
    assert len(pairs.ax_.patches) == 3
    boxes = inspection.DerivativeDisplay.from_estimator(model, X)
    assert sorted(text.get_text() for text in boxes.ax_.get_yticklabels()) == ["x0", "x1", "x2", "x3", "x4"]


@pytest.mark.parametrize("kind", ["actual_vs_predicted", "residual_vs_predicted"])
def test_errors(kind, regressor):
    model, X, y = regressor
    display = inspection.PredictionErrorDisplay.from_estimator(model, X, y, kind=kind, coverage=0.8, n_rows=50)
    points = display.ax_.collections[-1].get_offsets()
    assert len(points) == 50
    shift = display.predicted if kind.startswith("residual") else 0
    assert np.allclose(points[:, 1], display.actual - shift)
    with pytest.raises(ValueError, match="kind must be one of"):
        display.plot(kind="pie")


def test_lines(regressor):
    model, X, y = regressor
    convergence = inspection.ConvergenceDisplay.from_estimator(model)
    assert np.array_equal(convergence.ax_.lines[0].get_ydata(), np.median(model.history_["errors"], axis=1))
    assert convergence.ax_.get_yscale() == "log"
    calibration = inspection.CalibrationDisplay.from_estimator(model, X, y)
    assert calibration.found[9] == inspection.coverage(model, X, y, [0.5])[0]
    agreement = inspection.AgreementDisplay.from_estimator(model, X, y)
    assert agreement.ax_.images[0].get_array().shape == (6, 6)


def test_matplotlib_is_loaded_only_to_draw():
    code = "import symgrove.inspection, sys; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
