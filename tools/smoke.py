"""Use the installed wheel: evaluate, vary, select, print and parse. Argument: the folder it must come from."""

import sys
from pathlib import Path

import numpy as np

import symgrove
from symgrove.experiments.study import load_study, published

folder = Path(sys.argv[1]).resolve()
origin = Path(symgrove.__file__).resolve()
if folder not in origin.parents:
    raise SystemExit(f"symgrove was imported from {origin}, not from {folder}")
if not (origin.parent / "py.typed").exists():
    raise SystemExit("py.typed is missing from the wheel")

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
data = symgrove.make_dataset(X, X[:, 0] * X[:, 1])
primitives = symgrove.PrimitiveSet()
forest = symgrove.Forest(3, primitives)
source = symgrove.RandomPrograms(forest)
roots = source.ramped_half_and_half(forest, 50, rng)
children = symgrove.SubtreeVariation(source)(forest, roots, rng)
with symgrove.CpuEngine(data, primitives) as engine:
    samples = engine.prepare(symgrove.bootstrap_counts(200, 5, seed=0))
    errors = symgrove.score(engine, forest, children, samples, symgrove.MeanSquaredError()).errors
best = children[symgrove.partitioned_truncation(errors, 5, rng)]
for root in best:
    text = symgrove.to_text(forest, root)
    if symgrove.parse(forest, text) != root:
        raise SystemExit(f"round trip failed: {text}")
if len(load_study("table1").methods) < 5 or not published():
    raise SystemExit("the studies are missing from the wheel")
for name in ("index.html", "main.js", "studio.css"):
    if not (origin.parent / "studio" / "page" / name).exists():
        raise SystemExit(f"the studio's page/{name} is missing from the wheel")
print(f"smoke test passed with symgrove {symgrove.__version__} from the wheel")
