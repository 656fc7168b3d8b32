"""What calls in formulas compute, where that is not what their names say in mathematics."""

from __future__ import annotations

import re
from collections.abc import Sequence

from symgrove.forest.primitives import PrimitiveSet
from symgrove.forest.templates import ATOM

_AS_WRITTEN = ("log", "plain_div")  # text spells out the epsilon of the one, and the other has none


def legend(primitives: PrimitiveSet, texts: Sequence[str]) -> list[str]:
    """A line for each function in these formulas that is protected, or that not everyone knows."""
    text = re.sub(r"`[^`]*`|\[[^\]]*\]", "", " ".join(texts))  # without quoted names
    lines = []
    for name, row in primitives.by_name.items():
        written = primitives.written_names.get(name, name)
        is_call = row.templates.text_level == ATOM
        is_used = re.search(rf"(?<!\w){written}\(", text) if is_call else written == "div" and " / " in text
        if is_used and row.function is not None:
            lines.append(f"{written} is a function of yours")
        elif is_used and row.templates.exact_text is not None and name not in _AS_WRITTEN:
            shown = row.templates.text.format("a", "b").replace(f"{name}(", f"{written}(")
            meant = row.templates.exact_text.format("a", "b", eps=primitives.epsilon_of(name))
            meant = re.sub(r"^[(](.*)[)]$", r"\1", meant)
            lines.append(f"{shown} = {meant}")
    return lines
