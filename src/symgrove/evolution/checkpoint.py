"""Checkpoints: arrays and a little JSON in one file, written whole or not at all, read without running any code.

The file is a NumPy archive (`.npz`). The entry `meta` is JSON: the format's version, the fingerprint of data and
parameters, and whatever the caller adds. Everything else is plain arrays.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symgrove._files import atomic_write, temporary_file

VERSION = 2  # 1: without the ages of programs, and of other names of parameters
Arrays = dict[str, NDArray[Any]]
Saved = tuple[Arrays, dict[str, Any]]  # arrays and meta of a checkpoint


class Checkpoint:
    """Where a fit is saved, as what, and what it goes on from. Its arrays have names with parts, as in `state/x`.

    Parameters
    ----------
    path : path, optional
        Without one, nothing is written; the arrays are kept here all the same, for a warm start.
    meta : mapping
        Fingerprint and seed of the fit.
    arrays : mapping
        What was saved before.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        meta: Mapping[str, Any] | None = None,
        arrays: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self.path = path
        self.meta = dict(meta or {})
        self.arrays: Arrays = dict(arrays or {})

    def part(self, prefix: str) -> Arrays:
        """Arrays whose names begin like this, without the beginning."""
        return {name.removeprefix(prefix): a for name, a in self.arrays.items() if name.startswith(prefix)}

    def put(self, parts: Mapping[str, Mapping[str, NDArray[Any]]]) -> bool:
        """Replace parts, by the beginnings of their names, and write the file if there is one; whether that worked."""
        # A part may be emptied and one inside it filled in the same call.
        kept = {name: a for name, a in self.arrays.items() if not name.startswith(tuple(parts))}
        own = {f"{prefix}{name}": a for prefix, arrays in parts.items() for name, a in arrays.items()}
        self.arrays = {**kept, **own}
        return self.path is None or save_or_warn(self.path, self.arrays, self.meta)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Any error inside is one of a damaged checkpoint."""
        try:
            yield
        except Exception as error:  # damage shows itself in any way
            raise damaged(self.path, error) from error


def fingerprint(arrays: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    """A short text that differs whenever the data or the parameters do."""
    # Keys of dictionaries, such as weights of classes, may be anything; JSON's are texts.
    described = {name: _describe(value) if isinstance(value, dict) else value for name, value in parameters.items()}
    digest = hashlib.sha256(json.dumps(described, sort_keys=True, default=_plain).encode())
    for name, array in sorted(arrays.items()):
        values = np.ascontiguousarray(array)
        digest.update(f"{name} {values.dtype} {values.shape}".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()[:32]


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's; functions and objects by what they do and hold; everything else as it prints."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        held = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).items(), *cells]
        return [value.__name__, _describe_code(value.__code__), [_describe(h) for h in held]]
    if isinstance(value, partial):
        return ["partial", _describe(value.func), [_describe(a) for a in value.args], _describe(value.keywords)]
    if type(value).__repr__ is object.__repr__:  # it would print its address
        return [type(value).__qualname__, _describe(getattr(value, "__dict__", {})), _describe(_call_of(value))]
    return repr(value)


def _describe_code(code: CodeType) -> list[Any]:
    """What compiled Python does: its instructions, the names and constants in them, and functions inside."""
    constants = [_describe_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return [code.co_code.hex(), list(code.co_names), constants]


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
        temporary_file(target, target.parent).unlink()
    except OSError as error:
        raise ValueError(
            f"checkpoint {str(target)!r} cannot be written: {error.strerror}. Name another place."
        ) from error


def save(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> None:
    """Write a checkpoint: to a temporary file in the same folder, flushed to disk, then renamed."""
    target = Path(path)
    text = json.dumps({**meta, "version": VERSION})
    with atomic_write(target) as temporary, open(temporary, "wb") as stream:
        entries: dict[str, Any] = {**arrays, "meta": np.array(text)}
        np.savez(stream, **entries)


def save_or_warn(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> bool:
    """Write a checkpoint; whether it worked. A run is worth more than its checkpoint, so it goes on without."""
    try:
        save(path, arrays, meta)
    except OSError as error:
        warnings.warn(
            f"checkpoint {str(path)!r} could not be written ({error.strerror or error}); the fit goes on. What the "
            "file held before is still there.",
            stacklevel=2,
        )
        return False
    return True


def damaged(path: Any, error: BaseException) -> ValueError:
    """The error for a checkpoint whose contents make no sense."""
    text = f"checkpoint {str(path)!r} cannot be read ({error}). Nothing was changed: delete it or name another."
    return ValueError(text)


def load(path: str | os.PathLike[str], expected: str) -> Saved | None:
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
        arrays = _read_arrays(target)
        meta = json.loads(str(arrays.pop("meta")))
        version, found = int(meta["version"]), str(meta["fingerprint"])
    except Exception as error:  # damage shows itself in any way
        raise damaged(target, error) from error
    if version > VERSION:
        raise ValueError(f"checkpoint {str(target)!r} is of a newer symgrove (format {version}); update symgrove.")
    if version < VERSION:
        raise ValueError(
            f"checkpoint {str(target)!r} is of an older symgrove (format {version}), whose runs cannot go on here. "
            "Nothing was changed: delete it or name another."
        )
    if found != expected:
        raise ValueError(
            f"checkpoint {str(target)!r} is of other data or parameters. Nothing was changed: give the same data and "
            "parameters to resume it, delete the file, or name another."
        )
    return arrays, meta


def _read_arrays(file: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an archive. Each is read to its end, where its checksum is compared; NumPy itself reads less."""
    arrays: dict[str, NDArray[Any]] = {}
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            name = entry.filename.removesuffix(".npy")
            is_plain = entry.compress_type == zipfile.ZIP_STORED and entry.file_size == entry.compress_size
            if not is_plain or name in arrays:
                raise ValueError(f"the entry {entry.filename!r:.60} is not one that was saved")
            arrays[name] = _as_array(archive.read(entry))
    return arrays


def _as_array(content: bytes) -> NDArray[Any]:
    """The array of a file in NumPy's format; its values must be all that follows the header."""
    stream = io.BytesIO(content)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[np.lib.format.read_magic(stream)]
    shape, is_fortran_order, dtype = read_header(stream)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise ValueError(f"an array of shape {shape} and type {dtype} does not have the values that follow")
    values = np.frombuffer(content, dtype, offset=stream.tell())
    return np.reshape(values, shape, order="F" if is_fortran_order else "C").copy()
