"""`symgrove paper laws`, as people call it."""

import json

import pytest
from typer.testing import CliRunner

from symgrove.cli.app import app

TABLE = """id,formula,ranges,half
product,3.5*a*b/c**2,a:1:2 b:1:3 c:0.5:2,tuning
root,2*pi*sqrt(l/g),l:0.1:2 g:5:15,judged
"""
QUICK = ("--rows", "60", "--noise", "0", "--methods", "law", "--max-time", "20")


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SYMGROVE_DATA", raising=False)
    (tmp_path / "feynman.csv").write_text(TABLE)
    (tmp_path / "mine.csv").write_text(TABLE.replace(",half", "").replace(",tuning", "").replace(",judged", ""))

    def invoke(*arguments):
        return CliRunner().invoke(app, ["paper", *arguments])

    return invoke


def rows_of(folder):
    return [json.loads(line) for line in (folder / "laws.jsonl").read_text().splitlines()]


def test_equations_of_ones_own_are_found_again_and_not_run_twice(call, tmp_path):
    arguments = ("laws", "--data", "mine.csv", *QUICK, "--out", "found")
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    assert "| LawRegressor | 0 | 60 | 20 | 2 | 2 (100%) | 2 (100%) |" in result.stdout
    assert "laws: 2 of 2 runs" in result.stderr
    assert sorted(f.name for f in (tmp_path / "found").iterdir()) == ["laws.html", "laws.jsonl", "laws.md", "laws.tex"]
    before = rows_of(tmp_path / "found")
    assert {row["law"] for row in before} == {"product", "root"}
    assert all(row["found"] for row in before)
    assert call(*arguments).exit_code == 0
    assert rows_of(tmp_path / "found") == before
    (tmp_path / "found" / "laws.md").unlink()
    shown = call("laws", "--only-show", "--out", "found")
    assert shown.exit_code == 0, shown.output
    assert shown.stdout == result.stdout
    assert rows_of(tmp_path / "found") == before


def test_the_judged_half_is_run_only_if_asked_for(call, tmp_path):
    assert call("laws", "--data-dir", ".", *QUICK).exit_code == 0
    assert [row["law"] for row in rows_of(tmp_path / "results")] == ["product"]
    assert call("laws", "--data-dir", ".", *QUICK, "--half", "judged", "--datasets", "feynman").exit_code == 0
    assert [row["law"] for row in rows_of(tmp_path / "results")] == ["product", "root"]
    page = (tmp_path / "results" / "laws.md").read_text()
    assert page.index("Feynman, judged half") < page.index("Feynman, tuning half")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["laws", "--datasets", "nguyen"], "no equation of nguyen is in the tuning half"),
        (["laws", "--datasets", "feynman"], "there is no feynman.csv"),
        (["laws", "--data", "none.csv"], "'none.csv' does not exist"),
        (["laws", "--half", "other", "--data", "mine.csv"], "--half must be tuning or judged, got 'other'"),
        (["laws", "--noise", "much", "--data", "mine.csv"], "--noise must be numbers of at least 0"),
        (["laws", "--rows", "20.5", "--data", "mine.csv"], "--rows must be whole numbers of at least 10"),
        (["laws", "--quick", "--data", "mine.csv"], "--target and --quick do not go with laws"),
        (["laws", "--methods", "eureqa", "--data", "mine.csv"], "there is no method 'eureqa'"),
        (["laws", "--only-show"], "has no runs of laws"),
        (["table1", "--half", "judged"], "--half goes with the study laws, not with table1"),
        (["all", "--max-time", "20"], "--max-time goes with the study laws, not with all"),
    ],
)
def test_mistakes_get_a_clear_error_and_exit_code_2(call, arguments, message, tmp_path):
    result = call(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "results").exists()
