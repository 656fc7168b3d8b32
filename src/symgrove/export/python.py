"""A model as Python source that needs NumPy and nothing else."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from typing import Any

from symgrove.export.writing import Undoing, number, repeating, step_helpers, step_templates, write_calls, write_steps
from symgrove.models.date_text import date_parts, parse_date
from symgrove.models.number_text import NumberFormat, parse_number
from symgrove.models.plan import MemberBlock, Plan

# Steps that are no primitives.
_CALLS = {
    "quotient": "({0} / {1})",
    "within": "np.clip({0}, {n0}, {n1})",
    "finite": "_finite({0}, {n0})",
}
_UNDOING = Undoing("np.clip({0}, {1}, {2})", "np.exp({0})", "np.power({0}, {1})", number)
_HELPERS = {"finite": "def _finite(a, other):\n    return np.where(np.isfinite(a), a, other)"}

_PARTS = {
    "sums": '''def _sums(values, members, n):
    """A weighted sum of values for each member."""
    found = np.empty((len(members), n))
    for row, (indices, coefficients, intercept) in zip(found, members):
        row[:] = intercept
        for i, coefficient in zip(indices, coefficients):
            row += coefficient * values[i]
    return found''',
    "mean_of_finite": """def _mean_of_finite(members, otherwise):
    is_finite = np.isfinite(members)
    n_finite = is_finite.sum(axis=0)
    mean = np.where(is_finite, members, 0.0).sum(axis=0) / n_finite
    return np.where((n_finite > 0) & np.isfinite(mean), mean, otherwise)""",
    "median_of_finite": """def _median_of_finite(members, otherwise):
    is_finite = np.isfinite(members)
    n_finite = is_finite.sum(axis=0)
    ordered = np.sort(np.where(is_finite, members, np.inf), axis=0)
    columns = np.arange(ordered.shape[1])
    low = ordered[np.maximum(n_finite - 1, 0) // 2, columns]
    high = ordered[np.maximum(n_finite // 2 - (n_finite == 0), 0), columns]
    return np.where(n_finite > 0, 0.5 * low + 0.5 * high, otherwise)""",
    "pooled": """def _pooled(values, members, counts, otherwise):
    total, count = 0.0, 0.0
    for value, (_, (slope,), intercept), n in zip(values, members, counts):
        is_finite = np.isfinite(value)
        total = total + np.where(is_finite, slope * np.where(is_finite, value, 0.0) + intercept, 0.0)
        count = count + np.where(is_finite, n, 0.0)
    mean = total / count
    return np.where(np.isfinite(mean), mean, otherwise)""",
    "votes": """def _votes(members, threshold):
    return np.where(np.isfinite(members), np.where(members > threshold, 1.0, 0.0), np.nan)""",
    "shares": """def _shares(members, threshold):
    return np.where(np.isfinite(members), np.clip(members - (threshold - 0.5), 0.0, 1.0), np.nan)""",
    "logistic": """def _logistic(members, low, high):
    return 1.0 / (1.0 + np.exp(-np.clip(members, low, high)))""",
    "trimmed": """def _trimmed(members, n_outer):
    return np.sort(members, axis=0)[n_outer : len(members) - n_outer].mean(axis=0)""",
    "trimmed_or_else": """def _trimmed_or_else(members, n_outer, otherwise):
    mean = _trimmed(np.where(np.isfinite(members), members, otherwise), n_outer)
    return np.where(np.isfinite(mean), mean, otherwise)""",
}

_HEAD = '''"""Made by symgrove {version} from a {origin}; needs NumPy only.

predict(X): X is an array with the columns of FEATURES in that order, or a data frame with columns of these names.
NaN and None are missing values.
"""

{imports}import numpy as np

FEATURES = {features!r}
{classes}ROWS_AT_A_TIME = 512


def _columns(X):
    if hasattr(X, "columns"):
        missing = [name for name in FEATURES if name not in list(X.columns)]
        if missing:
            raise ValueError(f"X lacks the columns {{missing}}.")
        return [X[name] for name in FEATURES]
    X = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    if X.ndim != 2 or X.shape[1] != len(FEATURES):
        raise ValueError(f"X has the shape {{X.shape}}, expected (n_rows, {{len(FEATURES)}}): {{FEATURES}}.")
    return list(X.T)


def _is_missing(value):
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _numbers(values, fill):
    values = np.asarray(values)
    if values.dtype == object:
        values = np.array([np.nan if _is_missing(v) else v for v in values.tolist()])
    values = values.astype(np.float64)
    return np.where(np.isnan(values), fill, values)
{texts}

def _features(X):
    given = _columns(X)
    found = []
{making}
    return np.stack(found, axis=1)
'''
_TEXTS = '''

def _texts(values):
    """Categories as texts: 3.0 is "3", True is "True"; None is missing."""
    return [
        None if _is_missing(v)
        else str(bool(v)) if isinstance(v, (bool, np.bool_))
        else str(int(v)) if isinstance(v, (float, np.floating)) and float(v).is_integer() and abs(v) < 2**53
        else repr(float(v)) if isinstance(v, (float, np.floating))
        else str(v)
        for v in np.asarray(values, dtype=object).tolist()
    ]
'''

_READ_NUMBERS = """

def _read_numbers(values, decimal, sign):
    \"\"\"Numbers in texts; numbers as they are.\"\"\"
    values = np.asarray(values, dtype=object).tolist()
    return np.array([_parse_number(v, decimal, sign) if isinstance(v, str) else v for v in values], dtype=object)
"""
_READ_DATES = """

def _read_dates(values, order, fill):
    \"\"\"Days since 1970-01-01, of texts, dates and days.\"\"\"
    values = np.asarray(values)
    if values.dtype.kind == "M":
        moments = values.astype("datetime64[us]")
        days = (moments - np.datetime64(0, "us")) / np.timedelta64(1, "D")
        days = np.where(np.isnat(moments), np.nan, days)
    else:
        days = np.array([_parse_date(v, order) for v in values.tolist()], dtype=np.float64)
    return np.where(np.isnan(days), fill, days)
"""

_FOOT_REGRESSION = '''

def predict(X):
    """Prediction of each row."""
    return _targets(X)[0]
'''
_FOOT_SEVERAL = '''

def predict(X):
    """Predictions of TARGETS, a column for each, on each row."""
    return _targets(X).T
'''
_FOOT_CLASSES = '''

def predict_proba(X):
    """Probability of each of CLASSES on each row."""
    scores = _targets(X)
    if len(scores) == 1:
        shares = np.stack([1 - scores[0], scores[0]], axis=1)
    else:
        total = scores.sum(axis=0)
        shares = np.where(total == 0, 1.0 / len(scores), scores / np.where(total == 0, 1.0, total)).T
{correction}    return shares


def predict(X):
    """Class of each row."""
    return np.array(CLASSES)[np.argmax(predict_proba(X), axis=1)]
'''


_CORRECTION = """    raised = np.array({weights!r}) * np.maximum(shares, {floor!r}) ** {power!r}
    shares = raised / raised.sum(axis=1, keepdims=True)
"""


def to_python(plan: Plan, version: str) -> str:
    """Source of a module with `predict`, and for classes `predict_proba`."""
    templates = step_templates(plan, "python", _CALLS)
    written = write_steps(plan, write_calls(templates), lambda i: f"t{i}", repeating(templates))
    lines = [f"t{a.step} = {a.expression}" for a in written.assignments]
    constants: list[str] = []
    bodies = []
    for k, target in enumerate(plan.targets):
        for level, block in enumerate(target.blocks):
            label = f"{k}_{level}"
            constants.append(_members(label, block))
            values = ", ".join(written.text_of[value] for value in block.values)
            lines.append(f"values = [{values}]")
            lines.append(f"b{label} = {_combine(label, block)}")
        bodies.append(f"y{k} = {_UNDOING.write(target.inverse, _target(k, target.base, target.weights))}")
    classes = "" if plan.classes is None else f"CLASSES = {plan.classes!r}\n"
    classes += f"TARGETS = {plan.target_names!r}\n" if plan.target_names else ""
    foot = _FOOT_SEVERAL if plan.target_names else _FOOT_REGRESSION
    imports, functions = _reading(plan)
    head = _HEAD.format(
        version=version,
        origin=plan.origin,
        features=[column.name for column in plan.columns],
        classes=classes,
        texts=(_TEXTS if plan.columns.categorical else "") + functions,
        imports=imports,
        making="\n".join(f"    {line}" for line in _making(plan)),
    )
    helpers = "\n\n\n".join([*step_helpers(plan, "python", _HELPERS), *_parts(plan)])
    body = "\n    ".join([*lines, *bodies])
    found = ", ".join(f"y{k} + np.zeros(n)" for k in range(len(plan.targets)))
    return (
        f"{head}\n\n{helpers}\n\n\n" + "\n".join(constants) + "\n\n\n"
        "def _targets(X):\n    X = _features(X)\n"
        "    parts = [X[i : i + ROWS_AT_A_TIME] for i in range(0, max(len(X), 1), ROWS_AT_A_TIME)]\n"
        '    with np.errstate(all="ignore"):\n'
        "        return np.concatenate([_part(part.T) for part in parts], axis=1)\n"
        f"\n\ndef _part(x):\n    n = x.shape[1]\n    {body}\n    return np.stack([{found}])\n"
        + (foot if plan.classes is None else _FOOT_CLASSES.format(correction=_correction(plan)))
    )


def _reading(plan: Plan) -> tuple[str, str]:
    """Imports and functions that read numbers and dates in texts, if columns have such."""
    imports, functions = "", ""
    if any(isinstance(column.text_format, NumberFormat) for column in plan.columns):
        functions += "\n\n" + _source(parse_number) + _READ_NUMBERS
    if any(column.date for column in plan.columns):
        imports += "import datetime\n"
        functions += "\n\n" + _source(parse_date) + "\n\n" + _source(date_parts) + _READ_DATES
    imports += "import re\n\n" if functions else ""
    return imports, functions


def _source(function: Callable[..., Any]) -> str:
    """A function of ours, private and without annotations."""
    text = inspect.getsource(function).replace(f"def {function.__name__}", f"def _{function.__name__}")
    head, body = text.split("\n", 1)
    return re.sub(r": [A-Za-z0-9.\[\]]+(?=[,)])| -> [^:]+(?=:)", "", head) + "\n" + body


def _making(plan: Plan) -> list[str]:
    """Statements that make features of columns."""
    lines = []
    for j, column in enumerate(plan.columns):
        if column.date is not None:
            arguments = f"given[{j}], {column.date.order!r}"
            lines.append(f"days = _read_dates({arguments}, {float(column.fill)!r})")
            lines.append(f"found += list(_date_parts(days, has_time={column.date.has_time}).T)")
            if column.has_indicator:
                lines.append(f"found.append(np.isnan(_read_dates({arguments}, np.nan)).astype(np.float64))")
            continue
        if column.categories is None:
            fill = "np.nan" if math.isnan(column.fill) else repr(float(column.fill))
            if column.text_format is not None:
                lines.append(f"given[{j}] = _read_numbers(given[{j}], {', '.join(map(repr, column.text_format))})")
            lines.append(f"found.append(_numbers(given[{j}], {fill}))")
            if column.has_indicator:
                lines.append(f"found.append(np.isnan(_numbers(given[{j}], np.nan)).astype(np.float64))")
            continue
        known = ascii(list(column.categories))
        lines.append(f"texts = _texts(given[{j}])")
        lines.append(f"found += [np.array([float(t == c) for t in texts]) for c in {known}]")
        if column.has_others:
            lines.append(f"found.append(np.array([float(t is not None and t not in {known}) for t in texts]))")
        if column.has_indicator:
            lines.append("found.append(np.array([float(t is None) for t in texts]))")
    return lines


def _correction(plan: Plan) -> str:
    if plan.correction is None:
        return ""
    power, weights, floor = plan.correction
    return _CORRECTION.format(power=power, weights=weights.tolist(), floor=floor)


def _members(label: str, block: MemberBlock) -> str:
    rows = ",\n    ".join(repr(tuple(row)) for row in block.rows)
    return f"MEMBERS_{label} = [\n    {rows},\n]  # (indices, coefficients, intercept)"


def _combine(label: str, block: MemberBlock) -> str:
    members = f"MEMBERS_{label}"
    if block.combine == "pooled":
        return f"_pooled(values, {members}, {block.counts!r}, {block.fallback!r})"
    sums = f"_sums(values, {members}, n)"
    low, high = block.limits
    sums = {
        "plain": sums,
        "within": f"np.clip({sums}, {low!r}, {high!r})",
        "vote": f"_votes({sums}, {block.threshold!r})",
        "share": f"_shares({sums}, {block.threshold!r})",
        "logistic": f"_logistic({sums}, {low!r}, {high!r})",
        "exponential": f"np.exp(np.clip({sums}, {low!r}, {high!r}))",
    }[block.head]
    if block.combine == "median":
        return f"_median_of_finite({sums}, {block.fallback!r})"
    if block.combine == "trimmed":
        if block.fallback is not None:
            return f"_trimmed_or_else({sums}, {block.n_outer}, {block.fallback!r})"
        return f"_trimmed({sums}, {block.n_outer})"
    return f"{sums}.mean(axis=0)" if block.fallback is None else f"_mean_of_finite({sums}, {block.fallback!r})"


def _parts(plan: Plan) -> list[str]:
    """Helpers of the blocks."""
    wanted = []
    heads = {"vote": "votes", "share": "shares", "logistic": "logistic"}
    for block in plan.blocks:
        wanted += ["pooled"] if block.combine == "pooled" else ["sums"]
        wanted += [heads[block.head]] if block.head in heads else []
        if block.combine in ("median", "trimmed") or (block.combine == "mean" and block.fallback is not None):
            wanted.append({"median": "median_of_finite", "trimmed": "trimmed"}.get(block.combine, "mean_of_finite"))
        if block.combine == "trimmed" and block.fallback is not None:
            wanted.append("trimmed_or_else")
    return [text for name, text in _PARTS.items() if name in wanted]


def _target(k: int, base: float | None, weights: tuple[float, ...]) -> str:
    if base is None:
        return f"b{k}_0"
    terms = "".join(f" + {number(w)} * (b{k}_{level} - {number(base)})" for level, w in enumerate(weights))
    return f"{number(base)}{terms}"
