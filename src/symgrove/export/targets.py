"""What a model can be exported to: one entry for each language."""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, NamedTuple

from symgrove._files import atomic_write
from symgrove.models.plan import Plan


class Language(NamedTuple):
    """A module and function of this package, what it makes ("text", "object" or "file"), and what it needs."""

    module: str
    function: str
    makes: str
    needs: str | None
    suffixes: tuple[str, ...]


LANGUAGES = {
    "python": Language("python", "to_python", "text", None, (".py",)),
    "c": Language("c", "to_c", "text", None, (".c", ".h")),
    "javascript": Language("javascript", "to_javascript", "text", None, (".js",)),
    "sql": Language("sql", "to_sql", "text", None, (".sql",)),
    "excel": Language("excel", "to_excel", "file", "openpyxl", (".xlsx",)),
    "onnx": Language("onnx", "to_onnx", "object", "onnx", (".onnx",)),
    "text": Language("equations", "to_text", "text", None, (".txt",)),
    "latex": Language("equations", "to_latex", "text", None, (".tex",)),
    "sympy": Language("sympy", "to_sympy", "object", "sympy", ()),
}
ALIASES = {"js": "javascript", "numpy": "python", "xlsx": "excel", "tex": "latex"}


def language_of(name: str) -> str:
    """The name of a language in the table, or a clear error."""
    found = ALIASES.get(name, name)
    if found not in LANGUAGES:
        near = difflib.get_close_matches(str(name), [*LANGUAGES, *ALIASES], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"cannot export to {name!r}.{hint} Accepted: {', '.join(LANGUAGES)}.")
    return found


def export(plan: Plan, to: str, path: str | os.PathLike[str] | None, options: dict[str, Any]) -> Any:
    """The model in another language: returned, and written to `path` if there is one."""
    name = language_of(to)
    language = LANGUAGES[name]
    make = _function(name, language)
    _check_options(name, make, options)
    version = version_of("symgrove")
    if language.makes == "file":
        if path is None:
            raise ValueError(f"an export to {name} is a file; give its path.")
        with atomic_write(path) as temporary:
            make(plan, version, temporary, **options)
        return None
    made = make(plan, version, **options)
    if path is not None:
        content = made.SerializeToString() if name == "onnx" else str(made).encode("utf-8")
        with atomic_write(path) as temporary:
            temporary.write_bytes(content)
    return made


def _function(name: str, language: Language) -> Callable[..., Any]:
    try:
        module = import_module(f"symgrove.export.{language.module}")
    except ModuleNotFoundError as error:
        raise ImportError(
            f"an export to {name} needs {language.needs}, which is not installed. Install symgrove[export]."
        ) from error
    function: Callable[..., Any] = getattr(module, language.function)
    return function


def _check_options(name: str, make: Callable[..., Any], options: dict[str, Any]) -> None:
    known = [p for p in inspect.signature(make).parameters if p not in ("plan", "version", "path")]
    for option in options:
        if option not in known:
            accepted = f"Accepted: {', '.join(known)}." if known else "There are none."
            raise ValueError(f"an export to {name} has no option {option!r}. {accepted}")


def suffix_of(name: str) -> str:
    """The usual ending of a file in this language."""
    return str(Path("x" + (LANGUAGES[name].suffixes or (".txt",))[0]).suffix)
