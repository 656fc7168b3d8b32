"""One self-contained HTML page about a fitted model: `symgrove.report(model, X, y, path="report.html")`.

The package has the name of its one function, so the module can be called; `symgrove.report.build.report` is it.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator
    from symgrove.report.page import ReportPage


class _Callable(ModuleType):
    def __call__(self, model: Estimator, X: Any, y: Any, **options: Any) -> ReportPage:
        """See `symgrove.report.build.report`."""
        # Loaded late: it brings other models of scikit-learn with it.
        from symgrove.report.build import report

        return report(model, X, y, **options)


sys.modules[__name__].__class__ = _Callable
