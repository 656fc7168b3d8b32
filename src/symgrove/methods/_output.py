"""What a fitted estimator gives away: formulas, exports, a file, and how it looks in a notebook."""

from __future__ import annotations

import html
import os
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from symgrove.export.plan import Plan, make_plan
from symgrove.export.targets import export
from symgrove.forest.forest import Forest
from symgrove.forest.latex import to_latex
from symgrove.forest.text import feature_labels, to_text

N_SHOWN = 5  # members in a notebook


class ModelOutput(BaseEstimator):
    """Methods of all estimators that need a fitted model only."""

    def _check_fitted(self) -> None:
        check_is_fitted(self)

    def _plan(self) -> Plan:
        """What the model computes, for exports."""
        check_is_fitted(self)
        features = feature_labels(self.n_features_in_, getattr(self, "feature_names_in_", None))
        calibrations = getattr(self, "_calibrations", {})
        known = calibrations.get("conformal") or calibrations.get("oob")
        return make_plan(
            type(self).__name__,
            self._ensembles,
            features,
            getattr(self, "classes_", None),
            getattr(self, "_correction", None),
            known.scores if known is not None else None,
        )

    def export(self, to: str, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """The model in another language; it computes what `predict` does.

        Parameters
        ----------
        to : str
            "python" (needs NumPy only), "c", "javascript", "sql", "excel", "onnx", "text", "latex" or "sympy".
        path : path, optional
            Where to write it; needed for "excel".
        **options
            sql: `table="data"`, `dialect="sqlite"` or "duckdb", `keep=()` (columns to pass on). excel: `X` (rows to put
            in) or `n_rows=100` (to leave room for). onnx: `dtype="float64"` or "float32", of input and output.

        Returns
        -------
        source code or equations as text, an ONNX model, a SymPy expression, or None for "excel"
        """
        if options.get("X") is not None:
            options["X"] = self._check_predict(options["X"])
        return export(self._plan(), to, path, options)

    def formula(self, style: str = "text") -> Any:
        """The whole model for reading, in your units and column names.

        One simplified sum where members are combined by their mean. Else equations, with the way members are combined
        spelled out; `export(style)` always gives these, with all clips.

        Parameters
        ----------
        style : "text", "latex" or "sympy"
        """
        if style not in ("text", "latex", "sympy"):
            raise ValueError(f"style must be 'text', 'latex' or 'sympy', got {style!r}.")
        check_is_fitted(self)
        found = self._one_sum()
        if found is None:
            made = self.export(style)
            return made.rstrip("\n") if isinstance(made, str) else made
        names = getattr(self, "feature_names_in_", None)
        if style == "sympy":
            return import_module("symgrove.forest.as_sympy").to_sympy(*found, names)  # SymPy is optional
        return (to_text if style == "text" else to_latex)(*found, names)

    def _one_sum(self) -> tuple[Forest, int] | None:
        """The model as one program, if it is one."""
        return None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a JSON file, which `symgrove.load` reads. See docs/model-file.md."""
        _saving().save(self, path)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = _saving().state_of(self, super().__getstate__())
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        text = state.get("_model_text")
        super().__setstate__({name: value for name, value in state.items() if name != "_model_text"})
        if text is not None:
            _saving().restore(self, text)

    def _repr_html_inner(self) -> str:
        shown = super()._repr_html_inner()
        return shown + _members_as_html(self) if hasattr(self, "_ensembles") else shown

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle and hasattr(self, "_ensembles"):
            bundle["text/html"] += _members_as_html(self)
        return bundle


def _saving() -> Any:
    # Reading makes estimators, so that module is above this one.
    return import_module("symgrove.methods.saving")


def _members_as_html(model: Any) -> str:
    """The heaviest members as a table; notebooks typeset what is between dollar signs."""
    members = sorted(model.ensemble_, key=lambda member: -member.weight)
    rows = "".join(
        f"<tr><td>{member.weight:.3g}</td><td>{member.size}</td>"
        f"<td style='text-align:left'>${html.escape(member.latex)}$</td></tr>"
        for member in members[:N_SHOWN]
    )
    rest = len(members) - N_SHOWN
    more = f"<p>and {rest} more in <code>ensemble_</code></p>" if rest > 0 else ""
    head = "<tr><th>weight</th><th>nodes</th><th style='text-align:left'>formula</th></tr>"
    return f"<table>{head}{rows}</table>{more}"
