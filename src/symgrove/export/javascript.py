"""A model as JavaScript: a script for browsers, or a CommonJS module."""

from __future__ import annotations

import json
import math
from typing import Any

from symgrove.export.javascript_texts import parsers, reading
from symgrove.export.writing import number, repeating, step_helpers, step_templates, write_calls, write_steps
from symgrove.models.plan import MemberBlock, Plan

# Steps that are no primitives.
CALLS = {
    "quotient": "({0} / {1})",
    "within": "within({0}, {n0}, {n1})",
    "finite": "finite({0}, {n0})",
}
HELPERS = {"finite": "const finite = (a, other) => Number.isFinite(a) ? a : other;"}

_TEMPLATE = """// Made by symgrove {version} from a {origin}.
// symgroveModel.predict(row): row is an array in the order of symgroveModel.features, or an object with these keys:
// numbers, {texts}NaN, null or undefined where a value is missing.
// In a browser: a plain script. In Node: const symgroveModel = require("./this-file.js").
const symgroveModel = (() => {{
  const features = {features};
{classes}{helpers}
  const within = (a, low, high) => a < low ? low : a > high ? high : a;
  const sums = (values, members) => members.map(([indices, weights, intercept]) => {{
    let sum = intercept;
    for (let k = 0; k < indices.length; k++) sum += weights[k] * values[indices[k]];
    return sum;
  }});
  const mean = (members) => members.reduce((a, b) => a + b, 0) / members.length;
  const sorted = (members) => Float64Array.from(members).sort();
  const orElse = (value, other) => Number.isFinite(value) ? value : other;
  const median = (m) => 0.5 * m[(m.length - 1) >> 1] + 0.5 * m[m.length >> 1];
{tables}
  const isMissing = (v) => v === null || v === undefined || Number.isNaN(v);
  const wrong = () => new TypeError("expected numbers{texts_too} for the features " + features.join(", "));
  const numberOf = (v) => {{
    if (typeof v !== "number") throw wrong();
    return v;
  }};
  const textOf = (v) => v === true ? "True" : v === false ? "False" : String(v);
{parse}  const numbersOf = (row) => {{
    const given = Array.isArray(row) || ArrayBuffer.isView(row) ? Array.from(row) : features.map((f) => row[f]);
    if (given.length !== features.length) throw wrong();
{reading}    return [].concat({making});
  }};
{state}  const targets = (x) => {{
    {body}
  }};
{undoing}{foot}
}})();
if (typeof module !== "undefined") module.exports = symgroveModel;
"""

_SPREAD = """  let spread = 0;  // of the members, of the last row
  const deviation = (members) => {
    const finite = Array.from(members).filter(Number.isFinite);
    const centre = mean(finite);
    return orElse(Math.sqrt(mean(finite.map((a) => (a - centre) ** 2))), 0);
  };
"""
_AS_THEY_ARE = """  const [clipped, undone, inUnits] = [(v) => v, (v) => v, (y) => y];
"""
_TRANSFORMED = """  // Of each target: the power of Box and Cox (0: the logarithm), limits of transformed predictions.
  const transforms = %s;
  const clipped = (v, k) => within(v, transforms[k][1], transforms[k][2]);
  const undone = (v, k) => {
    const power = transforms[k][0];
    return power === 0 ? Math.exp(v) : Math.pow(Math.max(power * v + 1, 0), 1 / power);
  };
  const inUnits = (y) => y.map((v, k) => undone(clipped(v, k), k));
"""
_REGRESSION = """  const predict = (row) => inUnits(targets(numbersOf(row)))[0];
  return {features, predict, numbersOf};"""
_SEVERAL = """  const targetNames = %s;
  // Predictions in the order of symgroveModel.targets.
  const predict = (row) => inUnits(targets(numbersOf(row)));
  return {features, targets: targetNames, predict};"""
_INTERVALS = """  const predict = (row) => inUnits(targets(numbersOf(row)))[0];
  // Widths of intervals that hold 0.001, 0.002, ..., 0.999 of new values, in units of floor + slope * spread of the
  // members; null is infinite. A coverage in between is rounded up.
  const widths = %s;
  const predictInterval = (row, coverage = 0.9) => {
    const place = Math.ceil(1000 * coverage - 1e-9);
    if (!(place >= 1 && place <= 999)) throw new RangeError("coverage must be above 0 and at most 0.999");
    spread = 0;
    const prediction = clipped(targets(numbersOf(row))[0], 0);
    const factor = widths.factors[place - 1];
    const reach = factor === null ? Infinity : factor * (widths.floor + widths.slope * spread);
    const [found, lower, upper] = [prediction, prediction - reach, prediction + reach].map((v) => undone(v, 0));
    return {prediction: found, lower, upper};
  };
  return {features, predict, predictInterval, numbersOf};"""
_CLASSES = """  const shares = (row) => {
    const y = targets(numbersOf(row));
    if (y.length === 1) return [1 - y[0], y[0]];
    const total = y.reduce((a, b) => a + b, 0);
    return y.map((v) => total === 0 ? 1 / y.length : v / total);
  };
  const correction = %s;
  const predictProba = (row) => {
    const found = shares(row);
    if (correction === null) return found;
    const {weights, floor, power} = correction;
    const raised = found.map((p, k) => weights[k] * Math.pow(Math.max(p, floor), power));
    const total = raised.reduce((a, b) => a + b, 0);
    return raised.map((v) => v / total);
  };
  const predict = (row) => {
    const p = predictProba(row);
    return classes[p.indexOf(Math.max(...p))];
  };
  return {features, classes, predictProba, predict};"""


def to_javascript(plan: Plan, version: str) -> str:
    """Source that defines `symgroveModel`."""
    if any(isinstance(c, int) and abs(c) > 2**53 for c in plan.classes or ()):
        raise ValueError("JavaScript's numbers do not tell whole numbers above 2^53 apart; use texts as classes.")
    templates = step_templates(plan, "javascript", CALLS)
    written = write_steps(plan, write_calls(templates), lambda i: f"t{i}", repeating(templates))
    body = [f"const t{a.step} = {a.expression};" for a in written.assignments]
    tables, found = [], []
    has_spread = plan.classes is None and plan.intervals is not None
    for k, target in enumerate(plan.targets):
        terms = []
        for level, block in enumerate(target.blocks):
            label = f"{k}_{level}"
            rows = ",\n    ".join(json.dumps([row.indices, row.coefficients, row.intercept]) for row in block.rows)
            tables.append(f"  const members{label} = [\n    {rows},\n  ];")
            if has_spread and block.combine == "pooled":
                samples = json.dumps([[r.indices, r.coefficients, r.intercept] for r in block.samples])
                tables.append(f"  const samples{label} = {samples};")
            body.append(f"const v{label} = [{', '.join(written.text_of[value] for value in block.values)}];")
            body += _combine(label, block)
            if has_spread:
                body += _spread(label, block, target.weights[level])
            if target.base is not None:
                terms.append(f" + {number(target.weights[level])} * (b{label} - {number(target.base)})")
        found.append(f"b{k}_0" if target.base is None else f"{number(target.base)}{''.join(terms)}")
    body.append(f"return [{', '.join(found)}];")
    helpers = "\n".join(f"  {helper}" for helper in step_helpers(plan, "javascript", HELPERS))
    return _TEMPLATE.format(
        version=version,
        origin=plan.origin,
        features=_literal([column.name for column in plan.columns]),
        texts_too=" and texts" if plan.columns.categorical else "",
        texts="texts for categories, " if plan.columns.categorical else "",
        making=", ".join(_making(plan)),
        parse=parsers(plan),
        reading=reading(plan),
        classes="" if plan.classes is None else f"  const classes = {_literal(plan.classes)};\n",
        helpers=helpers,
        tables="\n".join(tables),
        state=_SPREAD if has_spread else "",
        body="\n    ".join(body),
        undoing=_undoing(plan),
        foot=_regression(plan) if plan.classes is None else _CLASSES % json.dumps(_correction(plan)),
    )


def _making(plan: Plan) -> list[str]:
    """Expressions that make features of columns: numbers, or arrays of them."""
    found = []
    for j, column in enumerate(plan.columns):
        given, is_missing = f"given[{j}]", f"isMissing(given[{j}])"
        if column.categories is None:
            other = "NaN" if math.isnan(column.fill) else number(column.fill)
            value = f"{is_missing} ? {other} : numberOf({given})"
            has_time = "true" if column.date is not None and column.date.has_time else "false"
            found.append(value if column.date is None else f"dateParts({value}, {has_time})")
        else:
            known = _literal(column.categories)
            found.append(f"{known}.map((c) => {is_missing} ? 0 : c === textOf({given}) ? 1 : 0)")
            if column.has_others:
                found.append(f"{is_missing} || {known}.includes(textOf({given})) ? 0 : 1")
        if column.has_indicator:
            found.append(f"{is_missing} ? 1 : 0")
    return found


def _undoing(plan: Plan) -> str:
    """Functions that bring targets back into their own units."""
    if plan.classes is not None:
        return ""
    if not any(target.inverse for target in plan.targets):
        return _AS_THEY_ARE
    return _TRANSFORMED % json.dumps([target.inverse for target in plan.targets])


def _correction(plan: Plan) -> dict[str, Any] | None:
    if plan.correction is None:
        return None
    power, weights, floor = plan.correction
    return {"power": power, "weights": weights.tolist(), "floor": floor}


def _literal(value: object) -> str:
    """JSON that is safe inside an HTML script too."""
    return json.dumps(value).replace("<", "\\u003c")


def _regression(plan: Plan) -> str:
    """With intervals if they are known."""
    scores = plan.intervals
    if plan.target_names:
        return _SEVERAL % _literal(plan.target_names)
    if scores is None:
        return _REGRESSION
    factors = [scores.factor(place / 1000) for place in range(1, 1000)]
    finite = [factor if math.isfinite(factor) else None for factor in factors]
    return _INTERVALS % json.dumps({"floor": scores.widths.floor, "slope": scores.widths.slope, "factors": finite})


def _spread(label: str, block: MemberBlock, weight: float) -> list[str]:
    """A statement that adds the standard deviation of the members."""
    members = f"sums(v{label}, samples{label})" if block.combine == "pooled" else f"m{label}"
    return [f"spread += {number(weight)} * deviation({members});"]


def _combine(label: str, block: MemberBlock) -> list[str]:
    """Statements that end with b<label>."""
    b, m = f"b{label}", f"m{label}"
    if block.combine == "pooled":
        return [
            f"let s{label} = 0, k{label} = 0;",
            f"{json.dumps(block.counts)}.forEach((n, j) => {{",
            f"  if (!Number.isFinite(v{label}[j])) return;",
            f"  s{label} += members{label}[j][1][0] * v{label}[j] + members{label}[j][2];",
            f"  k{label} += n;",
            "});",
            f"const {b} = orElse(s{label} / k{label}, {number(block.fallback or 0.0)});",
        ]
    low, high, shift = (number(v) for v in (*block.limits, block.threshold - 0.5))
    change = {
        "plain": "",
        "within": f".map((a) => within(a, {low}, {high}))",
        "vote": f".map((a) => Number.isFinite(a) ? (a > {number(block.threshold)} ? 1 : 0) : a)",
        "share": f".map((a) => Number.isFinite(a) ? within(a - {shift}, 0, 1) : a)",
        "logistic": f".map((a) => 1 / (1 + Math.exp(-within(a, {low}, {high}))))",
        "exponential": f".map((a) => Math.exp(within(a, {low}, {high})))",
    }[block.head]
    kept = "" if block.fallback is None or block.combine == "trimmed" else ".filter(Number.isFinite)"
    lines = [f"const {m} = sums(v{label}, members{label}){change}{kept};"]
    all_finite = m if block.fallback is None else f"{m}.map((a) => orElse(a, {number(block.fallback)}))"
    found = {
        "mean": f"mean({m})",
        "median": f"median(sorted({m}))",
        "trimmed": f"mean(sorted({all_finite}).slice({block.n_outer}, {len(block.rows) - block.n_outer}))",
    }[block.combine]
    if block.fallback is not None:
        other = number(block.fallback)
        found = f"{m}.length ? {found} : {other}" if block.combine == "median" else f"orElse({found}, {other})"
    return [*lines, f"const {b} = {found};"]
