"""House rules that a script can check: layers, kernels only where they belong, an independent oracle, no leaks."""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from symgrove import estimators
from symgrove.estimators import ESTIMATORS
from symgrove.estimators.base import Estimator
from symgrove.estimators.classifier import Classifier
from symgrove.estimators.regressor import Regressor

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


def test_a_class_name_has_one_meaning():
    defined = [
        node.name for f in SOURCES for node in ast.walk(ast.parse(f.read_text())) if isinstance(node, ast.ClassDef)
    ]
    assert sorted(name for name, n in Counter(defined).items() if n > 1) == []


def test_estimators_have_at_most_five_classes_of_ours():
    for name in ESTIMATORS:
        kinds = [c for c in getattr(estimators, name).__mro__ if c.__module__.startswith("symgrove")]
        assert len(kinds) <= 5, kinds


def test_nothing_below_calls_a_private_method_of_an_estimator():
    kinds = (Estimator, Regressor, Classifier, *(getattr(estimators, name) for name in ESTIMATORS))
    private = {name for kind in kinds for name in vars(kind) if re.match(r"_[a-z]", name)}
    assert {"_fit", "_evolve"} <= private
    for room in ("methods", "evolution", "models", "engines", "selection", "variation"):
        for file in (ROOT / "src" / "symgrove" / room).rglob("*.py"):
            text = file.read_text()
            for name in set(re.findall(r"(?<!self)\.(_[a-z]\w*)\(", text)) & private:
                assert f"def {name}(" in text, f"{file} {name}"


# Parameters of any type that are models of any library, by file and function.
ANY_MODEL = {("experiments/estimators.py", "_type_of")}
# What `hasattr` is asked about besides frames (X), by file.
ASKED = {("estimators/callbacks.py", "estimator")}


def untyped_models(tree):
    """Functions with a parameter `model` or `estimator`, or several of them, of type Any."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for own in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                kinds = {getattr(n, "id", "") for n in ast.walk(own.annotation)} if own.annotation else {"Any"}
                if re.fullmatch(r"(model|estimator)s?", own.arg) and "Any" in kinds:
                    yield node.name


def asked_with_hasattr(tree):
    """What `hasattr` is asked about, but for frames."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "hasattr":
            asked = ast.unparse(node.args[0])
            if asked != "X":
                yield asked


def test_estimators_and_models_have_types():
    """A parameter is an Estimator, a Model or one of their kinds; its kind is asked by isinstance, not by hasattr."""
    bad = ast.parse("def f(a, *, model: Any | None = None):\n    return hasattr(X, 'columns') or hasattr(model, 'b')")
    assert [*untyped_models(bad)] == ["f"]
    assert [*asked_with_hasattr(bad)] == ["model"]
    trees = {file.relative_to(ROOT / "src" / "symgrove").as_posix(): ast.parse(file.read_text()) for file in SOURCES}
    assert {(file, name) for file, tree in trees.items() for name in untyped_models(tree)} == ANY_MODEL
    assert {(file, asked) for file, tree in trees.items() for asked in asked_with_hasattr(tree)} == ASKED


def test_rooms_above_read_nothing_private_of_an_estimator():
    """What they need is in estimators/fitted.py."""
    private = re.compile(r"\b(model|estimator)\._[a-z]")
    assert private.search("model._plan()")
    for room in ("inspection", "report", "experiments", "studio", "cli"):
        for file in (ROOT / "src" / "symgrove" / room).rglob("*.py"):
            assert not private.search(file.read_text()), file


def test_nothing_outside_engines_names_an_engine():
    for file in SOURCES:
        if "engines" not in file.parts and file.name != "__init__.py":
            text = file.read_text()
            assert "CpuEngine" not in text, file
            assert "engines.cpu" not in text, file


def test_kernels_stand_in_files_named_for_them():
    for file in SOURCES:
        has_kernel = re.search(r"^@(kernel|subroutine)$", file.read_text(), flags=re.MULTILINE)
        assert bool(has_kernel) == file.name.endswith("_kernels.py"), file


def test_kernels_freeze_nothing_that_the_cache_does_not_watch():
    for file in SOURCES:
        if file.name.endswith("_kernels.py"):
            own = [name for name in imports_of(file) if name.startswith("symgrove")]
            assert all(name == "symgrove._jit" or name.endswith("_kernels") for name in own), file


def test_kernels_never_use_parallel_mode_and_reorder_only_sums():
    """Reductions may be added up in another order; NaN and infinity count everywhere."""
    for file in SOURCES:
        text = file.read_text()
        assert not re.search(r"parallel\s*=\s*True|prange", text), file
        allowed = ['fastmath={"reassoc", "nsz", "contract"}'] if file.name == "_jit.py" else []
        assert re.findall(r"fastmath\s*=[^)]*", text) == allowed, file


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
