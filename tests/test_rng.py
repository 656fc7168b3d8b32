import numpy as np
import pytest

from symgrove.rng import stream


def test_streams_are_reproducible_and_differ_by_seed_name_and_key():
    base = stream(1, "variation", 2).random(4)
    np.testing.assert_array_equal(base, stream(1, "variation", 2).random(4))
    for other in (stream(2, "variation", 2), stream(1, "selection", 2), stream(1, "variation", 3)):
        assert (other.random(4) != base).all()


def test_negative_seeds_get_a_clear_error():
    with pytest.raises(ValueError, match="non-negative whole numbers, got seed=-1"):
        stream(-1, "variation")
