"""Machine code of users' functions: compiled once for what they do."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from symgrove import PrimitiveSet, _own_blocks, primitive
from symgrove.engines.blocks import BlockTable

SHIFT = 2.0
TABLE = np.array([1.0, 2.0, 3.0])


def made(number):
    def scaled(a):
        return a * number + SHIFT

    return primitive(scaled)


def address(own):
    primitives = PrimitiveSet(("add", own))
    return BlockTable(primitives, np.dtype(np.float64)).addresses[primitives[own.name].code]


def test_a_function_that_is_defined_again_is_not_compiled_again():
    first = address(made(3.0))
    n_compiled = len(_own_blocks._compiled)
    assert address(made(3.0)) == first
    assert len(_own_blocks._compiled) == n_compiled


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (0.0, -0.0)])
def test_functions_that_do_something_else_are_told_apart(one, other):
    assert address(made(one)) != address(made(other))


def test_what_is_taken_from_outside_counts(monkeypatch):
    before = address(made(5.0))
    monkeypatch.setitem(globals(), "SHIFT", 7.0)
    assert address(made(5.0)) != before


def test_what_is_used_further_down_counts_too():
    def nested(a):
        def inner(b):
            return b * SHIFT

        return inner(a)

    own = SimpleNamespace(number=2.0)
    assert _own_blocks._content_of(nested) is nested
    assert _own_blocks._content_of(made(own).function) is not _own_blocks._content_of(made(own).function)
    assert _own_blocks._content_of(made((0.0,)).function) != _own_blocks._content_of(made((-0.0,)).function)


def test_tables_of_numbers_may_be_used():
    assert address(primitive(lambda a: a * TABLE[1], name="from_a_table")) > 0


def test_functions_of_others_and_modules_may_be_used():
    assert address(primitive(lambda a: math.cos(a) + np.abs(a), name="wave")) > 0
