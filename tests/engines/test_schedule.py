"""Schedules: steps, levels and rows as defined, and enough for an engine that has neither addresses nor an order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from symgrove import Forest, PrimitiveSet
from symgrove.engines.placing import place
from symgrove.engines.schedule import levels, make_schedule, share_scratch
from symgrove.engines.schedule_kernels import COPY, FILL, Cache
from symgrove.engines.vectors import SLAB_BYTES, VectorStore
from tests.naive import programs as naive
from tests.naive import schedules as naive_schedules
from tests.strategies import ALL, plant, programs, random_data, uproot

EXACT = ("add", "sub", "mul", "min", "max", "sqrt", "square", "neg", "abs")
EPSILON = ALL.epsilon_by_code()
N_FEATURES = 3


class Slots:
    """A store without memory: vectors of some nodes lie in some of its slots, others are free."""

    def __init__(self, forest, rng):
        self.n_vectors = int(rng.integers(0, 2 * len(forest)))
        slots = rng.permutation(self.n_vectors).tolist()
        n_free = int(rng.integers(0, len(slots) + 1))
        self.free = [slots.pop() for _ in range(n_free)]
        functions = np.flatnonzero(forest.columns.code[: len(forest)] > 1)
        candidates = rng.permutation(functions)[: int(rng.integers(0, functions.size + 1))].tolist()
        self.slots = dict(zip(candidates, slots, strict=False))
        self.was_computed = set(functions[rng.random(functions.size) < 0.5].tolist())

    def resize(self, n_nodes):
        cache = Cache(np.full(n_nodes, -1), np.zeros(n_nodes, dtype=bool))
        cache.slot[list(self.slots)] = list(self.slots.values())
        cache.was_computed[list(self.was_computed)] = True
        return cache

    def free_slots(self, n_wanted):
        return np.array(self.free[:n_wanted], dtype=np.int64)


@st.composite
def situations(draw):
    """A forest, distinct ascending roots, a store, and whether roots are to be kept."""
    forest = Forest(N_FEATURES, ALL)
    population = draw(st.lists(programs(N_FEATURES, EXACT, max_leaves=12), min_size=1, max_size=8))
    roots = np.unique([plant(forest, program) for program in population])
    store = Slots(forest, np.random.default_rng(draw(st.integers(0, 10**6))))
    return forest, roots, store, draw(st.booleans())


def schedule_of(situation):
    forest, roots, store, keep_roots = situation
    return make_schedule(forest, roots, store, EPSILON, np.dtype(np.float64), keep_roots)


def named(schedule, slot):
    kinds = (("scratch", schedule.ranges.scratch), ("root", schedule.ranges.roots), ("kept", schedule.ranges.kept))
    return next(((kind, int(slot - first)) for kind, first in kinds if slot >= first), ("feature", int(slot)))


def named_steps(schedule):
    steps = []
    for code, out, left, right, scalar in zip(*schedule.steps, schedule.scalars, strict=True):
        operands = [named(schedule, slot) for slot in (left, right) if slot >= 0]
        steps.append((code, scalar, named(schedule, out), *operands))
    return steps


def nodes_of(forest):
    nodes = []
    for node in range(len(forest)):
        name, *operands = uproot(forest, node)
        is_leaf = name in ("feature", "constant")
        nodes.append((name, *operands) if is_leaf else (ALL[name].code, *forest.children(node)))
    return nodes


@given(situations())
def test_steps_and_what_is_kept_are_as_defined(situation):
    forest, roots, store, keep_roots = situation
    schedule = schedule_of(situation)
    expected, kept = naive_schedules.steps_and_kept(
        nodes_of(forest), roots.tolist(), store.slots, store.was_computed, store.free, EPSILON, keep_roots
    )
    assert named_steps(schedule) == expected
    assert dict(zip(schedule.kept.tolist(), schedule.kept_slots.tolist(), strict=True)) == kept
    codes = forest.columns.code[schedule.computed]
    np.testing.assert_array_equal(codes, schedule.steps.code[schedule.steps.code > FILL])
    assert schedule.n_scratch == sum(step[2][0] == "scratch" for step in expected)


@given(situations())
def test_levels_are_as_defined(situation):
    schedule = schedule_of(situation)
    assert levels(schedule).tolist() == naive_schedules.levels(named_steps(schedule))


@given(situations(), st.booleans())
def test_rows_are_shared_by_results_that_do_not_exist_at_once(situation, with_roots):
    schedule = schedule_of(situation)
    steps = named_steps(schedule)
    rows, n_rows = share_scratch(schedule, with_roots=with_roots)
    kinds = ("root", "scratch") if with_roots else ("scratch",)
    assert n_rows == naive_schedules.n_rows(steps, kinds)
    first = {"root": 0, "scratch": schedule.n_roots if with_roots else 0}
    row_of = {(kind, i): rows[first[kind] + i] for _, _, (kind, i), *_ in steps if kind in kinds}
    held = {}
    for _, _, out, *operands in steps:
        read = [operand for operand in operands if operand in row_of]
        assert [held[row_of[operand]] for operand in read] == read
        if out in row_of:
            assert row_of[out] not in [row_of[operand] for operand in read]
            assert 0 <= row_of[out] < n_rows
            held[row_of[out]] = out


@given(situations(), st.randoms(use_true_random=False))
def test_an_engine_can_run_level_by_level_in_any_order(situation, random):
    forest, roots, store, _ = situation
    schedule = schedule_of(situation)
    X, _ = random_data(0, 20)
    values = {("feature", i): X[:, i] for i in range(N_FEATURES)}
    values |= {("kept", slot): naive.evaluate(uproot(forest, node), X) for node, slot in store.slots.items()}
    steps = list(zip(levels(schedule), named_steps(schedule), strict=True))
    for level in sorted({level for level, _ in steps}):
        now = [step for step_level, step in steps if step_level == level]
        random.shuffle(now)
        results = {}
        for code, scalar, out, *operands in now:
            if code == FILL:
                results[out] = np.full(20, scalar)
            elif code == COPY:
                results[out] = values[operands[0]]
            else:
                meaning = naive.MEANING[ALL.by_code[code].name]
                with np.errstate(all="ignore"):
                    results[out] = meaning(*(values[operand] for operand in operands), scalar)
        values |= results
    places = {("root", i): root for i, root in enumerate(roots)}
    places |= {("kept", slot): node for node, slot in zip(schedule.kept, schedule.kept_slots, strict=True)}
    for slot, node in places.items():
        np.testing.assert_array_equal(values[slot], naive.evaluate(uproot(forest, node), X))


@given(situations())
def test_places_are_those_of_the_slots(situation):
    schedule = schedule_of(situation)
    features, vectors = 10_000 + 8 * np.arange(N_FEATURES), 20_000 + 8 * np.arange(situation[2].n_vectors)
    placed = place(schedule, features, vectors)
    rows, n_rows = share_scratch(schedule)
    expected = {
        "feature": lambda i: features[i],
        "kept": lambda i: vectors[i],
        "root": lambda i: -1 - i,
        "scratch": lambda i: -1 - schedule.n_roots - rows[i],
    }
    for column in ("out", "left", "right"):
        for slot, found in zip(getattr(schedule.steps, column), getattr(placed.steps, column), strict=True):
            kind, i = named(schedule, slot)
            assert slot < 0 or found == expected[kind](i)
    assert placed.n_scratch_rows == n_rows


def test_slots_of_the_store_have_memory_of_their_own_and_are_used_again():
    store = VectorStore(100_000, np.dtype(np.float64), 30 * 800_064)
    store.resize(50)
    slots = store.free_slots(40)
    assert sorted(slots) == list(range(30))
    assert store.n_vectors == store.addresses.size == 30 > SLAB_BYTES // store.vector_bytes
    assert (np.diff(np.sort(store.addresses)) >= 800_000).all()
    nodes = np.arange(3, 33)
    store.keep(nodes, slots)
    np.testing.assert_array_equal(store.addresses_of(nodes), store.addresses[slots])
    assert not store.addresses_of(np.array([0, 2, 33, 49])).any()
    ids = np.full(50, -1)
    ids[10:50] = np.arange(40)
    store.collected(ids)
    np.testing.assert_array_equal(store.addresses_of(np.arange(23)), store.addresses[slots[7:]])
    assert set(store.free_slots(40)) == set(slots[:7])
    store.forget()
    assert (store.n_vectors, len(store.addresses)) == (0, 0)


def test_epsilon_by_code_is_that_of_the_name():
    primitives = PrimitiveSet(("add", "log", "div"), epsilon={"log": 1e-3})
    found = primitives.epsilon_by_code()
    assert found[primitives["log"].code] == 1e-3
    assert found[primitives["div"].code] == 1e-10
