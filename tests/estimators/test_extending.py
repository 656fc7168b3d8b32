"""Selections, variations, losses and methods from outside: what they see, how they are checked, saved and loaded."""

import math
import pickle
from dataclasses import dataclass, fields

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_friedman1

import symgrove as sg
from symgrove import extending as ex
from symgrove.experiments.estimators import check, make
from symgrove.selection import Candidates

SMALL = {"population_size": 40, "generations": 4, "n_estimators": 4, "random_state": 0}
PROGRAMS = {
    sg.TwoSEGPRegressor: SMALL,
    sg.ClassicGPRegressor: {"population_size": 40, "generations": 4, "random_state": 0},
    sg.IndependentGPRegressor: {**SMALL, "n_estimators": 2},
    sg.DivNichGPRegressor: {"population_size": 40, "generations": 4, "random_state": 0},
    sg.SpatialGPRegressor: {**SMALL, "population_size": 42},
}


@pytest.fixture(scope="module")
def data():
    return make_friedman1(120, random_state=0)


def absolute(y, prediction):
    return abs(y - prediction)


def hinge(y, prediction):
    return max(0.0, 1.0 - (2.0 * y - 1.0) * (2.0 * prediction - 1.0))


def shuffled(forest, parents, donors, rng):
    return rng.permutation(donors)


def best_half(candidates, n_selected, rng):
    return np.argsort(candidates.errors.mean(axis=1), kind="stable")[:n_selected]


def test_a_selection_sees_errors_sizes_ages_and_the_generation(data):
    seen = []

    def select(candidates, n_selected, rng):
        seen.append(candidates)
        return np.arange(n_selected)

    sg.TwoSEGPRegressor(**SMALL, selection=select).fit(*data)
    assert [c.generation for c in seen] == [0, 1, 2, 3]
    for candidates in seen:
        assert isinstance(candidates, Candidates)
        assert candidates.errors.shape == (80, 4)
        assert candidates.sizes.shape == candidates.ages.shape == (80,)
        # Always the first programs survive, and children have the age of their parent.
        assert (candidates.ages == candidates.generation + 1).all()


def test_children_made_from_scratch_have_age_zero(data):
    ages = []

    def select(candidates, n_selected, rng):
        ages.append(candidates.ages)
        return np.arange(n_selected, 2 * n_selected)  # the children

    def vary(forest, parents, donors, rng):
        fresh = [forest.feature(int(rng.integers(forest.n_features))) for _ in range(3)]
        return np.concatenate([fresh, parents[3:]]), np.arange(parents.size) < 3

    sg.TwoSEGPRegressor(**SMALL, selection=select, variation=vary).fit(*data)
    for generation, own in enumerate(ages):
        np.testing.assert_array_equal(own[40:43], 0)
        np.testing.assert_array_equal(own[43:], generation + 1)
        np.testing.assert_array_equal(own[:3], 1)


@pytest.mark.parametrize("kind", PROGRAMS)
def test_every_method_of_programs_takes_a_variation_and_a_loss(kind, data, tmp_path):
    X, y = data
    model = kind(**PROGRAMS[kind], variation=shuffled, loss=absolute).fit(X, y)
    assert model.n_generations_ == 4
    member = model.ensemble_[0]
    if model.has_out_of_bag and len(member.samples) == 1 and kind is not sg.DivNichGPRegressor:
        outside = model._outside.masks()[0][member.samples[0]]
        said = model.model_.said(X)[0][member.samples[0]]
        np.testing.assert_allclose(member.out_of_bag_error, np.abs(said - y)[outside].mean(), rtol=1e-9)
    model.save(tmp_path / "model.json")
    again = sg.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(ValueError, match=r"the loss of this model was a function of yours, 'absolute'.*set_params"):
        clone(again).fit(X, y)
    np.testing.assert_array_equal(
        again.set_params(loss=absolute, variation=shuffled).fit(X, y).predict(X), model.predict(X)
    )
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_the_loss_is_what_is_minimised(data):
    X, y = data
    y = y + 30.0 * (np.random.default_rng(0).random(120) < 0.1)  # outliers
    settings = {"population_size": 100, "generations": 15, "random_state": 0, "linear_scaling": False}
    squared, own = (sg.ClassicGPRegressor(**settings, loss=loss).fit(X, y) for loss in (None, absolute))
    np.testing.assert_allclose(own.ensemble_[0].in_bag_error, np.abs(own.predict(X) - y).mean(), rtol=1e-9)
    assert own.ensemble_[0].in_bag_error < np.abs(squared.predict(X) - y).mean()


def test_a_loss_of_classes_sees_targets_of_zero_and_one():
    X, y = make_classification(120, random_state=0)
    model = sg.TwoSEGPClassifier(**SMALL, loss=hinge).fit(X, y)
    assert model.score(X, y) > 0.7
    assert model.history_["errors"].min() > 0


def test_early_stopping_and_resuming_follow_the_loss(data, tmp_path):
    X, y = data
    settings = {**SMALL, "generations": 30, "early_stopping": True, "n_generations_no_change": 3}
    whole = sg.TwoSEGPRegressor(**settings, loss=absolute).fit(X, y)
    file = tmp_path / "run.npz"
    stopped = sg.TwoSEGPRegressor(**{**settings, "generations": 2}, loss=absolute, checkpoint=file).fit(X, y)
    assert stopped.n_generations_ == 2
    again = sg.TwoSEGPRegressor(**settings, loss=absolute, checkpoint=file).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))
    for other in ({"loss": lambda y, p: abs(y - p) ** 1.5}, {"loss": absolute, "variation": shuffled}):
        with pytest.raises(ValueError, match="other data or parameters"):
            sg.TwoSEGPRegressor(**settings, **other, checkpoint=file).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"variation": 3}, r"variation must be None or a function \(forest, parents, donors, rng\).*got 3"),
        ({"loss": "log"}, r"loss must be one of 'squared'.* or a function \(y, prediction\).*got 'log'"),
        ({"loss": lambda y: y}, "takes 1 arguments; it must take two"),
        ({"variation": lambda f, p, d, r: p[1:]}, r"ids of 40 children.*got shape \(39,\)"),
        ({"variation": lambda f, p, d, r: p + 10**6}, "ids of 40 children.*does not exist"),
        ({"variation": lambda f, p, d, r: (p, [True])}, r"ids of 40 children.*got shape \(1,\)"),
        ({"variation": lambda f, p, d, r: f.collect(p)[p]}, "must only add to the forest"),
    ],
)
def test_what_cannot_work_is_refused(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        sg.TwoSEGPRegressor(**SMALL, **parameters).fit(*data)


class Climbers(ex.GP):
    """Each program is replaced by its child if that is better."""

    def init(self):
        return self.first_state()

    def advance(self, state):
        children, _ = self.breed(state.forest, state.population, ex.stream(self.seed, "variation", state.generation))
        scores = self.score(state.forest, children, self.samples)
        better = scores.errors[:, 0] < state.errors[:, 0]
        return self.next_state(
            state,
            population=np.where(better, children, state.population),
            errors=np.minimum(scores.errors, state.errors),
            elites=ex.improve(state.elites, ex.best_of_each_sample(children, scores)),
        )


@ex.with_parameters
class ClimbingRegressor(ex.ProgramParameters, ex.Regressor):
    """An estimator from outside, with a parameter of its own."""

    has_out_of_bag = False
    patience: int = 3

    def make_part(self, target):
        return Climbers(samples=target.whole_sample(), **ex.gp_arguments(self, target))


@ex.with_parameters
class MaybeBaggedRegressor(ex.ProgramParameters, ex.Regressor):
    """Leaves rows out only if there are several members."""

    n_estimators: int = 1

    @property
    def has_out_of_bag(self):
        return self.n_estimators > 1

    def make_part(self, target):
        counts = sg.bootstrap_counts(target.engine.n_rows, self.n_estimators, target.sample_seed)
        samples = target.engine.prepare(counts) if self.has_out_of_bag else target.whole_sample()
        return Climbers(samples=samples, **ex.gp_arguments(self, target))


def test_parameters_may_decide_whether_rows_are_left_out(data):
    model = MaybeBaggedRegressor(population_size=40, generations=2, n_estimators=5, random_state=0).fit(*data)
    assert model.oob_score_ < 1
    assert model.oob_prediction_.shape == (120,)
    assert model._intervals.known
    model.set_params(n_estimators=1).fit(*data)
    assert not hasattr(model, "oob_score_")
    assert not hasattr(model, "oob_prediction_")
    assert not hasattr(model, "_outside")
    assert not model._intervals.known


@pytest.fixture(scope="module")
def climbing(data):
    return ClimbingRegressor(population_size=40, generations=5, random_state=0, patience=7).fit(*data)


def test_an_estimator_from_outside_is_saved_loaded_and_pickled(climbing, data, tmp_path):
    X, y = data
    climbing.save(tmp_path / "model.json")
    with pytest.raises(ValueError, match=r"not of symgrove, '.*:ClimbingRegressor'.*estimators=\[ClimbingRegressor\]"):
        sg.load(tmp_path / "model.json")
    again = sg.load(tmp_path / "model.json", estimators=[ClimbingRegressor])
    assert (type(again), again.patience) == (ClimbingRegressor, 7)
    np.testing.assert_array_equal(again.predict(X), climbing.predict(X))
    np.testing.assert_array_equal(clone(again).fit(X, y).predict(X), climbing.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(climbing)).predict(X), climbing.predict(X))


def test_an_estimator_from_outside_has_all_control(climbing, data, tmp_path):
    X, y = data
    assert climbing.stop_reason_ == "generations"
    assert "def " in climbing.export("python")
    file = tmp_path / "run.npz"
    settings = {"population_size": 40, "random_state": 0, "patience": 7, "checkpoint": file}
    ClimbingRegressor(**settings, generations=2).fit(X, y)
    resumed = ClimbingRegressor(**settings, generations=5).fit(X, y)
    np.testing.assert_array_equal(resumed.predict(X), climbing.predict(X))
    weighted = ClimbingRegressor(population_size=40, generations=2, calibration=0.3).fit(X, y, np.arange(120))
    assert weighted.predict_interval(X).shape == (120, 2)


def test_an_estimator_from_outside_says_what_it_lacks(data):
    @ex.with_parameters
    class Nothing(ex.ProgramParameters, ex.Regressor):
        pass

    with pytest.raises(NotImplementedError, match="Nothing must define make_part, or make_method and make_model"):
        Nothing().fit(*data)


def test_an_estimator_from_outside_in_a_study(data):
    name = f"{__name__}:ClimbingRegressor"
    check(name, {"patience": 2}, "regression", "")
    assert make(name, {"generations": 1, "population_size": 20}, 3).fit(*data).random_state == 3


@ex.with_parameters
class TunedRegressor(sg.TwoSEGPRegressor):
    """One of ours with a parameter more."""

    more: int = 1


@dataclass(frozen=True)
class Doubled(ex.ProgramModel):
    """A model of one's own."""

    def predict(self, X, n_threads=1):
        return 2 * super().predict(X, n_threads)


def test_a_decorated_subclass_of_ours_is_saved_as_itself(data, tmp_path):
    model = TunedRegressor(**SMALL, more=5).fit(*data)
    model.save(tmp_path / "model.json")
    again = sg.load(tmp_path / "model.json", estimators=TunedRegressor)
    assert (type(again), again.more) == (TunedRegressor, 5)
    with pytest.raises(ValueError, match=r"got .*:ClimbingRegressor"):
        sg.load(tmp_path / "model.json", estimators=[ClimbingRegressor])
    with pytest.raises(TypeError, match="must be classes of estimators"):
        sg.load(tmp_path / "model.json", estimators=[model])


def test_a_model_of_ones_own_is_pickled_but_not_written_as_another(data, tmp_path):
    model = sg.TwoSEGPRegressor(**SMALL).fit(*data)
    own = {field.name: getattr(model.model_, field.name) for field in fields(model.model_)}
    model.model_ = Doubled(**own)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(data[0]), model.predict(data[0]))
    with pytest.raises(ValueError, match=r"a model of type Doubled cannot be saved; .* Use pickle"):
        model.save(tmp_path / "model.json")


def test_a_selection_may_see_candidates_and_rows(data):
    class Both:
        n_cases = 10

        def __call__(self, candidates, n_selected, rng, cases):
            assert cases.shape == (candidates.ages.size, 10)
            return np.argsort(cases.mean(axis=1), kind="stable")[:n_selected]

    assert sg.TwoSEGPRegressor(**SMALL, selection=Both()).fit(*data).n_generations_ == 4


def test_children_that_are_too_large_are_dropped(data):
    def grow(forest, parents, donors, rng):
        return np.array([forest.apply("add", int(p), int(d)) for p, d in zip(parents, donors, strict=True)])

    model = sg.TwoSEGPRegressor(**SMALL, variation=grow, max_size=9, init_depth=(1, 2)).fit(*data)
    assert max(member.evolved_size for member in model.ensemble_) <= 9


def test_other_names_inside_a_function_make_another_run(data, tmp_path):
    losses = [lambda y, p: math.fabs(y - p), lambda y, p: math.exp(abs(y - p))]
    file = tmp_path / "run.npz"
    sg.TwoSEGPRegressor(**SMALL, loss=losses[0], checkpoint=file).fit(*data)
    with pytest.raises(ValueError, match="other data or parameters"):
        sg.TwoSEGPRegressor(**SMALL, loss=losses[1], checkpoint=file).fit(*data)


def test_a_method_may_describe_itself_with_little(data, capsys):
    class Terse(Climbers):
        def describe(self, state):
            full = super().describe(state)
            return {name: full[name] for name in ("generation", "n_evaluations", "errors")}

    @ex.with_parameters
    class TerseClassifier(ex.ProgramParameters, ex.Classifier):
        has_out_of_bag = False

        def make_part(self, target):
            return Terse(samples=target.whole_sample(), **ex.gp_arguments(self, target))

    X, y = data
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    TerseClassifier(population_size=20, generations=2, verbose=1).fit(X, labels)
    assert "generation 2/2  training wrong labels" in capsys.readouterr().err
