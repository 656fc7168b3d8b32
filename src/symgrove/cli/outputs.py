"""Where results go: what is refused before any work, and standard output with its failures."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from symgrove._files import atomic_write
from symgrove.cli._common import FAILED, cannot_print, fail


def check_output(output: str | Path, inputs: Mapping[str, str | Path | None]) -> None:
    """See, before any work is done, that a result can be written here and replaces none of the inputs.

    `inputs` are files by what they are, such as "the data"; `-` is standard input or output.
    """
    if str(output) == "-":
        check_printable("Open it, or name a file with -o.")
    for what, given in inputs.items():
        if given is not None and _are_same(str(given), str(output)):
            where = "standard output" if str(output) == "-" else f"--output {str(output)!r}"
            name = "standard input" if str(given) == "-" else repr(str(given))
            raise ValueError(f"{where} is the same file as {what}, {name}, which would be lost. Name another file.")
    if str(output) != "-":
        _check_place(Path(output))


def check_model_output(output: Path | None, inputs: Mapping[str, str | Path | None], printed: str) -> None:
    """The same for commands that print something and save a model if they are given a file."""
    if output is not None:
        check_output(output, inputs)
        if str(output) == "-":
            raise ValueError(f"{printed} to standard output; name a file for the model with -o.")
    check_printable()


def check_printable(way_out: str = "Open it.") -> None:
    """See that there is a standard output."""
    if sys.stdout is None:
        raise ValueError(f"standard output is closed, and the result goes there. {way_out}")


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder; name a file.")
    if not path.parent.exists():
        raise ValueError(f"there is no folder {str(path.parent)!r}.")
    # A pipe or a device is written into; a file is replaced, which its folder must allow.
    is_special = path.exists() and not path.is_file()
    if is_special and not os.access(path, os.W_OK):
        raise ValueError(f"no permission to write into {str(path)!r}.")
    if not is_special and not os.access(path.parent, os.W_OK):
        raise ValueError(f"no permission to write into the folder {str(path.parent)!r}.")


def _are_same(given: str, output: str) -> bool:
    """Whether two names are of one file, through links too; terminals, pipes and devices lose nothing."""
    if "-" not in (given, output) and os.path.realpath(given) == os.path.realpath(output):
        return not os.path.exists(given) or os.path.isfile(given)
    one, other = _status(given, sys.stdin), _status(output, sys.stdout)
    return one is not None and other is not None and stat.S_ISREG(one.st_mode) and os.path.samestat(one, other)


def _status(name: str, stream: Any) -> os.stat_result | None:
    try:
        return os.fstat(stream.fileno()) if name == "-" else os.stat(name)
    except (OSError, ValueError, AttributeError):  # not there, closed, or not a file
        return None


@contextmanager
def naming(output: str | Path) -> Iterator[None]:
    """Say which file could not be written, where the system does not."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None:
            raise
        fail(f"{str(output)!r} cannot be written ({error.strerror or error})", FAILED)


@contextmanager
def writing(output: str | Path) -> Iterator[Path]:
    """A temporary file that takes the place of `output`."""
    with naming(output), atomic_write(output) as temporary:
        yield temporary


def write_printed(content: bytes) -> None:
    """Write all of a result to standard output, or raise an OSError and give it up."""
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except OSError:
        sys.stdout = None  # type: ignore[assignment]  # Python would complain once more when it closes stdout
        raise


def print_bytes(content: bytes) -> None:
    """Write a result to standard output."""
    try:
        write_printed(content)
    except OSError as error:
        cannot_print(error)
