"""Whether the paper's conclusions hold: claims, marks, and the family that they are tested in."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from symgrove.experiments import conclusions, latex, tables
from symgrove.experiments.conclusions import FAILS, HOLDS, UNTESTED, Claim, claims_of, judge, load_claims
from symgrove.experiments.names import NAMES
from symgrove.experiments.paper import choose, tasks_of
from symgrove.experiments.runner import read_rows
from symgrove.experiments.study import family_of_the_paper, load_study, published, published_marks

DOCS = Path(__file__).parents[2] / "docs"
SAID = {"better", "worse", "level", "not worse", "better median", "worse median", "mostly level"}
TASKS = {"asn": "regression"}


def made_up(study, errors, n_runs=40):
    """Rows of a study whose methods have normal errors around these, with a spread of 0.1."""
    rng = np.random.default_rng(0)
    rows = {}
    for method in study.methods:
        for split in range(n_runs):
            run = study.run_of(method, "asn", split, TASKS)
            if run is not None and method.name in errors:
                error = errors[method.name] + 0.1 * rng.standard_normal()
                rows[run.key] = {"error": None, "train": error, "test": error}
    return rows


@pytest.fixture(scope="module")
def table():
    study = choose(load_study("table2"), ["asn"])
    errors = {"2segp": 3.0, "divnichgp": 3.5, "cgp": 3.01, "gp-gomea": 3.3}
    rows = made_up(study, errors)
    unfinished = next(m for m in study.methods if m.name == "gp-gomea")
    for split in range(5, 10):
        del rows[study.run_of(unfinished, "asn", split, TASKS).key]
    return tables.make_table(study, rows, TASKS)


@pytest.mark.parametrize(
    ("of", "said", "than", "verdict"),
    [
        ("2segp", "better", "divnichgp", HOLDS),
        ("divnichgp", "better", "2segp", FAILS),
        ("divnichgp", "worse", "2segp", HOLDS),
        ("2segp", "level", "divnichgp", FAILS),
        ("2segp", "level", "cgp", HOLDS),
        ("2segp", "better", "cgp", FAILS),
        ("cgp", "not worse", "2segp", HOLDS),
        ("divnichgp", "not worse", "2segp", FAILS),
        ("2segp", "better median", "divnichgp", HOLDS),
        ("2segp", "worse median", "divnichgp", FAILS),
        ("divnichgp", "worse median", "2segp", HOLDS),
        ("2segp", "better", "gp-gomea", UNTESTED),  # too few runs
        ("2segp", "better median", "gp-gomea", UNTESTED),
        ("2segp", "better", "ss+be", UNTESTED),  # none
        ("2segp", "better median", "efs", UNTESTED),
    ],
)
def test_claims_are_judged_by_tests_and_medians(table, of, said, than, verdict):
    claim = Claim("", (of, than), said, "test", "asn")
    assert judge(claim, table, lower_is_better=True).verdict == verdict


def test_lower_or_higher_is_better(table):
    claim = Claim("", ("2segp", "divnichgp"), "worse", "test", "asn")
    assert judge(claim, table, lower_is_better=False).verdict == HOLDS
    claim = Claim("", ("2segp", "divnichgp"), "worse median", "test", "asn")
    assert judge(claim, table, lower_is_better=False).verdict == HOLDS


def test_most_pairs_are_more_than_half_of_those_tested(table):
    three = Claim("", ("2segp", "divnichgp", "cgp"), "mostly level", "test", "asn")
    assert judge(three, table, lower_is_better=True) == (FAILS, "1 of 3 pairs")
    two = Claim("", ("2segp", "cgp", "ss+be"), "mostly level", "test", "asn")
    assert judge(two, table, lower_is_better=True) == (HOLDS, "1 of 1 pairs")
    none = Claim("", ("ss+be", "efs"), "mostly level", "test", "asn")
    assert judge(none, table, lower_is_better=True).verdict == UNTESTED


def test_claims_name_methods_and_data_of_their_studies():
    for name, entry in load_claims().items():
        study = load_study(entry.get("study", name))
        methods = {method.name for method in study.methods}
        assert published_marks(name) or set(entry["family"]) <= methods
        for claim in claims_of(entry["claims"]):
            assert set(claim.methods) <= methods
            assert claim.dataset in study.datasets
            assert claim.is_said in SAID
            assert len(claim.methods) == 2 or claim.is_said == "mostly level"


def test_published_medians_do_not_contradict_the_claims_as_we_read_them():
    their, entries = published(), load_claims()
    for name in ("table1", "table2", "table3"):
        for claim in claims_of(entries[name]["claims"]):
            a, b = (their[method][claim.dataset].get(claim.part, [np.nan])[0] for method in claim.methods)
            is_better = a > b if name == "table1" else a < b
            if claim.is_said in ("better", "better median"):
                assert is_better, claim
            elif claim.is_said in ("worse", "worse median"):
                assert not is_better, claim


def test_marks_name_methods_that_the_paper_tests():
    their = published()
    for name in ("table1", "table2", "table3"):
        study, marks = load_study(name), published_marks(name)
        for part in marks["best"]:
            for dataset, best in marks["best"][part].items():
                family = family_of_the_paper(study, dataset)
                assert set(best) <= family
                values = {m: their[m][dataset][part][0] for m in family}
                first = max(values.values()) if name == "table1" else min(values.values())
                assert any(values[m] == first for m in best) or (name, part, dataset) == ("table1", "train", "iono")
    assert published_marks("budget") == {}


def test_the_family_is_the_papers_own():
    assert family_of_the_paper(load_study("table2"), "asn") == {
        "2segp",
        "divnichgp",
        "ss+be",
        "gp-gomea",
        "rdo-ls",
        "cgp",
    }
    assert len(family_of_the_paper(load_study("table1"), "bcw")) == 6
    assert len(family_of_the_paper(load_study("table3"), "asn")) == 7
    assert family_of_the_paper(load_study("minimum-height"), "asn") == set()


def test_variants_do_not_change_the_papers_comparisons():
    study = choose(load_study("table2"), ["asn"])
    errors = {m.name: 3.0 + 0.02 * i for i, m in enumerate(study.methods)}
    rows = made_up(study, errors)
    whole = tables.make_table(study, rows, TASKS)
    own = family_of_the_paper(study, "asn")
    only = tables.make_table(replace(study, methods=[m for m in study.methods if m.name in own]), rows, TASKS)
    for part in ("train", "test"):
        assert only.pairs[part, "asn"].items() <= whole.pairs[part, "asn"].items()
        assert all(only.cells[part, n, "asn"] == whole.cells[part, n, "asn"] for n in own)


def test_the_legend_speaks_of_rows_to_come_only_if_there_are_some():
    study = choose(load_study("table2"), ["asn"], ["2segp", "divnichgp"])
    rows = made_up(study, {"2segp": 3.0, "divnichgp": 3.5})
    legend = tables.page_of_table(tables.make_table(study, rows, TASKS)).paragraphs[0]
    assert "In brackets the published number." in legend
    assert "brackets only" not in legend
    assert "a second family" in legend
    rows = made_up(study, {"2segp": 3.0})
    legend = tables.page_of_table(tables.make_table(study, rows, TASKS)).paragraphs[0]
    assert "rows with brackets only are methods that are not here yet" in legend


def test_latex_has_the_papers_marks_and_no_brackets(table):
    text = latex.table_to_latex(table)
    body = text[text.index(r"\toprule") :]
    assert "[" not in body
    lines = {line.partition(" &")[0]: line for line in body[body.index("{Test}") :].splitlines() if " & " in line}
    assert {line.count("&") for label, line in lines.items() if label.strip()} == {1, 2}  # the head spans two columns
    assert lines["2SEGP"].startswith(r"2SEGP & \underline{")
    assert r"$^{\star}$" in lines["2SEGP"]
    assert r"\underline" not in lines["DivNichGP"]
    assert lines[r"\quad{\footnotesize 2SEGP, published}"].count(r"{\footnotesize \underline{3.082}$^{\star}$}") == 1
    assert r"3.458" in lines[r"\quad{\footnotesize DivNichGP, published}"]
    assert r"\textsuperscript{(5)}" in lines["GP-GOMEA"]
    assert "GPTIPS" not in lines  # no runs
    assert lines[r"\quad{\footnotesize GPTIPS, published}"] == (
        r"\quad{\footnotesize GPTIPS, published} & {\footnotesize 4.138} &  \\"
    )
    assert text.count("{") == text.count("}")
    differs = table.cells["test", "divnichgp", "asn"].verdict == "differs"
    assert (r"\dagger" in lines["DivNichGP"]) == differs


def test_rows_that_the_paper_does_not_test_stand_below_a_rule():
    study = choose(load_study("table2"), ["asn"])
    text = latex.table_to_latex(tables.make_table(study, made_up(study, dict.fromkeys(published(), 3.0)), TASKS))
    test = text[text.index("{Test}") :]
    assert test.index("cGP &") < test.index("GPTIPS") < test.rindex(r"\bottomrule")
    between = test[test.index("cGP, published") : test.index("GPTIPS")]
    assert between.count(r"\midrule") == 1


@pytest.fixture(scope="module")
def page():
    studies = [load_study(name) for name in NAMES if name in load_claims()]
    tasks = {dataset: task for study in studies for dataset, task in tasks_of(study, {}).items()}
    return conclusions.page_of_conclusions(studies, read_rows(DOCS / "results/runs.jsonl"), tasks)


def test_the_page_of_results_begins_with_the_conclusions(page):
    text = (DOCS / "results.md").read_text()
    assert text.index(f"## {conclusions.TITLE}") < text.index("## Table 1")
    for paragraph in page.paragraphs:  # as the rows say today
        assert paragraph in text


def test_of_independent_runs_as_many_count_as_the_claim_says(page):
    (lines,) = (lines for caption, lines in page.tables if caption == load_claims()["five-members"]["title"])
    study, rows = load_study("figure-beta"), read_rows(DOCS / "results/runs.jsonl")
    methods = {method.name: method for method in study.methods}
    for dataset, cell in zip(study.datasets, lines[1][3:], strict=True):
        runs = tables.values_of(study, methods["independent"], dataset, "prefix_test", rows, tasks_of(study, {}))[0]
        ours = tables.values_of(study, methods["2segp-5"], dataset, "test", rows, tasks_of(study, {}))[0]
        p_value = mannwhitneyu([errors[4] for errors in runs], ours).pvalue  # one pair: nothing to correct for
        is_worse = p_value < 0.05 and np.median([errors[4] for errors in runs]) < np.median(ours)
        assert cell.startswith(f"not worse: {FAILS if is_worse else HOLDS}")


def test_every_claim_is_shown_with_a_verdict(page):
    n_claims = sum(1 for entry in load_claims().values() for _ in claims_of(entry["claims"]))
    shown = [cell for _, (_, *lines) in page.tables[1:-1] for line in lines for cell in line[3:] if cell]
    assert len(shown) == n_claims
    assert all(any(f": {verdict}" in cell for verdict in (HOLDS, FAILS, UNTESTED)) for cell in shown)
    failures = sum(line[-1].count("test (") + line[-1].count("train (") for line in page.tables[0][1][1:])
    assert failures == sum(f": {FAILS}" in cell for cell in shown)


def test_classic_gp_is_spoken_of_in_plain_words(page):
    classification, regression, *_ = page.paragraphs
    assert (
        "is level with 2SEGP (not significantly different on test rows) on 3 of 5 data sets: HEART (" in classification
    )
    level = classification.partition("; it is")[0]
    assert all(name in level for name in ("HEART", "IONO", "SONAR"))
    assert "p = 0.032 alone" in level
    assert "'cGP' in table 2" in regression
    paper_map = (DOCS / "paper-map.md").read_text()
    assert "level with 2SEGP on Heart, Iono and Sonar" in " ".join(paper_map.split())
