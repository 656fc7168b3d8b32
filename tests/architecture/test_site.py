"""The documentation site has every document and every public name; its examples have the right shape.

`make docs` builds it, runs the examples and checks links.
"""

import ast
import importlib
import re
import runpy
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command

import symgrove as sg
from symgrove.cli.app import app
from tools.site_map import DOCS, documents, examples, llms_of_repository, pages_below, read_map
from tools.site_reference import api_pages, command_page, own_members, public_names

ROOT = Path(__file__).parents[2]
GALLERY = [path for path in examples().values() if path.parent.name == "gallery"]


def test_every_document_is_on_the_site_once():
    sections = list(read_map())
    placed = [page for section in sections for page in pages_below(section)]
    assert len(placed) == len(set(placed))
    assert set(placed) - {"tutorials/index"} | set(sections) == set(documents()) - {"index"} | {"gallery", "api"}


def test_sources_are_complete_and_pages_are_reached_from_the_first(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    sources = importlib.import_module("make_site").written_sources()
    pages = {name.rsplit(".", 1)[0]: text.decode() for name, text in sources.items() if name.endswith((".md", ".rst"))}
    reached = {"index"}
    for page, text in pages.items():
        for block in re.findall(r"```{toctree}\n:hidden:\n\n(.*?)\n```", text, re.DOTALL):
            targets = [re.sub(r".*<(.*)>", r"\1", line) for line in block.splitlines()]
            reached |= {Path(page).parent.joinpath(target).as_posix() for target in targets}
    made_by_sphinx_gallery = {"gallery/index", "tutorials/index"}
    assert reached - made_by_sphinx_gallery == {page for page in pages if "_source/" not in page}
    own = pages["how-to"]
    assert "](gallery/plot_07_deploy.rst)" in own, "links to examples lead to their pages"
    assert "[`LawRegressor`](api/symgrove.LawRegressor.rst)" in own, "names lead to the reference"


def test_every_public_name_is_in_the_reference_once():
    groups = read_map()["api"]["groups"]
    named = [name for names in groups.values() for name in names]
    assert len(named) == len(set(named))
    assert set(named) == set(public_names())
    assert {f"api/{home}.{name}.rst" for name, home in public_names().items()} < set(api_pages(groups))


def test_the_reference_shows_own_methods_and_leaves_those_of_scikit_learn_to_its_documents():
    assert {"fit", "predict", "predict_interval", "export", "save"} <= set(own_members(sg.GroveRegressor))
    assert not {"get_params", "set_fit_request"} & set(own_members(sg.GroveRegressor))


def test_every_command_and_option_is_in_the_reference():
    page = command_page()["api/commands.md"]
    for command in app.registered_commands:
        assert f"\n## {command.name}\n" in page
        options = {o for p in get_command(app).commands[command.name].params for o in p.opts if o.startswith("-")}
        assert all(f"`{option}" in page or f", {option}" in page for option in options)


@pytest.mark.parametrize("path", examples().values(), ids=lambda path: path.stem)
def test_examples_have_a_title_compile_and_draw(path):
    text = path.read_text()
    tree = ast.parse(text)
    title, line, *rest = ast.get_docstring(tree).splitlines()
    assert set(line) == {"="}
    assert len(line) >= len(title)
    assert "\n".join(rest).strip()
    assert re.search(r"pyplot|Display|\.plot\(", text), "an example has a picture"
    assert not re.search(r"https?://\w|fetch_", text), "an example needs no network"


def test_a_newcomer_finds_ten_answers_on_the_second_page():
    assert "](how-to.md)" in (DOCS / "index.md").read_text()
    answers = dict(
        re.findall(r"^## ([^\n]+)\n\n(.*?)(?=^## |\Z)", (DOCS / "how-to.md").read_text(), re.MULTILINE | re.DOTALL)
    )
    said = {
        "Predict with intervals": "predict_interval",
        "Use a loss of my own": "loss=",
        "Stop, resume and go on": "checkpoint=",
        "Read one formula": "formula(",
        "Deploy": 'export("sql"',
        "Cite it": "CITATION.cff",
        "Report a bug": "symgrove doctor",
        "Tables with gaps, categories, dates": "NaN",
        "Use a GPU": 'engine="cuda"',
        "Come from gplearn or PySR": "from-gplearn.md",
    }
    assert not [question for question, answer in said.items() if answer not in answers[question]]


def test_the_gallery_has_what_it_promises():
    assert len(GALLERY) >= 14


def test_the_configuration_of_sphinx_loads_and_takes_all_examples():
    found = runpy.run_path(str(DOCS / "site" / "conf.py"))
    assert found["version"] == sg.__version__
    pattern = found["sphinx_gallery_conf"]["filename_pattern"]
    assert all(re.search(pattern, path.as_posix()) for path in examples().values())


def test_the_list_for_programs_that_read_is_that_of_the_documents():
    written = (ROOT / "llms.txt").read_text()
    assert written == llms_of_repository(), "run `python tools/site_map.py`"


def test_the_citation_has_the_version_of_the_package():
    assert f"\nversion: {sg.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_no_file_names_the_host_of_a_package_registry():
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    hosts = re.compile(
        rb"\b(?:%s)\b" % b"|".join([b"pypi" + b"\\.org", b"pythonhosted" + b"\\.org", b"npmjs" + b"\\.org"])
    )
    kinds = (".py", ".md", ".toml", ".yml", ".yaml", ".txt", ".cff", ".rst")
    assert not [name for name in files if name.endswith(kinds) and hosts.search((ROOT / name).read_bytes())]
