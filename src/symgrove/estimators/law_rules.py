"""What users say about formulas of Law besides their functions: how large, and what must not be nested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symgrove._checks import check_whole
from symgrove.estimators.parameters import check_choice
from symgrove.methods.law.functions import FUNCTIONS


def check_rules(max_size: Any, nested_constraints: Any) -> None:
    """Refuse what makes no sense."""
    if max_size is not None:
        check_whole("max_size", max_size, 1)
    if nested_constraints is None:
        return
    wanted = "nested_constraints must be a dictionary such as {'sin': {'sin': 0, 'cos': 0}}"
    if not isinstance(nested_constraints, Mapping):
        raise TypeError(f"{wanted}, got {nested_constraints!r:.80}.")
    for outer, inner in nested_constraints.items():
        check_choice("nested_constraints", outer, tuple(FUNCTIONS))
        if not isinstance(inner, Mapping):
            raise TypeError(f"{wanted}, got {inner!r:.60} for {outer!r}.")
        for name, most in inner.items():
            check_choice("nested_constraints", name, tuple(FUNCTIONS))
            check_whole(f"nested_constraints[{outer!r}][{name!r}]", most, 0)
