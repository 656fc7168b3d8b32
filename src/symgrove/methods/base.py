"""What all methods share: a state that owns its forest, and how it is settled, undone, saved and loaded.

What evolves is the id of a root, or a vector or a matrix of ids, padded with -1. A state says once which of its fields
hold ids (`ids`), and which are vectors of the engine (`vectors`); collecting, undoing, saving and loading follow from
that.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.base import Engine, Handle
from symgrove.forest.forest import Forest, Ids

Arrays = dict[str, NDArray[Any]]
_kinds: dict[type, dict[str, Any]] = {}


class ForestView(NamedTuple):
    """A forest as a state knows it: its length, and its epoch, which changes whenever nodes are dropped."""

    forest: Forest
    n_nodes: int
    epoch: int


def nodes_of(forest: Forest) -> ForestView:
    """The forest as it is now.

    Examples
    --------
    >>> from symgrove import Forest, parse
    >>> from symgrove.extending import nodes_of
    >>> forest = Forest(2)
    >>> root = parse(forest, "x0 * x1")
    >>> nodes_of(forest).n_nodes > root
    True
    """
    return ForestView(forest, len(forest), forest.epoch)


@dataclass(frozen=True, kw_only=True)
class ForestState:
    """A run between two generations. Other fields are arrays, named tuples of arrays, or handles of vectors.

    Attributes
    ----------
    ids : tuple of str
        Fields that hold ids of the forest, such as "population" or "elites.root".
    vectors : tuple of str
        Fields that are vectors of the engine, made by `put`, `combine` or `apply`: they live as long as the state. They
        are saved as they are, because made anew they might differ in the last bits.

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
    >>> (own,) = state
    >>> isinstance(own, ex.ForestState), own.ids
    (True, ('population', 'elites.root'))
    """

    generation: int
    n_evaluations: int
    nodes: ForestView
    ids: ClassVar[tuple[str, ...]] = ()
    vectors: ClassVar[tuple[str, ...]] = ()

    @property
    def forest(self) -> Forest:
        """The forest that the state's ids are of; an error if it has dropped nodes since."""
        forest, n_nodes, epoch = self.nodes
        if forest.epoch != epoch or len(forest) < n_nodes:
            raise RuntimeError(
                f"this state of generation {self.generation} is outdated: its run has gone on, and its programs are "
                "gone. Use a state while it is the latest, or keep what `to_arrays` gives."
            )
        return forest

    def arrays(self) -> Arrays:
        """All fields that are arrays, by name."""
        found: Arrays = {}
        for name, kind in _kinds_of(type(self)).items():
            value = getattr(self, name)
            if kind is None:
                found[name] = value
            else:
                found |= {f"{name}.{part}": array for part, array in zip(kind._fields, value, strict=True)}
        return found

    def with_arrays(self, arrays: Mapping[str, NDArray[Any]], nodes: ForestView) -> Self:
        """This state with some arrays and the forest replaced."""
        all_arrays = {**self.arrays(), **arrays}
        return replace(self, nodes=nodes, **fields_from(type(self), all_arrays))


def fields_from(state_type: type[ForestState], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Undo `ForestState.arrays`."""
    return {
        name: arrays[name] if kind is None else kind(*(arrays[f"{name}.{part}"] for part in kind._fields))
        for name, kind in _kinds_of(state_type).items()
    }


def _kinds_of(state_type: type[ForestState]) -> dict[str, Any]:
    """Fields that are arrays or named tuples of arrays, by name: the class of the tuple, or None."""
    if state_type not in _kinds:  # reading annotations takes as long as a small generation
        hints = get_type_hints(state_type)
        own = fields(state_type)[len(fields(ForestState)) :]
        names = [field.name for field in own if field.name not in state_type.vectors]
        is_tuple = {n: isinstance(hints[n], type) and issubclass(hints[n], tuple) for n in names}
        _kinds[state_type] = {n: hints[n] if is_tuple[n] else None for n in names}
    return _kinds[state_type]


State = TypeVar("State", bound=ForestState)


@dataclass(frozen=True, kw_only=True)
class ForestMethod(ABC):
    """A method on one set of rows.

    Attributes
    ----------
    engine
        Evaluates programs; closed with the method.
    seed : int
    state_type : type
        Of its states.

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
    >>> isinstance(method.parts[0], ex.ForestMethod), method.parts[0].seed
    (True, 0)
    """

    engine: Engine
    seed: int
    state_type: ClassVar[type[ForestState]]

    @abstractmethod
    def init(self) -> Any:
        """The state before the first generation."""

    @abstractmethod
    def advance(self, state: Any) -> Any:
        """One generation; nodes are only appended, so that `rollback` can undo it."""

    @abstractmethod
    def describe(self, state: Any) -> dict[str, Any]:
        """Named values for the history."""

    @abstractmethod
    def check_arrays(self, arrays: Mapping[str, NDArray[Any]], n_nodes: int) -> None:
        """Refuse arrays of a checkpoint that do not go with this method; `check_ids` helps."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.engine.close()

    def new_forest(self) -> Forest:
        """An empty forest for programs of these features and functions."""
        return Forest(self.engine.n_features, self.engine.primitives)

    def step(self, state: State) -> State:
        """One generation."""
        return self.settle(self.advance(state))

    def settle(self, state: State) -> State:
        """Forget what no id of the state refers to."""
        forest, arrays = state.forest, state.arrays()
        roots = {name: arrays[name] for name in state.ids}
        new_of = forest.collect(np.concatenate([own[own >= 0] for own in roots.values()]))
        self.engine.collected(forest, new_of)
        new_of = np.append(new_of, -1)  # what -1 becomes
        return state.with_arrays({name: new_of[own] for name, own in roots.items()}, nodes_of(forest))

    def rollback(self, state: State) -> State:
        """The state, usable again after `advance` from it was cut short."""
        forest = state.nodes.forest
        self.engine.collected(forest, forest.truncate(state.nodes.n_nodes))
        return replace(state, nodes=nodes_of(forest))

    def watch(self, check: Callable[[], None] | None) -> None:
        """Have the engine call `check` within evaluations."""
        self.engine.watch(check)

    def to_arrays(self, state: ForestState) -> Arrays:
        """A state as plain arrays, for a checkpoint."""
        forest: Arrays = {f"forest.{name}": array for name, array in state.forest.to_arrays().items()}
        vectors: Arrays = {name: self.engine.fetch(getattr(state, name)) for name in state.vectors}
        counters = np.array([state.generation, state.n_evaluations])
        return {**forest, **state.arrays(), **vectors, "counters": counters}

    def from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> Any:
        """The state that `to_arrays` saved, with a forest of its own."""
        own = self.new_forest()
        columns = {name: arrays[f"forest.{name}"] for name in ("code", "left", "right", "value")}
        forest = Forest.from_arrays(columns, own.n_features, own.primitives)
        self.check_arrays(arrays, len(forest))
        generation, n_evaluations = map(int, arrays["counters"])
        counters = {"generation": generation, "n_evaluations": n_evaluations, "nodes": nodes_of(forest)}
        vectors: dict[str, Handle] = {name: self.engine.put(arrays[name]) for name in self.state_type.vectors}
        return self.state_type(**counters, **vectors, **fields_from(self.state_type, arrays))  # type: ignore[arg-type]


def check_array(name: str, array: NDArray[Any], shape: tuple[int, ...], kind: str) -> None:
    """See that an array from a checkpoint has a shape and a kind of numbers: f, i or b.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove.extending import check_array
    >>> check_array("errors", np.zeros((3, 2)), (3, 2), "f")
    >>> check_array("errors", np.zeros((3, 2)), (4, 2), "f")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: ...
    """
    if array.dtype.kind != kind or array.shape != shape:
        raise ValueError(f"{name!r} must be of shape {shape} and kind {kind}, got {array.dtype} of shape {array.shape}")


def check_ids(name: str, ids: Ids, shape: tuple[int, ...], n_nodes: int, lowest: int = 0) -> None:
    """See that an array from a checkpoint holds ids of a forest.

    Examples
    --------
    >>> import numpy as np
    >>> from symgrove.extending import check_ids
    >>> check_ids("population", np.array([0, 4]), (2,), n_nodes=5)
    >>> check_ids("population", np.array([0, 5]), (2,), n_nodes=5)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: ...
    """
    if ids.dtype.kind != "i" or ids.shape != shape or (ids < lowest).any() or (ids >= n_nodes).any():
        raise ValueError(f"{name!r} must be {shape} ids of {n_nodes} nodes, got {ids.dtype} of shape {ids.shape}")
