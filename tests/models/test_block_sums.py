import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symgrove.fitness.named_losses import weighted_quantile
from symgrove.models.block_sums import Sketch, Spreads, joined, spreads_of
from symgrove.models.columns import weighted_median


def cut(rng, n_rows):
    edges = np.sort(rng.choice(np.arange(1, n_rows), size=min(6, n_rows - 1), replace=False))
    return [slice(a, b) for a, b in zip([0, *edges.tolist()], [*edges.tolist(), n_rows], strict=True)]


@given(st.integers(2, 60), st.integers(0, 99), st.booleans())
def test_spreads_of_blocks_are_those_of_all_rows(n_rows, seed, has_weight):
    rng = np.random.default_rng(seed)
    X = rng.normal(1e6, [1.0, 1e-3, 0.0], (n_rows, 3))  # far from zero, where raw sums would cancel
    weight = rng.uniform(0.1, 2, n_rows) if has_weight else None
    blocks = cut(rng, n_rows)
    found = spreads_of(Spreads.of(X[b], None if weight is None else weight[b]) for b in blocks)
    mean = np.average(X, axis=0, weights=weight)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-14)
    variance = np.average((X - mean) ** 2, axis=0, weights=weight)
    np.testing.assert_allclose(found.spread**2, variance, rtol=1e-5, atol=1e-16)
    np.testing.assert_array_equal([found.low, found.high], [X.min(axis=0), X.max(axis=0)])


@given(st.integers(2, 60), st.integers(0, 99), st.booleans())
def test_medians_of_small_blocks_are_exact(n_rows, seed, has_weight):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 9, n_rows).astype(float)
    weight = rng.integers(1, 4, n_rows).astype(float) if has_weight else None
    values[rng.random(n_rows) < 0.2] = np.nan
    sketch = joined(Sketch.of(values[b], None if weight is None else weight[b]) for b in cut(rng, n_rows))
    known = ~np.isnan(values)
    assert weighted_median(*sketch) == weighted_median(values[known], None if weight is None else weight[known])


@pytest.mark.parametrize("draw", ["normal", "exponential", "standard_cauchy"])
@pytest.mark.parametrize("has_weight", [False, True])
def test_quantiles_are_as_near_as_promised(draw, has_weight):
    rng = np.random.default_rng(5)
    values = np.sort(getattr(rng, draw)(size=20_000))  # sorted: blocks could not be more different
    weight = rng.exponential(size=values.size) if has_weight else np.ones(values.size)
    sketch = joined(Sketch.of(values[b], weight[b], points=50) for b in cut(rng, values.size))
    below = np.cumsum(weight) / weight.sum()
    heaviest = weight.max() / weight.sum()
    for level in (0.01, 0.25, 0.5, 0.9, 0.999):
        place = np.searchsorted(values, weighted_quantile(*sketch, level))
        assert abs(below[place] - level) <= 1 / (2 * 50) + heaviest
