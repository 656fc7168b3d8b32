"""Dates in arrays are refused, as they are in frames."""

import numpy as np
import pandas as pd
import pytest

import symgrove as sg
from tests.contracts.test_methods import METHODS

DAYS = np.arange("2020-01-01", "2020-03-01", dtype="datetime64[D]")
SPANS = DAYS - DAYS[0]
Y = np.arange(DAYS.size) % 2


@pytest.mark.parametrize("kind", METHODS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("values", [DAYS, SPANS], ids=["dates", "spans"])
def test_dates_are_no_features(kind, values):
    X = np.column_stack([values, values])
    message = r"X holds dates or time spans \((datetime|timedelta)64\[D\]\), which are not numbers\. Convert them"
    with pytest.raises(ValueError, match=message):
        kind().fit(X, Y)
    model = kind(**METHODS[kind]).fit(X.astype(float), Y)
    with pytest.raises(ValueError, match=message):
        model.predict(X)


@pytest.mark.parametrize("values", [DAYS, SPANS, pd.Series(DAYS)], ids=["dates", "spans", "series"])
def test_dates_are_no_target_of_a_regression(values):
    X = np.arange(2.0 * DAYS.size).reshape(-1, 2)
    for kind in (sg.GroveRegressor, sg.TwoSEGPRegressor):
        with pytest.raises(ValueError, match="y holds dates or time spans"):
            kind().fit(X, values)
        model = kind(**METHODS[kind]).fit(X, Y)
        with pytest.raises(ValueError, match="y must be numbers, got dates or time spans"):
            model.calibrate(X, values)
