"""Fitted estimators as JSON files, and back. Reading runs no code from the file. The format: docs/model-file.md."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from symgrove._files import atomic_write
from symgrove.estimators.base import Estimator
from symgrove.forest.primitives import Primitive
from symgrove.models.document import Document
from symgrove.saving.estimators import FORMAT, LARGEST_FILE, VERSION, check_tables, from_document, to_document

MOST_PARTS = 2**18  # lists, objects and named entries, which take far more memory than their text


def save(estimator: Estimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator."""
    document = to_document(estimator)
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    try:
        _check_size(text.encode("utf-8"))
        check_tables(document)
    except ValueError as error:
        raise ValueError(
            f"this model could not be read again: {error}. Make it smaller (symgrove.simplify_ensemble), or use pickle."
        ) from None
    with atomic_write(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def load(
    path: str | os.PathLike[str],
    functions: Sequence[Primitive] = (),
    estimators: Sequence[type[Estimator]] | type[Estimator] = (),
) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : path
    functions : sequence of Primitive
        The user-defined functions of the model, made by `symgrove.primitive` as for the fit: a file does not hold them.
    estimators : class or sequence of classes
        Classes of one's own that the model may be of: a file says their name, and nothing is imported.

    Returns
    -------
    estimator
        Fitted: it predicts, shows and exports as the one that was saved. It has no `oob_prediction_` and no run to go
        on with.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_friedman1
    >>> from symgrove import TwoSEGPRegressor, load
    >>> X, y = make_friedman1(60, random_state=0)
    >>> model = TwoSEGPRegressor(population_size=50, n_estimators=5, generations=5, random_state=0).fit(X, y)
    >>> path = Path(tempfile.mkdtemp()) / "model.json"
    >>> model.save(path)
    >>> bool((load(path).predict(X) == model.predict(X)).all())
    True
    """
    kinds = [estimators] if isinstance(estimators, type) else estimators
    return from_document(load_document(path), functions, kinds)


def load_document(path: str | os.PathLike[str]) -> Document:
    """The entries of a model file, checked to be one of a version that can be read."""
    file = Path(path)
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise ValueError(f"it has more than {LARGEST_FILE} bytes")
        content = file.read_bytes()
        _check_size(content)
        document = json.loads(content.decode("utf-8"), parse_constant=_refuse_constant)
    except FileNotFoundError:
        raise
    except (ValueError, RecursionError, OSError) as error:
        raise ValueError(f"{str(file)!r} cannot be read as a model of symgrove: {error}.") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{str(file)!r} is not a model that symgrove saved.")
    version = document.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ValueError(
            f"{str(file)!r} has version {version} of the format, made by symgrove {document.get('symgrove')!s:.20}; "
            f"this symgrove reads versions up to {VERSION}. Install a newer one."
        )
    if version != VERSION:
        raise ValueError(f"{str(file)!r} has an unknown version of the format: {version!r:.20}.")
    return document


def _check_size(content: bytes) -> None:
    """Refuse a file that would take gigabytes, before it does."""
    n_parts = max(content.count(b"[") + content.count(b"{"), content.count(b":"))
    if len(content) > LARGEST_FILE or n_parts > MOST_PARTS:
        raise ValueError(
            f"it has {len(content)} bytes and {n_parts} lists and entries; a model file has at most {LARGEST_FILE} and "
            f"{MOST_PARTS}"
        )


def _refuse_constant(name: str) -> float:
    raise ValueError(f"it contains {name}, which is no number")
