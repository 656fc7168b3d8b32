"""Equations parse, are finite where rows are drawn, and say the same to NumPy and to SymPy."""

import numpy as np
import pytest
import sympy

from symgrove.experiments.laws import HALVES, built_in, collections, read_equations, titles

SIZES = {"strogatz": 14, "nguyen": 12, "livermore": 22, "keijzer": 15, "vladislavleva": 8}
ALL = [equation for own in built_in().values() for equation in own]
HEADER = "id,formula,ranges,half,rows,test,test_rows\n"


def test_collections_are_complete_held_back_and_have_sources():
    assert {name: len(own) for name, own in built_in().items()} == SIZES
    assert len({equation.name for equation in ALL}) == sum(SIZES.values())
    assert {equation.half for equation in ALL} == {"judged"}
    assert set(titles()) == set(SIZES)
    assert all(source for _, source in titles().values())


@pytest.mark.parametrize("equation", ALL, ids=lambda own: own.name)
def test_an_equation_is_finite_and_reads_all_its_features(equation):
    X, y = equation.training_rows(equation.n_rows, 0)
    X_test, y_test = equation.test_rows(equation.n_test, 0)
    assert len(X) >= 20
    assert np.ptp(y) > 0
    grid = [own for own in equation.ranges if own.step]
    expected = (
        equation.n_rows if not grid else np.prod([(own.high - own.low) / own.step + 1.01 for own in grid], dtype=int)
    )
    assert len(X) == expected
    assert len(X_test) == len(y_test) >= 20
    assert len(equation.uniform_rows(2000, 0, 1.5)[0]) > 1500
    assert X.shape[1] == len(equation.features)
    names = {str(symbol) for symbol in equation.sympy().free_symbols}
    assert (
        names == set(equation.features) or equation.collection == "strogatz"
    )  # where a side may know one feature only
    for k, own in enumerate(equation.ranges):
        assert own.low <= X[:, k].min() < X[:, k].max() <= own.high
        moved = X.copy()
        moved[:, k] = X[::-1, k]
        assert (own.name in names) != np.array_equal(equation.values(moved), y)


@pytest.mark.parametrize("equation", ALL, ids=lambda own: own.name)
def test_numpy_and_sympy_agree(equation):
    X, y = equation.uniform_rows(5, 1)
    truth = equation.sympy()
    assert truth.free_symbols <= set(equation.symbols())
    for row, value in zip(X, y, strict=True):
        exact = truth.subs(dict(zip(equation.symbols(), row, strict=True))).evalf()
        assert float(exact) == pytest.approx(value, rel=1e-9, abs=1e-12)


def test_rows_are_the_same_for_a_seed_and_others_for_another():
    equation = next(own for own in ALL if own.name == "nguyen-9")
    for draw in (equation.training_rows, equation.test_rows, equation.uniform_rows):
        np.testing.assert_array_equal(draw(20, 1)[0], draw(20, 1)[0])
        assert not np.array_equal(draw(20, 1)[0], draw(20, 2)[0])
    several = [equation.training_rows(20, 0), equation.test_rows(20, 0), equation.uniform_rows(20, 0)]
    several.append(equation.uniform_rows(20, 0, 1.5))
    assert len({X[0, 0] for X, _ in several}) == 4


def test_wider_rows_are_wider_and_those_without_a_value_are_left_out():
    equation = next(own for own in ALL if own.name == "nguyen-8")  # sqrt(x) on 0 to 4
    X, y = equation.uniform_rows(4000, 0, 1.5)
    assert 4.9 < X.max() <= 5
    assert X.min() >= 0
    np.testing.assert_array_equal(y, np.sqrt(X[:, 0]))
    assert 3200 < len(X) < 3450


def test_files_of_ones_own_and_feynmans_file_by_folder(tmp_path, monkeypatch):
    folder = tmp_path / "laws"
    folder.mkdir()
    (folder / "feynman.csv").write_text("id,formula,ranges,half\nI,ln(a)*pi,a:1:2,tuning\nII,a*b,a:1:2 b:1:2,judged\n")
    (tmp_path / "mine.csv").write_text(
        HEADER + "one,arcsin(a) + 1,a:0:1:0.25,,,a:0:1:0.1,\ntwo,a/b,a:1:2 b:1:2,,30,,50\n"
    )
    monkeypatch.delenv("SYMGROVE_DATA", raising=False)
    assert "feynman" not in collections()
    with pytest.raises(ValueError, match=r"there is no feynman\.csv"):
        collections(wanted=["feynman"])
    monkeypatch.setenv("SYMGROVE_DATA", str(tmp_path / "data"))
    assert [own.half for own in collections()["feynman"]] == list(HALVES)
    found = collections(folder, [tmp_path / "mine.csv"])
    assert [own.name for own in found["feynman"]] == ["I", "II"]
    one, two = found["mine"]
    np.testing.assert_allclose(one.training_rows(None, 0)[0][:, 0], [0, 0.25, 0.5, 0.75, 1])
    assert len(one.test_rows(None, 0)[0]) == 11
    assert one.sympy() == sympy.asin(one.symbols()[0]) + 1
    assert (len(two.training_rows(two.n_rows, 0)[0]), len(two.test_rows(two.n_test, 0)[0])) == (30, 50)
    with pytest.raises(ValueError, match="there is a collection 'feynman' already"):
        collections(folder, [folder / "feynman.csv"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a,__import__('os').system('ls'),x:0:1,,,,", "is no"),
        ("a,x.real,x:0:1,,,,", "'x.real' is no arithmetic"),
        ("a,[x][0],x:0:1,,,,", "is no arithmetic"),
        ("a,x if x else 1,x:0:1,,,,", "is no arithmetic"),
        ("a,'x',x:0:1,,,,", "is no arithmetic"),
        ("a,x +,x:0:1,,,,", "cannot be read: invalid syntax"),
        ("a,x + z,x:0:1,,,,", "'z' is neither a feature nor a function of NumPy"),
        ("a,load(x),x:0:1,,,,", "'load' is neither"),
        ("a,x,x:0,,,,", "a range must be name:low:high"),
        ("a,x,x:1:0,,,,", "a range must have low < high"),
        ("a,x,x:0:1:2,,,,", "a step that fits"),
        ("a,x*y,x:0:1 y:0:1:0.1,,,,", "ranges must all have a step, or none"),
        ("a,x,x:0:1,half,,,", "half must be tuning or judged, got 'half'"),
        ("a,x,x:0:1,,0,,", "numbers of rows must be at least 1, got 0"),
        ("a,x,x:0:1,,,y:0:1,", "ranges and test must name the same features"),
        ("a,x,,,,,", "has no 'ranges'"),
    ],
)
def test_equations_that_make_no_sense_get_a_clear_error(tmp_path, line, message):
    file = tmp_path / "own.csv"
    file.write_text(HEADER + line + "\n")
    with pytest.raises(ValueError, match="the equation 'a' of own") as caught:
        read_equations(file)
    assert message in str(caught.value)


def test_files_that_hold_no_equations_get_a_clear_error(tmp_path):
    file = tmp_path / "own.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"must have the columns id, formula, ranges, and may have half, .* has a, b"):
        read_equations(file)
    with pytest.raises(ValueError, match="does not exist"):
        read_equations(tmp_path / "none.csv")
