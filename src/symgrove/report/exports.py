"""The model in other languages, compressed into the page; buttons unpack and copy them."""

from __future__ import annotations

import base64
import gzip
import shlex
from typing import NamedTuple

from symgrove.estimators.base import Estimator
from symgrove.estimators.fitted import plan_of
from symgrove.export.targets import export
from symgrove.models.plan import Plan

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


def all_exports(model: Estimator, file: str | None = None) -> list[Packed]:
    """Every language of the page; `file` is the model's, if it has one."""
    plan = plan_of(model)
    return [_packed(plan, name, label, file) for name, label in LANGUAGES.items()]


def compressed(text: str) -> str:
    """A text as the page's script unpacks it."""
    return base64.b64encode(gzip.compress(text.encode("utf-8"), 9, mtime=0)).decode("ascii")


def _packed(plan: Plan, name: str, label: str, file: str | None) -> Packed:
    if name == "sql" and len(plan.steps) > MOST_STEPS_FOR_SQL:
        return Packed(name, label, "", 0, f"a very long query; {_way_to(name, file)} writes it")
    try:
        text = _export(plan, name)
    except ValueError as error:
        return Packed(name, label, "", 0, str(error))
    content = compressed(text)
    if len(content) > LARGEST and name != "javascript":
        return Packed(name, label, "", len(text), f"too long for a page; {_way_to(name, file)} writes it")
    return Packed(name, label, content, len(text), "")


def _way_to(name: str, file: str | None) -> str:
    """What writes an export that is not on the page; long queries are for DuckDB."""
    if file is None:
        return f'model.export("{name}"' + (', dialect="duckdb")' if name == "sql" else ")")
    place = f"./{file}" if file.startswith("-") else file
    return f"symgrove export {shlex.quote(place)} --to {name}" + (" --dialect duckdb" if name == "sql" else "")


def _export(plan: Plan, name: str) -> str:
    if name != "sql":
        return str(export(plan, name, None, {}))
    try:
        return str(export(plan, "sql", None, {"dialect": "sqlite"}))
    except ValueError:  # too long for SQLite
        return str(export(plan, "sql", None, {"dialect": "duckdb"}))
