"""How plots look: colours that colour-blind people tell apart (Okabe and Ito), and axes. Matplotlib is loaded here."""

from __future__ import annotations

from typing import Any

Axes = Any  # of matplotlib, which is loaded only when something is drawn
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, YELLOW = "#56B4E9", "#E69F00"
LONGEST_LABEL = 40
DIVERGING = "PuOr"  # orange to purple, safe too


def plain(name: str, longest: int = LONGEST_LABEL) -> str:
    """A name as a label: not too long, and nothing that matplotlib takes for mathematics."""
    short = name if len(name) <= longest else name[: longest - 1] + "…"
    return short.replace("$", r"\$")


def new_axes(ax: Axes | None = None) -> Axes:
    """The axes that were given, or those of a new figure."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]
