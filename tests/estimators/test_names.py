"""What estimators are called in errors, and what docstrings promise of members."""

import inspect
import pickle
import re
from dataclasses import fields

import pytest
from sklearn.base import clone
from sklearn.datasets import make_friedman1

import symgrove as sg
from tests.contracts.test_methods import METHODS, settings_of

each = pytest.mark.parametrize("kind", METHODS, ids=lambda kind: kind.__name__)


@each
def test_errors_of_the_constructor_name_the_class(kind):
    with pytest.raises(TypeError, match=rf"^{kind.__name__}\.__init__\(\) got an unexpected keyword argument 'foo'"):
        kind(foo=1)
    with pytest.raises(TypeError, match=rf"^{kind.__name__}\.__init__\(\) takes 1 positional argument but"):
        kind(1)


@each
def test_constructors_are_as_scikit_learn_wants_them(kind):
    signature = inspect.signature(kind)
    names = {p.name: p.default for p in signature.parameters.values()}
    if kind is not sg.LawRegressor:  # whose constructor is written out
        assert {field.name: field.default for field in fields(kind)} == names
    assert kind().get_params() == names
    assert kind.__init__.__module__ == kind.__module__
    model = kind(n_jobs=7, random_state=5)
    for other in (clone(model), pickle.loads(pickle.dumps(model))):
        assert other.get_params() == model.get_params()
    own = type("Own", (kind,), {})
    assert clone(own(n_jobs=7)).get_params()["n_jobs"] == 7


@each
def test_members_have_what_the_docstring_says(kind):
    X, y = make_friedman1(60, n_features=5, random_state=0)
    y = X[:, 0] * X[:, 1] if kind is sg.LawRegressor else (y > y.mean()).astype(int)
    model = kind(**settings_of(kind, generations=2)).fit(X, y)
    text = " ".join(re.search(r"ensemble_ : list of \w+\n(.*?)\n {0,4}\w+ :", kind.__doc__, re.DOTALL)[1].split())
    told = re.search(r"^(?:Members|Teams) with ([a-z_, ]+?)(?:, heaviest|\.|$)", text)
    names = re.split(r", | and ", told[1]) if told else []
    single = (
        sg.ClassicGPRegressor,
        sg.ClassicGPClassifier,
        sg.StandardGPClassifier,
        sg.GPTIPSRegressor,
        sg.LawRegressor,
    )
    assert names or kind in (*single, sg.M3GPRegressor, sg.M3GPClassifier), text
    member = model.ensemble_[0]
    assert not [name for name in names if not hasattr(member, name)]
    documented = re.findall(r"^ {4}([a-z_, ]+?)(?: :.*)?\n {8}", type(member).__doc__, re.MULTILINE)
    assert not [name for entry in documented for name in entry.split(", ") if not hasattr(member, name)]


def test_old_names_of_groves_attributes_work_with_a_warning():
    X, y = make_friedman1(60, random_state=0)
    model = sg.GroveRegressor(generations=1, n_estimators=3, population_size=30, strength="fixed", random_state=0)
    assert not hasattr(model, "found_")
    model.fit(X, y)
    for old, new in (("strength_", "stacking_weights_"), ("found_", "stacking_weight_sum_")):
        with pytest.warns(FutureWarning, match=f"{old} is now called {new}"):
            assert getattr(model, old) == getattr(model, new)
