"""From the name of a study to its results on disk: run what is missing, then write tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from symgrove.experiments import datasets as data_sets
from symgrove.experiments import figures, tables
from symgrove.experiments.datasets import DataSet
from symgrove.experiments.runner import RUNS_FILE, Row, read_rows, run_all
from symgrove.experiments.study import Study


def choose(study: Study, datasets: Sequence[str] = (), methods: Sequence[str] = ()) -> Study:
    """The study with only some of its data sets and methods."""
    known = {method.name: method for method in study.methods}
    unknown = [name for name in methods if name not in known]
    if unknown:
        raise ValueError(f"{study.name} has no method {unknown[0]!r}; it has {', '.join(known)}.")
    return replace(
        study,
        datasets=tuple(datasets) or study.datasets,
        methods=[known[name] for name in methods] or study.methods,
    )


def tasks_of(study: Study, own: Mapping[str, DataSet]) -> dict[str, str]:
    """Regression or classification, for each data set of a study."""
    found = {}
    for name in study.datasets:
        if name not in own and name not in data_sets.KNOWN:
            raise ValueError(f"unknown data set {name!r}; known are {', '.join(data_sets.KNOWN)}, and own files.")
        found[name] = own[name].task if name in own else data_sets.KNOWN[name].task
    return found


def run_study(
    study: Study,
    out: Path,
    *,
    n_runs: int | None = None,
    n_jobs: int | None = None,
    data_dir: Path | None = None,
    own: Mapping[str, DataSet] | None = None,
    show: Callable[[int, int, float], None] | None = None,
) -> dict[str, Row]:
    """Do the runs of a study that are missing in `out`, and write its tables and figures there."""
    own = own or {}
    tasks = tasks_of(study, own)
    planned = study.plan(n_runs, tasks)
    done = read_rows(out / RUNS_FILE)
    needed = {run.dataset for run in planned if run.key not in done or done[run.key]["error"] is not None}
    data = {name: own[name] if name in own else data_sets.load(name, data_dir) for name in sorted(needed)}
    rows = run_all(planned, data, out, n_jobs, show)
    write_results(study, rows, tasks, out, n_runs)
    return rows


def write_summary(out: Path, studies: Sequence[Study], n_runs: int | None = None) -> Path:
    """All results of a folder on one page beside it: `docs/results` makes `docs/results.md`."""
    rows = read_rows(out / RUNS_FILE)
    blocks = [
        "# Results",
        _provenance(rows),
        f"Every run is a line of [{out.name}/{RUNS_FILE}]({out.name}/{RUNS_FILE}).",
    ]
    for study in studies:
        files = write_results(study, rows, tasks_of(study, {}), out, n_runs)
        text = next((file for file in files if file.suffix == ".md"), None)
        if text is not None:
            blocks.append(text.read_text(encoding="utf-8").rstrip())
        else:
            image = next(file for file in files if file.suffix == ".svg")
            blocks += [f"## {study.title}", study.text, f"![{study.title}]({out.name}/{image.name})"]
    page = out.parent / f"{out.name}.md"
    page.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    return page


def _provenance(rows: Mapping[str, Row]) -> str:
    """Where, with what and in what time the runs were made."""
    done = [row for row in rows.values() if row["error"] is None]

    def told(name: str) -> str:
        return ", ".join(sorted({str(row[name]) for row in done}))

    hours = sum(row["seconds"] for row in done) / 3600
    return (
        f"Made by `symgrove paper all` from {len(done)} runs ({len(rows) - len(done)} failed), {hours:.1f} hours on "
        f"one core: {told('machine')}, {told('cores')} cores; symgrove {told('symgrove')} at {told('commit')}, "
        f"Python {told('python')}, NumPy {told('numpy')}, Numba {told('numba')}, scikit-learn {told('scikit_learn')}."
    )


def write_results(
    study: Study, rows: Mapping[str, Row], tasks: Mapping[str, str], out: Path, n_runs: int | None = None
) -> list[Path]:
    """Write what a study shows; returns the files."""
    out.mkdir(parents=True, exist_ok=True)
    shown = min(n_runs or study.runs, study.runs)
    if study.kind in figures.FIGURES:
        return figures.draw(study, rows, tasks, out, n_runs)
    if study.kind == "pruning":
        texts = {"md": tables.pruning_table(study, rows, tasks, n_runs)}
    elif study.kind == "table":
        table = tables.make_table(study, rows, tasks, n_runs)
        texts = {
            "md": tables.to_markdown(table, shown),
            "tex": tables.to_latex(table, shown),
            "html": tables.to_html(table, shown),
        }
    else:
        raise ValueError(f"the study {study.name!r} has the unknown kind {study.kind!r}.")
    files = []
    for suffix, text in texts.items():
        files.append(out / f"{study.name}.{suffix}")
        files[-1].write_text(text, encoding="utf-8")
    return files
