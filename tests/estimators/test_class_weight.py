"""Weights of classes: for every classifier those of the rows, and clear errors."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.utils.class_weight import compute_sample_weight

import symgrove as sg
from tests.contracts.test_methods import METHODS

CLASSIFIERS = {kind: {**own, "generations": 3} for kind, own in METHODS.items() if hasattr(kind, "predict_proba")}


@pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("class_weight", [{"a": 1.0, "b": 6}, "balanced"], ids=["dict", "balanced"])
def test_class_weights_are_sample_weights(kind, class_weight):
    X, y = make_classification(90, 4, weights=[0.8], flip_y=0.1, random_state=0)
    y, own = np.array(["a", "b"])[y], np.random.default_rng(0).random(90) + 0.5
    weighted = kind(**CLASSIFIERS[kind], class_weight=class_weight).fit(X, y, sample_weight=own)
    as_rows = kind(**CLASSIFIERS[kind]).fit(X, y, sample_weight=own * compute_sample_weight(class_weight, y))
    np.testing.assert_array_equal(weighted.predict_proba(X), as_rows.predict_proba(X))
    np.testing.assert_array_equal(weighted.history_["errors"], as_rows.history_["errors"])
    if class_weight == "balanced":
        plain = kind(**CLASSIFIERS[kind]).fit(X, y, sample_weight=own)
        assert (plain.history_["errors"] != weighted.history_["errors"]).any()


def test_classes_that_are_not_named_weigh_one():
    X, y = load_iris(return_X_y=True)
    settings = CLASSIFIERS[sg.TwoSEGPClassifier]
    some, all_of_them = (
        sg.TwoSEGPClassifier(**settings, class_weight=own).fit(X, y) for own in ({2: 3.0}, {0: 1, 1: 1, np.int64(2): 3})
    )
    np.testing.assert_array_equal(some.predict_proba(X), all_of_them.predict_proba(X))


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("heavy", "class_weight must be a dict from labels to weights, 'balanced' or None, got 'heavy'"),
        ([1, 2], r"class_weight must be a dict from labels to weights.*got \[1, 2\]"),
        ({0: 1, "setosa": 2}, "class_weight has labels that y does not hold: 'setosa'. y has 0, 1, 2"),
        ({0: -1.0}, r"class_weight\[0\] must be a number that is not negative, got -1.0"),
        ({0: np.nan}, r"class_weight\[0\] must be a number"),
        ({1: "much"}, r"class_weight\[1\] must be a number that is not negative, got 'much'"),
        ({0: 0, 1: 0}, "only one class"),
    ],
)
def test_class_weights_are_checked(class_weight, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        sg.ClassicGPClassifier(population_size=10, generations=1, class_weight=class_weight).fit(X, y)


def test_what_is_wrong_with_labels_or_weights_is_still_said():
    X, y = load_iris(return_X_y=True)
    model = sg.ClassicGPClassifier(population_size=10, generations=1, class_weight="balanced")
    with pytest.raises(ValueError, match="y should be a 1d array"):
        model.fit(X, np.stack([y, y], axis=1))
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(150,\)"):
        model.fit(X, y, sample_weight=np.ones(7))
    with pytest.raises(ValueError, match="sample_weight must hold"):
        model.fit(X, y, sample_weight=["a"] * 150)
    with pytest.raises(ValueError, match="requires y"):
        model.fit(X, None)
