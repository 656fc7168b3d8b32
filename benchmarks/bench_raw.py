"""Raw interpretation, no sharing: our blocks against Operon's interpreter, on the same trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyoperon as op

from benchmarks.table import Line, best_of
from symgrove import Forest, PrimitiveSet, RandomPrograms, primitive
from symgrove.engines import evaluation_kernels
from symgrove.engines.blocks import BlockTable
from symgrove.engines.evaluation_kernels import PlacedSteps
from symgrove.engines.schedule_kernels import FILL
from symgrove.engines.workspace import BLOCK_ROWS, ROW_PADDING
from symgrove.forest.intern_kernels import Tokens
from symgrove.forest.primitive_table import BUILTIN

N_ROWS, N_FEATURES, N_TREES = 10_000, 5, 100


def random_trees(primitives: PrimitiveSet) -> list[Tokens]:
    """Trees of about 100 nodes with the paper's functions."""
    forest = Forest(N_FEATURES, primitives)
    source = RandomPrograms(forest, max_height=12)
    rng = np.random.default_rng(0)
    trees: list[Tokens] = []
    while len(trees) < N_TREES:
        root = source.grow(forest, 12, rng, min_height=5)
        if 80 <= forest.size(root) <= 120:
            trees.append(forest.tokens(root))
    return trees


def steps_of(
    tree: Tokens, arity: np.ndarray, feature_address: np.ndarray, epsilon: np.ndarray
) -> tuple[PlacedSteps, np.ndarray, int]:
    """One step for every function and constant of a tree, nothing shared; the root's output goes to output row 0."""
    rows: list[tuple[int, int, int, int, float]] = []
    stack: list[int] = []
    free = list(range(200, 0, -1))
    for k in range(tree.code.size - 1, -1, -1):
        code = int(tree.code[k])
        if code == 0:
            stack.append(int(feature_address[tree.feature[k]]))
            continue
        operands = [stack.pop() for _ in range(arity[code])] if code > 1 else []
        place = -1 - (free.pop() if k else 0)
        free += [-1 - operand for operand in operands if operand < 0]
        left, right = (*operands, 0, 0)[:2]
        scalar = float(tree.value[k]) if code == 1 else epsilon[code]
        rows.append((FILL if code == 1 else code, place, left, right, scalar))
        stack.append(place)
    code_, out, left_, right_, scalar_ = (np.array(column) for column in zip(*rows, strict=True))
    return PlacedSteps(code_.astype(np.int32), out, left_, right_), scalar_.astype(np.float32), len(rows)


def frame_over(values: np.ndarray, scratch: np.ndarray, first_row: int, n_rows: int) -> evaluation_kernels.Frame:
    """A frame with one output row, the first of `values`."""
    places = (values.ctypes.data, values.strides[0], 1, scratch.ctypes.data, scratch.strides[0])
    return evaluation_kernels.Frame(*places, values.itemsize, first_row, n_rows, BLOCK_ROWS)


def run_ours(steps: list[tuple[PlacedSteps, np.ndarray, int]], blocks: BlockTable, out: np.ndarray) -> None:
    scratch = np.empty((200, BLOCK_ROWS + ROW_PADDING), dtype=np.float32)
    for t, (tree, scalars, n_steps) in enumerate(steps):
        evaluation_kernels.run_steps(
            tree, scalars, n_steps, blocks.addresses, frame_over(out[t : t + 1], scratch, 0, N_ROWS)
        )


def operon_trees(trees: list[Tokens], dataset: op.Dataset) -> list[op.Tree]:
    """The same trees for Operon: its node lists are our prefix lists reversed; log and sqrt of absolute values."""
    kinds = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "sqrt": "Sqrtabs", "log": "Logabs"}
    names = {row.code: name for name, row in BUILTIN.items()}
    variables = dataset.Variables
    result = []
    for tree in trees:
        nodes = []
        for code, feature, value in zip(*(reversed(column) for column in tree), strict=True):
            if code == 0:
                node = op.Node(op.NodeType.Variable)
                node.HashValue = node.CalculatedHashValue = variables[int(feature)].Hash
                node.Value = 1.0
            elif code == 1:
                node = op.Node(op.NodeType.Constant)
                node.Value = float(value)
            else:
                node = op.Node(getattr(op.NodeType, kinds[names[int(code)]]))
            nodes.append(node)
        result.append(op.Tree(nodes).UpdateNodes())
    return result


def against_operon() -> Iterator[Line]:
    primitives = PrimitiveSet()
    trees = random_trees(primitives)
    X = np.random.default_rng(1).normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
    columns = np.ascontiguousarray(X.T)
    address = columns.ctypes.data + columns.strides[0] * np.arange(N_FEATURES)
    blocks = BlockTable(primitives, np.dtype(np.float32))
    steps = [steps_of(tree, primitives.arity_by_code(), address, blocks.epsilon) for tree in trees]
    by_column = np.asfortranarray(X)  # Operon's data set is a view: the array must outlive it
    dataset = op.Dataset(by_column)
    theirs = operon_trees(trees, dataset)
    ours_out, theirs_out = np.empty((N_TREES, N_ROWS), np.float32), np.empty((N_TREES, N_ROWS), np.float32)
    ours, operon = best_of(
        7,
        lambda: run_ours(steps, blocks, ours_out),
        lambda: op.EvaluateTrees(theirs, dataset, op.Range(0, N_ROWS), theirs_out, 1),
    )
    with np.errstate(all="ignore"):
        agreement = np.mean(np.isclose(ours_out, theirs_out, rtol=1e-3, atol=1e-3))
    node_rows = sum(tree.code.size for tree in trees) * N_ROWS
    detail = f"{node_rows / ours:.2e} against {node_rows / operon:.2e} node rows/s; {agreement:.0%} of outputs agree"
    yield Line("raw interpretation: ours over Operon's", operon / ours, ">= 1.0", detail)


def _my_mul(a, b):  # type: ignore[no-untyped-def]
    return a * b


def _my_ratio(a, b):  # type: ignore[no-untyped-def]
    return (a * 2.0 + 0.5) / (abs(b) + 1.5)


def user_primitives() -> Iterator[Line]:
    n = 2000
    for dtype in ("float32", "float64"):
        primitives = PrimitiveSet(("mul", "div", primitive(_my_mul), primitive(_my_ratio)))
        blocks = BlockTable(primitives, np.dtype(dtype))
        scratch = np.random.default_rng(0).normal(size=(3, BLOCK_ROWS + ROW_PADDING)).astype(dtype)
        frame = frame_over(scratch[:1], scratch[1:], 0, BLOCK_ROWS)

        def time_of(name: str) -> Callable[[], None]:
            places = (np.full(n, -1 - i, dtype=np.int64) for i in range(3))
            code = np.full(n, primitives[name].code, dtype=np.int32)  # noqa: B023
            steps, scalars = PlacedSteps(code, *places), np.zeros(n, dtype=dtype)  # noqa: B023
            return lambda: evaluation_kernels.run_steps(steps, scalars, n, blocks.addresses, frame)  # noqa: B023

        for mine, built_in in (("_my_mul", "mul"), ("_my_ratio", "div")):
            own, theirs = best_of(15, time_of(mine), time_of(built_in))
            yield Line(f"user primitive over built-in {built_in}, {dtype}", own / theirs, "<= 1.5", "time of a block")


def lines() -> Iterator[Line]:
    yield from against_operon()
    yield from user_primitives()
