"""Values that JSON can hold."""

from __future__ import annotations

import math
from typing import Any


def finite(value: Any) -> Any:
    """JSON has no infinite numbers: null."""
    if isinstance(value, dict):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
