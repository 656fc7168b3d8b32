"""Random streams, keyed by what they are for.

A stream is determined by (seed, name, keys): no generator lives in a state, so a saved seed and generation number
resume a run exactly, and two variants of a method draw the same bootstrap samples.
"""

from __future__ import annotations

import zlib

import numpy as np


def stream(seed: int, name: str, *keys: int) -> np.random.Generator:
    """Generator of the stream called `name`, for example ``stream(7, "variation", generation)``.

    Examples
    --------
    >>> from symgrove.extending import stream
    >>> float(stream(7, "variation", 3).random()) == float(stream(7, "variation", 3).random())
    True
    """
    if seed < 0 or any(key < 0 for key in keys):
        raise ValueError(f"seed and keys must be non-negative whole numbers, got seed={seed}, keys={keys}.")
    sequence = np.random.SeedSequence(entropy=seed, spawn_key=(zlib.crc32(name.encode()), *keys))
    return np.random.Generator(np.random.PCG64(sequence))
