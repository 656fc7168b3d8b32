"""Pages of the API reference: public names with their docstrings, and the commands with their options."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from types import ModuleType
from typing import Any

import typer

from symgrove.cli.app import app

# A name that several modules have is described in the first.
MODULES = ("symgrove", "symgrove.inspection", "symgrove.selection", "symgrove.extending")


def public_names() -> dict[str, str]:
    """The module of each public name."""
    homes: dict[str, str] = {}
    for module in MODULES:
        for name in import_module(module).__all__:
            homes.setdefault(name, module)
    return homes


def page_of_name(text: str) -> str | None:
    """The page of what a document calls so; single words in lower case are mostly something else, such as commands."""
    name = text.removeprefix("symgrove.")
    home = public_names().get(name)
    if home is None or (name == text and name.islower()):
        return None
    return f"api/{home}.{name}.rst"


def api_pages(groups: dict[str, list[str]]) -> dict[str, str]:
    """An overview, and a page for each public name."""
    homes = public_names()
    lines = ["# API", "", "Every public name with its docstring and an example that runs. [Commands](commands.md)."]
    for title, names in groups.items():
        lines += ["", f"## {title}", "", "| | |", "|---|---|"]
        for name in names:
            value = value_of(name)
            text = inspect.getdoc(value) if callable(value) else "Names that are accepted."
            first = (text or "").split("\n\n")[0].replace("\n", " ")
            lines.append(f"| [`{name}`]({homes[name]}.{name}.rst) | {first} |")
    pages = [f"{homes[name]}.{name}" for names in groups.values() for name in names]
    lines += ["", "```{toctree}", ":hidden:", "", "commands", *pages, "```", ""]
    return {"api/index.md": "\n".join(lines)} | {
        f"api/{homes[name]}.{name}.rst": reference(homes[name], name) for names in groups.values() for name in names
    }


def value_of(name: str) -> Any:
    """What a public name stands for; of `report`, which is a module that can be called, the function."""
    value = getattr(import_module(public_names()[name]), name)
    return import_module(f"{value.__name__}.build").report if isinstance(value, ModuleType) else value


def reference(home: str, name: str) -> str:
    """A page in the words of Sphinx."""
    value = value_of(name)
    title = f"{home}.{name}"
    path = f"symgrove.report.build.{name}" if name == "report" else title
    lines = [title, "=" * len(title), ""]
    if isinstance(value, type):
        lines += [f".. autoclass:: {path}", f"   :members: {', '.join(own_members(value))}".rstrip(": "), ""]
        if not own_members(value):
            lines[-2:] = [""]
    elif callable(value):
        lines += [f".. autofunction:: {path}", ""]
    else:
        keys = ", ".join(f"``{key}``" for key in value)
        lines += [f".. py:data:: {path}", "", f"   Names that are accepted: {keys}.", ""]
    return "\n".join(lines)


def own_members(kind: type) -> list[str]:
    """Public methods and properties that symgrove defines and describes; those of scikit-learn are in its documents."""
    found = []
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        described = getattr(function, "__doc__", None)
        if not name.startswith("_") and described and str(getattr(function, "__module__", "")).startswith("symgrove"):
            found.append(name)
    return found


def command_page() -> dict[str, str]:
    """The commands as `--help` describes them."""
    group = typer.main.get_command(app)
    lines = ["# Commands", "", "What `symgrove COMMAND --help` says; in words: [command-line](../command-line.md).", ""]
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        usage = " ".join(str(p.name).upper() for p in command.params if p.param_type_name == "argument")
        lines += [f"## {name}", "", f"    symgrove {name} {usage}".rstrip(), "", *escaped(command.help or ""), ""]
        options = [p for p in command.params if p.param_type_name == "option"]
        if options:
            lines += ["| option | |", "|---|---|"]
            for p in options:
                lines.append(f"| `{', '.join([*p.opts, *p.secondary_opts])}` | {' '.join(escaped(p.help or ''))} |")
            lines.append("")
    return {"api/commands.md": "\n".join(lines)}


def escaped(text: str) -> list[str]:
    """Lines of plain text as Markdown shows them; what stands in backticks is code."""

    def escape(part: str) -> str:
        return re.sub(r"([\\*_<>|\[\]#$])", r"\\\1", part)

    return [
        "".join(escape(part) if k % 2 == 0 else f"`{part}`" for k, part in enumerate(line.strip().split("`")))
        for line in text.splitlines()
    ]
