"""Old names that still work, with a warning. How long: CONTRIBUTING.md."""

from __future__ import annotations

import warnings
from typing import Any


class Renamed:
    """A class attribute that gives the value of an attribute with a newer name."""

    def __init__(self, new: str) -> None:
        self.new = new
        self.old = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.old = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        value = getattr(instance, self.new)
        warnings.warn(f"{self.old} is now called {self.new}; the old name will go.", FutureWarning, stacklevel=2)
        return value
