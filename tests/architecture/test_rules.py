"""House rules that a script can check: layers, kernels only where they belong, an independent oracle, no leaks."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def imports_of(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_import_layers_hold():
    program = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_oracle_imports_nothing_from_the_package():
    for file in (ROOT / "tests" / "naive").glob("*.py"):
        assert not [name for name in imports_of(file) if name.split(".")[0] == "symgrove"], file


def test_kernels_stand_in_files_named_for_them():
    for file in SOURCES:
        has_kernel = re.search(r"^@(kernel|subroutine)$", file.read_text(), flags=re.MULTILINE)
        assert bool(has_kernel) == file.name.endswith("_kernels.py"), file


def test_kernels_freeze_nothing_that_the_cache_does_not_watch():
    for file in SOURCES:
        if file.name.endswith("_kernels.py"):
            own = [name for name in imports_of(file) if name.startswith("symgrove")]
            assert all(name == "symgrove._jit" or name.endswith("_kernels") for name in own), file


def test_kernels_never_use_fastmath_or_parallel_mode():
    for file in SOURCES:
        assert not re.search(r"fastmath\s*=|parallel\s*=\s*True|prange", file.read_text()), file


def test_matrix_products_go_through_blas_on_one_thread():
    """Elsewhere the last bits would depend on the number of threads of the matrix library."""
    without_models = ("experiments", "report", "cli")
    library = {"dot", "matmul", "inner", "vdot", "tensordot", "linalg"}
    for file in SOURCES:
        if file.name == "blas.py" or file.parent.name in without_models:
            continue
        tree = ast.parse(file.read_text())
        guarded = {
            inner
            for call in ast.walk(tree)
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "on_one_thread"
            for inner in ast.walk(call.args[0])
        }
        for node in ast.walk(tree):
            is_product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
            is_library = isinstance(node, ast.Attribute) and node.attr in library
            assert not (is_product or is_library) or node in guarded, f"{file}:{node.lineno}"


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a git checkout")
def test_no_machine_paths_and_no_registry_hosts_in_any_file():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    # Spelt in parts, so that this file does not find itself.
    forbidden = re.compile(
        "|".join(["/" + "root/", "/" + "home/", "pypi" + r"\.org", "files.python" + "hosted", "/" + "work/"])
    )
    for name in listed.stdout.split():
        text = (ROOT / name).read_text(errors="ignore") if (ROOT / name).is_file() else ""
        assert not forbidden.search(text), name
