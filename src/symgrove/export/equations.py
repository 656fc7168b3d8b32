"""A whole model as equations, exactly: plain text or LaTeX.

Members, clips and the way members are combined are spelled out; steps that are used more than once have a name. Numbers
are complete in text and shortened in LaTeX, which is for reading, unless `digits` says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from symgrove._checks import check_whole
from symgrove.export.writing import fill, used_primitives, write_steps
from symgrove.forest.latex import DIGITS, latex_name, latex_number
from symgrove.forest.primitive_table import Primitive
from symgrove.forest.text import is_indicator
from symgrove.models.plan import MemberBlock, Plan, Step
from symgrove.models.target_transform import TargetTransform

# Characters of an expression that is written inside another; a distance should stand on one line.
LONGEST = 200
LONGEST_OF_NAMED = 2000
# Steps that are no primitives.
_TEXT = {"quotient": "({0} / {1})", "within": "clip({0}, {n0}, {n1})", "finite": "finite({0}, {n0})"}
_LATEX = {
    "quotient": r"\frac{{{0}}}{{{1}}}",
    "within": r"\operatorname{{clip}}\left({0}, {n0}, {n1}\right)",
    "finite": r"\operatorname{{finite}}\left({0}, {n0}\right)",
}
_MEANINGS = {
    "power": "power(a, b) is a^b",
    "quotient": "quotient(a, b) is a / b",
    "sign": "sign(a) is 1 for a >= 0, else -1",
    "clip": "clip(a, low, high) is a within low and high",
    "finite": "finite(a, b) is a, or b where a is not a finite number",
    "logistic": "logistic(a) is 1 / (1 + exp(-a))",
    "distance": "distance(class) is the distance from the centroid of the class",
    "vote": "vote(a, b) is 1 for a > b, else 0",
    "interquartile_mean": "interquartile_mean is the mean without the lowest and the highest quarter (rounded down)",
    "weighted_mean_of_finite": "weighted_mean_of_finite is the sum over those that are finite, divided by the sum of "
    "their factors; of nothing, it is its last argument",
    "mean_of_finite": "mean_of_finite leaves out what is not a finite number; of nothing, it is its last argument",
    "median_of_finite": "median_of_finite leaves out what is not a finite number; of nothing, it is its last argument",
}


def to_text(plan: Plan, version: str, digits: int | None = None) -> str:
    """Equations in plain text."""
    return equations(plan, "text", digits) + "\n"


def to_latex(plan: Plan, version: str, digits: int | None = None) -> str:
    """Equations in LaTeX."""
    return equations(plan, "latex", digits) + "\n"


class _Style(NamedTuple):
    """How a language of equations writes numbers, names and calls."""

    number: Callable[[float], str]
    feature: Callable[[str], str]
    label: Callable[[str, object], str]
    call: Callable[[str, list[str]], str]
    times: str
    write: Callable[[Step, list[str]], str]


def equations(plan: Plan, style: str = "text", digits: int | None = None) -> str:
    """The model as equations: dimensions and distances of classes in them, if it has any, then the result."""
    check_whole("digits", digits, 1, 17, is_optional=True)
    own = _text_style(plan, digits) if style == "text" else _latex_style(plan, DIGITS if digits is None else digits)
    longest = LONGEST_OF_NAMED if plan.names else LONGEST
    written = write_steps(plan, own.write, lambda i: _step_name(own, plan, i), longest=longest, named=plan.names)
    steps: dict[str, list[str]] = {"dimension": [], "distance": [], "": []}
    for step, expression, _ in written.assignments:
        steps[plan.names.get(step, ("", 0))[0]].append(f"{_step_name(own, plan, step)} = {expression}")
    members: list[str] = []
    results: list[str] = []
    for k, target in enumerate(plan.targets):
        names = []
        for block in target.blocks:
            start = len(members)
            members += [_member(own, block, j, written.text_of) for j in range(len(block.rows))]
            names.append(_combined(own, block, [own.label("m", start + j + 1) for j in range(len(block.rows))]))
        result = _undone(own, target.inverse, _target(own, target.base, target.weights, names))
        results.append(f"{_result_name(own, plan, k)} = {result}")
    rows = [
        *steps["dimension"],
        *steps["distance"],
        *_corrected(own, plan),
        *results,
        *(f"{own.label('m', j + 1)} = {text}" for j, text in enumerate(members)),
        *steps[""],
    ]
    if style == "latex":
        inside = " \\\\\n".join(row.replace(" = ", " &= ", 1) for row in rows)
        return f"\\begin{{aligned}}\n{inside}\n\\end{{aligned}}"
    text = "\n".join(rows)
    meanings = [*plan.columns.notes, *(meaning for name, meaning in _MEANINGS.items() if f"{name}(" in text)]
    users = [row for row in used_primitives(plan).values() if row.function is not None]
    meanings += [_own_meaning(row) for row in users]
    return text + ("\nwhere " + ";\n      ".join(meanings) + "." if meanings else "")


def _step_name(own: _Style, plan: Plan, step: int) -> str:
    kind, place = plan.names.get(step, ("", step))
    if kind == "distance":
        assert plan.classes is not None
        return own.call("distance", [own.feature(str(plan.classes[place]))])
    return own.label("z" if kind == "dimension" else "t", place)


def _result_name(own: _Style, plan: Plan, k: int) -> str:
    if plan.classes is None:
        return own.call("prediction", [own.feature(plan.target_names[k])] if plan.target_names else [])
    if len(plan.classes) == 2:
        name = "probability" if plan.correction is None else "share"
        return own.call(name, [own.feature(str(plan.classes[1]))])
    return own.call("score", [own.feature(str(plan.classes[k]))])


def _corrected(own: _Style, plan: Plan) -> list[str]:
    """Equations of corrected probabilities, from the shares that the model gives."""
    if plan.correction is None or plan.classes is None:
        return []
    power, weights, floor = plan.correction
    names = [own.feature(str(c)) for c in plan.classes]
    if len(names) == 2:
        second = own.call("share", names[1:])
        shares = [f"1 - {second}", second]
    else:
        total = " + ".join(own.call("score", [name]) for name in names)
        shares = [own.call("quotient", [own.call("score", [name]), total]) for name in names]
    labels = [own.label("q", k + 1) for k in range(len(names))]
    rows = [
        own.call("probability", [name]) + " = " + own.call("quotient", [label, " + ".join(labels)])
        for name, label in zip(names, labels, strict=True)
    ]
    for label, share, weight in zip(labels, shares, weights.tolist(), strict=True):
        raised = own.call("power", [own.call("max", [share, own.number(floor)]), own.number(power)])
        rows.append(f"{label} = {own.number(weight)}{own.times}{raised}")
    return rows


def _target(own: _Style, base: float | None, weights: tuple[float, ...], blocks: list[str]) -> str:
    if base is None or (len(weights) == 1 and weights[0] == 1):
        return blocks[0]
    rest = 1 - sum(weights)
    terms = [f"{own.number(w)}{own.times}{block}" for w, block in zip(weights, blocks, strict=True)]
    if abs(rest) > 1e-12 or not terms:
        terms.insert(0, own.number(rest * base))
    return " + ".join(terms)


def _undone(own: _Style, inverse: TargetTransform | None, text: str) -> str:
    """A target in its own units."""
    if inverse is None:
        return text
    inside = own.call("clip", [text, own.number(inverse.low), own.number(inverse.high)])
    if inverse.power == 0:
        return own.call("exp", [inside])
    base = f"{own.number(1.0)} + {own.number(inverse.power)}{own.times}{inside}"
    return own.call("power", [base, own.number(1.0 / inverse.power)])


def _member(own: _Style, block: MemberBlock, j: int, text_of: dict[int, str]) -> str:
    row = block.rows[j]
    pairs = zip(row.indices, row.coefficients, strict=True)
    if block.combine == "pooled":  # the pooled rows are sums over the samples that chose a program
        n = block.counts[j] or 1.0  # of no weight: nothing to divide
        return _sum(own, row.intercept / n, [(row.coefficients[0] / n, text_of[block.values[row.indices[0]]])])
    total = _sum(own, row.intercept, [(c, text_of[block.values[i]]) for i, c in pairs])
    low, high, threshold = (own.number(v) for v in (*block.limits, block.threshold))
    if block.head == "vote":
        return own.call("vote", [total, threshold])
    if block.head == "share":
        shift = "" if block.threshold == 0.5 else f" - {own.number(block.threshold - 0.5)}"
        return own.call("clip", [total + shift, "0", "1"])
    if block.head == "within":
        return own.call("clip", [total, low, high])
    if block.head == "logistic":
        return own.call("logistic", [own.call("clip", [total, low, high])])
    if block.head == "exponential":
        return own.call("exp", [own.call("clip", [total, low, high])])
    if block.combine == "trimmed" and block.fallback is not None:
        return own.call("finite", [total, own.number(block.fallback)])
    return total


def _sum(own: _Style, intercept: float, terms: list[tuple[float, str]]) -> str:
    """A program that is not scaled stands alone."""
    if intercept == 0 and len(terms) == 1 and terms[0][0] == 1:
        return terms[0][1]
    return " + ".join([own.number(intercept), *(f"{own.number(c)}{own.times}{text}" for c, text in terms)])


def _combined(own: _Style, block: MemberBlock, members: list[str]) -> str:
    if block.combine == "pooled" and len(set(block.counts)) > 1:
        members = [f"{own.number(n)}{own.times}{m}" for n, m in zip(block.counts, members, strict=True)]
        return own.call("weighted_mean_of_finite", [*members, own.number(block.fallback or 0.0)])
    if len(members) == 1:
        return members[0]
    if block.combine == "trimmed":  # members say what they count as where they are not finite
        return own.call("interquartile_mean", members)
    fallback = [] if block.fallback is None else [own.number(block.fallback)]
    name = {"mean": "mean", "pooled": "mean", "median": "median"}[block.combine]
    return own.call(f"{name}_of_finite" if fallback else name, [*members, *fallback])


def _text_style(plan: Plan, digits: int | None) -> _Style:
    def number(value: float) -> str:
        text = repr(float(value if digits is None else f"{value:.{digits}g}"))
        return f"({text})" if text[0] == "-" else text

    def write(step: Step, operands: list[str]) -> str:
        if step.name == "input":
            return _plain(plan.features[int(step.numbers[0])])
        if step.name == "constant":
            return number(step.numbers[0])
        template = _TEXT[step.name] if step.primitive is None else _text_of(step.primitive)
        if step.name == "power" and operands[0].endswith(("^2", "^3")):  # squares and cubes have no brackets
            operands = [f"({operands[0]})", operands[1]]
        return fill(template, operands, [number(v) for v in step.numbers])

    def call(name: str, args: list[str]) -> str:
        return f"{name}({', '.join(args)})" if args else name

    return _Style(number, _plain, lambda letter, i: f"{letter}_{i}", call, " * ", write)


def _text_of(row: Primitive) -> str:
    if row.function is not None:
        return _own_name(row) + row.templates.text.removeprefix(row.name)
    return row.templates.exact_text or row.templates.text


def _own_name(row: Primitive) -> str:
    """The name of a user's function, longer if it means something else in equations."""
    return f"{row.name}_" if row.name in (*_MEANINGS, "mean", "median") else row.name


def _own_meaning(row: Primitive) -> str:
    shown = _own_name(row)
    return f"{shown} is a function of yours" if shown == row.name else f"{shown} is the function {row.name} of yours"


def _plain(name: str) -> str:
    """A name in text: in backticks unless it is a plain word."""
    return name if name.isidentifier() or is_indicator(name) else "`" + name.replace("`", "``") + "`"


def _latex_style(plan: Plan, digits: int) -> _Style:
    def number(value: float) -> str:
        text = latex_number(value, digits)
        return rf"\left({text}\right)" if text[0] == "-" else text

    def write(step: Step, operands: list[str]) -> str:
        if step.name == "input":
            return latex_name(plan.features[int(step.numbers[0])])
        if step.name == "constant":
            return number(step.numbers[0])
        if step.primitive is None:
            template = _LATEX[step.name]
        else:
            template = step.primitive.templates.exact_latex or step.primitive.templates.latex
        return fill(template, operands, [number(v) for v in step.numbers])

    def call(name: str, args: list[str]) -> str:
        shown = rf"\operatorname{{{name.replace('_', ' ')}}}"
        return rf"{shown}\left({', '.join(args)}\right)" if args else shown

    return _Style(number, latex_name, lambda letter, i: f"{letter}_{{{i}}}", call, r" \cdot ", write)
