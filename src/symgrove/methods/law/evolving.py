"""Formulas of every size by evolution, from random programs and from what was found before.

    repeat:
        children = crossover and mutation of the archive's programs, small terms inserted where they explain most of
            what is left, and programs with a node left out
        constants of all children by least squares
        the archive keeps the best of every size

The best of every size, each better than all smaller ones, become formulas with free constants.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from symgrove.forest.forest import Forest, Ids
from symgrove.forest.primitives import PrimitiveSet
from symgrove.methods.law.archive import Archive, Archived
from symgrove.methods.law.findings import LARGEST_IN_FRONT, Findings, Found
from symgrove.methods.law.fitted_programs import FittedPrograms
from symgrove.methods.law.fitting import fit
from symgrove.methods.law.functions import EVOLVED, EVOLVED_IF_ALLOWED, FUNCTIONS, OPERATIONS
from symgrove.methods.law.insertions import JudgedRows, best_insertions, make_terms, simple_terms
from symgrove.methods.law.least_squares_kernels import MOST_NODES
from symgrove.methods.law.task import LawTask
from symgrove.methods.law.translating import formula_of, program_of
from symgrove.variation.mixture import MixedVariation

N_BETWEEN = 20  # generations between looks
N_FIRST, N_BRED = 500, 30  # random programs, and children by crossover and mutation
N_IMPROVED, N_INSERTIONS, SHARE_OF_INSERTIONS = 10, 12, 0.3
N_SHORTENED = 2
N_OF_SIZE = 15
ROWS_PER_NODE, SMALLEST_LARGEST = 2, 15  # of few rows, large programs know nothing but these rows
N_STEPS, N_LAST_STEPS = 6, 10  # of least squares
N_TERMS, LARGEST_TERM, N_BETWEEN_TERMS = 1500, 9, 20
N_JUDGED = 500  # rows that insertions are judged on
MOST_IN_FOREST = 300_000
# Of crossover, mutation, perturbation, join, new and hoist.
SHARES = (0.35, 0.2, 0.1, 0.15, 0.05, 0.15)
SHARE_OF_CONSTANTS, HEIGHT, N_DATA_VALUES = 0.2, 3, 1024


def evolve(task: LawTask, findings: Findings) -> Iterator[str]:
    """Names of steps, each after its formulas were kept."""
    if task.units.are_given:  # programs know of no units, and hardly one of them would be right
        return
    evolution = _Evolution(task, findings)
    if not evolution.archive.by_size:  # no program has values that vary
        return
    for generation in range(N_BETWEEN, task.n_generations + 1, N_BETWEEN):
        for _ in range(N_BETWEEN):
            if task.is_over():
                break
            evolution.advance()
        evolution.keep_best()
        yield f"generation {generation}"
        if task.is_over():
            return


class _Evolution:
    def __init__(self, task: LawTask, findings: Findings) -> None:
        allowed = [name for name in EVOLVED_IF_ALLOWED if name in task.functions]
        bred = [*EVOLVED, *(FUNCTIONS[name].primitive if name in FUNCTIONS else name for name in allowed)]
        self.task, self.findings = task, findings
        self.programs = FittedPrograms(task.evolved, [*bred, *(name for name in OPERATIONS if name not in bred)])
        self.rng = task.rng("evolution")
        judged = slice(0, N_JUDGED)
        columns, y, weight = self.programs.target
        self.rows = JudgedRows(np.ascontiguousarray(columns[:, judged]), y[judged], weight[judged])
        source = Forest(task.n_features, PrimitiveSet(tuple(bred)))
        shares = SHARES, SHARE_OF_CONSTANTS, HEIGHT
        self.vary = MixedVariation(source, columns[:, :N_DATA_VALUES], MOST_NODES, *shares)
        self.simple = np.unique(simple_terms(self.programs.forest, self.rows.features, bred))
        largest = max(SMALLEST_LARGEST, task.rows.n_rows // ROWS_PER_NODE)
        self.archive = Archive(N_OF_SIZE, int(min(LARGEST_IN_FRONT, largest, findings.most_nodes)))
        seeds = [program_of(findings.formulas, found, self.programs.forest) for found in findings.found.values()]
        first = self.vary.new(self.forest, N_FIRST, self.rng)
        self._enter(np.concatenate([self.simple, first, np.array([s for s in seeds if s is not None], dtype=np.int64)]))
        self.generation = 0
        self._kept: set[tuple[float, int]] = set()

    @property
    def forest(self) -> Forest:
        return self.programs.forest

    def advance(self) -> None:
        """One generation."""
        if self.generation % N_BETWEEN_TERMS == 0:
            self.archive.thin_out()
            self._collect()
            self.terms = make_terms(self.programs, self._some_terms(), self.rows)
        self.generation += 1
        parents = [self.archive.parent(self.rng) for _ in range(N_IMPROVED + N_SHORTENED)]
        roots, old, new = [], [], []
        for parent in parents[:N_IMPROVED]:
            own = self.terms, self.rows, N_INSERTIONS, SHARE_OF_INSERTIONS, self.rng
            for node, replacement in zip(*best_insertions(self.programs, parent, *own), strict=True):
                roots.append(parent.root)
                old.append(node)
                new.append(replacement)
        for parent in parents[N_IMPROVED:]:
            for node, replacement in self._shorter(parent):
                roots.append(parent.root)
                old.append(node)
                new.append(replacement)
        changed = self.programs.with_replaced(*(np.array(each, dtype=np.int64) for each in (roots, old, new)))
        known = self.archive.roots()
        bases, donors = known[self.rng.integers(known.size, size=(2, N_BRED))]
        bred = self.vary(self.forest, bases, donors, self.rng)
        self._enter(np.concatenate([changed[changed >= 0], bred]))

    def _shorter(self, parent: Archived) -> Iterator[tuple[int, int]]:
        """Nodes of a program, each with an operand of its own, or 1, to take its place."""
        one = self.forest.constant(1.0)
        for node in self.forest.reachable([parent.root]):
            operands = self.forest.children(node)
            yield from ((node, operand) for operand in operands if self.forest.name(operand) != "constant")
            if operands and node != parent.root:
                yield node, one

    def _some_terms(self) -> Ids:
        """Simple terms, parts of programs of the archive, and random programs."""
        parts = np.array(self.forest.reachable(self.archive.roots()), dtype=np.int64)
        sizes = self.forest.size(parts)
        parts = parts[(sizes > 1) & (sizes <= LARGEST_TERM)]
        n = N_TERMS // 4
        some = (self.rng.permutation(each)[:most] for each, most in ((self.simple, 2 * n), (parts, n)))
        return np.unique(np.concatenate([*some, self.vary.new(self.forest, n, self.rng)]))

    def _enter(self, roots: Ids) -> None:
        roots = np.unique(roots)
        # Programs that variation could not take apart again are no parents.
        roots = roots[self.forest.size(roots) <= MOST_NODES]
        sizes = self.programs.sizes(roots)
        small = (sizes > 0) & (sizes <= self.archive.largest)
        roots, sizes = roots[small], sizes[small]
        fits = self.programs.fit(roots, N_STEPS)
        welcome = self.archive.welcomes(sizes, fits.errors)
        welcome = welcome[np.isfinite(fits.constants[welcome]).all(axis=1)]
        fitted = self.programs.with_constants(roots[welcome], fits.constants[welcome])
        for place, root in zip(welcome, fitted.tolist(), strict=True):
            a, b = fits.lines[place].tolist()
            self.archive.add(int(sizes[place]), Archived(float(fits.errors[place]), root, (a, b)))

    def _collect(self) -> None:
        if len(self.forest) > MOST_IN_FOREST:
            ids = self.forest.collect(np.concatenate([self.archive.roots(), self.simple]))
            self.archive, self.simple = self.archive.renumbered(ids), ids[self.simple]

    def keep_best(self) -> None:
        """Offer the best of every size, if it is better than all smaller ones, with constants of all rows."""
        lowest = np.inf
        for size in sorted(self.archive.by_size):
            best = self.archive.by_size[size][0]
            if best.error < lowest * (1 - 1e-4):
                lowest = best.error
                if (best.error, size) not in self._kept:
                    self._kept.add((best.error, size))
                    self._keep(best)

    def _keep(self, best: Archived) -> None:
        formulas, rows = self.findings.formulas, self.findings.rows
        translated = formula_of(formulas, best, self.forest)
        if translated is None:
            return
        root, values = translated
        fitted = fit(formulas, root, rows, values, N_LAST_STEPS)
        if np.isfinite(fitted.error):
            bits = formulas.bits(root)
            self.findings.keep(Found(root, fitted.values, fitted.error, bits, "evolution", 0))
