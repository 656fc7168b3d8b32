"""What methods share, with a made-up method: its ids are a vector, a padded matrix and a field of a named tuple."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from symgrove.methods.base import ForestMethod, ForestState, check_ids, nodes_of
from tests.strategies import ALL, plant, programs, uproot


class Best(NamedTuple):
    root: NDArray[np.int64]
    error: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class MadeUpState(ForestState):
    population: NDArray[np.int64]
    teams: NDArray[np.int64]
    best: Best
    errors: NDArray[np.float64]
    ids: ClassVar[tuple[str, ...]] = ("population", "teams", "best.root")


class StubEngine:
    """Remembers what it was told."""

    def __init__(self):
        self.n_features = 3
        self.primitives = ALL
        self.watched_by = None
        self.is_closed = False
        self.told = []

    def collected(self, forest, new_of):
        self.told.append((forest, new_of))

    def watch(self, check):
        self.watched_by = check

    def close(self):
        self.is_closed = True


@dataclass(frozen=True, kw_only=True)
class MadeUp(ForestMethod):
    """Plants programs; each generation the population are sums of what it was, and the best stay."""

    individuals: tuple
    state_type: ClassVar[type[ForestState]] = MadeUpState

    def init(self):
        forest = self.new_forest()
        roots = np.array([plant(forest, program) for program in self.individuals])
        n = roots.size
        return MadeUpState(
            generation=0,
            n_evaluations=n,
            nodes=nodes_of(forest),
            population=roots[::2],
            teams=np.array([[roots[-1], -1, -1], [roots[0], roots[n // 2], -1]]),
            best=Best(roots[:1], np.array([0.5])),
            errors=np.arange(float(n)),
        )

    def advance(self, state):
        forest = state.forest
        older = np.roll(state.population, 1)
        sums = [forest.apply("add", a, b) for a, b in zip(state.population, older, strict=True)]
        return MadeUpState(
            generation=state.generation + 1,
            n_evaluations=state.n_evaluations + len(sums),
            nodes=nodes_of(forest),
            population=np.array(sums),
            teams=np.array([[-1, -1, -1], [sums[0], -1, -1]]),
            best=state.best,
            errors=state.errors + 1,
        )

    def describe(self, state):
        return {"generation": state.generation}

    def check_arrays(self, arrays, n_nodes):
        check_ids("population", arrays["population"], arrays["population"].shape, n_nodes)


def made_up(individuals=((("feature", 0)), ("add", ("feature", 1), ("constant", 2.0)), ("sqrt", ("feature", 2)))):
    return MadeUp(engine=StubEngine(), seed=0, individuals=tuple(individuals))


def ids_of(state):
    return {name: state.arrays()[name] for name in state.ids}


def individuals_of(state):
    """All individuals as nested tuples, None where there is none."""
    return {
        name: [None if i < 0 else uproot(state.forest, i) for i in own.ravel()] for name, own in ids_of(state).items()
    }


def same_arrays(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


several_programs = given(st.lists(programs(max_leaves=8), min_size=1, max_size=8))


@several_programs
@settings(max_examples=15)
def test_settling_keeps_what_ids_refer_to_and_nothing_else(individuals):
    method = made_up(individuals)
    state = method.advance(method.init())
    forest, before, n_before = state.forest, individuals_of(state), len(state.forest)
    settled = method.settle(state)
    assert settled.forest is forest
    assert individuals_of(settled) == before
    referred = np.concatenate([own[own >= 0] for own in ids_of(settled).values()])
    assert forest.reachable(referred) == list(range(len(forest)))
    np.testing.assert_array_equal(settled.teams < 0, state.teams < 0)
    assert settled.teams.min() == -1
    ((told_forest, new_of),) = method.engine.told
    assert told_forest is forest
    assert new_of.size == n_before
    np.testing.assert_array_equal(new_of[state.population], settled.population)


def test_settling_leaves_what_is_no_id_alone():
    method = made_up()
    state = method.advance(method.init())
    settled = method.settle(state)
    assert (settled.generation, settled.n_evaluations) == (state.generation, state.n_evaluations) == (1, 5)
    np.testing.assert_array_equal(settled.errors, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(settled.best.error, [0.5])
    assert type(settled.best) is Best


@several_programs
@settings(max_examples=15)
def test_a_generation_that_is_rolled_back_and_redone_changes_nothing(individuals):
    method, undisturbed = made_up(individuals), made_up(individuals)
    state = method.init()
    before, n_before = individuals_of(state), len(state.forest)
    unfinished = method.advance(state)
    n_unfinished = len(unfinished.forest)
    again = method.rollback(state)
    assert individuals_of(again) == before
    assert len(again.forest) == n_before
    ((_, new_of),) = method.engine.told
    assert new_of.tolist() == [*range(n_before), *[-1] * (n_unfinished - n_before)]
    for outdated in (unfinished, state):
        with pytest.raises(RuntimeError, match=f"state of generation {outdated.generation} is outdated"):
            _ = outdated.forest
    same_arrays(method.to_arrays(method.step(again)), undisturbed.to_arrays(undisturbed.step(undisturbed.init())))


@several_programs
@settings(max_examples=15)
def test_saved_states_go_on_as_if_nothing_had_happened(individuals):
    method, other = made_up(individuals), made_up(individuals)
    state = method.step(method.init())
    saved = method.to_arrays(state)
    loaded = other.from_arrays(saved)
    assert loaded.forest is not state.forest
    assert (loaded.generation, loaded.n_evaluations) == (state.generation, state.n_evaluations)
    assert individuals_of(loaded) == individuals_of(state)
    same_arrays(other.to_arrays(loaded), saved)
    same_arrays(other.to_arrays(other.step(loaded)), method.to_arrays(method.step(state)))


def test_arrays_that_do_not_go_with_the_method_are_refused():
    method = made_up()
    saved = method.to_arrays(method.init())
    with pytest.raises(ValueError, match=r"'population' must be \(2,\) ids of 6 nodes, got int64 of shape \(2,\)"):
        method.from_arrays({**saved, "population": saved["population"] + 6})
    with pytest.raises(KeyError, match=r"best\.error"):
        method.from_arrays({name: array for name, array in saved.items() if name != "best.error"})


def test_a_state_is_usable_until_its_run_has_gone_on():
    method = made_up()
    first = method.init()
    unfinished = method.advance(first)  # only appends
    assert first.forest is unfinished.forest
    method.settle(unfinished)
    for use in (method.to_arrays, method.advance, method.settle, method.step):
        for outdated in (first, unfinished):
            with pytest.raises(RuntimeError, match="outdated: its run has gone on, and its programs are gone"):
                use(outdated)


@pytest.mark.parametrize(
    ("ids", "lowest"),
    [
        (np.array([0, 1, 2]), 0),
        (np.array([[0, 1]]), 0),
        (np.array([0.0, 1.0]), 0),
        (np.array([0, 7]), 0),
        (np.array([-1, 0]), 0),
        (np.array([-2, 0]), -1),
    ],
)
def test_what_are_no_ids_is_refused(ids, lowest):
    with pytest.raises(ValueError, match=r"'roots' must be \(2,\) ids of 7 nodes, got"):
        check_ids("roots", ids, (2,), 7, lowest)
    check_ids("roots", np.array([lowest, 6]), (2,), 7, lowest)


def test_a_method_hands_the_engine_on_and_closes_it():
    def check():
        pass

    with made_up() as method:
        method.watch(check)
        assert method.engine.watched_by is check
        forest = method.new_forest()
        assert (forest.n_features, forest.primitives, len(forest)) == (3, ALL, 0)
        assert not method.engine.is_closed
    assert method.engine.is_closed
