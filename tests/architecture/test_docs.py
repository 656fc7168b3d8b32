"""Links and paths in documents exist, code blocks run, and every public name is in the docs."""

import contextlib
import io
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import symgrove as sg
from symgrove.cli.app import app
from symgrove.estimators.base import Estimator

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.md")])
IDS = [str(d.relative_to(ROOT)) for d in DOCUMENTS]
# Written by git, make or pip, so not in a fresh clone.
GENERATED = (".venv", "build/")


@pytest.mark.parametrize("document", DOCUMENTS, ids=IDS)
def test_links_and_paths_exist(document):
    text = re.sub(r"```.*?```", "", document.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), target
    for name in re.findall(r"`([\w./-]+/[\w./-]*|[\w-]+\.(?:py|md|toml))`", text):
        candidates = [ROOT / name, ROOT / "src/symgrove" / name, document.parent / name]
        assert name.startswith(GENERATED) or any(c.exists() for c in candidates), name


# Shell tours, of which `make demo` runs one; that what they name exists is checked below.
SLOW = {
    "python": (),
    "sh": (
        "README.md-0",
        "docs/command-line.md-0",
        "docs/command-line.md-1",
        "docs/law.md-0",
        "docs/report.md-0",
        "docs/studies.md-0",
    ),
}


def blocks(language):
    for document in DOCUMENTS:
        for i, code in enumerate(re.findall(rf"```{language}\n(.*?)```", document.read_text(), flags=re.DOTALL)):
            name = f"{document.relative_to(ROOT)}-{i}"
            yield pytest.param(code, id=name, marks=[pytest.mark.slow] if name in SLOW[language] else [])


@pytest.mark.parametrize("code", list(blocks("python")))
def test_python_blocks_run_and_print_what_they_say(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # files that they write are not ours to keep
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "document", "exec"), {"__name__": "document"})
    expected = re.findall(r"^#> (.*)$", code, flags=re.MULTILINE)
    assert printed.getvalue().splitlines()[: len(expected)] == expected


@pytest.mark.parametrize("code", list(blocks("sh")))
def test_shell_blocks_run_or_name_existing_targets(code, tmp_path):
    """Blocks with symgrove are run, in a folder with two tables and a model.

    Of make commands, CI runs `make test`, and `make -n` shows that the others exist.
    """
    if "symgrove" in code:
        rng = random.Random(0)
        rows = "".join(f"{rng.random()},{rng.random()},{rng.random()}\n" for _ in range(60))
        for name in ("data.csv", "new.csv"):
            (tmp_path / name).write_text("size,age,price\n" + rows)
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        subprocess.run(["bash", "-e", "-o", "pipefail", "-c", code], cwd=tmp_path, env=environment, check=True)
        return
    for line in code.strip().splitlines():
        command = line.split("#")[0].strip()
        assert re.fullmatch(r"make( [a-z-]+)?", command), command
        subprocess.run([*command.split(), "-n"], cwd=ROOT, check=True, capture_output=True)


def test_shell_blocks_name_commands_and_options_that_exist():
    commands = get_command(app).commands
    known = {name: {o for p in command.params for o in p.opts} | {"--help"} for name, command in commands.items()}
    known["fit"] |= {f"--{p.replace('_', '-')}" for kind in all_estimators() for p in kind().get_params()}
    text = "\n".join(
        code for document in DOCUMENTS for code in re.findall(r"```sh\n(.*?)```", document.read_text(), re.S)
    )
    lines = re.findall(r"\bsymgrove ([a-z]+)\b([^|<>\n]*)", text)
    assert {"fit", "predict", "paper"} <= {name for name, _ in lines}
    for name, words in lines:
        assert set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", words)) <= known[name], (name, words)


def all_estimators():
    public = [getattr(sg, name) for name in sg.__all__]
    return [kind for kind in public if isinstance(kind, type) and issubclass(kind, Estimator)]


def prose(document):
    """Text without code and links."""
    return re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", document.read_text(), flags=re.DOTALL)


def test_words_that_the_glossary_refuses_are_not_used():
    rows = [line.split("|") for line in (ROOT / "docs" / "glossary.md").read_text().splitlines() if "|" in line][2:]
    refused = [word.strip() for row in rows for word in row[3].split(",") if word.strip()]
    assert len(refused) > 5
    pattern = re.compile(rf"(?<!environment )\b({'|'.join(refused)})s?\b", flags=re.IGNORECASE)
    assert not [row for row in rows if pattern.search(row[1] + row[2])]
    for document in DOCUMENTS:
        if document.name not in ("glossary.md", "results.md"):
            assert not pattern.findall(prose(document)), document


def test_readme_lists_every_make_target():
    listed = subprocess.run(["make"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    targets = re.findall(r"make ([a-z-]+)", listed)
    readme = (ROOT / "README.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()
    assert not [target for target in targets if f"make {target}" not in readme]


def table_after(heading, text):
    """Cells of the first table after a heading, by the first of each row; without signs and numbers of runs."""
    lines = text[text.index(heading) + len(heading) :].lstrip().splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("|"))
    end = next((k for k, line in enumerate(lines[start:], start) if not line.startswith("|")), len(lines))
    rows = [[re.sub(r" [▼▽▲△=(].*", "", cell.strip()) for cell in line.split("|")[1:-1]] for line in lines[start:end]]
    return {row[0]: row[1:] for row in rows[2:]}


def test_the_results_of_the_readme_are_those_of_the_docs():
    """Copy them from docs/many-rows.md and docs/results/grove.md if these have changed."""
    readme, many, grove = (
        (ROOT / name).read_text() for name in ("README.md", "docs/many-rows.md", "docs/results/grove.md")
    )
    errors, seconds = table_after("**error**", many), table_after("**seconds of a fit**", many)
    shown = list(table_after("## How good it is", readme).items())
    assert [size for size, _ in shown] == ["up to 1,000", "to 10,000", "to 100,000", "to 1,000,000"]
    for k, (_, cells) in enumerate(shown):
        methods = ("Grove", "CatBoost", "LightGBM, tuned")
        assert cells == [own[m][k] for m in methods for own in (errors, seconds)]
    slowest, fastest = (f(float(n) for n in seconds["Grove"]) for f in (max, min))
    assert f"{fastest:.0f} to {slowest:.0f} times as long" in readme
    medians = table_after("**test**", grove)
    own = table_after("What reading costs", readme)
    assert own == {method: medians[method][:4] for method in own}
    assert {"Grove", "Grove, one formula", "LightGBM"} <= set(own)


def test_every_decision_is_listed_in_the_architecture():
    architecture = (ROOT / "ARCHITECTURE.md").read_text()
    for adr in (ROOT / "docs" / "adr").glob("*.md"):
        assert adr.name in architecture, adr.name
