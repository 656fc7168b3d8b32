"""From the name of a study to its results on disk: run what is missing, then write tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from symgrove.experiments import datasets as data_sets
from symgrove.experiments import figures, rank_diagram, tables
from symgrove.experiments.comparison import compare_methods, page_of_comparison
from symgrove.experiments.conclusions import page_of_conclusions
from symgrove.experiments.datasets import DataSet, fingerprint_of
from symgrove.experiments.interval_tables import page_of_intervals
from symgrove.experiments.latex import table_to_latex, to_latex
from symgrove.experiments.runner import RUNS_FILE, NoRowsError, Row, read_rows, run_all
from symgrove.experiments.study import ONE_DATASET, ONE_METHOD, Study


class Results(NamedTuple):
    """What a study has come to: the rows of its runs by key, and the files that show them."""

    rows: dict[str, Row]
    files: list[Path]

    @property
    def failures(self) -> list[str]:
        """Errors of runs that failed."""
        return [row["error"] for row in self.rows.values() if row["error"] is not None]


def choose(study: Study, datasets: Sequence[str] = (), methods: Sequence[str] = ()) -> Study:
    """The study with only some of its data sets and methods."""
    known = {method.name: method for method in study.methods}
    unknown = [name for name in methods if name not in known]
    if unknown:
        raise ValueError(f"{study.name} has no method {unknown[0]!r}; it has {', '.join(known)}.")
    return replace(
        study,
        datasets=list(dict.fromkeys(datasets)) or study.datasets,
        methods=[known[name] for name in dict.fromkeys(methods)] or study.methods,
    )


def tasks_of(study: Study, own: Mapping[str, DataSet]) -> dict[str, str]:
    """Regression or classification, for each data set of a study; or a clear error if it cannot be shown."""
    found: dict[str, str] = {}
    if not (study.datasets and study.methods):
        raise ValueError(
            f"{study.name} needs methods and data: name data sets, or give files as [data.NAME] or --data."
        )
    for name in study.datasets:
        if name not in own and name not in data_sets.KNOWN:
            raise ValueError(f"unknown data set {name!r}; known are {', '.join(data_sets.KNOWN)}, and own files.")
        found[name] = own[name].task if name in own else data_sets.KNOWN[name].task
        if all(study.run_of(method, name, 0, found) is None for method in study.methods):
            raise ValueError(f"{study.name} has no method for {found[name]}, which {name} is.")
    if study.kind in ONE_DATASET and len(study.datasets) != 1:
        raise ValueError(f"{study.name} shows one data set, not {', '.join(study.datasets)}.")
    if study.kind in ONE_METHOD and len(study.methods) != 1:
        raise ValueError(f"{study.name} shows one method, not {', '.join(m.name for m in study.methods)}.")
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
    again: bool = False,
    only_show: bool = False,
) -> Results:
    """Do the runs of a study that are missing in `out`, and write its tables and figures there.

    Data of your own come before files that the study names. All runs are done `again`, or none if results are `only`
    to be shown.
    """
    named = {name: entry for name, entry in study.data.items() if name in study.datasets and name not in (own or {})}
    own = {**{name: data_sets.load_file(e.file, e.target, name, e.task) for name, e in named.items()}, **(own or {})}
    study = replace(study, fingerprints={name: fingerprint_of(data) for name, data in own.items()})
    tasks = tasks_of(study, own)
    planned = study.plan(n_runs, tasks)
    rows = read_rows(out / RUNS_FILE)
    if not only_show:
        needed = {r.dataset for r in planned if again or r.key not in rows or rows[r.key]["error"] is not None}
        data = {n: own[n] if n in own else data_sets.load(n, data_dir, study.order) for n in sorted(needed)}
        rows = run_all(planned, data, out, n_jobs, show, again=again)
    found = {run.key: rows[run.key] for run in planned if run.key in rows}
    if not found:
        raise NoRowsError(f"{study.name}: {str(out)!r} has no runs of it; run the study first, or name another folder.")
    return Results(found, write_results(study, rows, tasks, out, n_runs))


def write_results(
    study: Study, rows: Mapping[str, Row], tasks: Mapping[str, str], out: Path, n_runs: int | None = None
) -> list[Path]:
    """Write what a study shows; returns the files."""
    out.mkdir(parents=True, exist_ok=True)
    if study.kind in figures.FIGURES:
        return figures.draw(study, rows, tasks, out, n_runs)
    if study.kind == "comparison":
        result = compare_methods(study, rows, tasks, n_runs)
        return [*write_page(page_of_comparison(result), out, study.name), *rank_diagram.draw(result, out)]
    if study.kind == "intervals":
        page = page_of_intervals(study, rows, tasks, n_runs)
    elif study.kind == "pruning":
        page = tables.page_of_pruning(study, rows, tasks, n_runs)
    else:
        table = tables.make_table(study, rows, tasks, n_runs)
        page = tables.page_of_table(table)
        return write_page(page, out, study.name, latex=table_to_latex(table, [*page.paragraphs[1:], *page.notes]))
    return write_page(page, out, study.name)


def write_page(page: tables.Page, out: Path, name: str, latex: str = "") -> list[Path]:
    """A page in all formats."""
    texts = {"md": tables.to_markdown(page), "tex": latex or to_latex(page), "html": tables.to_html(page)}
    written = []
    for suffix, text in texts.items():
        written.append(out / f"{name}.{suffix}")
        written[-1].write_text(text, encoding="utf-8")
    return written


def write_summary(out: Path, studies: Sequence[Study], n_runs: int | None = None) -> Path:
    """All results of a folder on one page beside it: `docs/results` makes `docs/results.md`."""
    out = out.resolve()
    rows = read_rows(out / RUNS_FILE)
    if not rows:
        raise NoRowsError(f"{str(out)!r} has no runs; run a study first, or name another folder.")
    shown: dict[str, Row] = {}
    every_task = {dataset: task for study in studies for dataset, task in tasks_of(study, {}).items()}
    page_of_all = page_of_conclusions(studies, rows, every_task, n_runs)
    blocks = [write_page(page_of_all, out, "conclusions")[0].read_text(encoding="utf-8").rstrip()]
    for study in studies:
        tasks = tasks_of(study, {})
        own = {run.key: rows[run.key] for run in study.plan(n_runs, tasks) if run.key in rows}
        if not own:
            continue
        shown |= own
        try:
            files = write_results(study, rows, tasks, out, n_runs)
        except NoRowsError:
            continue
        is_figure = study.kind in figures.FIGURES
        blocks += [f"## {study.title}", study.text] if is_figure else [files[0].read_text(encoding="utf-8").rstrip()]
        blocks += [f"![{study.title}]({out.name}/{file.name})" for file in files if file.suffix == ".svg"]
    link = f"[{out.name}/{RUNS_FILE}]({out.name}/{RUNS_FILE})"
    page = out.parent / f"{out.name}.md"
    made = ["## How this was made", _provenance(list(shown.values())), f"Every run is a line of {link}."]
    page.write_text("\n\n".join(["# Results", *blocks, *made]) + "\n", encoding="utf-8")
    return page


def _provenance(rows: Sequence[Row]) -> str:
    """Where, with what and in what time the runs were made."""
    done = [row for row in rows if row["error"] is None]

    def told(name: str) -> str:
        return ", ".join(sorted({str(row[name]) for row in done}))

    hours = sum(row["seconds"] for row in done) / 3600
    return (
        f"Made by `symgrove paper` from {len(done)} runs ({len(rows) - len(done)} failed) whose fits took {hours:.1f} "
        f"hours on one core each: {told('machine')}, {told('cores')} cores; symgrove {told('symgrove')} at commit "
        f"{told('commit')}, Python {told('python')}, NumPy {told('numpy')}, Numba {told('numba')}, "
        f"scikit-learn {told('scikit_learn')}."
    )
