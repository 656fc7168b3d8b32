"""The forest: a whole population as one shared graph.

Every distinct subtree exists once (hash-consing: the key is the primitive and the child ids; constants by their bits).
A program is the id of its root. The programs ``x0 * 2 + x1`` and ``sqrt(x0 * 2)`` share three nodes:

    id      0    1    2    3    4    5
    code    x    c    mul  x    add  sqrt
    left    0    -    0    1    2    2         (feature index for a feature)
    right   -    -    1    -    3    -
    value   0    2.0  0    0    0    0
    size    1    1    3    1    5    4         (counted as a tree)
    height  0    0    1    0    2    2

Children always have smaller ids than their parents, so ascending id is evaluation order. Nodes are only appended,
until `collect` drops those that nothing refers to. Equal programs have equal root ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from symgrove._checks import check_whole
from symgrove.forest import intern_kernels
from symgrove.forest.intern_kernels import Columns, Tokens
from symgrove.forest.primitive_table import CONSTANT, FEATURE, Primitive
from symgrove.forest.primitives import PrimitiveSet

Ids = NDArray[np.int64]


class Forest:
    """A hash-consed graph of programs.

    Parameters
    ----------
    n_features : int
        Number of features that programs may refer to.
    primitives : PrimitiveSet, optional
        The paper's functions by default.

    Examples
    --------
    >>> from symgrove import Forest, parse
    >>> forest = Forest(2)
    >>> parse(forest, "x0 * x1 + 1") == parse(forest, "x0 * x1 + 1")  # equal programs are one
    True
    """

    def __init__(self, n_features: int, primitives: PrimitiveSet | None = None) -> None:
        check_whole("n_features", n_features, 1)
        if primitives is not None and not isinstance(primitives, PrimitiveSet):
            raise TypeError(f"primitives must be a PrimitiveSet, got {primitives!r}.")
        self.n_features = int(n_features)
        self.primitives = primitives if primitives is not None else PrimitiveSet()
        self.arity = self.primitives.arity_by_code()
        self.columns = _new_columns(1024)
        self.epoch = 0  # how often nodes were dropped; an engine that missed one forgets what it knows

    def __len__(self) -> int:
        return int(self.columns.n_nodes[0])

    def __repr__(self) -> str:
        return f"Forest({len(self)} nodes, {self.n_features} features)"

    # Making nodes

    def feature(self, index: int) -> int:
        """Id of the feature with this index."""
        check_whole("index", index, 0)
        if index >= self.n_features:
            raise ValueError(f"feature {index} does not exist; features are 0 to {self.n_features - 1}.")
        return self._intern(FEATURE, index, -1, 0.0)

    def constant(self, value: float) -> int:
        """Id of a constant; equal bits give equal ids, so 0.0 and -0.0 differ."""
        if not np.isfinite(value):
            raise ValueError(f"constants must be finite numbers, got {value!r}.")
        return self._intern(CONSTANT, -1, -1, float(value))

    def apply(self, function: str | Primitive, *children: int) -> int:
        """Id of a primitive applied to one or two programs."""
        row = self.primitives[function if isinstance(function, str) else function.name]
        if len(children) != row.arity:
            raise ValueError(f"{row.name!r} takes {row.arity} operands, got {len(children)}.")
        self.check_ids(children)
        return self._intern(row.code, children[0], children[1] if row.arity == 2 else -1, 0.0)

    def copy_from(self, other: Forest, roots: ArrayLike, order: Ids | None = None) -> Ids:
        """Intern programs of another forest with the same primitives; returns their roots here.

        `order` has the nodes that they are made of, operands before what reads them; by default ascending.
        """
        wanted = as_roots(other, roots)
        nodes = np.array(other.reachable(wanted), dtype=np.int64) if order is None else order
        new_of = np.full(len(other), -1, dtype=np.int64)
        self.reserve(nodes.size)
        intern_kernels.copy_nodes(other.columns, nodes, self.columns, new_of)
        return new_of[wanted]

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """The nodes as plain arrays, for saving."""
        n = len(self)
        return {name: getattr(self.columns, name)[:n].copy() for name in ("code", "left", "right", "value")}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_features: int, primitives: PrimitiveSet) -> Forest:
        """The forest that `to_arrays` saved, or a clear error if the arrays do not describe one."""
        forest = cls(n_features, primitives)
        for node, (code, left, right, value) in enumerate(
            zip(*(arrays[name].tolist() for name in ("code", "left", "right", "value")), strict=True)
        ):
            if code == FEATURE:
                made = forest.feature(left)
            elif code == CONSTANT:
                made = forest.constant(value)
            elif code in primitives.by_code:
                made = forest.apply(primitives.by_code[code], *(left, right)[: primitives.by_code[code].arity])
            else:
                raise ValueError(f"node {node} has the unknown primitive code {code}.")
            if made != node:
                raise ValueError(f"node {node} repeats node {made}; the saved forest is damaged.")
        return forest

    def intern_tokens(self, tokens: Tokens) -> int:
        """Root id of a program given as a prefix list."""
        stack: list[int] = []
        for code, feature, value in zip(*(reversed(column) for column in tokens), strict=True):
            if code == FEATURE:
                stack.append(self.feature(int(feature)))
            elif code == CONSTANT:
                stack.append(self.constant(float(value)))
            elif int(code) not in self.primitives.by_code:
                raise ValueError(f"unknown primitive code {code}.")
            else:
                row = self.primitives.by_code[int(code)]
                if len(stack) < row.arity:
                    raise ValueError(f"the prefix list ends before {row.name!r} has its {row.arity} operands.")
                children = [stack.pop() for _ in range(row.arity)]
                stack.append(self.apply(row, *children))
        if len(stack) != 1:
            raise ValueError(f"the prefix list holds {len(stack)} programs, expected 1.")
        return stack[0]

    def _intern(self, code: int, left: int, right: int, value: float) -> int:
        self.reserve(1)
        return int(intern_kernels.intern_one(self.columns, code, left, right, value))

    def reserve(self, n_nodes: int) -> None:
        """Make room for so many more nodes; kernels append without asking."""
        needed = len(self) + n_nodes
        if needed <= self.columns.code.size:
            return
        grown = _new_columns(max(needed, 2 * self.columns.code.size))
        for name in ("code", "left", "right", "value", "size", "height"):
            getattr(grown, name)[: len(self)] = getattr(self.columns, name)[: len(self)]
        grown.n_nodes[0] = self.columns.n_nodes[0]
        self.columns = grown
        intern_kernels.rebuild_table(self.columns)

    # Reading

    def size(self, roots: ArrayLike) -> NDArray[np.int32]:
        """Number of nodes of each program, counted as a tree."""
        return self.columns.size[self.check_ids(roots)]

    def height(self, roots: ArrayLike) -> NDArray[np.int32]:
        """Height of each program in edges; a lone leaf has height 0."""
        return self.columns.height[self.check_ids(roots)]

    def check_ids(self, ids: ArrayLike) -> Ids:
        """Ids as an int64 array of the same shape, or a clear error if one is not a node."""
        array = np.asarray(ids)
        if array.size == 0:
            return array.astype(np.int64)
        if array.dtype.kind not in "iu":
            raise ValueError(f"node ids must be whole numbers, got {ids!s:.100}.")
        if array.min() < 0 or array.max() >= len(self):
            bad = int(array.min() if array.min() < 0 else array.max())
            raise ValueError(f"node {bad} does not exist; nodes are 0 to {len(self) - 1}.")
        return array.astype(np.int64)

    def children(self, node: int) -> tuple[int, ...]:
        """Ids of the operands of a node."""
        arity = self.arity[self.columns.code[node]]
        return (int(self.columns.left[node]), int(self.columns.right[node]))[:arity]

    def name(self, node: int) -> str:
        """Name of the node's primitive, 'feature' or 'constant'."""
        code = int(self.columns.code[node])
        if code in (FEATURE, CONSTANT):
            return "feature" if code == FEATURE else "constant"
        return self.primitives.by_code[code].name

    def prefix(self, root: int) -> Iterator[int]:
        """Node ids of a program in prefix order, shared nodes as often as the tree has them."""
        stack = [int(root)]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(self.children(node)))

    def reachable(self, roots: ArrayLike) -> list[int]:
        """Ids of all nodes that the programs consist of, each once, in evaluation order."""
        is_live = np.zeros(len(self), dtype=np.bool_)
        intern_kernels.find_reachable(self.columns, as_roots(self, roots), is_live)
        found: list[int] = np.flatnonzero(is_live).tolist()
        return found

    def tokens(self, root: int) -> Tokens:
        """A program as a prefix list."""
        nodes = np.fromiter(self.prefix(root), dtype=np.int64)
        code = self.columns.code[nodes]
        feature = np.where(code == FEATURE, self.columns.left[nodes], -1).astype(np.int32)
        return Tokens(code, feature, np.where(code == CONSTANT, self.columns.value[nodes], 0.0))

    # Forgetting

    def collect(self, roots: ArrayLike) -> Ids:
        """Drop all nodes that no root refers to.

        Returns
        -------
        ids : int64 array, one entry for each old node
            Its new id, or -1 if it was dropped. ``ids[roots]`` are the roots' new ids.
        """
        roots = np.unique(self.check_ids(roots))
        ids = np.empty(len(self), dtype=np.int64)
        intern_kernels.collect(self.columns, roots, ids)
        intern_kernels.rebuild_table(self.columns)
        self.epoch += 1
        return ids

    def truncate(self, n_nodes: int) -> Ids:
        """Drop all nodes from this id on: undoes what was appended since the forest had this length.

        Returns the map from old to new ids, as `collect` does.
        """
        if not 0 <= n_nodes <= len(self):
            raise ValueError(f"cannot truncate {len(self)} nodes to {n_nodes}.")
        ids = np.arange(len(self))
        ids[n_nodes:] = -1
        self.columns.n_nodes[0] = n_nodes
        intern_kernels.rebuild_table(self.columns)
        self.epoch += 1
        return ids


def _new_columns(capacity: int) -> Columns:
    """Empty columns; the hash table has at least twice as many places as there can be nodes."""
    value = np.zeros(capacity, dtype=np.float64)
    integers = [np.zeros(capacity, dtype=np.int32) for _ in range(5)]
    table = np.full(1 << (2 * capacity - 1).bit_length(), intern_kernels.EMPTY, dtype=np.int32)
    code, left, right, size, height = integers
    return Columns(code, left, right, value, size, height, table, np.zeros(1, dtype=np.int64))


def as_roots(forest: Forest, roots: ArrayLike) -> Ids:
    """Root ids of a forest as a contiguous int64 vector, or a clear error."""
    return np.ascontiguousarray(np.atleast_1d(forest.check_ids(roots)))
