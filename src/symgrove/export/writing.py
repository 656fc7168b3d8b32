"""Steps of a plan as expressions of a language.

A step that is used once is written where it is used, unless the line gets long; the others get a name. What a language
writes for a step is a function of the step and of its operands' texts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from symgrove.forest.primitive_table import Primitive
from symgrove.forest.templates import DIALECTS, repeats_an_operand
from symgrove.models.plan import Plan, Step
from symgrove.models.target_transform import TargetTransform

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
    named: Collection[int] = (),
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
    named : collection of int
        Steps that have a name in any case, unless they are features or constants.
    """
    uses = plan.count_uses()
    is_repeated = [False] * len(plan.steps)
    for step in plan.steps:
        if step.name in repeats:
            for arg in step.args:
                is_repeated[arg] = True
    values = {value for block in plan.blocks for value in block.values} if names_values else set()
    values |= set(named)
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


class Undoing(NamedTuple):
    """How a language writes that a transform of the target is undone: templates of a value within two limits, of an
    exponential, and of a power."""

    within: str
    exponential: str
    power: str
    number: Callable[[float], str]

    def write(self, inverse: TargetTransform | None, text: str) -> str:
        """A target in its own units, from its text as the model has it."""
        if inverse is None:
            return text
        inside = self.within.format(text, self.number(inverse.low), self.number(inverse.high))
        if inverse.power == 0:
            return self.exponential.format(inside)
        base = f"({self.number(1.0)} + {self.number(inverse.power)} * {inside})"
        return self.power.format(base, self.number(1.0 / inverse.power))


def plain_inputs(plan: Plan) -> list[str]:
    """What languages that take numbers only take where tables have texts."""
    found = []
    for column in plan.columns:
        if column.text_format is not None:
            text, value = column.text_format.example
            what = "a number" if column.date is None else "days since 1970-01-01"
            found.append(f"{column.name!r} is {what}: {value:.10g} for {text!r}")
    return found


def number(value: float) -> str:
    """A double, so that it reads back to the same bits; in brackets if negative."""
    text = repr(float(value))
    return f"({text})" if text[0] == "-" else text


def used_primitives(plan: Plan) -> dict[str, Primitive]:
    """Primitives by the names of their steps."""
    return {step.name: step.primitive for step in plan.steps if step.primitive is not None}


def step_templates(plan: Plan, language: str, own: Mapping[str, str]) -> dict[str, str]:
    """Templates of all steps by name, from the rows of their primitives; `own` has those of steps that are none.

    Places are {0} and {1} for operands, {eps} for the epsilon of a primitive, {n0} and {n1} for other numbers.
    """
    primitives = used_primitives(plan)
    found = {name: row.templates.of(language) for name, row in primitives.items()}
    missing = [primitives[name] for name, template in found.items() if template is None]
    if missing:
        raise ValueError(_missing(missing, "sql" if language in DIALECTS else language, language))
    return {**own, **{name: template for name, template in found.items() if template is not None}}


def _missing(rows: list[Primitive], argument: str, language: str) -> str:
    names = ", ".join(repr(row.name) for row in rows)
    places = ", ".join(f"{{{i}}}" for i in range(rows[0].arity))
    one = f'symgrove.primitive({rows[0].name}, {argument}="... {places} ...")'
    which = (
        f"the function {names} of yours, which has" if len(rows) == 1 else f"functions of yours, {names}, which have"
    )
    return (
        f"this model uses {which} no template for {language}. Give one: {one}. A fitted model takes it when it is "
        "read again: model.save(path), then symgrove.load(path, functions=[...])."
    )


def step_helpers(plan: Plan, language: str, own: Mapping[str, str]) -> list[str]:
    """Definitions that templates call, in the order of the steps' names; `own` are those of steps that are no
    primitives."""
    used = {step.name for step in plan.steps}
    found = {name: text for name, text in own.items() if name in used}
    for name, row in used_primitives(plan).items():
        helper = row.templates.helper(language)
        if helper is not None:
            found[name] = helper
    return [found[name] for name in sorted(found)]


def repeating(templates: Mapping[str, str]) -> set[str]:
    """Names of the steps whose text repeats an operand."""
    return {name for name, template in templates.items() if repeats_an_operand(template)}


def fill(template: str, operands: list[str], numbers: list[str]) -> str:
    """A template with its places filled."""
    named = {f"n{i}": text for i, text in enumerate(numbers)}
    return template.format(*operands, eps=numbers[0] if numbers else "", **named)


def write_calls(templates: Mapping[str, str]) -> Write:
    """Steps by their templates; features are x[0], x[1], ..."""

    def write(step: Step, operands: list[str]) -> str:
        if step.name == "input":
            return f"x[{int(step.numbers[0])}]"
        if step.name == "constant":
            return number(step.numbers[0])
        return fill(templates[step.name], operands, [number(value) for value in step.numbers])

    return write
