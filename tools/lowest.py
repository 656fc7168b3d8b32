"""Print the lower bounds of the package's dependencies, optional ones included, as pins for `make test-lowest`."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
for requirement in dict.fromkeys(
    [*project["dependencies"], *extras["studies"], *extras["export"], *extras["parquet"], *extras["dask"]]
):
    match = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", requirement)
    if match is None:
        raise SystemExit(f"dependency {requirement!r} has no plain lower bound")
    print(f"{match[1]}=={match[2]}")
