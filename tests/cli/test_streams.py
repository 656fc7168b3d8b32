"""Results and where they go: inputs are never overwritten, and work is not lost when nobody takes it."""

import os
from pathlib import Path

import pytest

import symgrove as sg
from tests.cli.test_commands import SMALL, folder, run, shell, write_csv  # noqa: F401

FIT = f"symgrove fit numbers.csv -t y -q {' '.join(SMALL)}"


def link(kind, source, target):
    {"same": lambda: None, "symbolic": lambda: target.symlink_to(source), "hard": lambda: os.link(source, target)}[
        kind
    ]()
    return source if kind == "same" else target


@pytest.fixture
def files(folder, tmp_path):  # noqa: F811
    for name in ("numbers.csv", "model.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    return tmp_path


@pytest.mark.parametrize("kind", ["same", "symbolic", "hard"])
@pytest.mark.parametrize(
    ("words", "what", "lost"),
    [
        (["fit", "numbers.csv", "-t", "y", "-q", *SMALL], "the data", "numbers.csv"),
        (["predict", "model.json", "numbers.csv"], "the data", "numbers.csv"),
        (["predict", "model.json", "numbers.csv"], "the model", "model.json"),
        (["export", "model.json", "--to", "c"], "the model", "model.json"),
        (["export", "model.json", "--to", "excel"], "the model", "model.json"),
        (["report", "model.json", "numbers.csv"], "the model", "model.json"),
        (["report", "model.json", "numbers.csv"], "the data", "numbers.csv"),
        (["report", "model.json", "other.csv", "--train", "numbers.csv"], "the training rows", "numbers.csv"),
    ],
)
def test_no_command_overwrites_what_it_reads(words, what, lost, kind, files, monkeypatch):
    monkeypatch.chdir(files)
    before = Path(lost).read_bytes()
    output = link(kind, Path(lost), Path("output.x"))
    done = run(*words, "-o", output)
    assert done.exit_code == 2, done.output
    message = f"--output {str(output)!r} is the same file as {what}, {lost!r}, which would be lost. Name another file."
    assert message in done.stderr
    assert Path(lost).read_bytes() == before


def test_a_checkpoint_is_no_place_for_the_model(files, monkeypatch):
    monkeypatch.chdir(files)
    for words in (["--checkpoint", "run.npz"], ["--checkpoint=./run.npz"]):
        done = run("fit", "numbers.csv", "-t", "y", "-q", *SMALL, *words, "-o", "run.npz")
        assert (done.exit_code, "is the same file as the checkpoint" in done.stderr) == (2, True), done.output


def test_redirected_inputs_are_not_overwritten_either(files):
    before = (files / "numbers.csv").read_bytes()
    for command in (
        f"{FIT.replace('numbers.csv', '-')} -o numbers.csv < numbers.csv",
        "symgrove predict model.json numbers.csv >> numbers.csv",
    ):
        done = shell(command, files, text=True)
        assert (done.returncode, "is the same file as the data" in done.stderr) == (2, True), done.stderr
        assert (files / "numbers.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("end", "why"),
    [
        ("| true; exit ${PIPESTATUS[0]}", "Broken pipe"),
        pytest.param("> /dev/full", "No space left on device", marks=pytest.mark.slow),
    ],
)
def test_a_model_that_nobody_takes_is_rescued(end, why, files):
    done = shell(f"mkdir tmp; export TMPDIR=$PWD/tmp; {FIT} -o - {end}", files, text=True)
    (rescued,) = (files / "tmp").iterdir()
    message = f"symgrove: standard output cannot be written ({why}); the model is in {rescued}\n"
    assert (done.returncode, done.stderr) == (1, message)
    assert sg.load(rescued).n_features_in_ == 5


@pytest.mark.slow
def test_progress_that_nobody_reads_does_not_end_a_fit(files):
    command = f"set -o pipefail; ({FIT.replace('-q', '')} -o m.json 2>&1 > /dev/null) | true"
    assert shell(command, files).returncode == 0
    sg.load(files / "m.json")


@pytest.mark.slow
def test_progress_that_cannot_be_written_does_not_end_a_fit(files):
    (files / "m.json").touch()
    for end in ("2> /dev/full", "2>&-"):
        (files / "m.json").unlink()
        assert shell(f"{FIT.replace('-q', '')} -o m.json {end}", files).returncode == 0
        sg.load(files / "m.json")
    done = shell(f"{FIT.replace('-q', '')} -o - 2>&- > m.json", files)
    assert done.returncode == 0
    sg.load(files / "m.json")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        f"{FIT} -o -",
        *(
            pytest.param(command, marks=pytest.mark.slow)
            for command in (
                "symgrove predict model.json numbers.csv",
                f"{FIT} -o m.json --json",
                "symgrove predict model.json numbers.csv --json",
                "symgrove show model.json",
                "symgrove export model.json --to c",
                "symgrove export model.json --to onnx",
                "symgrove parameters",
            )
        ),
    ],
)
def test_a_closed_or_full_standard_output_is_a_message(command, files):
    closed = shell(f"{command} >&-", files, text=True)
    assert closed.returncode == 2
    assert closed.stderr.startswith("symgrove: standard output is closed, and the result goes there. Open it")
    assert not (files / "m.json").exists()
    full = shell(f"mkdir tmp; export TMPDIR=$PWD/tmp; {command} > /dev/full", files, text=True)
    assert full.returncode == 1
    assert full.stderr.startswith("symgrove: standard output cannot be written (No space left on device)")
    assert full.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_closed_standard_input_is_a_message(files):
    for command in (
        FIT.replace("numbers.csv", "-") + " -o m.json",
        "symgrove predict model.json -",
        "symgrove report model.json -",
    ):
        done = shell(f"{command} <&-", files, text=True)
        assert (done.returncode, "standard input is closed" in done.stderr) == (2, True)
        assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_files_do_not_need_standard_streams(files):
    for command in (
        f"{FIT} -o m.json",
        "symgrove predict model.json numbers.csv -o p.csv",
        "symgrove export model.json --to c -o m.c",
    ):
        done = shell(f"{command} <&- >&- 2>&-", files)
        assert done.returncode == 0
    sg.load(files / "m.json")
    assert (files / "p.csv").read_text().count("\n") == 121
    assert "double predict" in (files / "m.c").read_text()


@pytest.mark.slow
def test_pipes_may_have_names(files):
    command = "set -o pipefail; symgrove export model.json --to c -o {} | cat > m.c"
    done = shell(command.format("/dev/stdout"), files, text=True)
    assert (done.returncode, done.stderr) == (0, "written: /dev/stdout\n")
    assert "double predict" in (files / "m.c").read_text()
    done = shell(f"{FIT} -o >(cat > m.json); wait $!", files, text=True)
    assert done.returncode == 0, done.stderr
    sg.load(files / "m.json")


def test_help_into_a_full_device_is_a_message(files):
    done = shell("symgrove --help > /dev/full", files, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "standard output cannot be written" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("end", ["2>&-", "2> /dev/full"])
def test_ctrl_c_saves_the_model_also_without_standard_error(end, files):
    settings = "--method 2segp --population-size 60 --n-estimators 5 --generations 1000000"
    done = shell(f"timeout -s INT 8 symgrove fit numbers.csv -t y {settings} -o m.json {end}", files)
    assert done.returncode in (124, 130)
    sg.load(files / "m.json")
