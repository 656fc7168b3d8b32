"""What reads numbers and dates in JavaScript, by the rules of `models/number_text.py` and `models/date_text.py`."""

from __future__ import annotations

import json

from symgrove.models.number_text import MISSING, NumberFormat
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


_DATES = r"""  // Days since 1970-01-01 of a text; a number is days.
  const dateOf = (v, order) => {
    if (typeof v === "number" || v === null || v === undefined) return v;
    const text = typeof v === "string" ? v.trim() : "";
    if (typeof v === "string" && <missing>.includes(text.toLowerCase())) return NaN;
    const time = "(?:[T ]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}(?:\\.[0-9]+)?))?)?$";
    const first = text.match(new RegExp("^([0-9]{4})([-/.])([0-9]{1,2})\\2([0-9]{1,2})" + time));
    const last = text.match(new RegExp("^([0-9]{1,2})([-/.])([0-9]{1,2})\\2([0-9]{4})" + time));
    const found = first || (order === "ymd" ? null : last);
    const wrong = () => new TypeError(`expected a date (${order}), or days since 1970-01-01, got ${JSON.stringify(v)}`);
    if (!found) throw wrong();
    const [a, b, c] = [found[1], found[3], found[4]].map(Number);
    const [year, month, day] = first ? [a, b, c] : order === "dmy" ? [c, b, a] : [c, a, b];
    const [hour, minute, second] = [found[5], found[6], found[7]].map((t) => Number(t || 0));
    const date = new Date(0);
    date.setUTCFullYear(year, month - 1, day);
    if (year < 1 || date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) throw wrong();
    if (hour > 23 || minute > 59 || second >= 60) throw wrong();
    return Math.round(date.getTime() / 864e5) + (hour * 3600 + minute * 60 + second) / 86400;
  };
  const dateParts = (days, hasTime) => {
    const whole = Math.floor(days), date = new Date(whole * 864e5);
    const found = [days, date.getUTCFullYear(), date.getUTCMonth() + 1, (((whole + 3) % 7) + 7) % 7 + 1];
    return hasTime ? [...found, 24 * (days - whole)] : found;
  };
"""


def parsers(plan: Plan) -> str:
    """Functions, if columns need them."""
    wanted = [_NUMBERS] if any(isinstance(c.text_format, NumberFormat) for c in plan.columns) else []
    wanted += [_DATES] if any(c.date is not None for c in plan.columns) else []
    return "".join(text.replace("<missing>", json.dumps(MISSING)) for text in wanted)


def reading(plan: Plan) -> str:
    """Statements that make numbers of texts."""
    lines = []
    for j, column in enumerate(plan.columns):
        if column.date is not None:
            lines.append(f"given[{j}] = dateOf(given[{j}], {json.dumps(column.date.order)});")
        elif column.text_format is not None:
            lines.append(f"given[{j}] = parsed(given[{j}], {', '.join(map(json.dumps, column.text_format))});")
    return "".join(f"    {line}\n" for line in lines)
