"""Steps of a plan as ONNX nodes, on a block of rows: each step's results are a row of a matrix.

Steps of the same kind whose operands are known are one node over many rows of that matrix: models of thousands of
steps would otherwise take minutes to load. A step is taken as late as its uses allow, so that few results wait.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
from onnx import defs, helper, numpy_helper

from symgrove.export.writing import fill, step_templates
from symgrove.forest.templates import operand_names
from symgrove.models.plan import Plan


class Nodes:
    """Nodes and initializers under construction."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.nodes: list[Any] = []
        self.initializers: dict[str, np.ndarray[Any, Any]] = {}
        self.scalars: dict[str, str] = {}

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output; returns its name."""
        return self.ops(kind, 1, *inputs, **attributes)[0]

    def ops(self, kind: str, n_outputs: int, *inputs: str, **attributes: Any) -> list[str]:
        """Add a node with several outputs."""
        names = [f"{self.prefix}{len(self.nodes)}_{k}" for k in range(n_outputs)]
        self.nodes.append(
            helper.make_node(kind, list(inputs), names, name=f"{self.prefix}n{len(self.nodes)}", **attributes)
        )
        return names

    def array(self, values: Any, dtype: str = "float64") -> str:
        """An initializer."""
        name = f"{self.prefix}c{len(self.initializers)}"
        self.initializers[name] = np.asarray(values, dtype=dtype)
        return name

    def scalar(self, value: float) -> str:
        """A double; equal ones are one initializer."""
        key = float(value).hex()
        if key not in self.scalars:
            self.scalars[key] = self.array(float(value))
        return self.scalars[key]

    def column(self, values: list[float], like: str) -> str:
        """A number for each row of a matrix; a scalar if they are the same.

        Onnxruntime drops a factor that is one once rounded to float, so such a scalar is as wide as another matrix.
        """
        if len({float(value).hex() for value in values}) == 1:
            is_dropped = values[0] != 1 and np.float32(values[0]) == 1
            return self.repeat(values[:1], like) if is_dropped else self.scalar(values[0])
        return self.array([[value] for value in values])

    def repeat(self, values: list[float], like: str) -> str:
        """A matrix with a row for each number, as wide as another."""
        width = self.op("Shape", like, start=1)
        return self.op("Expand", self.array([[value] for value in values]), width)

    def tensors(self) -> list[Any]:
        """The initializers as ONNX has them."""
        return [numpy_helper.from_array(values, name) for name, values in self.initializers.items()]

    def within(self, value: str, low: str, high: str) -> str:
        """As NumPy does it: what is not a number stays what it is."""
        raised = self.op("Where", self.op("Less", value, low), low, value)
        return self.op("Where", self.op("Greater", raised, high), high, raised)

    def is_finite(self, value: str) -> str:
        """Subtracting a number from itself gives NaN if it is not finite."""
        return self.op("Equal", self.op("Sub", value, value), self.scalar(0.0))


class StepRows:
    """Matrices whose rows are results of steps; they are joined once rows of several are wanted."""

    def __init__(self, nodes: Nodes, parts: list[tuple[str, list[int]]]) -> None:
        self.nodes = nodes
        self.parts = parts
        self.place = {step: k for k, step in enumerate(step for _, steps in parts for step in steps)}

    def rows(self, wanted: list[int]) -> str:
        """A matrix of the results of these steps."""
        for name, steps in self.parts:
            if steps == wanted:
                return name
        if len(self.parts) > 1:
            joined = self.nodes.op("Concat", *(name for name, _ in self.parts), axis=0)
            self.parts = [(joined, [step for _, steps in self.parts for step in steps])]
        places = self.nodes.array([self.place[step] for step in wanted], "int64")
        return self.nodes.op("Gather", self.parts[0][0], places, axis=0)


def add_steps(nodes: Nodes, plan: Plan, features: str) -> StepRows:
    """The results of all steps that blocks refer to, from a matrix with a row for each feature."""
    steps = plan.steps
    heights, last = _uses(plan)
    feature_of = {int(step.numbers[0]): i for i, step in enumerate(steps) if step.name == "input"}
    parts = [(features, [feature_of.get(k, -1 - k) for k in range(len(plan.features))])]
    constants = [i for i, step in enumerate(steps) if step.name == "constant" and last[i] < 0]
    if constants:
        parts.append((nodes.repeat([steps[i].numbers[0] for i in constants], features), constants))
    results = StepRows(nodes, parts)
    templates = step_templates(plan, "onnx", {})
    for height, groups in _levels(plan, heights):
        made = []
        for group in groups:
            group.sort(key=lambda i: [results.place.get(arg, -1) for arg in steps[i].args])
            operands = _operands(nodes, plan, group, results, features)
            numbers = [
                nodes.column(list(row), features) for row in zip(*(steps[i].numbers for i in group), strict=True)
            ]
            made.append((_apply(nodes, steps[group[0]].name, templates, operands, numbers), group))
        kept = [i for i in results.place if i >= 0 and last[i] < height]
        results = StepRows(nodes, [*([(results.rows(kept), kept)] if kept else []), *made])
    return results


def _uses(plan: Plan) -> tuple[list[int], list[int]]:
    """Of each step the height at which it is computed (values of blocks at 0, operands higher, unused steps at -1), and
    the height of its last use (-1: in a block)."""
    heights, last = [-1] * len(plan.steps), [len(plan.steps)] * len(plan.steps)
    for block in plan.blocks:
        for value in block.values:
            heights[value], last[value] = 0, -1
    for i in reversed(range(len(plan.steps))):
        for arg in plan.steps[i].args if heights[i] >= 0 else ():
            heights[arg], last[arg] = max(heights[arg], heights[i] + 1), min(last[arg], heights[i])
    return heights, last


def _levels(plan: Plan, heights: list[int]) -> list[tuple[int, list[list[int]]]]:
    """Heights from the highest, each with its steps: of a kind, with constants in the same places."""
    found: dict[int, dict[tuple[str, tuple[bool, ...]], list[int]]] = {}
    for i, step in enumerate(plan.steps):
        if step.args and heights[i] >= 0:
            key = step.name, tuple(plan.steps[arg].name == "constant" for arg in step.args)
            found.setdefault(heights[i], {}).setdefault(key, []).append(i)
    return [(height, [groups[key] for key in sorted(groups)]) for height, groups in sorted(found.items(), reverse=True)]


def _operands(nodes: Nodes, plan: Plan, group: list[int], results: StepRows, features: str) -> list[str]:
    """Matrices of the operands of a group; constants are a number for each row, unless that would make a result so."""
    found = []
    primitive = plan.steps[group[0]].primitive
    is_own = primitive is not None and primitive.function is not None  # its template may leave operands out
    is_all = all(plan.steps[arg].name == "constant" for arg in plan.steps[group[0]].args)
    for args in zip(*(plan.steps[i].args for i in group), strict=True):
        if plan.steps[args[0]].name != "constant":
            found.append(results.rows(list(args)))
            continue
        constants = [plan.steps[arg].numbers[0] for arg in args]
        found.append(nodes.repeat(constants, features) if is_own or is_all else nodes.column(constants, features))
    return found


def _apply(nodes: Nodes, name: str, templates: dict[str, str], args: list[str], numbers: list[str]) -> str:
    """Steps of one kind."""
    if name in templates:
        return _fill(nodes, templates[name], args, numbers)
    if name == "quotient":
        return nodes.op("Div", *args)
    if name == "within":
        return nodes.within(args[0], *numbers)
    assert name == "finite"
    return nodes.op("Where", nodes.is_finite(args[0]), args[0], numbers[0])


def _fill(nodes: Nodes, template: str, args: list[str], numbers: list[str]) -> str:
    """A primitive on matrices: the nodes that its template names."""
    known = dict(zip(operand_names(len(args)), args, strict=True))
    *parts, result = ast.parse(fill(template, list(known), ["_eps"])).body
    known |= dict(zip(["_eps"], numbers, strict=False))  # most primitives have none

    def made(tree: Any) -> str:
        if isinstance(tree, ast.Call):
            if not defs.has(tree.func.id):  # type: ignore[attr-defined]
                raise ValueError(
                    f"the template onnx={template!r} calls {ast.unparse(tree.func)}, which ONNX does not have. "
                    "Write it with those of https://onnx.ai/onnx/operators."
                )
            return nodes.op(tree.func.id, *[made(operand) for operand in tree.args])  # type: ignore[attr-defined]
        return known[tree.id] if isinstance(tree, ast.Name) else nodes.scalar(ast.literal_eval(tree))

    for part in parts:
        known[part.targets[0].id] = made(part.value)  # type: ignore[attr-defined]
    return made(result.value)  # type: ignore[attr-defined]
