"""`make bench`: all measurements as one table. Arguments: names of parts, for example `raw rows`."""

from __future__ import annotations

import os
import sys

# Before NumPy loads its matrix library: one thread, so that ratios mean something on a busy machine.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

from benchmarks import (
    bench_fit,
    bench_fitness,
    bench_formulas,
    bench_grove,
    bench_losses,
    bench_methods,
    bench_raw,
    bench_rows,
    bench_sharing,
    bench_startup,
    bench_versions,
)
from benchmarks.table import show, show_header

PARTS = {
    "raw": bench_raw,
    "sharing": bench_sharing,
    "fitness": bench_fitness,
    "formulas": bench_formulas,
    "losses": bench_losses,
    "rows": bench_rows,
    "fit": bench_fit,
    "methods": bench_methods,
    "grove": bench_grove,
    "startup": bench_startup,
    "versions": bench_versions,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"unknown part {unknown[0]!r}; parts are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    show_header()
    is_missed = False
    for name in names or PARTS:
        for line in PARTS[name].lines():
            show(line)
            is_missed = is_missed or line.verdict == "MISSED"
    return int(is_missed)


sys.exit(main(sys.argv[1:]))
