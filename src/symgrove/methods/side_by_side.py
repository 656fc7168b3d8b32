"""Several runs side by side, one generation of each in turn: one for each class, one for each population, or just one.

Stopped at any moment, all have come equally far.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from symgrove.methods.base import Arrays, ForestMethod
from symgrove.models.standardization import Standardization

States = tuple[Any, ...]
Part = TypeVar("Part", bound=ForestMethod)


@dataclass(frozen=True)
class SideBySide(Generic[Part]):
    """A method whose state is the states of its parts.

    Attributes
    ----------
    parts : sequence of methods
    standardization : Standardization
        Of the features that the parts see.
    share_target : bool
        Whether the parts have one target; then their errors are those of more members, not of more targets.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove import ClassicGPRegressor, PrimitiveSet, extending as ex
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2))
    >>> rows = ex.Rows(X, (X[:, 0] * X[:, 1])[None], None, np.arange(40))
    >>> problem = ex.Problem(rows, ex.Regression(), seed=0)
    >>> evaluation = ex.Evaluation(PrimitiveSet(("add", "mul")), "float64", False, 1 << 28)
    >>> estimator = ClassicGPRegressor(population_size=20)
    >>> with ex.evolutions_of(problem, evaluation, estimator.make_part) as method:
    ...     state = method.step(method.init())
    >>> len(method.parts), len(state)  # one target
    (1, 1)
    """

    parts: Sequence[Part]
    standardization: Standardization
    share_target: bool = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        with ExitStack() as stack:
            for part in self.parts:
                stack.enter_context(part)

    def init(self) -> States:
        return tuple([part.init() for part in self.parts])

    def step(self, state: States) -> States:
        """All advance before any settles, so that a step that is cut short can be undone."""
        advanced = [part.advance(own) for part, own in zip(self.parts, state, strict=True)]
        return tuple(part.settle(own) for part, own in zip(self.parts, advanced, strict=True))

    def rollback(self, state: States) -> States:
        return tuple(part.rollback(own) for part, own in zip(self.parts, state, strict=True))

    def watch(self, check: Callable[[], None] | None) -> None:
        for part in self.parts:
            part.watch(check)

    def describe(self, state: States) -> dict[str, Any]:
        each = [part.describe(own) for part, own in zip(self.parts, state, strict=True)]
        if len(each) == 1:
            return each[0]
        errors = [d["errors"] for d in each]
        n_members = [e.shape[-1] if self.share_target else 1 for e in errors]
        merged: dict[str, Any] = {
            name: np.average([d[name] for d in each], weights=n_members)
            if np.ndim(value) == 0
            else np.stack([d[name] for d in each])
            for name, value in each[0].items()
            if name != "errors"
        }
        merged["errors"] = np.concatenate(errors, axis=-1) if self.share_target else np.stack(errors)
        merged["generation"] = each[0]["generation"]
        if "max_size" in merged:
            merged["max_size"] = max(d["max_size"] for d in each)
        for name in {"n_evaluations", "n_distinct", "n_elites"} & set(merged):
            merged[name] = int(sum(d[name] for d in each))
        return merged

    def to_arrays(self, state: States) -> Arrays:
        return {
            f"{i}.{name}": array
            for i, (part, own) in enumerate(zip(self.parts, state, strict=True))
            for name, array in part.to_arrays(own).items()
        }

    def from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> States:
        return tuple(
            part.from_arrays({k.removeprefix(f"{i}."): a for k, a in arrays.items() if k.startswith(f"{i}.")})
            for i, part in enumerate(self.parts)
        )
