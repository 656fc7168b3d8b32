"""GP-GOMEA against its oracle, and its parts: template, linkage tree, mixing, multi-start."""

from contextlib import ExitStack
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symgrove as sg
from symgrove.fitness.bootstrap import bootstrap_counts
from symgrove.methods import multi_start
from symgrove.methods.multi_start import Turn
from symgrove.rng import stream
from symgrove.variation.linkage import as_symbols, entropies, linkage_sets, mutual_information
from symgrove.variation.template import Template
from tests.making import method_of
from tests.naive import gomea as naive
from tests.strategies import random_data, uproot

FUNCTIONS = [("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("sqrt", 1), ("log", 1)]


def gene_of(template, constants, symbol):
    """A symbol as the oracle has it."""
    if symbol < len(FUNCTIONS):
        return FUNCTIONS[symbol]
    if symbol < template.first_constant:
        return (("feature", int(symbol) - len(FUNCTIONS)), 0)
    return (("constant", float(constants[symbol - template.first_constant])), 0)


def genes_of(method, state, genes):
    return [[gene_of(method.template, state.constants, symbol) for symbol in own] for own in genes]


# Trials whose errors are equal but for rounding are a toss-up. With scaling there are many, such as x0 for 2 * x0,
# without it few. These seeds have none; with scaling, none in the first generation.
@pytest.mark.parametrize(
    ("seed", "n_samples", "forces", "height", "scales"),
    [
        (5, 1, False, 2, False),
        (6, 1, True, 2, False),
        (7, 3, False, 2, False),
        (8, 3, True, 2, False),
        (10, 1, False, 3, False),
        (6, 1, False, 2, True),
        (7, 1, False, 2, True),
    ],
)
def test_gomea(seed, n_samples, forces, height, scales):
    X, y = random_data(seed, n_rows=25)
    counts = bootstrap_counts(25, n_samples, seed) if n_samples > 1 else np.ones((1, 25))
    n_generations = 1 if scales else 4
    expected = naive.run(
        X, y, counts, FUNCTIONS, 12, n_generations, partial(stream, seed), height, scales=scales, forces=forces
    )
    estimator = sg.GOMEARegressor(
        population_size=12,
        n_estimators=n_samples,
        template_height=height,
        forced_improvement=forces,
        linear_scaling=scales,
        standardize=False,
    )
    with ExitStack() as stack:
        method = stack.enter_context(method_of(estimator, X, y, seed))
        state = method.init()
        for generation, (population, elites, operands) in enumerate(expected):
            state = method.step(state) if generation else state
            assert genes_of(method, state, state.genes) == population
            assert [uproot(state.forest, root) for root in state.population] == naive.texts(population, operands)
            assert genes_of(method, state, state.elite_genes) == [genes for genes, _ in elites]
            np.testing.assert_allclose(state.elites.error, [error for _, error in elites], rtol=1e-9)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10_000), n=st.integers(2, 40), height=st.integers(1, 3), n_genes=st.sampled_from([2, 5, 400])
)
def test_entropies_and_the_linkage_tree_follow_their_definitions(seed, n, height, n_genes):
    rng = np.random.default_rng(seed)
    forest = sg.Forest(3)
    template = Template(forest, height, (-5.0, 5.0))
    constants = np.round(rng.uniform(-5, 5, size=500), 3)
    constants = np.unique(constants)
    shape = n, template.n_positions
    genes, other = (rng.integers(3, 9 + min(n_genes, constants.size), size=shape, dtype=np.int32) for _ in range(2))
    found, first = (entropies(as_symbols(g, constants, template.first_constant)) for g in (genes, other))
    as_genes = [[[gene_of(template, constants, s) for s in own] for own in g] for g in (genes, other)]
    expected, expected_first = map(naive.entropies, as_genes)
    for (i, j), value in expected.items():
        assert found[i, j] == pytest.approx(value, abs=1e-12)
    information = mutual_information(found, first)
    known = naive.information(expected, expected_first)
    for (i, j), value in known.items():
        assert information[i, j] == information[j, i] == pytest.approx(value, abs=1e-9)
    sets = linkage_sets(information, np.random.default_rng(seed))
    own = [set(sets.positions[a:b].tolist()) for a, b in zip(sets.offsets[:-1], sets.offsets[1:], strict=True)]
    assert len(own) == 2 * template.n_positions - 2
    everybody = set(range(template.n_positions))
    assert set().union(*own) == everybody
    assert everybody not in own
    for a in own:
        for b in own:
            assert a <= b or b <= a or not a & b


def test_random_similarities_give_the_oracles_tree():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 16))
        half = np.triu(rng.random((n, n)).round(1 if seed % 2 else 12), 1)  # with ties, and without
        similarity = half + half.T
        sets = linkage_sets(similarity, np.random.default_rng(seed))
        own = [sets.positions[a:b].tolist() for a, b in zip(sets.offsets[:-1], sets.offsets[1:], strict=True)]
        pairs = {(i, j): similarity[i, j] for i in range(n) for j in range(i + 1, n)}
        assert own == naive.sets_of(pairs, n, np.random.default_rng(seed))


def test_a_first_population_has_no_mutual_information():
    template = Template(sg.Forest(3), 3, (-5.0, 5.0))
    genes, constants = template.draw(50, np.zeros(0), np.random.default_rng(0))
    own = entropies(as_symbols(genes, constants, template.first_constant))
    assert (mutual_information(own, own) == 0).all()


def test_the_first_half_is_full_and_constants_have_three_decimals():
    template = Template(sg.Forest(3), 3, (-2.0, 1.0))
    genes, constants = template.draw(41, np.zeros(0), np.random.default_rng(0))
    n_functions = template.functions.size
    assert (genes[:20][:, template.is_inner] < n_functions).all()
    assert (genes[:, ~template.is_inner] >= n_functions).all()
    assert 0.3 < (genes[20:][:, template.is_inner] < n_functions).mean() < 0.7
    assert ((constants >= -2) & (constants <= 1)).all()
    np.testing.assert_array_equal(constants, np.round(constants, 3))
    again, more = template.draw(30, constants, np.random.default_rng(1))
    np.testing.assert_array_equal(more[: constants.size], constants)
    assert np.unique(more).size == more.size > constants.size
    assert again.max() < template.first_constant + more.size
    none, empty = Template(sg.Forest(3), 2, None).draw(20, np.zeros(0), np.random.default_rng(0))
    assert empty.size == 0
    assert none.max() < template.first_constant


def test_unary_functions_alone_make_a_chain():
    forest = sg.Forest(2, sg.PrimitiveSet(("sin", "cos")))
    template = Template(forest, 4, None)
    assert template.n_positions == 5
    X, y = random_data(0, 40, n_features=2)
    settings = {"functions": ("sin", "cos"), "population_size": 20, "generations": 2, "template_height": 4}
    model = sg.GOMEARegressor(**settings, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_individuals_never_get_worse_and_introns_cost_nothing():
    X, y = random_data(1, 60)
    estimator = sg.GOMEARegressor(population_size=40, template_height=4)
    with method_of(estimator, X, y, 3) as method:
        state = method.init()
        for _ in range(4):
            before = state.errors.copy()
            n_before = state.n_evaluations
            state = method.step(state)
            assert (state.errors <= before).all()
            assert state.n_evaluations - n_before < 40 * (2 * method.template.n_positions - 2)


def test_a_converged_population_is_drawn_anew():
    X, y = random_data(1, 60)
    estimator = sg.GOMEARegressor(population_size=4, template_height=1, functions=("add", "mul"), constant_range=None)
    with method_of(estimator, X, y, 0) as method:
        state = method.init()
        sizes = []
        for _ in range(40):
            was_equal = (state.genes == state.genes[0]).all()
            best = state.elites.error[0]
            genes = state.genes
            state = method.step(state)
            assert state.elites.error[0] <= best
            if was_equal:
                sizes.append(len(np.unique(np.concatenate([genes, state.genes]), axis=0)))
    assert sizes
    assert max(sizes) > 1


def test_populations_of_the_multi_start_scheme_take_turns():
    turns = []

    def make(i, size):
        return [i, size]

    def advance(i, population):
        turns.append(i)
        return Turn(population, 10.0 - i, has_converged=False)

    starts = multi_start.first_start(8, np.inf)
    populations = [[0, 8]]
    for _ in range(4):
        populations, starts = multi_start.step(populations, starts, 8, 1000, 3, make, advance)
    # The second has its turn after three of the first; it is better, so the first ends in its next turn, and the second
    # is the smallest.
    assert turns == [0, 0, 0, 1, 0, 1]
    assert populations == [None, [1, 16]]
    assert starts.size.tolist() == [0, 16]
    populations, starts = multi_start.step(populations, starts, 8, 1000, 3, make, advance)
    assert turns[6:] == [1, 2]
    assert populations == [None, [1, 16], [2, 32]]
    populations, starts = multi_start.step(populations, starts, 8, 1000, 3, make, advance)
    assert turns[8:] == [1, 2]
    assert populations == [None, None, [2, 32]]


def test_converged_populations_end_and_a_larger_one_follows():
    starts = multi_start.first_start(8, np.inf)
    made = []

    def make(i, size):
        made.append(size)
        return i

    populations, starts = multi_start.step(
        [0], starts, 8, 1000, 4, make, lambda i, own: Turn(own, 1.0, has_converged=True)
    )
    assert populations == [None, 1]
    assert made == [16]
    assert starts.size.tolist() == [0, 16]


@pytest.mark.parametrize("is_hard", [True, False])
def test_the_multi_start_scheme_grows_and_resumes(tmp_path, is_hard):
    X, y = random_data(1, 60)
    y = y if is_hard else X[:, 0]  # which populations soon find, and end
    settings = {"population_size": 10, "n_subgenerations": 2, "template_height": 2, "random_state": 0}
    whole = sg.GOMEARegressor(**settings, generations=9).fit(X, y)
    file = tmp_path / "run.npz"
    sg.GOMEARegressor(**settings, generations=5, checkpoint=file).fit(X, y)
    resumed = sg.GOMEARegressor(**settings, generations=9, checkpoint=file).fit(X, y)
    np.testing.assert_array_equal(resumed.predict(X), whole.predict(X))
    with method_of(sg.GOMEARegressor(**settings), X, y, 0) as method:
        state = method.init()
        for _ in range(5):
            state = method.step(state)
        assert state.starts.size.size > 1
        assert state.starts.size.sum() == len(state.genes)


def test_populations_stay_within_what_memory_was_counted_for():
    assert multi_start.most_individuals(10, None, 1000) == 10
    assert multi_start.most_individuals(10, 10, 1000) == 10 * (1 + 2 + 4 + 8)
    assert multi_start.most_individuals(10, 10, 999) == 10 * (1 + 2 + 4)
    X = random_data(1, 60)[0]
    settings = {"population_size": 4, "template_height": 2, "generations": 18, "n_subgenerations": 5}
    estimator = sg.GOMEARegressor(**settings, forced_improvement=True)
    with method_of(estimator, X, np.ones(60), 0) as method:  # nothing can be learnt: populations converge at once
        state = method.init()
        for _ in range(18):
            state = method.step(state)
            assert 4 <= state.starts.size.sum() <= 12


@pytest.mark.parametrize("name", ["genes", "elite_genes"])
def test_genes_of_a_damaged_checkpoint_are_refused(name):
    X, y = random_data(1, 30)
    with method_of(sg.GOMEARegressor(population_size=10, template_height=2), X, y, 0) as method:
        arrays = method.to_arrays(method.init())
        for place, symbol in ((0, 10_000), (0, -1), (3, 0)):  # position 3 is at the bottom of the template
            damaged = arrays[name].copy()
            damaged[0, place] = symbol
            with pytest.raises(ValueError, match="genes that do not go with the template"):
                method.from_arrays({**arrays, name: damaged})


def test_an_ensemble_has_a_member_for_each_sample_and_its_own_intervals():
    X, y = random_data(1, 200)
    settings = {"population_size": 40, "generations": 2, "template_height": 3, "random_state": 0}
    model = sg.GOMEARegressor(**settings, n_estimators=5, prune=False).fit(X, y)
    assert len(model.ensemble_) == 5
    assert model.predict_interval(X).shape == (200, 2)
    assert 0 < model.oob_score_ < 1
    single = sg.GOMEARegressor(**settings).fit(X, y)
    assert not hasattr(single, "oob_score_")


def test_the_small_template_has_few_nodes():
    X, y = random_data(1, 100)
    model = sg.GOMEARegressor.small_template(population_size=30, generations=3, random_state=0).fit(X, y)
    assert model.ensemble_[0].evolved_size <= 31
    assert sg.GOMEAClassifier.small_template().template_height == 4
    with pytest.raises(ValueError, match="template_height must be a whole number from 1 to 9, got 10"):
        sg.GOMEARegressor(template_height=10).fit(X, y)
