"""Several runs side by side, one generation of each in turn: one for each class, one for each population, or just one.

Stopped at any moment, all have come equally far.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from symgrove.methods._elites import Elites

States = tuple[Any, ...]


class Part(Protocol):
    """A method on one target. Its states have `generation` and `forest`."""

    @property
    def engine(self) -> Any:
        """Evaluates its programs."""
        ...

    @property
    def loss(self) -> Any:
        """What its programs are scored by."""
        ...

    @property
    def source(self) -> Any:
        """Draws its random programs."""
        ...

    def init(self) -> Any:
        """The state before the first generation."""
        ...

    def advance(self, state: Any) -> Any:
        """One generation; only appends nodes, so that `rollback` can undo it."""
        ...

    def settle(self, state: Any) -> Any:
        """Forget nodes that the state does not refer to."""
        ...

    def rollback(self, state: Any) -> None:
        """Make `state` usable again after `advance` from it was cut short."""
        ...

    def watch(self, check: Callable[[], None] | None) -> None:
        """Have the engine call `check` within evaluations."""
        ...

    def describe(self, state: Any) -> dict[str, Any]:
        """Named values for the history."""
        ...

    def members(self, state: Any) -> Elites:
        """The ensemble of a state."""
        ...

    def finish(self, state: Any) -> Elites:
        """The members with their final scaling."""
        ...

    def outside(self, state: Any, members: Elites) -> NDArray[np.bool_]:
        """Which rows each member was not fitted on, (n_members, n_rows)."""
        ...

    def to_arrays(self, state: Any) -> dict[str, NDArray[Any]]:
        """A state as plain arrays."""
        ...

    def from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """The state that `to_arrays` saved."""
        ...


@dataclass(frozen=True)
class Several:
    """A method whose state is the states of its parts."""

    parts: Sequence[Part]
    share_target: bool = False  # then their errors are those of more members, not of more targets

    def init(self) -> States:
        return tuple(part.init() for part in self.parts)

    def step(self, state: States) -> States:
        """All advance before any settles, so that a step that is cut short can be undone."""
        advanced = [part.advance(own) for part, own in zip(self.parts, state, strict=True)]
        return tuple(part.settle(own) for part, own in zip(self.parts, advanced, strict=True))

    def rollback(self, state: States) -> None:
        for part, own in zip(self.parts, state, strict=True):
            part.rollback(own)

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
            name: np.average([d[name] for d in each], weights=n_members) for name in each[0] if name != "errors"
        }
        merged["errors"] = np.concatenate(errors, axis=-1) if self.share_target else np.stack(errors)
        merged["generation"] = each[0]["generation"]
        merged["max_size"] = max(d["max_size"] for d in each)
        for name in {"n_evaluations", "n_distinct", "n_elites"} & set(merged):
            merged[name] = int(sum(d[name] for d in each))
        return merged

    def to_arrays(self, state: States) -> dict[str, NDArray[Any]]:
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
