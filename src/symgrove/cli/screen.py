"""A model as lines of text: at most a screen, unless everything is wanted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from symgrove.cli.fronts import end_of, front_lines

MOST_TERMS, MOST_TARGETS, MOST_OF_FEW_TARGETS = 12, 10, 4
MOST_COLUMNS, MOST_EQUATIONS, MOST_NOTES = 10, 15, 8
LONGEST = 150  # characters of a line
SCORES = {
    "fit": "rows kept out of the fit",
    "evolutions": "rows held out of whole evolutions (a little optimistic: they chose the strength)",
    "search": "rows held out of the search (a little optimistic: formulas were compared on them)",
    "samples": "out-of-bag rows (optimistic)",
}
EFFECT = "effect: standard deviation on rows like those of the fit"


def lines_of(found: dict[str, Any], *, is_whole: bool) -> list[str]:
    """What `symgrove show` prints."""
    sections = [
        _model(found),
        _formulas(found, is_whole=is_whole),
        _importances(found, is_whole=is_whole),
        _equations(found, is_whole=is_whole),
        _fronts(found, is_whole=is_whole),
        _members(found),
        _recurring(found),
        _notes(found, is_whole=is_whole),
        []
        if is_whole
        else ["--all shows the rest; --digits 8 more digits; `symgrove export --to text` the exact model"],
    ]
    lines = [line for section in sections if section for line in ("", *section)]
    return lines[1:]


def score_line(found: dict[str, Any]) -> str:
    """The score on rows that the fit left out, or how to get one."""
    if found["score"] is None:
        return (
            "score on new rows: not known, as all were used; `symgrove score` measures it, --calibration 0.2 keeps some"
        )
    n_rows = f"{found['n_score_rows']:,} " if found["n_score_rows"] else ""
    return f"{found['score_of']} {found['score']:.4f} on {n_rows}{SCORES[found['score_rows']]}"


def _model(found: dict[str, Any]) -> list[str]:
    what = found["target"] or ("numbers" if found["classes"] is None else "classes")
    n_columns = len(found["features"])
    rows = f", learned from {found['n_rows']:,} rows" if found["n_rows"] else ""
    lines = [f"{found['estimator']}: {what} from {n_columns} column{'s' if n_columns > 1 else ''}{rows}"]
    lines += [_cut(f"classes: {', '.join(found['classes'])}", is_whole=False)] if found["classes"] else []
    lines += [score_line(found), f"{found['parts']}; {found['size']:,} node{'s' if found['size'] != 1 else ''}"]
    weights = [f"{name} {weight:.2f}" for name, weight in found["weights"].items() if weight > 0]
    if found["weights"] and (len(weights) > 1 or sum(found["weights"].values()) < 0.995):
        rest = 1 - sum(found["weights"].values())
        mean = f", the mean of the target {rest:.2f}" if rest > 0.005 else ""
        lines.append(f"weights of the ensembles, by generation: {', '.join(weights) or 'none'}{mean}")
    if found["generations"] is None:  # a search
        return [*lines, f"searched; {end_of(found['stopped_by'])}"]
    return [*lines, f"evolved for {found['generations']} generations, stopped by {found['stopped_by']}"]


def _formulas(found: dict[str, Any], *, is_whole: bool) -> list[str]:
    """Terms of the formulas that the model is, or its strongest ones; a term a line."""
    sums, is_model = found["formulas"] or found["strongest"], bool(found["formulas"])
    shown = sums if is_whole else sums[:MOST_TARGETS]
    n_most = None if is_whole else MOST_TERMS if len(sums) == 1 else 3 if len(sums) <= MOST_OF_FEW_TARGETS else 1
    lines = []
    if sums and not is_model:
        lines.append(f"the strongest terms of the members' mean ({EFFECT})")
    for own in shown:
        if is_model:
            lines.append(f"{own['of']} is the sum of these terms ({EFFECT})")
        elif len(sums) > 1:
            lines.append(f"{own['of']}")
        terms = own["terms"][:n_most]
        lines += [_cut(f"{_number(t['effect']):>9}  {t['formula']}", is_whole=is_whole) for t in terms]
        lines += _more(own["terms"], terms, "terms") if is_model else []
    return [*lines, *_more(sums, shown, "targets")]


def _importances(found: dict[str, Any], *, is_whole: bool) -> list[str]:
    pairs = list(found["importances"].items())
    shown = pairs if is_whole else pairs[:MOST_COLUMNS]
    lines = [_cut(f"  {value:6.3f}  {name}", is_whole=is_whole) for name, value in shown]
    return ["importance of the columns", *lines, *_more(pairs, shown, "columns")]


def _equations(found: dict[str, Any], *, is_whole: bool) -> list[str]:
    shown = found["equations"] if is_whole else found["equations"][:MOST_EQUATIONS]
    lines = [_cut(f"  {line}", is_whole=is_whole) for line in shown]
    return ["the model", *lines, *_more(found["equations"], shown, "equations")] if shown else []


def _fronts(found: dict[str, Any], *, is_whole: bool) -> list[str]:
    if is_whole:
        return [line for front in found["fronts"] for line in front_lines(front)]
    points = [point for front in found["fronts"] for point in front["points"] if not point["is_chosen"]]
    sizes = ", ".join(str(size) for size in sorted({point["size"] for point in points}))
    return [_cut(f"--all shows formulas of other sizes too (nodes: {sizes})", is_whole=False)] if points else []


def _members(found: dict[str, Any]) -> list[str]:
    if not found["members"]:
        return []
    lines = [f"the {len(found['members'])} heaviest members (weight, nodes, formula)"]
    for member in found["members"]:
        label = "" if member["class"] is None else f"[{member['class']}] "
        lines.append(f"  {member['weight']:.3f}  {member['size']:4}  {label}{member['formula']}")
    return lines


def _recurring(found: dict[str, Any]) -> list[str]:
    if not found["consensus"] or found["equations"]:
        return []
    lines = [f"  {part['share']:5.0%}  {part['size']:4}  {part['formula']}" for part in found["consensus"]]
    return ["parts that recur (share of the members, nodes, formula)", *lines]


def _notes(found: dict[str, Any], *, is_whole: bool) -> list[str]:
    shown = found["notes"] if is_whole else found["notes"][-MOST_NOTES:]  # functions are last
    lines = [_cut(f"  {note}", is_whole=is_whole) for note in shown]
    return ["in formulas", *lines, *_more(found["notes"], shown, "notes")] if shown else []


def _more(everything: Sequence[Any], shown: Sequence[Any], what: str) -> list[str]:
    n = len(everything) - len(shown)
    return [f"  and {n} more {what}: --all"] if n > 0 else []


def _number(value: float) -> str:
    return "" if value == 0 or math.isnan(value) else f"{value:.3g}"


def _cut(line: str, *, is_whole: bool) -> str:
    return line if is_whole or len(line) <= LONGEST else f"{line[:LONGEST]} ..."
