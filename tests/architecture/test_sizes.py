"""Files of at most 500 lines, functions of at most 60 lines of code (kernels: 120)."""

import ast
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = sorted(f for d in ("src", "tests", "tools", "benchmarks") for f in (ROOT / d).rglob("*.py"))
MAX_FILE, MAX_FUNCTION, MAX_KERNEL = 500, 60, 120


def lines_of_code(file, tree):
    """Numbers of the lines that hold code, not only comments, docstrings or nothing."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines = set()
    with file.open("rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type not in skipped and token.type != tokenize.ENCODING:
                lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, node.end_lineno + 1))
    return lines


def only_stores_parameters(function):
    """Constructors of scikit-learn estimators must have one assignment for each parameter, and nothing else."""
    return function.name == "__init__" and all(
        isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name) for statement in function.body
    )


def test_there_are_files_to_check():
    assert len(FILES) > 30


def test_files_and_functions_fit_a_head():
    for file in FILES:
        text = file.read_text()
        assert len(text.splitlines()) <= MAX_FILE, file
        tree = ast.parse(text)
        limit = MAX_KERNEL if file.name.endswith("_kernels.py") else MAX_FUNCTION
        for node in ast.walk(tree):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or only_stores_parameters(node):
                continue
            if node.end_lineno - node.lineno >= limit:
                length = len(lines_of_code(file, tree).intersection(range(node.lineno, node.end_lineno + 1)))
                assert length <= limit, f"{file.name}:{node.lineno} {node.name} has {length} lines of code"
