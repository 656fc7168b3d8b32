"""Choosing the strength: through the one loop, with a history, and resumed where it was killed."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import symgrove as sg
from symgrove.methods.grove import teams
from symgrove.methods.grove.strength import Surroundings

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
def counting_generations(limit=None):
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
        patch.setattr("symgrove.evolution.run.SECONDS_BETWEEN_CHECKPOINTS", 0.0)
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


def test_a_damaged_choice_is_refused(data, tmp_path):
    file = tmp_path / "run.npz"
    QuickGrove(**SMALL, checkpoint=file).fit(*data)
    with np.load(file) as arrays:
        kept = {name: arrays[name] for name in arrays.files}
    kept["strength/done/spread"] = kept["strength/done/spread"][:, :3]
    np.savez(file, **kept)
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
    assert (model.stop_reason_, len(ends)) == ("max_time", 1)
    assert model.stacking_weights_ == {"main 6": 1.0}
