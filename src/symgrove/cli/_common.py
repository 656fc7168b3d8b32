"""What commands share: clean errors, output, the names of methods."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import typer

from symgrove._json import finite

if TYPE_CHECKING:
    from symgrove.estimators.base import Estimator

BAD_INPUT = 2
FAILED = 1
INTERRUPTED = 130
# Names on the command line, and the beginnings of the estimators' names.
METHODS = {
    "grove": "Grove",
    "law": "Law",
    "2segp": "TwoSEGP",
    "classic-gp": "ClassicGP",
    "standard-gp": "StandardGP",
    "independent-gp": "IndependentGP",
    "divnich-gp": "DivNichGP",
    "spatial-gp": "SpatialGP",
    "gomea": "GOMEA",
    "gsgp": "GSGP",
    "rdo": "RDO",
    "efs": "EFS",
    "egp": "EGP",
    "gptips": "GPTIPS",
    "m3gp": "M3GP",
}


def fail(text: str, code: int = BAD_INPUT) -> NoReturn:
    """End with a message on stderr."""
    typer.echo(f"symgrove: {text}", err=True)
    raise typer.Exit(code)


class Messages:
    """Standard error that may be closed, full or a pipe that nobody reads: then messages are lost, not the work."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def isatty(self) -> bool:
        """Whether someone watches."""
        return self._stream is not None and self._stream.isatty()

    def write(self, text: str) -> int:
        """Write, or lose it."""
        if not isinstance(text, str):
            raise TypeError(f"expected text, got {type(text).__name__}.")
        with suppress(OSError):
            return self._stream.write(text) if self._stream is not None else len(text)
        return len(text)

    def flush(self) -> None:
        """Flush, or lose it."""
        with suppress(OSError):
            if self._stream is not None:
                self._stream.flush()


@contextmanager
def told_warnings() -> Iterator[None]:
    """Warnings are notes without the places in files of Python that they come from, each once."""
    told: set[str] = set()

    def show(message: Warning | str, *place: Any) -> None:
        if str(message) not in told:
            told.add(str(message))
            tell(f"note: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)  # whatever -W or PYTHONWARNINGS make of them
        warnings.showwarning = show  # type: ignore[assignment]  # whatever the place looks like
        yield


@contextmanager
def clean_errors() -> Iterator[None]:
    """Bad input, and what this machine or a cluster lacks, are messages, not tracebacks; warnings are notes."""
    try:
        with told_warnings():
            yield
    except (ValueError, TypeError, ImportError, MemoryError) as error:
        fail(str(error))
    except RuntimeError as error:
        if type(error) is not RuntimeError:  # a recursion, or what is not implemented: mistakes of ours
            raise
        fail(str(error))
    except BrokenPipeError as error:
        cannot_print(error)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        fail(f"{place}{error.strerror or error}")
    except KeyboardInterrupt:
        fail("stopped", INTERRUPTED)


def cannot_print(error: OSError) -> NoReturn:
    """End after an error of standard output; whoever stops reading it has seen enough."""
    sys.stdout = None  # type: ignore[assignment]  # Python would complain once more when it closes stdout
    if isinstance(error, BrokenPipeError):
        raise typer.Exit(0) from None
    fail(f"standard output cannot be written ({error.strerror or error})", FAILED)


def tell(text: str) -> None:
    """Something that is not a result."""
    typer.echo(text, err=True)


def echo(text: str) -> None:
    """A result, or a line of it."""
    try:
        typer.echo(text)
    except OSError as error:
        cannot_print(error)


def print_json(value: Any) -> None:
    """A result for machines; JSON has no infinite numbers, so they are null."""
    echo(json.dumps(finite(value), indent=2, ensure_ascii=False, allow_nan=False))


def read_model(path: Path) -> Estimator:
    """The estimator in a model file."""
    from symgrove.saving.files import load

    try:
        found: Estimator = load(path)
    except FileNotFoundError:
        raise ValueError(f"there is no file {str(path)!r}.") from None
    from symgrove.cli.preparation import with_columns

    return with_columns(found)


def names_of(text: str) -> list[str]:
    """Names with commas between them."""
    return [name.strip() for name in text.split(",") if name.strip()]


def nearest(name: str, known: list[str]) -> str:
    """A hint at what was meant, or nothing."""
    import difflib

    lower = {k.lower(): k for k in known}
    near = difflib.get_close_matches(name.lower(), lower, n=1)
    return f" Did you mean {lower[near[0]]!r}?" if near else ""
