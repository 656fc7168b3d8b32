"""The best programs of every size, several of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SAME = 1e-9  # share by which errors of different programs differ
MUCH_WORSE = 1.05  # times the mean squared error of the best of smaller ones: not worth keeping
FAVOURITES = 3.0  # parents are among so many of a size, on average


class Archived(NamedTuple):
    """A program, which stands for a + b times it."""

    error: float
    root: int
    line: tuple[float, float]


@dataclass
class Archive:
    """Programs by size, those of a size from the best to the worst."""

    n_of_size: int
    largest: int
    by_size: dict[int, list[Archived]] = field(default_factory=dict)

    def welcomes(self, sizes: NDArray[np.int64], errors: NDArray[np.float64]) -> NDArray[np.intp]:
        """Places of programs that would enter as it is now."""
        found = []
        for i in np.flatnonzero(np.isfinite(errors) & (sizes > 0) & (sizes <= self.largest)):
            own = self.by_size.get(int(sizes[i]), [])
            is_full = len(own) == self.n_of_size
            if not is_full or errors[i] < own[-1].error:
                found.append(i)
        return np.array(found, dtype=np.intp)

    def add(self, size: int, new: Archived) -> None:
        """Enter a program, unless one of its size is as good to many digits."""
        own = self.by_size.setdefault(size, [])
        if any(abs(each.error - new.error) <= SAME * new.error for each in own):
            return
        own.append(new)
        own.sort()
        del own[self.n_of_size :]

    def thin_out(self) -> None:
        """Drop programs that are much worse than the best of smaller ones."""
        best = np.inf
        for size in sorted(self.by_size):
            kept = [each for each in self.by_size[size] if each.error < MUCH_WORSE * best]
            if kept:
                self.by_size[size] = kept
                best = min(best, kept[0].error)
            else:
                del self.by_size[size]

    def roots(self) -> NDArray[np.int64]:
        """Of all programs."""
        return np.array([each.root for size in sorted(self.by_size) for each in self.by_size[size]], dtype=np.int64)

    def renumbered(self, ids: NDArray[np.int64]) -> Archive:
        """The same after the forest has dropped nodes."""
        by_size = {
            size: [each._replace(root=int(ids[each.root])) for each in own] for size, own in self.by_size.items()
        }
        return Archive(self.n_of_size, self.largest, by_size)

    def parent(self, rng: np.random.Generator) -> Archived:
        """One of any size, and mostly of the best of that size.

        The larger of two sizes: small programs are soon as good as they get, and one of the largest is mostly chosen.
        """
        sizes = sorted(self.by_size)
        own = self.by_size[sizes[rng.integers(len(sizes), size=2).max()]]
        return own[min(int(rng.exponential(FAVOURITES)), len(own) - 1)]
