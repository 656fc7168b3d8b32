import numpy as np
import pytest

from symgrove import make_dataset


@pytest.mark.parametrize(
    ("X", "y", "dtype", "message"),
    [
        (np.ones(3), np.ones(3), "float64", r"X must be a matrix .* got shape \(3,\)"),
        (np.ones((0, 2)), np.ones(0), "float64", "X is empty: it has 0 rows and 2 features"),
        (np.ones((2, 0)), np.ones(2), "float64", "X is empty: it has 2 rows and 0 features"),
        ([["a", "b"]], [1.0], "float64", "X must hold numbers"),
        ([[1.0, np.nan], [1.0, 1.0]], [1.0, 2.0], "float64", "feature 1 has nan in row 0"),
        ([[1.0], [1e300]], [1.0, 2.0], "float32", r"X must be finite in float32; feature 0 has 1e\+300 in row 1"),
        ([[1.0], [2.0]], [1.0], "float64", r"y must have shape \(2,\) to go with X, got \(1,\)"),
        ([[1.0], [2.0]], [1.0, np.inf], "float64", "y must be finite; row 1 has inf"),
        ([[1.0], [2.0]], [1.0, 2.0], "float16", "dtype must be one of 'float64', 'float32', got 'float16'"),
        ([[1.0], [2.0]], [1.0, 2.0], "double trouble", "dtype must be one of"),
    ],
)
def test_bad_data_gets_a_clear_error(X, y, dtype, message):
    with pytest.raises(ValueError, match=message):
        make_dataset(X, y, dtype)


def test_features_are_laid_out_by_column():
    X = np.arange(6).reshape(3, 2)
    data = make_dataset(X, [0, 1, 2], "float32")
    assert data.columns.dtype == np.float32
    assert data.columns.flags.c_contiguous
    np.testing.assert_array_equal(data.columns, X.T)
    assert (data.n_rows, data.n_features) == (3, 2)
