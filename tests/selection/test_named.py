"""Selections by name against their naive twins."""

import numpy as np
import pytest

from symgrove import TwoSEGPClassifier, TwoSEGPRegressor
from symgrove.selection import NAMES, Partition, PartitionLexicase, Tournament, Truncation
from symgrove.selection.lexicase import partitioned_lexicase
from symgrove.selection.tournament import partitioned_tournament
from tests.naive import selection as naive


@pytest.fixture
def errors():
    return np.random.default_rng(0).random((80, 5))


@pytest.mark.parametrize(("by", "key"), [("best", min), ("worst", max)])
def test_truncation_and_tournaments_rank_by_the_best_or_the_worst_sample(errors, by, key):
    ranks = [key(row) for row in errors.tolist()]
    assert Truncation(by)(errors, 40, np.random.default_rng(1)).tolist() == naive.truncation(ranks, 40)
    expected = naive.tournaments(ranks, 40, 4, np.random.default_rng(1))
    assert Tournament(4, by)(errors, 40, np.random.default_rng(1)).tolist() == expected


def test_the_names_of_the_papers_ablations():
    assert NAMES["truncation-best"] == Truncation("best")
    assert NAMES["truncation-worst"] == Truncation("worst")
    for size in (4, 8):
        for by in ("best", "worst"):
            assert NAMES[f"tournament{size}-{by}"] == Tournament(size, by)


def test_partitioned_tournaments_are_tournaments_on_each_sample(errors):
    selected = partitioned_tournament(errors, 40, 3, np.random.default_rng(2))
    rng = np.random.default_rng(2)
    drawn = rng.integers(80, size=(40, 3)).tolist()
    assert selected.tolist() == [
        min(group, key=lambda i, j=place // 8: errors[i, j]) for place, group in enumerate(drawn)
    ]


def test_lexicase_is_that_of_the_definition(errors):
    cases = np.random.default_rng(3).random((80, 12))
    selected = partitioned_lexicase(errors, cases, 40, np.random.default_rng(4))
    sample_of = np.repeat(np.arange(5), 8).tolist()
    expected = naive.lexicase(errors.tolist(), cases.tolist(), sample_of, np.random.default_rng(4))
    assert selected.tolist() == expected
    assert len(set(expected)) > 10


def test_lexicase_tells_programs_of_equal_errors_apart_by_rows():
    selected = partitioned_lexicase([[0.5], [0.5]], [[0.0, 1.0], [1.0, 0.0]], 1000, np.random.default_rng(0))
    assert 400 < (selected == 0).sum() < 600
    # Copies have no more places than one program, but count in the deviation.
    rough = np.round(np.random.default_rng(1).random((80, 5)), 1)
    cases = np.round(np.random.default_rng(2).random((80, 6)), 1)
    found = partitioned_lexicase(rough, cases, 40, np.random.default_rng(4))
    sample_of = np.repeat(np.arange(5), 8).tolist()
    assert found.tolist() == naive.lexicase(rough.tolist(), cases.tolist(), sample_of, np.random.default_rng(4))


def test_lexicase_takes_the_first_of_equal_programs(errors):
    doubled = np.concatenate([errors, errors])
    cases = np.random.default_rng(3).random((80, 12))
    selected = partitioned_lexicase(doubled, np.concatenate([cases, cases]), 40, np.random.default_rng(4))
    np.testing.assert_array_equal(selected, partitioned_lexicase(errors, cases, 40, np.random.default_rng(4)))


def test_a_partition_of_few_parts_draws_them_anew(errors):
    # A sample whose best 20 are known: with two parts, places are filled from two samples only.
    select = Partition(n_parts=2)
    best = [set(np.argsort(errors[:, j])[:20]) for j in range(5)]
    used = set()
    for seed in range(20):
        selected = select(errors, 40, np.random.default_rng(seed))
        parts = [j for j in range(5) if best[j] in (set(selected[:20]), set(selected[20:]))]
        assert len(parts) == 2
        used.update(parts)
    assert used == set(range(5))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_evolves(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    settings = {"population_size": 60, "n_estimators": 12, "generations": 8, "random_state": 0, "selection": name}
    regressor = TwoSEGPRegressor(**settings).fit(X, y)
    assert regressor.score(X, y) > 0.4
    again = TwoSEGPRegressor(**settings).fit(X, y)
    np.testing.assert_array_equal(regressor.predict(X), again.predict(X))
    assert TwoSEGPClassifier(**settings).fit(X, y > 0).score(X, y > 0) > 0.7


@pytest.mark.parametrize("n_cases", [5, 500])
def test_lexicase_sees_the_errors_on_rows_with_the_scaling_of_all_rows(n_cases, monkeypatch):
    X = np.random.default_rng(0).normal(size=(90, 3))
    y = X[:, 0] ** 2
    seen = []

    class Spy(PartitionLexicase):
        def __call__(self, errors, n_selected, rng, cases):
            seen.append(cases)
            return super().__call__(errors, n_selected, rng, cases)

    settings = {"population_size": 40, "n_estimators": 4, "generations": 3, "random_state": 0}
    TwoSEGPRegressor(**settings, selection=Spy(n_cases)).fit(X, y)
    assert [cases.shape[1] for cases in seen[-3:]] == [min(n_cases, 90)] * 3
    if n_cases > 90:
        # The best scaling on all rows leaves no program a mean error above the target's variance.
        usable = np.isfinite(seen[-1]).all(axis=1)
        assert (seen[-1][usable].mean(axis=1) <= y.var() * (1 + 1e-9)).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Truncation("mean"), "by must be 'best' or 'worst'"),
        (lambda: Tournament(0), "size must be a whole number of at least 1"),
        (lambda: Partition(n_parts=0), "n_parts must be"),
        (lambda: PartitionLexicase(0), "n_cases must be"),
        (lambda: partitioned_lexicase(np.ones((4, 2)), np.ones((3, 2)), 2, None), "cases must have shape"),
    ],
)
def test_bad_parameters_get_a_clear_error(make, message):
    with pytest.raises(ValueError, match=message):
        make()
