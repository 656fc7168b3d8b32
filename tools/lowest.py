"""Print the lower bounds of the package's dependencies as exact pins, for `make test-lowest`."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
for requirement in project["dependencies"]:
    match = re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement)
    if match is None:
        raise SystemExit(f"dependency {requirement!r} has no plain lower bound")
    print(f"{match[1]}=={match[2]}")
