"""How a fitted estimator is shown: as one formula, and in notebooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from symgrove._checks import check_whole
from symgrove.forest.latex import DIGITS, to_latex
from symgrove.forest.rounding import with_digits
from symgrove.forest.text import to_text
from symgrove.models.model import Model, Names

N_SHOWN = 5  # members in a notebook


def formula(model: Model, style: str, names: Names, export: Callable[..., Any], digits: int | None = None) -> Any:
    """The model as one sum if it is one, else as `export` writes it."""
    if style not in ("text", "latex", "sympy"):
        raise ValueError(f"style must be 'text', 'latex' or 'sympy', got {style!r}.")
    check_whole("digits", digits, 1, 17, is_optional=True)
    found = model.as_sum()
    if found is None:
        made = export(style) if digits is None else export(style, digits=digits)
        return made.rstrip("\n") if isinstance(made, str) else made
    forest, root = found if digits is None else (found[0], with_digits(*found, digits))
    if style == "sympy":
        return import_module("symgrove.forest.as_sympy").to_sympy(forest, root, names)  # SymPy is optional
    if style == "text":
        return to_text(forest, root, names)
    return to_latex(forest, root, names, DIGITS if digits is None else digits)


def members_as_html(ensemble: Sequence[Any] | None) -> str:
    """The heaviest members as a table, nothing before a fit."""
    if ensemble is None:
        return ""
    members = sorted(ensemble, key=lambda member: -member.weight)
    rows = "".join(
        f"<tr><td>{member.weight:.3g}</td><td>{member.size}</td>"
        f"<td style='text-align:left'>{member._repr_html_()}</td></tr>"
        for member in members[:N_SHOWN]
    )
    rest = len(members) - N_SHOWN
    more = f"<p>and {rest} more in <code>ensemble_</code></p>" if rest > 0 else ""
    head = "<tr><th>weight</th><th>nodes</th><th style='text-align:left'>formula</th></tr>"
    return f"<table>{head}{rows}</table>{more}"
