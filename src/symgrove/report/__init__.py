"""One self-contained HTML page about a fitted model: `symgrove.report(model, X, y, path="report.html")`.

The package has the name of its one function, so the module can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from symgrove.report.build import report

__all__ = ["report"]


class _Callable(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> str:
        return report(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
