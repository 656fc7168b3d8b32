import pickle
import shutil
import subprocess

import numpy as np
import pytest

from symgrove import CpuEngine, Forest, PrimitiveSet, make_dataset, primitive
from symgrove.forest.primitive_table import BUILTIN, Primitive
from tests.naive.programs import MEANING

HOSTILE = [0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1e-300, 1e-45, 1e-38, 1e-10, 1e-3, 0.5, 1.0, -1.0, np.pi, 79.9, 80.1]
HOSTILE += [88.0, 709.0, 1e3, -1e3, 1e5, 9.99e5, 1.01e6, -3e7, 1e15, 1e19, 1e30, 3e38, 1e154, 1e300, 1.7e308]
HOSTILE += [np.inf, -np.inf, np.nan]
# Only + - * / and the square root are involved: the same bits. The others are accurate to a few ulp.
EXACT = {"add", "sub", "mul", "div", "pdiv", "aq", "min", "max", "step", "sqrt", "square", "cube", "neg", "abs"}
EXACT |= {"plain_div", "plain_sqrt"}


def run_block(name, a, b, eps=1e-10):
    """Outputs of a primitive's compiled block, which also takes inputs that no data set may hold."""
    data = make_dataset(np.ones((a.size, 2)), np.zeros(a.size), a.dtype)
    data.columns[0], data.columns[1] = a, b
    primitives = PrimitiveSet((name,), epsilon=eps)
    forest = Forest(2, primitives)
    operands = [forest.feature(i) for i in range(BUILTIN[name].arity)]
    return CpuEngine(data, primitives).outputs(forest, [forest.apply(name, *operands)])[0]


def grid(dtype):
    rng = np.random.default_rng(0)
    with np.errstate(over="ignore"):
        hostile = np.array([*HOSTILE, *(-v for v in HOSTILE)]).astype(dtype)
    smooth = np.concatenate([rng.normal(size=2000), rng.uniform(-100, 100, 2000), 10 ** rng.uniform(-30, 30, 2000)])
    near_zeros = np.concatenate([np.arange(-400, 400) * np.pi / 2, 1 + rng.normal(size=500) * 1e-6])
    x = np.concatenate([hostile, smooth.astype(dtype), near_zeros.astype(dtype)])
    a, b = np.meshgrid(hostile, hostile)
    return np.concatenate([x, a.ravel()]), np.concatenate([rng.permutation(x), b.ravel()])


def ulp_distance(x, y):
    """Units in the last place between finite numbers of one dtype."""
    with np.errstate(all="ignore"):
        return np.abs(x.astype(np.float64) - y.astype(np.float64)) / np.spacing(np.abs(y)).astype(np.float64)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", list(BUILTIN))
def test_every_primitive_agrees_with_numpy_also_on_hostile_inputs(name, dtype):
    a, b = grid(dtype)
    result = run_block(name, a, b)
    operands = (a, b)[: BUILTIN[name].arity]
    with np.errstate(all="ignore"):
        if name in EXACT:
            expected = MEANING[name](*operands, a.dtype.type(1e-10))
        else:  # NumPy's own float32 functions are off by an ulp or two; round the float64 ones
            expected = MEANING[name](*(v.astype(np.float64) for v in operands), np.float64(a.dtype.type(1e-10)))
            if name == "log" and dtype == "float32":
                expected = np.log((np.abs(a) + a.dtype.type(1e-10)).astype(np.float64))
            expected = expected.astype(dtype)
    is_finite = np.isfinite(expected)
    np.testing.assert_array_equal(result[~is_finite], expected[~is_finite])
    if name not in ("min", "max"):  # NumPy itself returns either zero there
        is_zero = expected == 0
        np.testing.assert_array_equal(np.signbit(result[is_zero]), np.signbit(expected[is_zero]))
    distance = ulp_distance(result[is_finite], expected[is_finite])
    assert distance.max() <= (0 if name in EXACT else 4), (a[is_finite][np.argmax(distance)], distance.max())


@pytest.mark.parametrize("name", list(BUILTIN))
def test_numpy_meaning_in_the_table_is_the_definition(name):
    a, b = grid("float64")
    row = BUILTIN[name]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(row.meaning(a, b, 1e-6), MEANING[name](*(a, b)[: row.arity], 1e-6))


@pytest.mark.parametrize("name", list(BUILTIN))
def test_derivatives_agree_with_finite_differences(name):
    rng = np.random.default_rng(1)
    a, b = rng.uniform(0.3, 3, 200) * rng.choice([-1, 1], 200), rng.uniform(0.3, 3, 200) * rng.choice([-1, 1], 200)
    row, h = BUILTIN[name], 1e-6
    assert len(row.derivative) == row.arity
    for operand, derivative in enumerate(row.derivative):
        up, down = [a, b], [a, b]
        up[operand], down[operand] = up[operand] + h, down[operand] - h
        with np.errstate(invalid="ignore"):
            numeric = (row.meaning(*up, 1e-3) - row.meaning(*down, 1e-3)) / (2 * h)
            found = derivative(a, b, 1e-3)
        is_known = np.isfinite(numeric)
        assert is_known.sum() > 20
        np.testing.assert_allclose(found[is_known], numeric[is_known], rtol=1e-5, atol=1e-7)


def test_derivatives_of_powers_of_numbers_that_are_not_positive():
    base, exponent = BUILTIN["power"].derivative
    a, b = np.array([-2.0, -2.0, 0.0, 0.0, 0.0, -1.5]), np.array([3.0, -2.0, 2.0, 1.0, 0.0, 0.0])
    with np.errstate(all="ignore"):
        assert base(a, b, 0.0).tolist() == [12.0, 0.25, 0.0, 1.0, 0.0, 0.0]
        assert exponent(a, b, 0.0).tolist() == [0.0] * 6


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_c_text_computes_the_numpy_meaning(tmp_path):
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=50) * 30, np.where(rng.random(50) < 0.2, 0.0, rng.normal(size=50))
    lines = [f'printf("%.17g\\n", {row.templates.c.format("a[i]", "b[i]", eps="1e-3")});' for row in BUILTIN.values()]
    source = "#include <math.h>\n#include <stdio.h>\n"
    source += "".join(f"{row.templates.c_helper}\n" for row in BUILTIN.values() if row.templates.c_helper)
    source += f"double a[] = {{{','.join(map(repr, a.tolist()))}}}, b[] = {{{','.join(map(repr, b.tolist()))}}};\n"
    source += "int main(void) { for (int i = 0; i < 50; i++) {\n" + "\n".join(lines) + "\n} return 0; }\n"
    (tmp_path / "p.c").write_text(source)
    subprocess.run(["gcc", "-O0", "-o", tmp_path / "p", tmp_path / "p.c", "-lm"], check=True)
    out = subprocess.run([tmp_path / "p"], check=True, capture_output=True, text=True).stdout.split()
    computed = np.array(out, dtype=float).reshape(50, -1)
    for column, row in enumerate(BUILTIN.values()):
        with np.errstate(all="ignore"):
            expected = row.meaning(a, b, 1e-3)
        np.testing.assert_allclose(computed[:, column], expected, rtol=1e-14, err_msg=row.name)


def test_epsilon_is_a_parameter_of_division_and_logarithm():
    zero = np.zeros(3)
    np.testing.assert_allclose(run_block("div", np.ones(3), zero, eps=1e-6), 1e6)
    np.testing.assert_allclose(run_block("log", zero, zero, eps={"log": 1e-2}), np.log(1e-2))
    assert PrimitiveSet(epsilon={"log": 1e-2}).epsilon_of("div") == 1e-10
    assert run_block("log", zero, zero, eps=0.0)[0] == -np.inf


def softplus(x):
    return np.log1p(np.exp(-abs(x))) + max(x, 0.0)


def raises(x):
    if x < 0:
        raise ValueError("negative")
    return x


def ratio(a, b):
    return (a + 0.5) / (b * b + 1.5)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_user_functions_become_primitives(dtype):
    primitives = PrimitiveSet(("add", primitive(softplus), primitive(ratio, name="quotient")))
    forest = Forest(2, primitives)
    X = np.random.default_rng(0).normal(size=(700, 2)).astype(dtype)
    root = forest.apply("quotient", forest.apply("softplus", forest.feature(0)), forest.feature(1))
    result = CpuEngine(make_dataset(X, X[:, 0], dtype), primitives).outputs(forest, [root])[0]
    expected = ratio(np.logaddexp(0, X[:, 0].astype(float)), X[:, 1].astype(float))
    np.testing.assert_allclose(result, expected, rtol=1e-5 if dtype == "float32" else 1e-14)


def test_a_user_function_that_cannot_be_compiled_says_so():
    def opaque(x):
        return open(x)

    primitives = PrimitiveSet((primitive(opaque),))
    with pytest.raises(ValueError, match=r"primitive 'opaque' cannot be compiled"):
        CpuEngine(make_dataset(np.ones((3, 1)), np.ones(3)), primitives)


def test_primitives_and_sets_survive_pickling():
    primitives = PrimitiveSet(("mul", primitive(softplus)), epsilon=1e-6)
    copy = pickle.loads(pickle.dumps(primitives))
    assert [p.name for p in copy.functions] == ["mul", "softplus"]
    assert copy.functions[0] is BUILTIN["mul"]
    assert copy.functions[1].code == primitives.functions[1].code
    assert copy.epsilon_of("div") == 1e-6


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        (("add", "sine"), r"unknown primitive 'sine'. Did you mean 'sin'\? Accepted: abs, add,"),
        ((), "functions is empty"),
        (("add", "add"), "names 'add' more than once"),
        ((abs,), "give names of built-in primitives or symgrove.primitive"),
    ],
)
def test_bad_function_sets_get_a_clear_error(functions, message):
    with pytest.raises((ValueError, TypeError), match=message):
        PrimitiveSet(functions)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"function": lambda x: x}, "is not a plain name"),
        ({"function": softplus, "name": "sin"}, "is taken by a built-in"),
        ({"function": softplus, "name": "x3"}, "reads like a feature"),
        ({"function": softplus, "name": "constant"}, "is reserved"),
        ({"function": raises}, "raises, which compiled code cannot"),
        ({"function": lambda a, b, c: a, "name": "f"}, "takes 3 arguments; primitives take one or two"),
        ({"function": lambda *a: a, "name": "f"}, "plain positional arguments"),
        ({"function": ratio, "derivative": (ratio,)}, "takes 2 arguments but has 1 derivatives"),
    ],
)
def test_bad_user_primitives_get_a_clear_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        primitive(**arguments)


@pytest.mark.parametrize("epsilon", [-1.0, np.nan, np.inf, "small", {"sqrt": 1e-3}])
def test_bad_epsilon_gets_a_clear_error(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        PrimitiveSet(epsilon=epsilon)


def test_two_different_user_functions_of_one_name_are_refused():
    first, second = primitive(softplus, name="f"), primitive(ratio, name="f")
    with pytest.raises(ValueError, match="two different primitives called 'f'"):
        PrimitiveSet((first, second))
    assert isinstance(first, Primitive)
