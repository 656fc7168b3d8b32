"""Formulas of every size by evolution: kernels beside their definitions, insertions, translation, what is found."""

import numpy as np
import pytest
import sympy
from scipy.optimize import least_squares

from symgrove.forest.as_sympy import to_sympy
from symgrove.methods.law.archive import Archive, Archived
from symgrove.methods.law.evolving import evolve
from symgrove.methods.law.findings import Findings, Found
from symgrove.methods.law.fitted_programs import FittedPrograms
from symgrove.methods.law.formulas import LawFormulas, RowSet
from symgrove.methods.law.functions import CHOICES, OPERATIONS
from symgrove.methods.law.insertions import JudgedRows, best_insertions, make_terms, simple_terms
from symgrove.methods.law.least_squares_kernels import MOST_NODES
from symgrove.methods.law.search import front_of
from symgrove.methods.law.task import LawTask
from symgrove.methods.law.translating import formula_of, program_of
from symgrove.variation.mixture import MixedVariation
from tests.naive import law as naive

N_ROWS = 40


def make_programs(n_features=3, seed=0, weight=None, low=0.2, high=2.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(low, high, size=(N_ROWS, n_features))
    rows = RowSet(X, rng.normal(size=N_ROWS), weight)
    return FittedPrograms(rows, tuple(OPERATIONS))


def random_roots(programs, n=300, seed=0, height=4):
    vary = MixedVariation(programs.forest, programs.target.columns, MOST_NODES, tree_height=height)
    return np.unique(vary.new(programs.forest, n, np.random.default_rng(seed)))


def test_programs_are_scaled_to_the_target_and_those_without_values_have_infinite_errors():
    weight = np.random.default_rng(3).random(N_ROWS) + 0.1
    programs = make_programs(weight=weight)
    roots = random_roots(programs)
    fits, (columns, y, weights) = programs.fit(roots, 0), programs.target
    n_usable = 0
    for root, own, error in zip(roots.tolist(), fits.lines, fits.errors, strict=True):
        f = naive.value_of(programs.forest, root, columns)
        if np.isinf(error):
            outside = not np.isfinite(f).all() or naive.divides_by_zero_between_rows(programs.forest, root, columns)
            inner = [naive.value_of(programs.forest, node, columns) for node in programs.forest.reachable([root])]
            is_wild = any(not np.isfinite(values).all() or np.abs(values).max() > 50 for values in inner)
            assert outside or is_wild or np.ptp(f) <= 1e-6 * np.abs(f).max()
            continue
        expected, mean_square = naive.line(f, y, weights)
        assert error == pytest.approx(mean_square, rel=1e-6)
        if np.ptp(f) > 1e-3 * np.abs(f).max():
            np.testing.assert_allclose(own[0] + own[1] * f, expected[0] + expected[1] * f, rtol=1e-6, atol=1e-8)
            n_usable += 1
    assert n_usable > 100


def test_slopes_of_nodes_are_differences():
    programs = make_programs(seed=4)
    n_checked = 0
    for root in random_roots(programs, 150, seed=5).tolist():
        found = programs.slopes(root, programs.target.columns)
        if found is None:
            continue
        for node, values, slope in zip(found.nodes.tolist(), found.values, found.slopes, strict=True):
            step = 1e-6 * (1 + np.abs(values))
            up, down = (
                naive.value_of(programs.forest, root, programs.target.columns, {node: values + sign * step})
                for sign in (1, -1)
            )
            differences = (up - down) / (2 * step)
            # Extremes have no slope where their operands cross, nor do roots and arcsines at their ends.
            is_smooth = np.isfinite(differences) & (np.abs(up - 2 * found.values[-1] + down) <= 1e-6 * (1 + np.abs(up)))
            is_near = np.isclose(slope, differences, rtol=1e-3, atol=1e-4 * (1 + np.abs(found.values[-1])))
            assert (is_near | ~is_smooth).mean() > 0.9
            n_checked += is_smooth.any()
    assert n_checked > 200


def test_constants_are_those_of_least_squares():
    programs = make_programs(seed=6)
    forest, (columns, _, weight) = programs.forest, programs.target
    x, y, z = columns
    target = 3.0 + 2.0 * np.exp(-1.7 * x) * z / (y + 0.4)
    programs.target = programs.target._replace(y=target + 0.01 * np.sin(40 * x))
    a, b, c = (forest.feature(j) for j in range(3))
    inner = forest.apply("plain_exp", forest.apply("mul", forest.constant(-1.0), a))
    quotient = forest.apply("plain_div", forest.apply("mul", inner, c), forest.apply("add", b, forest.constant(1.0)))
    fits = programs.fit(np.array([quotient]), 30)

    def residuals(p):
        return p[0] + p[1] * np.exp(p[2] * x) * z / (y + p[3]) - programs.target.y

    expected = least_squares(residuals, [0.0, 1.0, -1.0, 1.0])
    assert fits.errors[0] == pytest.approx(np.mean(expected.fun**2), rel=1e-6)
    assert sorted(fits.constants[0, :2]) == pytest.approx(sorted(expected.x[2:]), rel=1e-4)
    assert (weight == 1).all()


def test_constants_and_parts_are_replaced_wherever_they_stand():
    programs = make_programs(seed=7)
    forest = programs.forest
    for root in random_roots(programs, 100, seed=8).tolist():
        nodes = forest.reachable([root])
        places = [node for node in nodes if forest.name(node) == "constant"]
        constants = np.zeros((1, 16))
        constants[0, : len(places)] = np.arange(len(places)) + 0.5
        with_constants = int(programs.with_constants(np.array([root]), constants)[0])
        columns = programs.target.columns
        replaced = {node: np.full(N_ROWS, i + 0.5) for i, node in enumerate(places)}
        expected = naive.value_of(forest, root, columns, replaced)
        np.testing.assert_array_equal(naive.value_of(forest, with_constants, columns), expected)
        node = nodes[len(nodes) // 2]
        changed = int(programs.with_replaced(*(np.array([each]) for each in (root, node, forest.feature(0))))[0])
        expected = naive.value_of(forest, root, columns, {node: columns[0]})
        np.testing.assert_array_equal(naive.value_of(forest, changed, columns), expected)


def build(forest, spec):
    """A program from nested tuples."""
    if isinstance(spec, str):
        return forest.feature("xyz".index(spec))
    if isinstance(spec, float):
        return forest.constant(spec)
    return forest.apply(spec[0], *(build(forest, part) for part in spec[1:]))


@pytest.mark.parametrize(
    "spec",
    [
        "x",
        ("mul", "x", "y"),
        ("mul", ("mul", 2.5, "x"), "y"),
        ("add", "x", "y"),
        ("sub", ("mul", 1.5, "x"), ("mul", 2.5, "y")),
        ("sub", "x", ("mul", "y", "z")),
        ("plain_div", "x", "y"),
        ("add", ("square", "x"), 3.5),
        ("plain_sqrt", ("add", "x", "y")),
        ("plain_log", ("mul", 2.5, "x")),
        ("max", "x", ("max", "y", 1.5)),
        ("add", ("plain_div", ("mul", "x", ("max", "y", 1.5)), "z"), 2.5),
    ],
)
def test_sizes_are_those_of_sympy(spec):
    programs = make_programs()
    root = build(programs.forest, spec)
    size = int(programs.sizes(np.array([root]))[0])
    expression = sympy.Float(0.7) + sympy.Float(1.3) * to_sympy(programs.forest, root)
    assert size == naive.sympy_size(sympy.expand(expression, deep=False))


def test_the_term_that_is_missing_is_inserted_where_it_is_missing():
    programs = make_programs(seed=9)
    forest, (columns, _, weight) = programs.forest, programs.target
    x, y, z = columns
    # What is missing is y / z within the root.
    programs.target = programs.target._replace(y=1.0 + 2.0 * np.sqrt(x + 0.05 * y / z))
    root = forest.apply("plain_sqrt", forest.feature(0))
    fits = programs.fit(np.array([root]), 0)
    parent = Archived(float(fits.errors[0]), root, tuple(fits.lines[0]))
    rows = JudgedRows(columns, programs.target.y, weight)
    functions = ("mul", "plain_div", "square", "max")
    terms = make_terms(programs, np.unique(simple_terms(forest, columns, functions)), rows)
    old, new = best_insertions(programs, parent, terms, rows, 5, 1.0, np.random.default_rng(0))
    changed = programs.with_replaced(np.full(old.size, root), old, new)
    better = programs.fit(changed, 10)
    assert better.errors.min() < 1e-6 * parent.error
    best = int(changed[np.argmin(better.errors)])
    assert "x1 / x2" in str(to_sympy(forest, best)).replace("x1/x2", "x1 / x2")


def test_programs_and_formulas_say_the_same():
    programs = make_programs(seed=10)
    formulas, rows = LawFormulas(3), RowSet(programs.target.columns.T, programs.target.y)
    n_checked = 0
    for root in random_roots(programs, 150, seed=11, height=3).tolist():
        f = naive.value_of(programs.forest, root, programs.target.columns)
        translated = formula_of(formulas, Archived(0.0, root, (0.3, -1.7)), programs.forest)
        if translated is None or not np.isfinite(f).all():
            continue
        formula, values = translated
        np.testing.assert_allclose(formulas.predict(formula, rows, values), 0.3 - 1.7 * f, rtol=1e-9, atol=1e-9)
        n_checked += 1
    assert n_checked > 60
    findings = Findings(formulas, rows, rows, rows, lambda: False)
    x, y = formulas.feature(0), formulas.feature(1)
    formula = formulas.add(formulas.power(x, 1.5), formulas.div(formulas.free(0), formulas.power(y, 3)))
    findings.keep(found := Found(formula, (2.5,), 0.0, 0.0, "", 0))
    back = program_of(formulas, found, programs.forest)
    expected = formulas.predict(formula, rows, found.values)
    np.testing.assert_allclose(naive.value_of(programs.forest, back, programs.target.columns), expected)
    third = Found(formulas.power(formulas.add(x, formulas.free(0)), 1 / 3), (2.5,), 0.0, 0.0, "", 0)
    assert program_of(formulas, third, programs.forest) is None


def test_an_archive_keeps_the_best_of_every_size():
    archive = Archive(2, 10)
    for size, error in ((3, 4.0), (3, 2.0), (3, 3.0), (3, 2.0 + 1e-12), (5, 5.0), (7, 1.0)):
        archive.add(size, Archived(error, 0, (0.0, 1.0)))
    assert [each.error for each in archive.by_size[3]] == [2.0, 3.0]
    sizes, errors = np.array([3, 3, 9, 11, 0]), np.array([2.5, 3.5, 9.0, 0.1, 0.1])
    assert archive.welcomes(sizes, errors).tolist() == [0, 2]
    archive.thin_out()
    assert sorted(archive.by_size) == [3, 7]


def noisy_task(seed=0, is_over=lambda: False, weight=None):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 3, size=(300, 4))
    y = 2.0 * np.maximum(X[:, 0], 0.7) * X[:, 1] - 0.5 * X[:, 2] ** 2 + rng.normal(scale=0.1, size=300)
    return LawTask(X, y, weight, seed, CHOICES, check=is_over)


def evolved(task, n_looks=None):
    findings = Findings(LawFormulas(task.n_features), task.few, task.some, task.rows, task.is_over)
    for look, _ in enumerate(evolve(task, findings), start=1):
        if look == n_looks:
            break
    return findings


def test_evolution_finds_a_threshold_and_the_same_with_the_same_seed():
    first, again = (front_of(evolved(noisy_task(), 2), is_law=False) for _ in range(2))
    assert [(each.size, each.error, each.values) for each in first] == [
        (each.size, each.error, each.values) for each in again
    ]
    assert min(each.error for each in first if each.size <= 20) < 1.3 * 0.1**2


def test_evolution_ends_when_it_should():
    n_asked = 0

    def is_over():
        nonlocal n_asked
        n_asked += 1
        return n_asked > 3

    task = noisy_task(is_over=is_over)
    findings = Findings(LawFormulas(4), task.few, task.some, task.rows, lambda: False)
    assert len([*evolve(task, findings)]) == 1
    assert findings.found
