"""A model, or a formula, as a SymPy expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy

from symgrove._checks import check_whole
from symgrove.forest.as_sympy import apply, rounded, symbol
from symgrove.models.plan import MemberBlock, Plan, Step
from symgrove.models.target_transform import TargetTransform

MOST_NODES = 30_000
_ADVICE = (
    "Make the model smaller first (simplify_ensemble, --max-error-increase 0.01 --data rows.csv), or export to 'text'."
)


def to_sympy(plan: Plan, version: str, digits: int | None = None) -> Any:
    """Expression of the prediction; of classes, a list of their probabilities; numbers with all digits by default.

    Features are real symbols with their names. Medians and interquartile means are functions without a definition, as
    are `finite(a, b)` (a, or b where a is not a finite number), `mean_of_finite(..., b)` and functions of the user's
    that have no template. The mean of programs is that of all members, as it is where all are finite.
    """
    check_whole("digits", digits, 1, 17, is_optional=True)
    _check_size(plan)
    try:
        found = _expressions(plan)
        if digits is None:
            return found
        return [rounded(each, digits) for each in found] if isinstance(found, list) else rounded(found, digits)
    except RecursionError:
        raise ValueError(f"SymPy cannot hold so deep an expression. {_ADVICE}") from None


def _check_size(plan: Plan) -> None:
    """Refuse at once what SymPy would work on for minutes: it knows no shared parts."""
    sizes: list[int] = []
    for step in plan.steps:
        sizes.append(1 + sum(sizes[arg] for arg in step.args))
    size = sum(2 + sizes[block.values[i]] for block in plan.blocks for row in block.rows for i in row.indices)
    if size > MOST_NODES:
        raise ValueError(
            f"written out, this model has {size} operations and numbers; an expression of SymPy may have {MOST_NODES}. "
            f"{_ADVICE}"
        )


def _expressions(plan: Plan) -> Any:
    steps: list[Any] = []
    for step in plan.steps:
        steps.append(_step(plan, step, [steps[arg] for arg in step.args]))
    targets = []
    for target in plan.targets:
        blocks = [_block(block, steps) for block in target.blocks]
        found = blocks[0]
        if target.base is not None:
            base = sympy.Float(target.base)
            found = base + sum((w * (b - base) for w, b in zip(target.weights, blocks, strict=True)), sympy.S.Zero)
        targets.append(undone(target.inverse, found))
    if plan.classes is None:
        return targets if plan.target_names else targets[0]
    if len(targets) == 1:
        shares = [1 - targets[0], targets[0]]
    else:
        total = sum(targets, sympy.S.Zero)
        shares = [target / total for target in targets]
    if plan.correction is None:
        return shares
    power, weights, floor = plan.correction
    raised = [w * sympy.Max(s, sympy.Float(floor)) ** power for s, w in zip(shares, weights.tolist(), strict=True)]
    return [r / sum(raised, sympy.S.Zero) for r in raised]


def undone(inverse: TargetTransform | None, found: Any) -> Any:
    """A target in its own units."""
    if inverse is None:
        return found
    inside = _OPERATIONS["within"](found, sympy.Float(inverse.low), sympy.Float(inverse.high))
    if inverse.power == 0:
        return sympy.exp(inside)
    return (1 + sympy.Float(inverse.power) * inside) ** sympy.Float(1.0 / inverse.power)


# Steps that are no primitives.
_OPERATIONS: dict[str, Callable[..., Any]] = {
    "quotient": lambda a, b: a / b,
    "within": lambda a, low, high: sympy.Min(sympy.Max(a, low), high),
    "finite": lambda a, other: sympy.Function("finite")(a, other),
}


def _step(plan: Plan, step: Step, args: list[Any]) -> Any:
    if step.name == "input":
        return symbol(plan.features[int(step.numbers[0])])
    if step.name == "constant":
        return sympy.Float(step.numbers[0])
    if step.primitive is not None:
        return apply(step.primitive, args, *step.numbers)
    return _OPERATIONS[step.name](*args, *(sympy.Float(n) for n in step.numbers))


def _block(block: MemberBlock, steps: list[Any]) -> Any:
    if block.combine == "pooled":
        total = sum((_sum(row, block, steps) for row in block.rows), sympy.S.Zero)
        return total / sympy.Float(sum(block.counts))
    members = [_headed(block, _sum(row, block, steps)) for row in block.rows]
    if block.combine == "trimmed" and block.fallback is not None:
        members = [_OPERATIONS["finite"](member, sympy.Float(block.fallback)) for member in members]
    if len(members) == 1:
        return members[0]
    if block.combine == "mean" and block.fallback is None:
        return sum(members, sympy.S.Zero) / len(members)
    if block.combine == "trimmed":
        return sympy.Function("interquartile_mean")(*members)
    return sympy.Function(f"{block.combine}_of_finite")(*members, sympy.Float(block.fallback or 0.0))


def _sum(row: Any, block: MemberBlock, steps: list[Any]) -> Any:
    pairs = zip(row.indices, row.coefficients, strict=True)
    return sympy.Float(row.intercept) + sum((sympy.Float(c) * steps[block.values[i]] for i, c in pairs), sympy.S.Zero)


def _headed(block: MemberBlock, member: Any) -> Any:
    low, high = (sympy.Float(v) for v in block.limits)
    if block.head in ("within", "logistic", "exponential"):
        member = sympy.Min(sympy.Max(member, low), high)
    if block.head == "logistic":
        return 1 / (1 + sympy.exp(-member))
    if block.head == "exponential":
        return sympy.exp(member)
    if block.head == "vote":
        return sympy.Piecewise((1, member > block.threshold), (0, True))
    if block.head == "share":
        return sympy.Min(sympy.Max(member - sympy.Float(block.threshold - 0.5), 0), 1)
    return member
