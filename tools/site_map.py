"""The structure of the site (docs/site/map.toml), and llms.txt, its list of pages for programs that read.

`python tools/site_map.py` writes llms.txt again; a test says if that is due.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Documents outside docs/ that are pages of the site.
PROJECT = ("CONTRIBUTING", "ARCHITECTURE", "CHANGELOG", "SECURITY", "CODE_OF_CONDUCT", "contrib/srbench/README")
EXAMPLES = ("tutorials", "gallery")
SUMMARY = (
    "symgrove learns formulas from tables, as scikit-learn estimators and in the shell: one short formula "
    "(LawRegressor), accurate ensembles of formulas (GroveRegressor, GroveClassifier), the paper's method "
    "(TwoSEGPRegressor, TwoSEGPClassifier) and others. Models are JSON files, and export to C, JavaScript, SQL, "
    "Python, Excel, ONNX and SymPy."
)


def read_map() -> dict[str, Any]:
    """Sections by the name of their page."""
    return tomllib.loads((DOCS / "site" / "map.toml").read_text())


def documents() -> dict[str, Path]:
    """Pages of the site by name, and the documents that they are made of."""
    pages = {p.relative_to(DOCS).with_suffix("").as_posix(): p for p in sorted(DOCS.rglob("*.md"))}
    return pages | {name: ROOT / f"{name}.md" for name in PROJECT}


def examples() -> dict[str, Path]:
    """Pages made of examples that are run."""
    return {f"{folder}/{p.stem}": p for folder in EXAMPLES for p in sorted((DOCS / folder).glob("plot_*.py"))}


def pages_below(section: str) -> list[str]:
    """Pages below a section; a `*` stands for those of a folder that are named nowhere."""
    structure = read_map()
    named = {page for other in structure.values() for page in other.get("pages", ())}
    found: list[str] = []
    for page in structure[section].get("pages", ()):
        everything = [p for p in documents() if p.startswith(page[:-1]) and p not in named]
        found += everything if page.endswith("/*") else [page]
    return found


def title_and_sentence(path: Path) -> tuple[str, str]:
    """A document's title and the first sentence below it."""
    if path.suffix == ".py":
        title, _, *text = (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()
        body = "\n".join(text)
    else:
        match = re.search(r"^# (.+)$", path.read_text(), flags=re.MULTILINE)
        if match is None:
            raise SystemExit(f"{path.relative_to(ROOT)} has no title: its first line should be '# ...'")
        title, body = match[1], path.read_text()[match.end() :]
    blocks = (block.strip() for block in re.sub(r"```.*?```", "", body, flags=re.DOTALL).split("\n\n"))
    first = next((b for b in blocks if b and not re.match(r"[#|<!]|- ", b)), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(first.split()))
    return title, re.split(r"(?<=[.?])\s", plain)[0].rstrip(":")


def llms_text(link: Callable[[str, Path], str]) -> str:
    """All pages with a sentence each, in the form that llmstxt.org describes."""
    pages = documents() | examples()
    lines = ["# symgrove", "", f"> {SUMMARY}"]
    for section, entry in read_map().items():
        below = [p for p in examples() if p.startswith(f"{section}/")] + [
            p for p in pages_below(section) if p in pages and not p.startswith(("results/", "first-splits/", "adr/"))
        ]
        lines += ["", f"## {entry['title']}", ""]
        for page in [section, *below]:
            if page in pages:
                title, sentence = title_and_sentence(pages[page])
                lines.append(f"- [{title}]({link(page, pages[page])})" + (f": {sentence}" if sentence else ""))
    return "\n".join(line for k, line in enumerate(lines) if k == 0 or line or lines[k - 1]) + "\n"


def llms_of_repository() -> str:
    """The file at the root of the repository, with links to the documents."""
    return llms_text(lambda _, path: path.relative_to(ROOT).as_posix())


if __name__ == "__main__":
    (ROOT / "llms.txt").write_text(llms_of_repository())
