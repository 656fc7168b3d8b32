"""A model as C99 source; link it with the mathematics library (-lm)."""

from __future__ import annotations

import math
from collections.abc import Callable

from symgrove.export.writing import (
    Undoing,
    fill,
    number,
    plain_inputs,
    repeating,
    step_helpers,
    step_templates,
    write_calls,
    write_steps,
)
from symgrove.models.plan import MemberBlock, Plan

# Steps that are no primitives.
_CALLS = {
    "quotient": "({0} / {1})",
    "within": "sg_within({0}, {n0}, {n1})",
    "finite": "sg_finite({0}, {n0})",
}
_HELPERS = {"finite": "static double sg_finite(double a, double other) { return isfinite(a) ? a : other; }"}
_UNDOING = Undoing("sg_within({0}, {1}, {2})", "exp({0})", "pow({0}, {1})", number)
STATEMENTS = 200  # in one function
MOST_STATEMENTS = 10_000  # steps; of more, compilers would take many seconds, and a loop goes through a list of them
_WITHIN = "static double sg_within(double a, double low, double high) { return a < low ? low : a > high ? high : a; }"

_HEAD = """/* Made by symgrove {version} from a {origin}. C99; link with -lm.
   Compile without options that relax IEEE arithmetic, such as -ffast-math. NAN is a missing number.{plain} */
#include <math.h>
#include <stdlib.h>
#include <string.h>

{columns}"""
_FEATURES = """#define N_FEATURES {n}
const char *const symgrove_features[N_FEATURES] = {{
    {names}
}};
"""
_CATEGORICAL = """
/* Columns of categories: texts in UTF-8; NULL is missing. */
#define N_CATEGORICAL {n}
const char *const symgrove_categorical[N_CATEGORICAL] = {{
    {names}
}};
"""
_IS = """
static double sg_is(const char *given, const char *category) {
    return given != NULL && strcmp(given, category) == 0 ? 1.0 : 0.0;
}
"""

_DATE = """
/* Days since 1970-01-01, year, month, weekday from 1 (Monday), hours of the day if n is 5. */
static void sg_date(double days, int n, double *f) {
    double whole = floor(days), z = whole + 719468.0, era = floor(z / 146097.0), doe = z - era * 146097.0;
    double yoe = floor((doe - floor(doe / 1460.0) + floor(doe / 36524.0) - floor(doe / 146096.0)) / 365.0);
    double doy = doe - (365.0 * yoe + floor(yoe / 4.0) - floor(yoe / 100.0)), mp = floor((5.0 * doy + 2.0) / 153.0);
    f[0] = days;
    f[2] = mp < 10.0 ? mp + 3.0 : mp - 9.0;
    f[1] = yoe + era * 400.0 + (f[2] <= 2.0 ? 1.0 : 0.0);
    f[3] = whole + 3.0 - floor((whole + 3.0) / 7.0) * 7.0 + 1.0;
    if (n == 5) f[4] = 24.0 * (days - whole);
}
"""

_COMMON = """
/* Members: weighted sums of values; those of member j are at offsets j to j + 1. */
static void sg_sums(const double *v, int n, const int *at, const int *index, const double *weight,
                    const double *intercept, double *m) {
    for (int j = 0; j < n; j++) {
        double sum = intercept[j];
        for (int k = at[j]; k < at[j + 1]; k++) sum += weight[k] * v[index[k]];
        m[j] = sum;
    }
}

static int sg_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double sg_mean(const double *m, int n) {
    double sum = 0.0;
    for (int j = 0; j < n; j++) sum += m[j];
    return sum / n;
}

/* Keeps the finite members; returns their number. */
static int sg_keep_finite(double *m, int n) {
    int kept = 0;
    for (int j = 0; j < n; j++) if (isfinite(m[j])) m[kept++] = m[j];
    return kept;
}
"""

_REGRESSION = """
/* Prediction from {what}. */
double predict({parameters}) {{
    double f[{n_read}], y[1];
    sg_features({arguments}, f);
    sg_targets(f, y);
    return y[0];
}}
"""

_SEVERAL = """
#define N_TARGETS {n_targets}
const char *const symgrove_targets[N_TARGETS] = {{
    {targets}
}};

/* Predictions of symgrove_targets, from {what}. */
void predict({parameters}, double *predictions) {{
    double f[{n_read}];
    sg_features({arguments}, f);
    sg_targets(f, predictions);
}}
"""

_CLASSES = """
#define N_CLASSES {n_classes}
const char *const symgrove_classes[N_CLASSES] = {{
    {classes}
}};

/* Probabilities of symgrove_classes, from {what}. */
void predict_proba({parameters}, double *probabilities) {{
    double f[{n_read}], y[N_CLASSES];
    sg_features({arguments}, f);
    sg_targets(f, y);
    if (N_CLASSES == 2) {{
        probabilities[0] = 1.0 - y[0];
        probabilities[1] = y[0];
    }} else {{
        double total = 0.0;
        for (int k = 0; k < N_CLASSES; k++) total += y[k];
        for (int k = 0; k < N_CLASSES; k++) probabilities[k] = total == 0 ? 1.0 / N_CLASSES : y[k] / total;
    }}
{correction}}}

/* Index in symgrove_classes. */
int predict({parameters}) {{
    double p[N_CLASSES];
    predict_proba({arguments}, p);
    int best = 0;
    for (int k = 1; k < N_CLASSES; k++) if (p[k] > p[best]) best = k;
    return best;
}}
"""


_CORRECTION = """    const double weights[N_CLASSES] = {{{weights}}};
    double sum = 0.0;
    for (int k = 0; k < N_CLASSES; k++) {{
        probabilities[k] = weights[k] * pow(probabilities[k] > {floor} ? probabilities[k] : {floor}, {power});
        sum += probabilities[k];
    }}
    for (int k = 0; k < N_CLASSES; k++) probabilities[k] /= sum;
"""


def to_c(plan: Plan, version: str) -> str:
    """Source of a file with `predict`, and for classes `predict_proba`."""
    as_steps = _statements if len(plan.steps) <= MOST_STATEMENTS else _listed
    parts, body, values_of = as_steps(plan, step_templates(plan, "c", _CALLS))
    tables = []
    for k, target in enumerate(plan.targets):
        terms = []
        for level, block in enumerate(target.blocks):
            label = f"{k}_{level}"
            tables.append(_tables(label, block))
            body.append(f"double v{label}[{max(len(block.values), 1)}] = {{0}};")
            made, calls = values_of(label, block)
            parts += made
            body += calls
            body += _combine(label, block)
            if target.base is not None:
                terms.append(f" + {number(target.weights[level])} * (b{label} - {number(target.base)})")
        found = f"b{k}_0" if target.base is None else f"{number(target.base)}{''.join(terms)}"
        body.append(f"y[{k}] = {_UNDOING.write(target.inverse, found)};")
    helpers = step_helpers(plan, "c", _HELPERS)
    has_within = any(step.name == "within" for step in plan.steps) or any(t.inverse for t in plan.targets)
    if has_within or any(block.head in ("within", "share", "logistic", "exponential") for block in plan.blocks):
        helpers.append(_WITHIN)
    given = _given(plan)
    plain = "".join(f"\n   {_comment(line)}." for line in plain_inputs(plan))
    head = _HEAD.format(version=version, origin=plan.origin, plain=plain, columns=given.pop("columns"))
    features = given.pop("features")
    foot = _REGRESSION.format(**given)
    if plan.target_names:
        names = ",\n    ".join(map(_string, plan.target_names))
        foot = _SEVERAL.format(n_targets=len(plan.target_names), targets=names, **given)
    if plan.classes is not None:
        classes = ",\n    ".join(_string(str(c)) for c in plan.classes)
        foot = _CLASSES.format(n_classes=len(plan.classes), classes=classes, correction=_correction(plan), **given)
    lines = "\n    ".join(body)
    function = f"\nstatic void sg_targets(const double *x, double *y) {{\n    (void)x;\n    {lines}\n}}\n"
    middle = "\n".join([*tables, *parts, features])
    return head + "\n" + "\n".join(helpers) + _common(plan) + "\n" + middle + function + foot


def _comment(text: str) -> str:
    """A text that does not end a comment, or its line."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    return shown.replace("*/", "* /").replace("\\", "/")


Code = tuple[list[str], list[str]]  # functions and tables, and the statements that use them
Values = Callable[[str, MemberBlock], Code]  # from the label of a block and the block, what fills its values


def _statements(plan: Plan, templates: dict[str, str]) -> tuple[list[str], list[str], Values]:
    """Functions of statements."""
    place: dict[int, int] = {}

    def name(step: int) -> str:
        return f"t[{place.setdefault(step, len(place))}]"

    written = write_steps(plan, write_calls(templates), name, repeating(templates))
    steps = [f"{name(a.step)} = {a.expression};" for a in written.assignments]
    parts, calls = _parts("sg_steps", "const double *x, double *t", "x, t", steps)

    def values_of(label: str, block: MemberBlock) -> Code:
        values = [f"v[{i}] = {written.text_of[value]};" for i, value in enumerate(block.values)]
        arguments = "const double *x, const double *t, double *v"
        return _parts(f"sg_values{label}_", arguments, f"x, t, v{label}", values)

    return parts, [f"double t[{max(len(place), 1)}];", "(void)t;", *calls], values_of


_LOOP = """/* Every step applies an operation to results of earlier ones; operands and numbers follow each other. */
static void sg_steps(const double *x, double *t) {{
    const int *a = sg_operands;
    const double *n = sg_numbers;
    for (int i = 0; i < {n_steps}; i++) switch (sg_operations[i]) {{
    {cases}
    }}
}}"""


def _listed(plan: Plan, templates: dict[str, str]) -> tuple[list[str], list[str], Values]:
    """The same as a list of operations and a loop: steps are many, what they do is little."""
    code_of: dict[str, int] = {}
    cases = []
    for step in plan.steps:
        if step.name not in code_of:
            n_operands = 1 if step.name == "input" else len(step.args)
            n_numbers = 0 if step.name == "input" else len(step.numbers)
            template = {"input": "x[a[0]]", "constant": "n[0]"}.get(step.name) or templates[step.name]
            operands, numbers = [f"t[a[{k}]]" for k in range(n_operands)], [f"n[{k}]" for k in range(n_numbers)]
            moves = [f" {name} += {k};" for name, k in (("a", n_operands), ("n", n_numbers)) if k]
            text = fill(template, operands, numbers)
            cases.append(f"case {len(code_of)}: t[i] = {text};{''.join(moves)} break;")
            code_of[step.name] = len(code_of)
    is_input = [step.name == "input" for step in plan.steps]
    operands = [
        str(arg)
        for step, reads_x in zip(plan.steps, is_input, strict=True)
        for arg in ((int(step.numbers[0]),) if reads_x else step.args)
    ]
    numbers = [
        number(v) for step, reads_x in zip(plan.steps, is_input, strict=True) if not reads_x for v in step.numbers
    ]
    tables = [
        _table("unsigned char", "sg_operations", [str(code_of[step.name]) for step in plan.steps]),
        _table("int", "sg_operands", operands),
        _table("double", "sg_numbers", numbers),
    ]
    loop = _LOOP.format(n_steps=len(plan.steps), cases="\n    ".join(cases))
    calls = [f"double t[{len(plan.steps)}];", "sg_steps(x, t);"]

    def values_of(label: str, block: MemberBlock) -> Code:
        table = _table("int", f"s{label}_of", [str(value) for value in block.values])
        return [table], [f"for (int i = 0; i < {len(block.values)}; i++) v{label}[i] = t[s{label}_of[i]];"]

    return [*tables, loop], calls, values_of


def _given(plan: Plan) -> dict[str, str]:
    """What users give, and the function that makes features of it."""
    numbers = [c for c in plan.columns if c.categories is None]
    texts = [c for c in plan.columns if c.categories is not None]
    if any("\0" in text for c in texts for text in (c.name, *(c.categories or ()))):
        raise ValueError("C has no texts with a character of code 0, which a category has; rename it.")
    columns, parameters, arguments, what = "", [], [], []
    if numbers:
        columns += _FEATURES.format(n=len(numbers), names=",\n    ".join(_string(c.name) for c in numbers))
        parameters, arguments = ["const double *x"], ["x"]
        what = ["features in the order of symgrove_features"]
    columns += _DATE if any(c.date for c in numbers) else ""
    if texts:
        names = ",\n    ".join(_string(c.name) for c in texts)
        columns += _CATEGORICAL.format(n=len(texts), names=names)
        columns += _IS if any(c.categories for c in texts) else ""
        parameters, arguments = [*parameters, "const char *const *c"], [*arguments, "c"]
        what.append("texts in the order of symgrove_categorical")
    body = "\n    ".join(_making(plan))
    head = f"static void sg_features({', '.join(parameters)}, double *f)"
    return {
        "columns": columns,
        "parameters": ", ".join(parameters),
        "arguments": ", ".join(arguments),
        "what": " and ".join(what),
        "n_read": str(len(plan.features)),
        "features": f"\n{head} {{\n    {body}\n}}",
    }


def _making(plan: Plan) -> list[str]:
    """Statements that make features of columns."""
    lines: list[str] = []
    place = n_numbers = n_texts = 0
    for column in plan.columns:
        if column.categories is None:
            given, is_missing = f"x[{n_numbers}]", f"isnan(x[{n_numbers}])"
            filled = given if math.isnan(column.fill) else f"{is_missing} ? {number(column.fill)} : {given}"
            own, n_numbers = [filled], n_numbers + 1
            if column.date is not None:
                n_parts = len(column.date.parts)
                lines.append(f"sg_date({filled}, {n_parts}, f + {place});")
                own, place = [], place + n_parts
        else:
            given, is_missing = f"c[{n_texts}]", f"c[{n_texts}] == NULL"
            own, n_texts = [f"sg_is({given}, {_string(text)})" for text in column.categories], n_texts + 1
            if column.has_others:
                known = " + ".join(f"f[{place + k}]" for k in range(len(own)))
                own.append(f"{given} != NULL && {known} == 0.0 ? 1.0 : 0.0")
        if column.has_indicator:
            own.append(f"{is_missing} ? 1.0 : 0.0")
        lines += [f"f[{place + k}] = {text};" for k, text in enumerate(own)]
        place += len(own)
    return lines


def _common(plan: Plan) -> str:
    """The helpers of blocks that are used, so that no compiler warns of others."""
    parts = _COMMON.split("\n\n")
    sums, compare, mean, keep = parts[0], parts[1], parts[2], parts[3]
    blocks = plan.blocks
    wanted = []
    if any(b.combine != "pooled" for b in blocks):
        wanted.append(sums)
    if any(b.combine in ("median", "trimmed") for b in blocks):
        wanted.append(compare)
    if any(b.combine in ("mean", "trimmed") for b in blocks):
        wanted.append(mean)
    if any(b.combine in ("mean", "median") and b.fallback is not None for b in blocks):
        wanted.append(keep)
    return "\n" + "\n\n".join(part.strip("\n") for part in wanted) + "\n"


def _string(text: str) -> str:
    """A string literal of plain ASCII: other bytes as octal escapes, which end after three digits."""
    inside = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}" for byte in text.encode()
    )
    return f'"{inside}"'


def _table(kind: str, name: str, values: list[str]) -> str:
    lines = [", ".join(values[i : i + 8]) for i in range(0, len(values), 8)]
    inside = ",\n    ".join(lines)
    return f"static const {kind} {name}[{max(len(values), 1)}] = {{\n    {inside or '0'}\n}};"


def _correction(plan: Plan) -> str:
    if plan.correction is None:
        return ""
    power, weights, floor = plan.correction
    listed = ", ".join(map(number, weights.tolist()))
    return _CORRECTION.format(power=number(power), weights=listed, floor=number(floor))


def _tables(label: str, block: MemberBlock) -> str:
    intercepts = _table("double", f"c{label}", [number(row.intercept) for row in block.rows])
    weights = _table("double", f"w{label}", [number(w) for row in block.rows for w in row.coefficients])
    if block.combine == "pooled":
        return "\n".join([intercepts, weights, _table("double", f"n{label}", [number(n) for n in block.counts])])
    offsets = [0]
    for row in block.rows:
        offsets.append(offsets[-1] + len(row.indices))
    at = _table("int", f"at{label}", [str(offset) for offset in offsets])
    index = _table("int", f"i{label}", [str(i) for row in block.rows for i in row.indices])
    return "\n".join([intercepts, weights, at, index])


def _parts(name: str, parameters: str, arguments: str, statements: list[str]) -> tuple[list[str], list[str]]:
    """Functions of a few hundred statements each, which compilers take quickly, and the calls of them."""
    functions, calls = [], []
    for start in range(0, len(statements), STATEMENTS):
        own = f"{name}{start // STATEMENTS}"
        lines = "\n    ".join(statements[start : start + STATEMENTS])
        unused = " ".join(f"(void){word.split('*')[-1]};" for word in parameters.split(", "))
        functions.append(f"static void {own}({parameters}) {{\n    {unused}\n    {lines}\n}}")
        calls.append(f"{own}({arguments});")
    return functions, calls


def _combine(label: str, block: MemberBlock) -> list[str]:
    """Statements that end with b<label>."""
    b, m, n = f"b{label}", f"m{label}", len(block.rows)
    if block.combine == "pooled":
        return [
            f"double s{label} = 0.0, k{label} = 0.0;",
            f"for (int j = 0; j < {n}; j++) if (isfinite(v{label}[j])) {{",
            f"    s{label} += w{label}[j] * v{label}[j] + c{label}[j];",
            f"    k{label} += n{label}[j];",
            "}",
            f"double {b} = s{label} / k{label};",
            f"if (!isfinite({b})) {b} = {number(block.fallback or 0.0)};",
        ]
    lines = [f"double {m}[{n}];", f"sg_sums(v{label}, {n}, at{label}, i{label}, w{label}, c{label}, {m});"]
    low, high, shift = number(block.limits[0]), number(block.limits[1]), number(block.threshold - 0.5)
    change = {
        "plain": "",
        "within": f"sg_within({m}[j], {low}, {high})",
        "vote": f"isfinite({m}[j]) ? ({m}[j] > {number(block.threshold)} ? 1.0 : 0.0) : {m}[j]",
        "share": f"isfinite({m}[j]) ? sg_within({m}[j] - {shift}, 0.0, 1.0) : {m}[j]",
        "logistic": f"1.0 / (1.0 + exp(-sg_within({m}[j], {low}, {high})))",
        "exponential": f"exp(sg_within({m}[j], {low}, {high}))",
    }[block.head]
    if change:
        lines.append(f"for (int j = 0; j < {n}; j++) {m}[j] = {change};")
    count = str(n)
    if block.combine == "trimmed" and block.fallback is not None:
        lines.append(f"for (int j = 0; j < {n}; j++) if (!isfinite({m}[j])) {m}[j] = {number(block.fallback)};")
    elif block.fallback is not None:
        count = f"k{label}"
        lines.append(f"int {count} = sg_keep_finite({m}, {n});")
    if block.combine in ("median", "trimmed"):
        lines.append(f"qsort({m}, {count}, sizeof(double), sg_compare);")
    if block.combine == "median":
        found = f"0.5 * {m}[({count} - 1) / 2] + 0.5 * {m}[{count} / 2]"
    elif block.combine == "trimmed":
        found = f"sg_mean({m} + {block.n_outer}, {n - 2 * block.n_outer})"
    else:
        found = f"sg_mean({m}, {count})"
    if block.fallback is not None and block.combine != "trimmed":
        found = f"{count} == 0 ? {number(block.fallback)} : {found}"
    lines.append(f"double {b} = {found};")
    if block.fallback is not None and block.combine != "median":
        lines.append(f"if (!isfinite({b})) {b} = {number(block.fallback)};")
    return lines
