"""Texts of JavaScript that read numbers in texts, by the rules of `models/number_text.py`."""

from __future__ import annotations

import json

from symgrove.models.number_text import MISSING
from symgrove.models.plan import Plan

_NUMBERS = r"""  // Numbers in texts: spaces, apostrophes, points or commas between thousands, with a currency or %.
  const parsed = (v, decimal, sign) => {
    if (typeof v !== "string") return v;
    const minus = (t) => t.startsWith("(") && t.endsWith(")") ? "-" + t.slice(1, -1).trim() : t;
    const body = minus(v.replace(/\s/g, " ").trim().replace(/\u2019/g, "'").replace(/\u2212/g, "-"));
    if (<missing>.includes(body.toLowerCase())) return NaN;
    const bare = sign ? body.split(sign).join("") : body;
    const between = decimal === "," ? "[ '.]" : "[ ',]";
    const digits = `(?:[0-9]+|[1-9][0-9]{0,2}(?:${between}[0-9]{3})+)`;
    const number = `${digits}(?:[${decimal}][0-9]*)?|[${decimal}][0-9]+`;
    const match = bare.match(new RegExp(`^ *([-+]?) *(${number})((?:[eE][-+]?[0-9]+)?) *$`));
    if (!match || (sign === "%" && bare === body && match[2] !== "0")) {
      const example = JSON.stringify(sign === "%" ? `1${decimal}5 %` : `${sign}1${decimal}5`);
      throw new TypeError(`expected a number as in ${example}, got ${JSON.stringify(v)}`);
    }
    const value = Number(match[1] + match[2].replace(new RegExp(between, "g"), "").replace(decimal, ".") + match[3]);
    return sign === "%" ? value / 100 : value;
  };
"""


def parsers(plan: Plan) -> str:
    """Functions, if columns need them."""
    is_needed = any(column.text_format for column in plan.columns)
    return _NUMBERS.replace("<missing>", json.dumps(MISSING)) if is_needed else ""


def reading(plan: Plan) -> str:
    """Statements that make numbers of texts."""
    formats = [(j, column.text_format) for j, column in enumerate(plan.columns)]
    calls = [(j, ", ".join(map(json.dumps, form))) for j, form in formats if form]
    return "".join(f"    given[{j}] = parsed(given[{j}], {arguments});\n" for j, arguments in calls)
