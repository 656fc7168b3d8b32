"""Units that users name, as dimensions of features and targets. They are read by pint, which is optional."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from symgrove.methods.law.choosing import Entry
from symgrove.methods.law.units import Exponents, Units, is_zero
from symgrove.models.columns import TableColumns

Base = dict[str, float]  # exponents of base units


def check_units(units: Any, target_unit: Any, constants_have_units: Any) -> None:
    """Check what does not depend on data, without pint."""
    if (units is None) != (target_unit is None):
        raise ValueError(
            f"units and target_unit go together, got units={units!r:.60} and target_unit={target_unit!r:.60}. Give "
            "both, or none."
        )
    if not isinstance(constants_have_units, (bool, np.bool_)):
        raise TypeError(f"constants_have_units must be True or False, got {constants_have_units!r:.60}.")
    if units is None:
        if constants_have_units:
            raise ValueError("constants_have_units=True has no effect without units. Give units and target_unit.")
        return
    if not isinstance(units, Mapping) or not all(
        isinstance(key, (str, int, np.integer)) and isinstance(value, str) for key, value in units.items()
    ):
        raise TypeError(
            "units must be a dictionary from columns (names or places) to units as text, such as {'v': 'm/s'}, got "
            f"{units!r:.80}."
        )
    if not all(isinstance(own, str) for own in _as_texts(target_unit)):
        raise TypeError(f"target_unit must be a text, or for several targets a list of them, got {target_unit!r:.60}.")


def units_of_fit(
    units: Mapping[Any, str] | None, target_unit: Any, columns: TableColumns, n_targets: int, *, are_free: bool
) -> list[Units] | None:
    """For each target, or an error if no formula can be right; `are_free`: constants may have units."""
    if units is None:
        return None
    given = _by_column(units, columns)
    targets = _as_texts(target_unit)
    if len(targets) == 1:
        targets *= n_targets
    if len(targets) != n_targets:
        raise ValueError(f"target_unit has {len(targets)} units for {n_targets} targets. Give one for each.")
    read = _Reader()
    of_columns = [
        {} if own is None else read(own, f"of {column.name!r}") for own, column in zip(given, columns, strict=True)
    ]
    of_targets = [read(own, "of the target") for own in targets]
    base = sorted({name for own in (*of_columns, *of_targets) for name in own})
    of_features = [
        _vector(own if k == 0 and column.categories is None else {}, base)
        for own, column in zip(of_columns, columns, strict=True)
        for k in range(column.n_features)  # after the number itself, [... is missing]
    ]
    features = np.array(of_features).reshape(len(of_features), len(base))
    found = [Units(features, np.array(_vector(own, base)), are_free) for own in of_targets]
    for own, text, dimension in zip(found, targets, of_targets, strict=True):
        if not are_free and not Exponents(features).has(own.target):
            each = ", ".join(f"{c.name!r}: {_shown(d)}" for c, d in zip(columns, of_columns, strict=True) if d)
            raise ValueError(
                f"no formula of the columns can have the unit {text!r} of the target, {_shown(dimension)}: no product "
                f"of powers of them has ({each or 'none has a unit'}). Add what is missing as a column, such as a "
                "constant of nature with its unit, or set constants_have_units=True."
            )
    return found


def warn_without_formula(units: list[Units] | None, entries: Sequence[Sequence[Entry]]) -> None:
    """Say so where nothing that is right in units was found, and the mean of the target must do."""
    for own, front in zip(units or (), entries, strict=units is not None):
        only = front[0]
        names = {only.forest.name(node) for node in only.forest.reachable([only.root])}
        is_number = own.constants_have_units or bool(is_zero(own.target))
        if len(front) == 1 and "feature" not in names and only.error > 0 and not is_number:
            warnings.warn(
                "no formula was found that is right in units and better than the mean of the target, which is what "
                "the model predicts. Check the units, add columns that are missing, or give the search more time.",
                stacklevel=2,
            )


def _as_texts(target_unit: Any) -> list[Any]:
    return list(target_unit) if isinstance(target_unit, (list, tuple)) else [target_unit]


def _by_column(units: Mapping[Any, str], columns: TableColumns) -> list[str | None]:
    """The unit of each column; None of columns of categories without one."""
    names = [column.name for column in columns]
    found: list[str | None] = [None] * len(names)
    for key, unit in units.items():
        place = names.index(key) if key in names else key
        if isinstance(place, str) or not 0 <= place < len(names):
            raise ValueError(f"units names a column {key!r} that is not in X, whose columns are {_listed(names)}.")
        if found[place] is not None:
            raise ValueError(f"units names the column {names[place]!r} twice.")
        found[place] = unit
    missing = [c.name for c, own in zip(columns, found, strict=True) if own is None and c.categories is None]
    if missing:
        raise ValueError(f"units has no unit of {_listed(missing)}. Give one for each column; '' is one without unit.")
    return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _vector(own: Base, base: Sequence[str]) -> list[float]:
    return [own.get(name, 0.0) for name in base]


def _shown(dimension: Base) -> str:
    """Exponents of base units, for errors."""
    return " ".join(name + (f"^{p:g}" if p != 1 else "") for name, p in sorted(dimension.items())) or "dimensionless"


class _Reader:
    """Reads units as the registry does that pint has for the application, which may know units of the user's."""

    def __init__(self) -> None:
        try:
            self.pint = import_module("pint")
        except ImportError as error:
            raise ImportError("units need the package pint: pip install 'symgrove[units]'.") from error
        self.registry = self.pint.get_application_registry()

    def __call__(self, text: str, whose: str) -> Base:
        try:
            unit = self.registry.parse_units(text)
            dimension = {name: float(p) for name, p in unit.dimensionality.items()}
        except Exception as error:  # pint's parser raises many kinds, assertions among them
            raise ValueError(f"the unit {text!r} {whose} cannot be read: {error}. Write units as pint does.") from error
        try:
            zero = self.registry.Quantity(0.0, unit).to_base_units().magnitude
        except self.pint.errors.PintError:
            zero = np.nan
        if zero != 0:
            raise ValueError(
                f"the unit {text!r} {whose} does not begin at zero, so that products of it mean nothing. Convert the "
                "column, for example to kelvin."
            )
        return dimension
