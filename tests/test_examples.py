"""The examples of extending symgrove from outside: short, and they do what they say."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
LONGEST = 40


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_runs(file, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    runpy.run_path(str(file), run_name="__main__")
    printed = capsys.readouterr().out
    assert {
        "age_fitness_pareto": "R² 0.6",
        "own_loss": "89% of the rows are below the prediction",
        "own_method": "R² 0.6",
        "own_variation": "R² 0.4",
    }[file.stem] in printed
    assert len(file.read_text().splitlines()) <= LONGEST
