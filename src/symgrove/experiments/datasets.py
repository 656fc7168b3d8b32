"""The paper's nine data sets by name, from a folder, from scikit-learn, or downloaded once; and anyone's own files.

Whatever the source, a named data set is verified (shape, mean of the label, checksum of the sorted values) and its rows
are sorted, so that all sources give the same splits. Only the files of the paper's author have the rows in their order.
"""

from __future__ import annotations

import hashlib
import http.client
import io
import os
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from symgrove._files import atomic_write

Table = NDArray[np.float64]
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
SECONDS_TO_WAIT = 60.0


class DataSet(NamedTuple):
    """Features and label of one data set; `task` is "regression" or "classification"."""

    name: str
    X: Table
    y: NDArray[Any]
    task: str


@dataclass(frozen=True)
class Known:
    """What is known about one of the paper's data sets, and where it comes from.

    Attributes
    ----------
    title : str
    task : str
    shape : (int, int)
        Rows and columns, the label included.
    label_mean : float
        Mean of the label; for two classes, the share of ones.
    checksum : str
        Of the sorted values, see `checksum_of`.
    url : str
        A text file, or nothing if it comes from OpenML or scikit-learn.
    recipe : callable
        From the file's bytes, or from the OpenML table, to features and label in the last column.
    openml : int
        Number of the data set on OpenML; 0 if it comes from elsewhere.
    """

    title: str
    task: str
    shape: tuple[int, int]
    label_mean: float
    checksum: str
    recipe: Callable[..., Table]
    url: str = ""
    openml: int = 0


def _numbers(content: bytes, delimiter: str | None, labels: dict[str, str] | None = None) -> Table:
    """A text table whose last column may hold words that stand for numbers."""
    rows = [line.split(delimiter) for line in content.decode().splitlines() if line.strip()]
    for row in rows:
        row[-1] = (labels or {}).get(row[-1].strip(), row[-1])
    return np.array(rows, dtype=np.float64)


def _telemonitoring(content: bytes) -> Table:
    """Age, total UPDRS and the 16 voice measures as features, the sex as label: 18 features of the 22 columns."""
    header, *lines = content.decode().splitlines()
    names = [name.strip() for name in header.split(",")]
    table = np.array([line.split(",") for line in lines if line.strip()], dtype=np.float64)
    voice = names[names.index("Jitter(%)") :]
    return table[:, [names.index(name) for name in ("age", "total_UPDRS", *voice, "sex")]]


def _breast_cancer() -> Table:
    """The copy that comes with scikit-learn; here malignant is 1."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return np.column_stack([X, 1 - y]).astype(np.float64)


def _rounded(table: Table) -> Table:
    """Concrete: the paper's file has features with one decimal and the label with two."""
    return np.column_stack([np.round(table[:, :-1], 1), np.round(table[:, -1], 2)])


KNOWN: dict[str, Known] = {
    "asn": Known(
        "Airfoil Self-Noise",
        "regression",
        (1503, 6),
        124.83594278110448,
        "4caf9c960b40d686",
        lambda content: _numbers(content, None),
        url=UCI + "00291/airfoil_self_noise.dat",
    ),
    "ccs": Known(
        "Concrete Compressive Strength",
        "regression",
        (1030, 9),
        35.817961165048544,
        "1ace260fa7cc8d82",
        _rounded,
        openml=4353,
    ),
    "enc": Known(
        "Energy Efficiency, cooling",
        "regression",
        (768, 9),
        24.58776041666667,
        "33fca8cb291a8486",
        lambda table: table[:, [*range(8), 9]],
        openml=1472,
    ),
    "enh": Known(
        "Energy Efficiency, heating",
        "regression",
        (768, 9),
        22.307200520833334,
        "30e9809afefdb024",
        lambda table: table[:, [*range(8), 8]],
        openml=1472,
    ),
    "bcw": Known(
        "Breast Cancer Wisconsin", "classification", (569, 31), 0.37258347978910367, "b03c0187d4fd6fe2", _breast_cancer
    ),
    "heart": Known(
        "Statlog Heart",
        "classification",
        (270, 14),
        0.4444444444444444,
        "fd4d11657c2ff22f",
        lambda content: _numbers(content, None, {"1": "0", "2": "1"}),
        url=UCI + "statlog/heart/heart.dat",
    ),
    "iono": Known(
        "Ionosphere",
        "classification",
        (351, 35),
        0.6410256410256411,
        "5e45619a1c08a2cc",
        lambda content: _numbers(content, ",", {"b": "0", "g": "1"}),
        url=UCI + "ionosphere/ionosphere.data",
    ),
    "parks": Known(
        "Parkinsons Telemonitoring",
        "classification",
        (5875, 19),
        0.3177872340425532,
        "3c80cf6d4bf465a3",
        _telemonitoring,
        url=UCI + "parkinsons/telemonitoring/parkinsons_updrs.data",
    ),
    "sonar": Known(
        "Sonar",
        "classification",
        (208, 61),
        0.5336538461538461,
        "ccc2850e4e982a61",
        lambda content: _numbers(content, ",", {"R": "0", "M": "1"}),
        url=UCI + "undocumented/connectionist-bench/sonar/sonar.all-data",
    ),
}

ORDERS = ("sorted", "files")
# Checksums of the rows in the order of the author's files.
IN_ORDER = {
    "asn": "853b308a1db4e687",
    "ccs": "a6bf9d4158577a93",
    "enc": "024b5327673f632c",
    "enh": "c1ab23046ef966e1",
    "bcw": "855160c02a33b3f5",
    "heart": "8c3308a4bd7ae3d1",
    "iono": "61b6ec6a4b146fc1",
    "parks": "ff017c4115154aa3",
    "sonar": "0692fa5f90f1e720",
}


def load(name: str, folder: str | os.PathLike[str] | None = None, order: str = "sorted") -> DataSet:
    """One of the paper's data sets.

    Parameters
    ----------
    name : str
        asn, ccs, enc, enh, bcw, heart, iono, parks or sonar.
    folder : path, optional
        Where `<name>.csv` may be (no header, label last); by default the environment variable SYMGROVE_DATA. If it is
        not there: scikit-learn for bcw, else a download, which is kept in a cache folder.
    order : "sorted" or "files"
        Of the rows; "files" is that of the author's files, which must be in the folder.
    """
    if name not in KNOWN:
        raise ValueError(f"unknown data set {name!r}; known are {', '.join(KNOWN)}. Own files go by path and target.")
    folder = folder if folder is not None else os.environ.get("SYMGROVE_DATA") or None
    own = None if folder is None else Path(folder) / f"{name}.csv"
    if own is not None and not own.parent.is_dir():
        raise ValueError(f"the data folder {str(own.parent)!r} does not exist.")
    if order == "files":
        return _as_data_set(name, _in_order(name, own))
    cached = cache_folder() / f"{name}.csv"
    for file in (own, cached):
        if file is not None and file.exists():
            return _as_data_set(name, verified(name, read_table(file), str(file)))
    if name == "bcw":
        return _as_data_set(name, verified(name, KNOWN[name].recipe(), "scikit-learn"))
    table = verified(name, _download(name), "the download")
    _write_table(cached, table)
    return _as_data_set(name, table)


def read_table(file: Path) -> Table:
    """Numbers separated by commas, without a header, or a clear error."""
    try:
        return np.loadtxt(file, delimiter=",", ndmin=2)
    except (OSError, ValueError) as error:
        raise ValueError(f"{str(file)!r} is not a table of numbers separated by commas: {error}") from error


def verified(name: str, table: Table, source: str) -> Table:
    """The table with its rows sorted, or a clear error if it is not this data set."""
    known = KNOWN[name]
    problem = ""
    if table.shape != known.shape:
        problem = f"has shape {table.shape}, expected {known.shape}"
    elif not np.isfinite(table).all():
        problem = "has values that are not finite"
    elif abs(table[:, -1].mean() - known.label_mean) > 1e-9 * max(1.0, abs(known.label_mean)):
        problem = f"has a label of mean {table[:, -1].mean():.6g}, expected {known.label_mean:.6g}"
    else:
        table = table[np.lexsort(table.T)]
        if checksum_of(table) != known.checksum:
            problem = "has other values (its checksum differs)"
    if problem:
        raise ValueError(
            f"{source} is not {known.title} ({name}): it {problem}. The label must be the last column; remove or "
            "replace the file, or name another folder."
        )
    return table


def _in_order(name: str, file: Path | None) -> Table:
    """The rows of the author's file as they are, or a clear error."""
    table = None if file is None or not file.exists() else read_table(file)
    if table is None or checksum_of(table, is_sorted=False) != IN_ORDER[name]:
        where = "no folder of data is named" if file is None else f"{str(file)!r} is not that file"
        raise ValueError(
            f"these splits need {name}.csv of the paper's author, with its rows in their order: {where}. Name the "
            "folder with --data-dir or SYMGROVE_DATA, or choose a study of sorted rows."
        )
    return table


def checksum_of(table: Table, *, is_sorted: bool = True) -> str:
    """Of the rows as text with eight digits, so that formatting does not matter; nor does order, if sorted."""
    lines = [",".join(f"{value:.8g}" for value in row) for row in (table + 0.0).tolist()]
    text = "\n".join(sorted(lines) if is_sorted else lines)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _as_data_set(name: str, table: Table) -> DataSet:
    return DataSet(name, table[:, :-1].copy(), table[:, -1].copy(), KNOWN[name].task)


def cache_folder() -> Path:
    """Where downloads are kept: SYMGROVE_CACHE, or the user's cache folder."""
    own = os.environ.get("SYMGROVE_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "symgrove"


def _download(name: str) -> Table:
    known = KNOWN[name]
    try:
        if known.openml:
            return known.recipe(_fetch_openml(known.openml))
        with urllib.request.urlopen(known.url, timeout=SECONDS_TO_WAIT) as response:
            return known.recipe(response.read())
    except (OSError, http.client.HTTPException, ValueError, IndexError, KeyError) as error:
        where = f"OpenML (data set {known.openml})" if known.openml else known.url
        raise ValueError(
            f"{known.title} ({name}) could not be downloaded from {where}: {error}. Put {name}.csv (numbers, no "
            "header, label last) into a folder and name it with --data-dir or SYMGROVE_DATA."
        ) from error


def _fetch_openml(number: int) -> Table:
    """All columns of a data set on OpenML, targets last."""
    from sklearn.datasets import fetch_openml

    found = fetch_openml(
        data_id=number, as_frame=False, parser="liac-arff", data_home=str(cache_folder()), target_column=None
    )
    return np.asarray(found.data, dtype=np.float64)


def _write_table(file: Path, table: Table) -> None:
    """Write a table whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    np.savetxt(text, table, delimiter=",", fmt="%.17g")
    with atomic_write(file) as temporary:
        temporary.write_text(text.getvalue())


def load_file(path: str | os.PathLike[str], target: str, name: str = "", task: str = "") -> DataSet:
    """A CSV or Parquet file with column names, of which one is the target.

    The data set has the name of the file, if none is given. If no task is given, a target of text or of few whole
    numbers makes classes.
    """
    file = Path(path)
    name = name or file.stem
    if not file.is_file():
        raise ValueError(f"{str(file)!r} does not exist, or is not a file.")
    if name in KNOWN:
        raise ValueError(
            f"the data set {name!r} of {str(file)!r} is named like one of the paper; rename the file or the data set."
        )
    try:
        import pandas as pd

        frame = pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file)
    except ImportError as error:
        raise ValueError(f'files of your own need pip install "symgrove[studies]" ({error}).') from error
    except ValueError as error:
        raise ValueError(f"{str(file)!r} cannot be read: {error}") from error
    if target not in frame.columns:
        raise ValueError(
            f"{str(file)!r} has no column {target!r}; its columns are {', '.join(map(str, frame.columns))}."
        )
    label = frame.pop(target)
    is_number = pd.api.types.is_numeric_dtype(label) and not pd.api.types.is_bool_dtype(label)
    bad = [str(c) for c in frame.columns if not pd.api.types.is_numeric_dtype(frame[c])]
    if bad or frame.isna().any(axis=None) or label.isna().any():
        what = f"columns that are not numbers: {', '.join(bad)}" if bad else "missing values"
        raise ValueError(f"{str(file)!r} has {what}; studies need complete numeric features.")
    if frame.shape[1] == 0 or label.nunique() < 2:
        raise ValueError(f"{str(file)!r} needs at least one column besides {target!r}, and two different targets.")
    is_whole = is_number and bool((label % 1 == 0).all())
    if task == "regression" and not is_number:
        raise ValueError(f"{target!r} of {str(file)!r} is not numbers; it can be classified, but not regressed on.")
    if not task:
        task = "classification" if not is_number or (is_whole and label.nunique() <= 10) else "regression"
    return DataSet(name, frame.to_numpy(dtype=np.float64), label.to_numpy(), task)


def fingerprint_of(data: DataSet) -> str:
    """What tells data sets of one's own apart."""
    digest = hashlib.sha256(np.ascontiguousarray(data.X).tobytes())
    digest.update("\n".join(map(str, data.y.tolist())).encode())
    return digest.hexdigest()[:16]
