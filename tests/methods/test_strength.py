"""Choosing the strength: through the one loop, with a history, and resumed where it was killed."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import symgrove as sg
from symgrove.fitness.named_losses import Squared
from symgrove.methods.grove import teams
from symgrove.methods.grove.configuration import Folds
from symgrove.methods.grove.strength import Surroundings
from symgrove.methods.grove.weights import latest_good
from symgrove.methods.problem import Rows

SMALL = {
    "population_size": 40,
    "generations": 6,
    "n_estimators": 4,
    "n_populations": 2,
    "max_terms": 6,
    "max_size": 7,
    "random_state": 0,
}


class Killed(BaseException):
    """As if the process had ended."""


class QuickGrove(sg.GroveRegressor):
    """With a second evolution of a few generations."""

    configuration = replace(
        sg.GroveRegressor.configuration,
        second=replace(sg.GroveRegressor.configuration.second, snapshots=(2, 5), team_factor=1),
    )


@pytest.fixture(scope="module")
def data():
    return make_friedman1(80, random_state=0)


@contextmanager
def counting_generations(limit=None, between_checkpoints=0.0):
    """Count generations of populations; after so many, the process ends, as it were."""
    counted = []
    advance = teams.TeamEvolution.advance

    def count(self, state):
        if self.engine.n_rows > 10:  # not while compiling
            if len(counted) == limit:
                raise Killed
            counted.append(state.generation)
        return advance(self, state)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("symgrove.evolution.run.SECONDS_BETWEEN_CHECKPOINTS", between_checkpoints)
        patch.setattr(teams.TeamEvolution, "advance", count)
        yield counted


@pytest.fixture(scope="module")
def whole(data):
    with counting_generations() as counted:
        return QuickGrove(**SMALL).fit(*data), len(counted)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.98])
def test_a_fit_that_is_killed_goes_on_from_there_also_while_choosing(data, whole, tmp_path, share):
    model, n_all = whole
    n_before = int(share * n_all)
    file = tmp_path / "run.npz"
    with counting_generations(n_before), pytest.raises(Killed):
        QuickGrove(**SMALL, checkpoint=file).fit(*data)
    with counting_generations() as counted:
        resumed = QuickGrove(**SMALL, checkpoint=file).fit(*data)
    # At most the generation that was under way is made again; none that was complete.
    assert n_all - n_before <= len(counted) <= n_all - n_before + 2
    assert resumed.stacking_weights_ == model.stacking_weights_
    np.testing.assert_array_equal(resumed.predict(data[0]), model.predict(data[0]))
    np.testing.assert_array_equal(resumed.predict_interval(data[0]), model.predict_interval(data[0]))
    assert resumed.strength_history_.keys() == model.strength_history_.keys()
    with counting_generations() as counted:  # a complete run: nothing is left to do
        np.testing.assert_array_equal(
            QuickGrove(**SMALL, checkpoint=file).fit(*data).predict(data[0]), model.predict(data[0])
        )
    assert counted == []


@pytest.mark.parametrize("share", [0.6, 0.8])
def test_a_fit_that_is_killed_while_choosing_goes_on_though_its_main_evolution_was_not_saved(
    data, whole, tmp_path, share
):
    model, n_all = whole
    file = tmp_path / "run.npz"
    with counting_generations(int(share * n_all), between_checkpoints=1e9), pytest.raises(Killed):
        QuickGrove(**SMALL, checkpoint=file).fit(*data)
    with np.load(file) as arrays:
        assert {name.split("/")[0] for name in arrays.files} == {"meta", "strength"}
    resumed = QuickGrove(**SMALL, checkpoint=file).fit(*data)
    assert resumed.stacking_weights_ == model.stacking_weights_
    np.testing.assert_array_equal(resumed.predict(data[0]), model.predict(data[0]))
    np.testing.assert_array_equal(resumed.predict_interval(data[0]), model.predict_interval(data[0]))


def test_evolutions_for_choosing_have_a_history(whole):
    model, _ = whole
    assert {"folds main", "folds gentle"} <= model.strength_history_.keys()
    assert model.strength_history_["folds gentle"]["generation"].tolist() == [0, 1, 2, 3, 4, 5]
    assert model.strength_history_["folds main"]["errors"].shape == (7, 5 * 4)


def test_more_generations_choose_the_strength_anew(data, tmp_path):
    file = tmp_path / "run.npz"
    QuickGrove(**{**SMALL, "generations": 3}, checkpoint=file).fit(*data)
    longer = QuickGrove(**SMALL, checkpoint=file).fit(*data)
    np.testing.assert_array_equal(longer.predict(data[0]), QuickGrove(**SMALL).fit(*data).predict(data[0]))


def test_a_damaged_choice_and_a_main_evolution_without_its_state_are_refused(data, tmp_path):
    file = tmp_path / "run.npz"
    QuickGrove(**SMALL, checkpoint=file).fit(*data)
    with np.load(file) as arrays:
        kept = {name: arrays[name] for name in arrays.files}
    cut = {**kept, "strength/done/spread": kept["strength/done/spread"][:, :3]}
    stateless = {name: array for name, array in kept.items() if not name.startswith("state/")}
    for damaged in (cut, stateless):
        np.savez(file, **damaged)
        with pytest.raises(ValueError, match=r"checkpoint .*cannot be read"):
            QuickGrove(**SMALL, checkpoint=file).fit(*data)


def test_time_runs_out_within_a_generation(data, monkeypatch):
    """The engine looks at the clock: an evaluation that takes too long is cut short."""
    ends = []
    run_to = Surroundings.run_to

    def almost_over(self, method, generation, name, previous=None):
        ends.append(self.end)
        self.end = 0.0
        return run_to(self, method, generation, name, previous)

    monkeypatch.setattr(Surroundings, "run_to", almost_over)
    model = QuickGrove(**SMALL, max_time=1000.0).fit(*data)
    assert (model.stop_reason_, len(ends)) == ("max_time", 2)
    assert model.stacking_weights_ == {"main 6": 1.0}


# Ending early

NOISE = {**SMALL, "generations": 60, "max_terms": 12}


@pytest.fixture(scope="module")
def noise():
    generator = np.random.default_rng(0)
    return generator.normal(size=(80, 5)), generator.normal(size=80)


@pytest.fixture(scope="module")
def ended(noise):
    with counting_generations() as counted:
        return QuickGrove(**NOISE).fit(*noise), len(counted)


def test_the_last_good_level_is_found_by_standard_errors():
    generator = np.random.default_rng(0)
    y, good = generator.normal(size=(1, 200)), generator.normal(size=200)
    rows = Rows(np.zeros((200, 1)), y, None, np.arange(200))
    errors = np.stack([2 * good, good, 1.02 * good[::-1], 1.5 * good, 3 * good])
    levels = (y - errors)[:, None]
    levels[:, :, :20] = np.nan  # not held out

    def is_good(i, clearly):
        worse = errors[i, 20:] ** 2 - errors[1, 20:] ** 2
        return worse.mean() <= clearly * worse.std() / np.sqrt(180)

    for clearly in (0.0, 1.0, 1e6):
        expected = max(i for i in range(1, 5) if is_good(i, clearly))
        assert latest_good(levels, rows, Folds(ends_at=clearly), (Squared(),)) == expected
    assert [max(i for i in range(1, 5) if is_good(i, c)) for c in (0.0, 1.0, 1e6)] == [1, 2, 4]


def test_an_evolution_that_gets_worse_ends_and_what_follows_has_no_weight(ended):
    model, n_all = ended
    assert model.stop_reason_ == "strength"
    assert model.n_generations_ < 60
    assert model.strength_history_["folds main"]["generation"][-1] < 60
    used = [int(name.split()[1]) for name, weight in model.stacking_weights_.items() if weight and "main" in name]
    assert max([10, *used]) == model.n_generations_
    assert n_all < 7 * 60


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_fit_that_ended_early_is_resumed_too(noise, ended, tmp_path, share):
    model, n_all = ended
    file = tmp_path / "run.npz"
    with counting_generations(int(share * n_all)), pytest.raises(Killed):
        QuickGrove(**NOISE, checkpoint=file).fit(*noise)
    resumed = QuickGrove(**NOISE, checkpoint=file).fit(*noise)
    assert resumed.stacking_weights_ == model.stacking_weights_
    np.testing.assert_array_equal(resumed.predict(noise[0]), model.predict(noise[0]))


def test_without_time_to_choose_the_main_evolution_goes_on(noise):
    class Hasty(QuickGrove):
        configuration = replace(QuickGrove.configuration, share_of_choosing=0.0)

    model = Hasty(**NOISE, max_time=1e6).fit(*noise)
    assert (model.n_generations_, model.stop_reason_) == (60, "generations")
    assert len(model.stacking_weights_) > 1
