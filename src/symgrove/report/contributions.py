"""What each column contributes to a prediction, for the page's script (why.js): parts of a sum, and rows to compare.

Contributions are Shapley values: the prediction for a row less its mean over some rows of the data, shared out among
the columns. They are linear in the model, so those of a sum of terms are the sums of those of its terms, and a term of
few columns has few subsets of columns: all are tried. So they are of a model that is no sum, such as the interquartile
mean of teams, if that takes at most a second; else it is asked in random orders of the columns. The contributions add
up in either case.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import numpy as np

from symgrove.estimators.base import Estimator
from symgrove.estimators.fitted import plan_of
from symgrove.estimators.input import columns_of
from symgrove.export.javascript import CALLS, HELPERS
from symgrove.export.writing import fill, step_helpers, step_templates
from symgrove.inspection._input import class_index, prediction
from symgrove.models.plan import MemberBlock, Plan
from symgrove.report.rows import ReportRows

N_BESIDE = 20  # rows of the data that a prediction is compared with
SUMS = {("plain", "mean"), ("within", "mean"), ("plain", "pooled")}  # heads and combinations that add members up

_SCRIPT = """const within = (a, low, high) => a < low ? low : a > high ? high : a;
{helpers}
const operations = [{operations}];
const steps = {steps};
const parts = {parts};
const owners = {owners};
return {{operations, steps, parts, owners}};
"""


def rows_beside(model: Estimator, rows: ReportRows) -> list[list[Any]]:
    """Rows from the lowest prediction (or probability of the last class) to the highest, at equal distances."""
    table = np.asarray(rows.X)
    found = prediction(model, rows.X, class_index(model, None))
    places = (np.arange(N_BESIDE) + 0.5) / N_BESIDE * len(table)
    chosen = np.argsort(found, kind="stable")[np.unique(places.astype(int))]
    return [list(row) for row in columns_of(model).values(table[chosen])]


def parts_script(model: Estimator) -> str:
    """Code that gives the parts of a sum; empty if the prediction is none."""
    plan = plan_of(model)
    has_inverse = any(target.inverse for target in plan.targets)  # then they would be parts of a product
    if plan.classes is not None or has_inverse or not all((block.head, block.combine) in SUMS for block in plan.blocks):
        return ""
    templates = step_templates(plan, "javascript", CALLS)
    names = sorted({step.name for step in plan.steps} - {"input", "constant"})
    place = {name: i for i, name in enumerate(names)}
    written = [fill(templates[name], ["a", "b"], ["n", "m"]) for name in names]
    steps = [
        [place.get(step.name, -1 if step.name == "input" else -2), list(step.args), list(step.numbers)]
        for step in plan.steps
    ]
    return _SCRIPT.format(
        helpers="\n".join(step_helpers(plan, "javascript", HELPERS)),
        operations=", ".join(f"(a, b, n, m) => {text}" for text in written),
        steps=json.dumps(steps),
        parts=json.dumps(_parts(plan)),
        owners=json.dumps(plan.columns.owners.tolist()),
    )


def _parts(plan: Plan) -> list[dict[str, Any]]:
    """Steps and coefficients of the sum, by the columns that they read."""
    read = _columns_read(plan)
    parts: dict[tuple[int, ...], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    target = plan.targets[0]
    for weight, block in zip(target.weights, target.blocks, strict=True):
        share = weight if target.base is not None else 1.0
        for step, coefficient in _coefficients(block).items():
            parts[tuple(sorted(read[step]))][step] += share * coefficient
    return [{"columns": list(columns), "sum": list(own.items())} for columns, own in sorted(parts.items()) if columns]


def _columns_read(plan: Plan) -> list[frozenset[int]]:
    """The columns that each step depends on."""
    owners = plan.columns.owners
    found: list[frozenset[int]] = []
    for step in plan.steps:
        own = {int(owners[int(step.numbers[0])])} if step.name == "input" else set()
        found.append(frozenset(own.union(*(found[arg] for arg in step.args))))
    return found


def _coefficients(block: MemberBlock) -> dict[int, float]:
    """Of the steps in what the members say together."""
    n = sum(block.counts) if block.combine == "pooled" else len(block.rows)
    found: dict[int, float] = defaultdict(float)
    for row in block.rows:
        for index, coefficient in zip(row.indices, row.coefficients, strict=True):
            found[block.values[index]] += coefficient / n
    return found
