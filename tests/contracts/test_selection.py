"""What every selection promises: so many valid indices, +inf never before a usable program, no change of input."""

import numpy as np
import pytest

from symgrove import partitioned_truncation, tournament, truncation
from symgrove.selection import NAMES, Partition
from symgrove.selection.lexicase import partitioned_lexicase
from symgrove.selection.tournament import partitioned_tournament

SELECTIONS = {
    "truncation": lambda errors, n, rng: truncation(errors.max(axis=1), n),
    "partitioned_truncation": partitioned_truncation,
    "tournament": lambda errors, n, rng: tournament(errors.min(axis=1), n, 4, rng),
    "partitioned_tournament": lambda errors, n, rng: partitioned_tournament(errors, n, 4, rng),
    "partitioned_lexicase": lambda errors, n, rng: partitioned_lexicase(errors, errors, n, rng),
    "Partition(n_parts=3, tournament_size=4)": Partition(n_parts=3, tournament_size=4),
    **{name: select for name, select in NAMES.items() if not hasattr(select, "n_cases")},
}


@pytest.fixture
def errors():
    matrix = np.random.default_rng(0).random((200, 10))
    matrix[::20] = np.inf
    return matrix


@pytest.mark.parametrize("select", SELECTIONS.values(), ids=SELECTIONS)
class TestSelection:
    @pytest.mark.parametrize("n_selected", [0, 1, 37, 100])
    def test_returns_so_many_valid_indices(self, select, errors, n_selected):
        selected = select(errors, n_selected, np.random.default_rng(1))
        assert selected.shape == (n_selected,)
        assert selected.dtype == np.int64
        assert ((selected >= 0) & (selected < 200)).all()

    def test_same_generator_same_indices(self, select, errors):
        first, second = (select(errors, 57, np.random.default_rng(2)) for _ in range(2))
        np.testing.assert_array_equal(first, second)

    def test_leaves_the_errors_alone(self, select, errors):
        before = errors.copy()
        select(errors, 50, np.random.default_rng(3))
        np.testing.assert_array_equal(errors, before)

    def test_prefers_lower_errors(self, select, errors):
        selected = select(errors, 100, np.random.default_rng(4))
        finite = np.isfinite(errors[:, 0])
        assert errors[selected].mean() < errors[finite].mean()
        assert np.isfinite(errors[selected]).all()
