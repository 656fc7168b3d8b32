"""Dates in arrays are refused, as they are in frames."""

import numpy as np
import pandas as pd
import pytest

import symgrove as sg
from tests.contracts.test_methods import METHODS

DAYS = np.arange("2020-01-01", "2020-03-01", dtype="datetime64[D]")
SPANS = DAYS - DAYS[0]
Y = np.arange(DAYS.size) % 2


@pytest.fixture(scope="module", params=[sg.GroveRegressor, sg.TwoSEGPClassifier], ids=lambda kind: kind.__name__)
def fitted(request):
    X = np.arange(2.0 * DAYS.size).reshape(-1, 2)
    return request.param(**{**METHODS[request.param], "generations": 1}).fit(X, Y)


@pytest.mark.parametrize("values", [DAYS, SPANS], ids=["dates", "spans"])
def test_dates_are_no_features(fitted, values):
    X = np.column_stack([values, values])
    message = r"X holds dates or time spans \((datetime|timedelta)64\[D\]\), which are not numbers\. Convert them"
    with pytest.raises(ValueError, match=message):
        type(fitted)().fit(X, Y)
    with pytest.raises(ValueError, match=message):
        fitted.predict(X)


@pytest.mark.parametrize("values", [DAYS, SPANS, pd.Series(DAYS)], ids=["dates", "spans", "series"])
def test_dates_are_no_target_of_a_regression(fitted, values):
    if hasattr(fitted, "predict_proba"):
        pytest.skip("dates may be labels of classes")
    X = np.arange(2.0 * DAYS.size).reshape(-1, 2)
    with pytest.raises(ValueError, match="y holds dates or time spans"):
        type(fitted)().fit(X, values)
    with pytest.raises(ValueError, match="y must be numbers, got dates or time spans"):
        fitted.calibrate(X, values)
