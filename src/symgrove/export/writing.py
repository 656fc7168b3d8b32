"""Steps of a plan as expressions of a language.

A step that is used once is written where it is used, unless the line gets long; the others get a name. What a language
writes for a step is a function of the step and of its operands' texts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from symgrove.export.plan import Plan, Step

LONGEST = 160  # characters of an expression that is written inside another
Write = Callable[[Step, list[str]], str]


class Assignment(NamedTuple):
    """A step with a name of its own; `needs` are the named steps that its expression refers to."""

    step: int
    expression: str
    needs: frozenset[int]


class Written(NamedTuple):
    """Assignments in order, and for every value of a block the text that stands for it."""

    assignments: list[Assignment]
    text_of: dict[int, str]
    needs_of: dict[int, frozenset[int]]


def write_steps(
    plan: Plan,
    write: Write,
    name: Callable[[int], str],
    repeats: Collection[str] = (),
    longest: int = LONGEST,
    longest_repeated: int = 0,
    *,
    names_values: bool = False,
) -> Written:
    """Expressions of all steps.

    Parameters
    ----------
    plan : Plan
    write : callable (step, operands) -> text
        Operands are names, numbers, or expressions that need no brackets.
    name : callable (step index) -> str
    repeats : collection of str
        Steps whose text repeats an operand.
    longest, longest_repeated : int
        Characters up to which an expression is written inside another, and inside one that repeats it.
    names_values : bool
        Whether values of blocks have names too, for languages that repeat them in each member.
    """
    uses = plan.count_uses()
    is_repeated = [False] * len(plan.steps)
    for step in plan.steps:
        if step.name in repeats:
            for arg in step.args:
                is_repeated[arg] = True
    values = {value for block in plan.blocks for value in block.values} if names_values else set()
    assignments: list[Assignment] = []
    text_of: dict[int, str] = {}
    needs_of: dict[int, frozenset[int]] = {}
    for i, step in enumerate(plan.steps):
        text = write(step, [text_of[arg] for arg in step.args])
        needs: frozenset[int] = frozenset().union(*(needs_of[arg] for arg in step.args))
        is_leaf = step.name in ("input", "constant")
        if not is_leaf and (
            uses[i] > 1 or len(text) > (longest_repeated if is_repeated[i] else longest) or i in values
        ):
            assignments.append(Assignment(i, text, needs))
            text, needs = name(i), frozenset([i])
        text_of[i], needs_of[i] = text, needs
    return Written(assignments, text_of, needs_of)


def number(value: float) -> str:
    """A double, so that it reads back to the same bits; in brackets if negative."""
    text = repr(float(value))
    return f"({text})" if text[0] == "-" else text


def used_primitives(plan: Plan) -> set[str]:
    """Names of the steps that occur."""
    return {step.name for step in plan.steps}


def write_calls(calls: Mapping[str, str]) -> Write:
    """Steps by templates with places for operands ({0}, {1}) and numbers ({n0}, {n1}); features are x[0], x[1], ..."""

    def write(step: Step, operands: list[str]) -> str:
        if step.name == "input":
            return f"x[{int(step.numbers[0])}]"
        if step.name == "constant":
            return number(step.numbers[0])
        return calls[step.name].format(*operands, **{f"n{i}": number(value) for i, value in enumerate(step.numbers)})

    return write
