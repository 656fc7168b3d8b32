"""Rows that a model has checked already, so that asking it many questions about them does not check them each time."""

from __future__ import annotations

from typing import Any

import numpy as np


class CheckedRows(np.ndarray[Any, Any]):
    """An array of finite numbers with a column for each feature of the model, in its order."""
