"""A model as an ONNX graph: a matrix of numbers in, and one of texts if there are categories; predictions out.

NaN is a missing number, an empty text a missing category.

The graph computes in double precision, whatever its input and output are: with float inputs, the rounding of the input
is the only difference.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import checker, helper

from symgrove.export.onnx_steps import Nodes, StepRows, add_steps
from symgrove.export.writing import plain_inputs
from symgrove.models.plan import MemberBlock, Plan
from symgrove.models.target_transform import TargetTransform

OPSET = 18
IR_VERSION = 9  # what runtimes of the last years read
ML = "ai.onnx.ml"
TEXTS = "categories"  # the input of texts
MOST_ROWS = 128  # of a block
_TYPES = {"float64": 11, "float32": 1}  # onnx.TensorProto


def build(plan: Plan, X: str) -> tuple[Nodes, list[str]]:
    """Nodes from the matrix `X`, in any type, and texts of categories to the targets, each (n_rows, 1) in double.

    Rows are taken in blocks of about the same size, one after the other: so memory hardly grows with their number.
    """
    nodes = Nodes("sg")
    given = _features(nodes, plan, X)
    n_rows = nodes.op("Shape", given, start=0, end=1)
    blocks = _in_blocks(nodes, given, n_rows, len(plan.features))
    found = nodes.op("Scan", blocks, body=_block_graph(plan), num_scan_inputs=1)
    joined = nodes.op("Reshape", found, nodes.array([-1, len(plan.targets)], "int64"))
    kept = nodes.op("Slice", joined, nodes.array([0], "int64"), n_rows)
    if len(plan.targets) == 1:
        return nodes, [kept]
    return nodes, [nodes.op("Gather", kept, nodes.array([k], "int64"), axis=1) for k in range(len(plan.targets))]


def _in_blocks(nodes: Nodes, given: str, n_rows: str, n_features: int) -> str:
    """The rows as (n_blocks, size, n_features), with rows of zeros at the end, fewer than there are blocks."""
    op = nodes.op
    zero, one = nodes.array([0], "int64"), nodes.array([1], "int64")
    begun = op("Add", n_rows, nodes.array([MOST_ROWS - 1], "int64"))
    n_blocks = op("Max", op("Div", begun, nodes.array([MOST_ROWS], "int64")), one)
    size = op("Div", op("Sub", op("Add", n_rows, n_blocks), one), n_blocks)
    n_lacking = op("Sub", op("Mul", n_blocks, size), n_rows)
    padded = op("Pad", given, op("Concat", zero, zero, n_lacking, zero, axis=0))
    shape = op("Concat", n_blocks, size, nodes.array([n_features], "int64"), axis=0)
    return op("Reshape", padded, shape, allowzero=1)


def _block_graph(plan: Plan) -> Any:
    """From the features of a block of rows to its targets, (size, n_targets)."""
    nodes = Nodes("sg_block")
    op = nodes.op
    features = op("Transpose", "sg_rows", perm=[1, 0])
    results = add_steps(nodes, plan, features)
    targets = []
    for target in plan.targets:
        blocks = [_block(nodes, block, results, features) for block in target.blocks]
        if target.base is None:
            targets.append(_undone(nodes, target.inverse, blocks[0]))
            continue
        base = nodes.scalar(target.base)
        total = op("Transpose", nodes.repeat([target.base], features), perm=[1, 0])
        for weight, block in zip(target.weights, blocks, strict=True):
            total = op("Add", total, op("Mul", nodes.scalar(weight), op("Sub", block, base)))
        targets.append(_undone(nodes, target.inverse, total))
    nodes.nodes.append(helper.make_node("Concat", targets, ["sg_targets"], axis=1))
    double = _TYPES["float64"]
    inputs = [helper.make_tensor_value_info("sg_rows", double, ["size", len(plan.features)])]
    outputs = [helper.make_tensor_value_info("sg_targets", double, ["size", len(plan.targets)])]
    return helper.make_graph(nodes.nodes, "block", inputs, outputs, nodes.tensors())


def _undone(nodes: Nodes, inverse: TargetTransform | None, value: str) -> str:
    """A target in its own units."""
    if inverse is None:
        return value
    inside = nodes.within(value, nodes.scalar(inverse.low), nodes.scalar(inverse.high))
    if inverse.power == 0:
        return nodes.op("Exp", inside)
    base = nodes.op("Add", nodes.op("Mul", inside, nodes.scalar(inverse.power)), nodes.scalar(1.0))
    return nodes.op("Pow", base, nodes.scalar(1.0 / inverse.power))


def _features(nodes: Nodes, plan: Plan, X: str) -> str:
    """The matrix of features: numbers filled in, then indicators and categories, brought into their order."""
    op, columns = nodes.op, plan.columns
    fills = [c.fill for c in columns if c.categories is None]
    parts, places = [], []  # columns of the parts, as (column, feature of the column)
    if fills:
        numbers = op("Cast", X, to=_TYPES["float64"])
        is_missing = op("IsNaN", numbers)
        filled = op("Where", is_missing, nodes.array([fills]), numbers)
        parts.append(filled)
        places += [(j, 0) for j, c in enumerate(columns) if c.categories is None]
        marked = [k for k, (j, _) in enumerate(places) if columns.columns[j].has_indicator]
        if marked:
            flags = op("Gather", is_missing, nodes.array(marked, "int64"), axis=1)
            parts.append(op("Cast", flags, to=_TYPES["float64"]))
            places += [(places[k][0], columns.columns[places[k][0]].n_features - 1) for k in marked]
        dated = [k for k, (j, _) in enumerate(places[: len(fills)]) if columns.columns[j].date is not None]
        for k in dated:
            made = _date_parts(nodes, op("Gather", filled, nodes.array([k], "int64"), axis=1))
            date = columns.columns[places[k][0]].date
            parts += made[: len(date.parts) - 1] if date else []
            places += [(places[k][0], i) for i in range(1, len(date.parts))] if date else []
    for k, j in enumerate(columns.categorical):
        column = columns.columns[j]
        categories = list(column.categories or ())
        if "" in categories:
            raise ValueError(f"ONNX takes an empty text for a missing value; rename that category of {column.name!r}.")
        text = op("Gather", TEXTS, nodes.array([k], "int64"), axis=1)
        n = len(categories)
        coded = {"keys_strings": [*categories, ""], "values_int64s": list(range(n + 1)), "default_int64": -1}
        code = op("LabelEncoder", text, domain=ML, **coded)
        wanted = [*range(n), *([-1] if column.has_others else []), *([n] if column.has_indicator else [])]
        is_equal = op("Equal", code, nodes.array([wanted], "int64"))
        parts.append(op("Cast", is_equal, to=_TYPES["float64"]))
        places += [(j, i) for i in range(len(wanted))]
    matrix = op("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
    order = [places.index(place) for place in sorted(places)]
    return matrix if order == list(range(len(order))) else op("Gather", matrix, nodes.array(order, "int64"), axis=1)


def _date_parts(nodes: Nodes, days: str) -> list[str]:
    """Year, month, weekday and hours of a column of days since 1970-01-01."""

    def run(kind: str, *operands: str | float) -> str:
        return nodes.op(kind, *(v if isinstance(v, str) else nodes.scalar(v) for v in operands))

    def whole(a: str, b: float) -> str:
        return run("Floor", run("Div", a, b))

    day = run("Floor", days)
    z = run("Add", day, 719468.0)  # days since the first of March of the year 0
    era = whole(z, 146097.0)
    of_era = run("Sub", z, run("Mul", era, 146097.0))
    leap = run("Sub", run("Sub", whole(of_era, 36524.0), whole(of_era, 1460.0)), whole(of_era, 146096.0))
    year = whole(run("Add", of_era, leap), 365.0)
    before = run("Sub", run("Add", run("Mul", year, 365.0), whole(year, 4.0)), whole(year, 100.0))
    month = whole(run("Add", run("Mul", run("Sub", of_era, before), 5.0), 2.0), 153.0)  # from March on
    is_late = run("Less", month, 10.0)
    month = run("Add", month, run("Where", is_late, 3.0, -9.0))
    year = run("Add", run("Add", year, run("Mul", era, 400.0)), run("Where", is_late, 0.0, 1.0))
    shifted = run("Add", day, 3.0)
    weekday = run("Add", run("Sub", shifted, run("Mul", whole(shifted, 7.0), 7.0)), 1.0)
    return [year, month, weekday, run("Mul", run("Sub", days, day), 24.0)]


def _block(nodes: Nodes, block: MemberBlock, results: StepRows, features: str) -> str:
    op, scalar = nodes.op, nodes.scalar
    if block.combine == "pooled":
        return _pooled(nodes, block, op("Transpose", results.rows(list(block.values)), perm=[1, 0]))
    sums = op("Transpose", _products(nodes, block, results, features), perm=[1, 0])
    members = op("Add", sums, nodes.array([[r.intercept for r in block.rows]]))
    counts = nodes.is_finite(members)
    if block.head in ("within", "logistic", "exponential"):
        members = nodes.within(members, *(scalar(limit) for limit in block.limits))
    if block.head == "logistic":
        members = op("Div", scalar(1.0), op("Add", scalar(1.0), op("Exp", op("Neg", members))))
    if block.head == "exponential":
        members = op("Exp", members)
    if block.head == "vote":
        members = op("Where", op("Greater", members, scalar(block.threshold)), scalar(1.0), scalar(0.0))
    if block.head == "share":
        members = nodes.within(op("Sub", members, scalar(block.threshold - 0.5)), scalar(0.0), scalar(1.0))
    if block.combine == "trimmed":
        return _trimmed(nodes, block, members, counts)
    if block.fallback is None:
        return op("ReduceMean", members, nodes.array([1], "int64"), keepdims=1)
    if block.combine == "median":
        return _median(nodes, block, members, counts)
    kept = op("Where", counts, members, scalar(0.0))
    n_kept = _sum(nodes, op("Cast", counts, to=_TYPES["float64"]))
    return _or_else(nodes, op("Div", _sum(nodes, kept), n_kept), block.fallback)


def _products(nodes: Nodes, block: MemberBlock, results: StepRows, features: str) -> str:
    """Members' sums. Programs' outputs may be infinite, and zero times infinity is not zero: so a member of one value
    takes its row; sums of many are of finite values."""
    if all(len(row.indices) == 1 for row in block.rows):
        chosen = results.rows([block.values[row.indices[0]] for row in block.rows])
        return nodes.op("Mul", chosen, nodes.column([float(row.coefficients[0]) for row in block.rows], features))
    if not block.values:
        return nodes.repeat([0.0] * len(block.rows), features)
    matrix = np.zeros((len(block.rows), len(block.values)))
    for j, row in enumerate(block.rows):
        matrix[j, list(row.indices)] = row.coefficients
    return nodes.op("MatMul", nodes.array(matrix), results.rows(list(block.values)))


def _sum(nodes: Nodes, values: str) -> str:
    return nodes.op("ReduceSum", values, nodes.array([1], "int64"), keepdims=1)


def _or_else(nodes: Nodes, value: str, other: float) -> str:
    return nodes.op("Where", nodes.is_finite(value), value, nodes.scalar(other))


def _pooled(nodes: Nodes, block: MemberBlock, values: str) -> str:
    op = nodes.op
    is_finite = nodes.is_finite(values)
    kept = op("Where", is_finite, values, nodes.scalar(0.0))
    counted = op("Cast", is_finite, to=_TYPES["float64"])
    slopes = nodes.array([[row.coefficients[0]] for row in block.rows])
    intercepts = nodes.array([[row.intercept] for row in block.rows])
    total = op("Add", op("MatMul", kept, slopes), op("MatMul", counted, intercepts))
    count = op("MatMul", counted, nodes.array([[n] for n in block.counts]))
    assert block.fallback is not None
    return _or_else(nodes, op("Div", total, count), block.fallback)


def _trimmed(nodes: Nodes, block: MemberBlock, members: str, counts: str) -> str:
    n, n_outer = len(block.rows), block.n_outer
    if block.fallback is not None:
        members = nodes.op("Where", counts, members, nodes.scalar(block.fallback))
    ordered, _ = nodes.ops("TopK", 2, members, nodes.array([n], "int64"), axis=1, largest=0, sorted=1)
    bounds = (nodes.array([b], "int64") for b in (n_outer, n - n_outer, 1))
    middle = nodes.op("Slice", ordered, *bounds)
    mean = nodes.op("ReduceMean", middle, nodes.array([1], "int64"), keepdims=1)
    return mean if block.fallback is None else _or_else(nodes, mean, block.fallback)


def _median(nodes: Nodes, block: MemberBlock, members: str, counts: str) -> str:
    """Of the members that count; the others are sorted behind them."""
    op, n = nodes.op, len(block.rows)
    last = op("Where", counts, members, nodes.scalar(np.inf))
    ordered, _ = nodes.ops("TopK", 2, last, nodes.array([n], "int64"), axis=1, largest=0, sorted=1)
    n_kept = op("ReduceSum", op("Cast", counts, to=7), nodes.array([1], "int64"), keepdims=1)
    one, two, zero = (nodes.array([[v]], "int64") for v in (1, 2, 0))
    low = op("Max", op("Div", op("Sub", n_kept, one), two), zero)
    high = op("Min", op("Div", n_kept, two), nodes.array([[n - 1]], "int64"))
    half = nodes.scalar(0.5)
    ends = [op("Mul", half, op("GatherElements", ordered, place, axis=1)) for place in (low, high)]
    assert block.fallback is not None
    return _or_else(nodes, op("Add", *ends), block.fallback)


def add_answers(plan: Plan, nodes: Nodes, targets: list[str], dtype: str) -> list[str]:
    """Outputs: the predictions (n_rows, n_targets); for classes the label (n_rows,) and the probabilities."""
    op = nodes.op
    if plan.classes is None:
        found = targets[0] if len(targets) == 1 else op("Concat", *targets, axis=1)
        return [op("Cast", found, to=_TYPES[dtype])]
    if len(targets) == 1:
        shares = op("Concat", op("Sub", nodes.scalar(1.0), targets[0]), targets[0], axis=1)
    else:
        scores = op("Concat", *targets, axis=1)
        total = _sum(nodes, scores)
        is_zero = op("Equal", total, nodes.scalar(0.0))
        divided = op("Div", scores, op("Where", is_zero, nodes.scalar(1.0), total))
        shares = op("Where", is_zero, nodes.scalar(1.0 / len(targets)), divided)
    if plan.correction is not None:
        power, weights, floor = plan.correction
        raised = op("Pow", op("Max", shares, nodes.scalar(floor)), nodes.scalar(power))
        weighed = op("Mul", raised, nodes.array([weights.tolist()]))
        shares = op("Div", weighed, _sum(nodes, weighed))
    index = op("ArgMax", shares, axis=1, keepdims=0)
    label = op("Gather", nodes.array(*_classes(plan.classes)), index, axis=0)
    return [label, op("Cast", shares, to=_TYPES[dtype])]


def _classes(classes: list[Any]) -> tuple[list[Any], str]:
    if all(isinstance(c, bool) for c in classes):
        return classes, "bool"
    if all(isinstance(c, int) for c in classes):
        if max(map(abs, classes)) >= 2**63:
            raise ValueError("ONNX has no class labels above 2^63; use texts as classes.")
        return classes, "int64"
    return (
        (classes, "float64")
        if all(isinstance(c, (int, float)) for c in classes)
        else ([str(c) for c in classes], "object")
    )


def label_type(classes: list[Any]) -> int:
    """Of the label output, in onnx.TensorProto."""
    return {"bool": 9, "int64": 7, "float64": 11, "object": 8}[_classes(classes)[1]]


def _sentences(plan: Plan) -> list[str]:
    return [f"{line}." for line in plain_inputs(plan)]


def to_onnx(plan: Plan, version: str, dtype: str = "float64") -> Any:
    """An ONNX model: inputs "X" (n_rows, n_features), "categories" (n_rows, n_columns) of texts if there are any;
    outputs "prediction", or "label" and "probabilities"."""
    if dtype not in _TYPES:
        raise ValueError(f"dtype must be float64 or float32, got {dtype!r}.")
    nodes, targets = build(plan, "X")
    found = add_answers(plan, nodes, targets, dtype)
    names = ["prediction"] if plan.classes is None else ["label", "probabilities"]
    for name, output in zip(names, found, strict=True):
        nodes.nodes.append(helper.make_node("Identity", [output], [name], name=name))
    kind = _TYPES[dtype]
    if plan.classes is None:
        outputs = [helper.make_tensor_value_info("prediction", kind, ["n_rows", len(plan.targets)])]
    else:
        outputs = [
            helper.make_tensor_value_info("label", label_type(plan.classes), ["n_rows"]),
            helper.make_tensor_value_info("probabilities", kind, ["n_rows", len(plan.classes)]),
        ]
    n_texts = len(plan.columns.categorical)
    n_numbers = len(plan.columns) - n_texts
    inputs = [helper.make_tensor_value_info("X", kind, ["n_rows", n_numbers])] if n_numbers else []
    inputs += [helper.make_tensor_value_info(TEXTS, 8, ["n_rows", n_texts])] if n_texts else []
    graph = helper.make_graph(nodes.nodes, "symgrove", inputs, outputs, nodes.tensors())
    opsets = [helper.make_opsetid("", OPSET), *([helper.make_opsetid(ML, 3)] if n_texts else [])]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    model.producer_name, model.producer_version = "symgrove", version
    model.doc_string = " ".join([f"Made by symgrove {version} from a {plan.origin}.", *_sentences(plan)])
    numbers = [column.name for column in plan.columns if column.categories is None]
    texts = [column.name for column in plan.columns if column.categories is not None]
    properties = {"features": "\n".join(numbers), **({"categorical": "\n".join(texts)} if texts else {})}
    helper.set_model_props(model, properties)
    checker.check_model(model)
    return model
