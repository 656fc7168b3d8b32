"""Several targets on the command line."""

from sklearn.datasets import make_friedman1

import symgrove as sg
from tests.cli.test_commands import SMALL, run, write_csv


def test_several_targets(tmp_path):
    X, y = make_friedman1(120, n_features=5, random_state=0)
    write_csv(tmp_path / "numbers.csv", {**{f"col {i}": X[:, i] for i in range(5)}, "y": y})
    model, folder = tmp_path / "model.json", tmp_path
    done = run("fit", folder / "numbers.csv", "--target", "y, col 4", "-o", model, "-q", *SMALL, "--loss", "absolute")
    assert done.exit_code == 0, done.output
    assert sg.load(model).n_features_in_ == 4
    found = run("predict", model, folder / "numbers.csv", "--only", "--std")
    assert found.stdout.splitlines()[0] == "prediction of y,prediction of col 4,std of y,std of col 4"
    assert len(found.stdout.splitlines()) == 121
    for words, message in (
        (("report", model, folder / "numbers.csv", "-o", tmp_path / "page.html"), "a model of one target"),
        (("fit", folder / "numbers.csv", "-t", "y,y"), "names a column twice"),
        (("fit", folder / "numbers.csv", "-t", "y,z"), "the target is 'z', which is not there"),
        (("fit", folder / "numbers.csv", "-t", "y,col 4", "--task", "classification"), "classes have one target"),
        (("fit", folder / "numbers.csv", "-t", "y,col 4", "--features", "col 4"), "cannot be a feature too"),
    ):
        refused = run(*words)
        assert refused.exit_code == 2, refused.output
        assert message in refused.output
