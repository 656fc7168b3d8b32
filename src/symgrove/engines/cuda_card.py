"""A card as the CUDA engine sees it: memory, and kernels by name. CuPy is imported when the first card is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

INSTALL = "pip install 'symgrove[cuda]'"
# Sums and differences are those that are written down: products are not fused with them.
_OPTIONS = ("--std=c++17", "--fmad=false")


class Card(Protocol):
    """What the engine asks of a card.

    Attributes
    ----------
    arrays : module
        Makes arrays on the card: NumPy, or a library like it.
    n_processors, shared_bytes : int
        Multiprocessors, and bytes of shared memory of each.
    total_bytes : int
        Memory of the card.
    """

    arrays: Any
    n_processors: int
    shared_bytes: int
    total_bytes: int

    def address(self, array: Any) -> int:
        """Where an array lies."""
        ...

    def upload(self, array: NDArray[Any]) -> Any:
        """A copy on the card."""
        ...

    def download(self, array: Any) -> NDArray[Any]:
        """A copy on the host."""
        ...

    def free_unused(self) -> None:
        """Give back memory that the library keeps for arrays to come."""
        ...

    def launch(
        self,
        source: str,
        kernel: str,
        blocks: tuple[int, int],
        n_threads: int,
        arguments: Sequence[Any],
        shared: int = 0,
    ) -> None:
        """Run a kernel of a source; arguments are arrays, addresses, whole numbers and floats."""
        ...


class SmallArrays(NamedTuple):
    """Small arrays that went to the card together: their addresses, and what keeps them."""

    addresses: list[int]
    owner: Any


def pack(card: Card, *arrays: NDArray[Any]) -> SmallArrays:
    """Bring small arrays to the card in one go, which takes less time than one by one."""
    parts = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays]
    starts = np.cumsum([0, *(-(-part.size // 16) * 16 for part in parts)])
    whole = np.zeros(max(int(starts[-1]), 16), dtype=np.uint8)
    for start, part in zip(starts, parts, strict=False):
        whole[start : start + part.size] = part
    owner = card.upload(whole)
    first = card.address(owner)
    return SmallArrays([first + int(start) for start in starts[:-1]], owner)


class Spill:
    """Memory for scratch rows that shared memory has no room for; it grows seldom. Engines that take turns share it."""

    def __init__(self, card: Card) -> None:
        self._card = card
        self._rows = card.arrays.empty(16, dtype=np.uint8)

    def rows(self, n_bytes: int = 0, most: int = 0) -> Any:
        """At least so many bytes, of which more are taken at once than asked for, up to the most."""
        if self._rows.size < n_bytes:
            self._rows = self._card.arrays.empty(min(2 * n_bytes, most), dtype=np.uint8)
        return self._rows


class CudaCard:
    """A card of NVIDIA, through CuPy."""

    def __init__(self) -> None:
        self.arrays = _cupy()
        properties = self.arrays.cuda.runtime.getDeviceProperties(self.arrays.cuda.Device().id)
        self.name = properties["name"].decode()
        self.n_processors = int(properties["multiProcessorCount"])
        self.shared_bytes = int(properties["sharedMemPerMultiprocessor"])
        self.total_bytes = int(properties["totalGlobalMem"])
        self._kernels: dict[tuple[str, str], Any] = {}

    def described(self) -> str:
        """Card, memory, driver and library."""
        runtime = self.arrays.cuda.runtime
        n_free, n_all = (n / (1 << 30) for n in runtime.memGetInfo())
        driver = runtime.driverGetVersion()
        return (
            f"{self.name}, {n_all:.0f} GiB of memory ({n_free:.0f} GiB free), driver of CUDA "
            f"{driver // 1000}.{driver % 1000 // 10}, CuPy {self.arrays.__version__}"
        )

    def address(self, array: Any) -> int:
        return int(array.data.ptr)

    def upload(self, array: NDArray[Any]) -> Any:
        return self.arrays.asarray(array)

    def download(self, array: Any) -> NDArray[Any]:
        found: NDArray[Any] = self.arrays.asnumpy(array)
        return found

    def free_unused(self) -> None:
        self.arrays.get_default_memory_pool().free_all_blocks()

    def launch(
        self,
        source: str,
        kernel: str,
        blocks: tuple[int, int],
        n_threads: int,
        arguments: Sequence[Any],
        shared: int = 0,
    ) -> None:
        function = self._kernel(source, kernel)
        if shared > function.max_dynamic_shared_size_bytes:  # noqa: PLR1730 - to set it takes time
            function.max_dynamic_shared_size_bytes = shared
        own = tuple(np.int64(a) if isinstance(a, (int, np.integer)) else a for a in arguments)
        function(blocks, (n_threads,), own, shared_mem=shared)

    def _kernel(self, source: str, name: str) -> Any:
        if (source, name) not in self._kernels:
            module = self._module(source)
            self._kernels[source, name] = module.get_function(name)
        return self._kernels[source, name]

    @cache  # noqa: B019 - there is one card a process
    def _module(self, source: str) -> Any:
        return self.arrays.RawModule(code=source, options=_OPTIONS)


@cache
def the_card() -> CudaCard:
    """The card of this process, or an error that says what is missing."""
    return CudaCard()


def missing_for_cuda() -> str:
    """What this machine lacks to run the engine, as a sentence; empty if it can."""
    try:
        import cupy  # noqa: PLC0415 - optional
    except ImportError:
        return f'engine="cuda" needs CuPy, which is not installed: {INSTALL}.'
    try:
        n_cards = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        reason = str(error).rpartition(":")[2].strip()
        return f'engine="cuda" needs a card of NVIDIA and its driver, and CuPy finds none: {reason}.'
    return "" if n_cards else 'engine="cuda" needs a card of NVIDIA, and there is none.'


def _cupy() -> Any:
    reason = missing_for_cuda()
    if reason:
        raise RuntimeError(f'{reason} `symgrove doctor` shows what there is; engine="cpu" needs none of it.')
    import cupy  # noqa: PLC0415 - optional

    return cupy
