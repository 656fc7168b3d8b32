"""How a fitted estimator is shown: as one formula, and in notebooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    inverse = model.task.inverse_of(0)
    if style == "sympy":
        made = import_module("symgrove.forest.as_sympy").to_sympy(forest, root, names)  # SymPy is optional
        return made if inverse is None else import_module("symgrove.export.sympy").undone(inverse, made)
    if style == "text":
        made, start = to_text(forest, root, names), "" if inverse is None else f"{inverse.of('y')} = "
    else:
        made = to_latex(forest, root, names, DIGITS if digits is None else digits)
        start = "" if inverse is None else f"{inverse.latex_of('y')} = "
    return start + made


def members_as_html(fitted: Mapping[str, Any]) -> str:
    """The heaviest members as a table, from the attributes of an estimator; nothing before a fit."""
    if "ensemble_" not in fitted:
        return ""
    members = sorted(fitted["ensemble_"], key=lambda member: -member.weight)
    rows = "".join(
        f"<tr><td>{member.weight:.3g}</td><td>{member.size}</td>"
        f"<td style='text-align:left'>{member._repr_html_()}</td></tr>"
        for member in members[:N_SHOWN]
    )
    rest = len(members) - N_SHOWN
    more = f"<p>and {rest} more in <code>ensemble_</code></p>" if rest > 0 else ""
    transforms = fitted["model_"].task.transforms
    of = f" of {transforms[0].of('y')}" if len(transforms) == 1 else ""
    head = f"<tr><th>weight</th><th>nodes</th><th style='text-align:left'>formula{of}</th></tr>"
    return f"<table>{head}{rows}</table>{more}"
