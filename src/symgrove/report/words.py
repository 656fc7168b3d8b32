"""Numbers and lists as people write them."""

from __future__ import annotations

import math
from collections.abc import Sequence

SMALLEST, LARGEST = 1e-4, 1e15  # sizes that are written without a power of ten
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float, digits: int = 4) -> str:
    """A number with so many significant digits: 125,500, 0.0312, −4, 1.5×10⁻⁷."""
    value = float(value)
    if not math.isfinite(value):
        return "not known" if math.isnan(value) else "∞" if value > 0 else "−∞"
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    power = int(exponent)
    if value == 0 or SMALLEST <= abs(value) < LARGEST:
        text = f"{float(f'{mantissa}e{exponent}'):,.{max(0, digits - 1 - power)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        shown = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        text = f"{shown}×10{str(power).translate(_RAISED)}"
    return "0" if text == "-0" else text.replace("-", "−")


def percent(share: float) -> str:
    """A share in percent, with digits only where they make a difference."""
    value = 100 * float(share)
    if not math.isfinite(value):
        return "not known"
    is_near_an_end = 0 < value < 10 or 90 < value < 100
    text = f"{value:.1f}" if is_near_an_end else f"{value:.0f}"
    if value not in (0, 100) and text in ("0.0", "100.0"):
        text = "below 0.1" if value < 1 else "above 99.9"
    return f"{text.removesuffix('.0')}\u00a0%".replace("-", "−")


def listed(texts: Sequence[str], most: int | None = None) -> str:
    """a, b and c; of more than `most`, the first ones and how many there are besides."""
    if most is not None and len(texts) > most:
        return f"{', '.join(texts[:most])} and {len(texts) - most} more"
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)
