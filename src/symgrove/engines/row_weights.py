"""Sample weights where they are needed: on the host, and as a vector of an engine if they are not all one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove.engines.base import Engine, Handle


class RowWeights(NamedTuple):
    """Weights of all rows.

    Attributes
    ----------
    values : (n_rows,)
    total : float
    vector : handle of one vector, or None
        None: all weigh one, and sums need no weights.
    """

    values: NDArray[np.float64]
    total: float
    vector: Handle

    @classmethod
    def of(cls, engine: Engine, weight: NDArray[np.float64] | None) -> RowWeights:
        """Ones if no weights are given."""
        if weight is None:
            return cls(np.ones(engine.n_rows), float(engine.n_rows), None)
        values = np.asarray(weight, dtype=np.float64)
        return cls(values, float(values.sum()), engine.put(values))

    def repeated(self, n: int) -> Handle:
        """The vector so often, for as many sums; None if there is none."""
        return None if self.vector is None else self.vector[np.zeros(n, dtype=np.intp)]
