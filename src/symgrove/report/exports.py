"""The model in other languages, compressed into the page; buttons unpack and copy them."""

from __future__ import annotations

import base64
import gzip
from typing import Any, NamedTuple

from symgrove.export.plan import Plan
from symgrove.export.targets import export

LANGUAGES = {
    "python": "Python (NumPy)",
    "javascript": "JavaScript",
    "c": "C",
    "sql": "SQL",
    "latex": "LaTeX",
    "text": "equations",
}
MOST_STEPS_FOR_SQL = 10_000
LARGEST = 400_000  # compressed bytes of one language, in base 64; JavaScript is always there, for the what-if panel


class Packed(NamedTuple):
    """An export, or why there is none."""

    name: str
    label: str
    content: str
    n_characters: int
    problem: str


def all_exports(model: Any) -> list[Packed]:
    """Every language of the page."""
    try:
        plan = model._plan()
    except ValueError as error:  # functions of the user's own
        return [Packed(name, label, "", 0, str(error)) for name, label in LANGUAGES.items()]
    return [_packed(plan, name, label) for name, label in LANGUAGES.items()]


def _packed(plan: Plan, name: str, label: str) -> Packed:
    if name == "sql" and len(plan.steps) > MOST_STEPS_FOR_SQL:
        return Packed(name, label, "", 0, "a very long query; symgrove export model.json --to sql writes it")
    try:
        text = _export(plan, name)
    except ValueError as error:
        return Packed(name, label, "", 0, str(error))
    content = base64.b64encode(gzip.compress(text.encode("utf-8"), 9, mtime=0)).decode("ascii")
    if len(content) > LARGEST and name != "javascript":
        return Packed(
            name, label, "", len(text), f"too long for a page; symgrove export model.json --to {name} writes it"
        )
    return Packed(name, label, content, len(text), "")


def _export(plan: Plan, name: str) -> str:
    if name != "sql":
        return str(export(plan, name, None, {}))
    try:
        return str(export(plan, "sql", None, {"dialect": "sqlite"}))
    except ValueError:  # too long for SQLite
        return str(export(plan, "sql", None, {"dialect": "duckdb"}))
