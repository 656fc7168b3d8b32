"""What stands for a function of the user's in a model that was read from a file, which holds no code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MissingFunction:
    """A parameter that was a function; the model predicts without it, but cannot be fitted again."""

    parameter: str
    name: str

    def __call__(self, *arguments: Any) -> Any:
        """It cannot be called."""
        raise ValueError(self.explanation)

    @property
    def explanation(self) -> str:
        """What to do about it."""
        return (
            f"the {self.parameter} of this model was a function of yours, {self.name!r}, which its file does not hold. "
            f"To fit it again, give it: set_params({self.parameter}=...)."
        )


def check_not_missing(value: Any) -> None:
    """Refuse to fit with what is missing."""
    if isinstance(value, MissingFunction):
        raise ValueError(value.explanation)
