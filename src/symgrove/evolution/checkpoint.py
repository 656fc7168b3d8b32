"""Checkpoints: arrays and a little JSON in one file, written whole or not at all, read without running any code.

The file is a NumPy archive (`.npz`). The entry `meta` is JSON: the format's version, the fingerprint of data and
parameters, and whatever the caller adds. Everything else is plain arrays.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove._files import written_whole

VERSION = 1
# What reading a damaged archive can raise.
UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)


def fingerprint(arrays: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    """A short text that differs whenever the data or the parameters do."""
    described = {name: _with_plain_keys(value) for name, value in parameters.items()}
    digest = hashlib.sha256(json.dumps(described, sort_keys=True, default=_plain).encode())
    for name, array in sorted(arrays.items()):
        values = np.ascontiguousarray(array)
        digest.update(f"{name} {values.dtype} {values.shape}".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()[:32]


def _with_plain_keys(value: Any) -> Any:
    """Dictionaries with other keys than texts, such as weights of classes, as sorted pairs."""
    if not isinstance(value, dict) or all(isinstance(key, str) for key in value):
        return value
    pairs = [[key.item() if isinstance(key, np.generic) else key, held] for key, held in value.items()]
    return sorted(pairs, key=repr)


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's; functions and objects by what they do and hold; everything else as it prints."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        held = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).items(), *cells]
        constants = [repr(c) for c in value.__code__.co_consts if not isinstance(c, CodeType)]
        inner = [c.co_code.hex() for c in value.__code__.co_consts if isinstance(c, CodeType)]
        return [value.__name__, value.__code__.co_code.hex(), constants, inner, [_describe(h) for h in held]]
    if isinstance(value, partial):
        return ["partial", _describe(value.func), [_describe(a) for a in value.args], _describe(value.keywords)]
    if type(value).__repr__ is object.__repr__:  # it would print its address
        return [type(value).__qualname__, _describe(getattr(value, "__dict__", {})), _describe(_call_of(value))]
    return repr(value)


def _describe(value: Any) -> Any:
    """A value as text that is the same in another process."""
    if isinstance(value, dict):
        return {str(name): _describe(held) for name, held in value.items()}
    return value if isinstance(value, (str, int, float, bool, type(None))) else _plain(value)


def _call_of(value: Any) -> Any:
    """What an object does when it is called."""
    return vars(type(value)).get("__call__")


def check_path(path: Any) -> None:
    """See that a checkpoint can be written here, before any work is done."""
    if not isinstance(path, (str, os.PathLike)):
        raise ValueError(f"checkpoint must be a path or None, got {path!r}.")
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"checkpoint {str(target)!r} is a folder; name a file.")
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name + ".", suffix=".part")
        os.close(descriptor)
        os.unlink(temporary)
    except OSError as error:
        raise ValueError(
            f"checkpoint {str(target)!r} cannot be written: {error.strerror}. Name another place."
        ) from error


def save(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
    """Write a checkpoint: to a temporary file in the same folder, flushed to disk, then renamed."""
    target = Path(path)
    text = json.dumps({**meta, "version": VERSION})
    with written_whole(target) as temporary, open(temporary, "wb") as stream:
        entries: dict[str, Any] = {**arrays, "meta": np.array(text)}
        np.savez(stream, **entries)


def damaged(path: Any, error: BaseException) -> ValueError:
    """The error for a checkpoint whose contents make no sense."""
    text = f"checkpoint {str(path)!r} cannot be read ({error}). Nothing was changed: delete it or name another."
    return ValueError(text)


def load(path: str | os.PathLike[str], expected: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
    """Arrays and meta of a checkpoint; None if there is no file.

    Raises
    ------
    ValueError
        If the file is damaged, of a newer version, or of other data or parameters than `expected` (a fingerprint).
    """
    target = Path(path)
    if not target.exists():
        return None
    try:
        with target.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        meta = json.loads(str(arrays.pop("meta")))
        version, found = int(meta["version"]), str(meta["fingerprint"])
    except UNREADABLE as error:
        raise damaged(target, error) from error
    if version > VERSION:
        raise ValueError(f"checkpoint {str(target)!r} is of a newer symgrove (format {version}); update symgrove.")
    if found != expected:
        raise ValueError(
            f"checkpoint {str(target)!r} is of other data or parameters. Nothing was changed: give the same data and "
            "parameters to resume it, delete the file, or name another."
        )
    return arrays, meta
