"""Build the documentation site into build/site, and check its links: `make docs`.

The documents stay where they are and as forges show them. This puts them together in build/site-source, as
docs/site/map.toml says, with the API reference made from docstrings, and Sphinx makes the pages.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from os.path import relpath
from pathlib import Path
from urllib.parse import unquote, urlsplit

from site_map import DOCS, EXAMPLES, ROOT, documents, examples, llms_text, pages_below, read_map
from site_reference import api_pages, command_page, page_of_name

SOURCE, SITE = ROOT / "build" / "site-source", ROOT / "build" / "site"


def main() -> None:
    """Put the sources together, run Sphinx, check what came out."""
    SOURCE.mkdir(parents=True, exist_ok=True)
    sources = written_sources()
    keep = {SOURCE / name for name in sources}
    generated = [SOURCE / folder for folder in EXAMPLES]  # sphinx-gallery runs again only what has changed
    if {p.relative_to(SOURCE).with_suffix("").as_posix() for g in generated for p in g.glob("plot_*.rst")} - set(
        examples()
    ):
        for folder in generated:
            shutil.rmtree(folder, ignore_errors=True)
    for path in [p for p in SOURCE.rglob("*") if p.is_file()]:
        if path not in keep and not any(path.is_relative_to(g) for g in generated):
            path.unlink()
    for name, content in sources.items():
        write(SOURCE / name, content)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-c", str(DOCS / "site")]
    if subprocess.run([*command, str(SOURCE), str(SITE)], check=False).returncode:
        sys.exit("The site was not built: see the warnings above.")
    (SITE / "llms.txt").write_text(llms_text(lambda page, _: f"{page}.html"))
    check_links()


def written_sources() -> dict[str, bytes]:
    """Contents of all files that Sphinx reads, by name."""
    structure, pages = read_map(), documents()
    files: dict[str, bytes] = {}
    for page, document in pages.items():
        text = with_links(document.read_text(), document, page, pages, files)
        if text.startswith("## "):  # tables that studies write are parts of other pages too
            text = text.removeprefix("#")
        if page == "index":
            text += toctree(list(structure), "index", {name: s["title"] for name, s in structure.items()})
        elif page in structure:
            text += toctree(pages_below(page), page, {})
        files[f"{page}.md"] = text.encode()
    for page, text in (api_pages(structure["api"]["groups"]) | command_page()).items():
        files[page] = text.encode()
    for folder in EXAMPLES:
        for path in sorted((DOCS / folder).iterdir()):
            files[f"{folder}_source/{path.name}"] = path.read_bytes()
    return files


def with_links(text: str, document: Path, page: str, pages: dict[str, Path], files: dict[str, bytes]) -> str:
    """A document with links as they are on the site; other files that it links to are copied beside the pages."""
    page_of = {path: f"{name}.md" for name, path in pages.items()} | {ROOT / "README.md": "index.md"}
    page_of |= {path: f"{name}.rst" for name, path in examples().items()}
    page_of |= {DOCS / folder: f"{folder}/index.rst" for folder in EXAMPLES}
    page_of[DOCS / "site" / "map.toml"] = "api/index.md"  # which on a forge is the list of public names
    here = Path(page).parent

    def link(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        if re.match(r"[a-z]+:", target):
            return match[0]
        path = (document.parent / target).resolve()
        if path in page_of:
            return f"]({relpath(page_of[path], here)}{anchor})"
        name = f"files/{path.relative_to(ROOT)}"
        files[name] = path.read_bytes()
        return f"]({relpath(name, here)}{anchor})"

    def named(match: re.Match[str]) -> str:
        target = page_of_name(match[1])
        return f"[`{match[1]}`]({relpath(target, here)})" if target else match[0]

    parts = re.split(r"(```.*?```|~~~.*?~~~)", text, flags=re.DOTALL)
    for k in range(0, len(parts), 2):
        parts[k] = re.sub(r"\]\(([^)#\s]+)(#[^)\s]*)?\)", link, parts[k])
        parts[k] = re.sub(r"(?<!\[)`((?:symgrove\.)?\w+)`(?!\])", named, parts[k])
    return "".join(parts)


def toctree(pages: list[str], at: str, titles: dict[str, str]) -> str:
    """Pages below a page, as MyST writes it; not shown on the page itself."""
    names = {"gallery": "gallery/index", "api": "api/index"} if at == "index" else {}
    lines = [f"{titles[p]} <{names.get(p, p)}>" if p in titles else p for p in pages]
    return "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(lines) + "\n```\n"


def write(path: Path, content: bytes) -> None:
    """Write what has changed only, so that Sphinx does the rest again only where it must."""
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


class Page(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what points somewhere, and what can be pointed to."""
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def check_links() -> None:
    """Every link within the site must lead somewhere; those to elsewhere are listed, not opened."""
    parsed = {}
    for path in [p for p in SITE.rglob("*.html") if "_static" not in p.parts]:
        parsed[path] = page = Page()
        page.feed(path.read_text())
    broken, outside = [], set()
    for path, page in parsed.items():
        for target in page.links:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                outside.add(target)
                continue
            to = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            to = to / "index.html" if to.is_dir() else to
            if not to.exists() or (
                parts.fragment and to in parsed and unquote(parts.fragment) not in parsed[to].anchors
            ):
                broken.append(f"{path.relative_to(SITE)}: {target}")
    outside = {target for target in outside if not target.startswith(("data:", "mailto:"))}
    listed = ROOT / "build" / "links-to-elsewhere.txt"
    listed.write_text("".join(f"{target}\n" for target in sorted(outside)))
    loaded = [t for page in parsed.values() for t in page.links if t in outside and re.search(r"\.(js|css|woff2?)$", t)]
    if broken or loaded:
        sys.exit("Links that lead nowhere, or load from a network:\n" + "\n".join(sorted({*broken, *loaded})))
    print(f"build/site/index.html: {len(parsed)} pages; {len(outside)} links to elsewhere: {listed.relative_to(ROOT)}")


if __name__ == "__main__":
    shutil.rmtree(SITE, ignore_errors=True)
    main()
