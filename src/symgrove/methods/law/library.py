"""Which atoms a search looks at: monomials, sums of two, 1 ± u, functions of these, and products of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from symgrove.forest.primitive_table import BUILTIN, Meaning
from symgrove.methods.law.atoms import AtomLibrary, Floats, Places, Recipe, ascending
from symgrove.methods.law.functions import FUNCTIONS
from symgrove.methods.law.task import LawTask

Matrix = NDArray[np.float64]
Exponents = tuple[float, ...]
MOST_ATOMS = 110_000
N_MONOMIALS = 2500
N_WITH_UNITS = 300  # monomials that are looked at where few of them suit
N_OF_DIMENSION = 600  # monomials without a unit, and of each dimension that the target's powers have
LARGEST_COST = 12
# Cost of a factor x^p, besides 1 for each feature but the first.
COST_OF_EXPONENT = {1.0: 1, -1.0: 1, 2.0: 2, -2.0: 2, 3.0: 3, -3.0: 3, 0.5: 2, -0.5: 2}


@dataclass
class Atoms:
    """A library, and places of the kinds of its atoms; `wanted` is the dimension of what they are looked at for."""

    library: AtomLibrary
    monomials: Places
    kinds: dict[str, Places]
    wanted: Matrix

    def of(self, *kinds: str) -> Places:
        """Places of some kinds, each once."""
        return ascending(np.concatenate([self.kinds[kind] for kind in kinds]))


def make_atoms(task: LawTask, active: Sequence[int], wanted: Matrix | None = None) -> Atoms:
    """Atoms of some of the features, of which a formula of a dimension may be made; by default the target's.

    There are few if the time is up.
    """
    rows = task.scanned
    library = AtomLibrary(rows.n_rows, MOST_ATOMS, task.units.n_base, task.is_over)
    maker = _Maker(task, library, list(active), task.units.known_target if wanted is None else wanted)
    monomials = maker.monomials()
    kinds = {"monomials": monomials}
    for name, places in maker.everything(monomials):
        kinds[name] = places
    return Atoms(library, monomials, kinds, maker.wanted[1])


class _Maker:
    def __init__(self, task: LawTask, library: AtomLibrary, active: list[int], wanted: Matrix) -> None:
        self.task, self.library, self.active = task, library, active
        self.columns = task.scanned.columns
        # Of sums for all powers of the target, and of what has no unit.
        self.wanted = [np.zeros_like(wanted), *(degree * wanted for degree in (1.0, -1.0, 2.0, -2.0))]
        self.wanted_ids = library.table.ids(np.array(self.wanted))
        self.has_units = task.units.n_base > 0

    # Monomials

    def monomials(self) -> Places:
        wanted = dict(_cheap_monomials(len(self.active), N_MONOMIALS))
        own: dict[Exponents, int] = {}
        for group in self.task.groups:
            if all(p == 0 or j in self.active for j, p in enumerate(group)):
                own[group] = 1
        for exponents, cost in wanted.items():
            full = [0.0] * self.task.n_features
            for j, p in zip(self.active, exponents, strict=True):
                full[j] = p
            if tuple(full) not in own and self._is_defined(full):
                own[tuple(full)] = cost
        if len(self.active) <= 6:
            for signs in product((0.0, 1.0, -1.0), repeat=len(self.active)):
                full = [0.0] * self.task.n_features
                for j, p in zip(self.active, signs, strict=True):
                    full[j] = p
                if any(full):
                    own.setdefault(tuple(full), int(sum(map(abs, full))))
        for more in self._of_wanted_dimensions():
            own.setdefault(more, int(sum(COST_OF_EXPONENT.get(p, 4) for p in more if p)))
        ordered = sorted(own.items(), key=lambda item: item[1])
        powers: dict[tuple[int, float], Floats] = {}
        values = np.ones((len(ordered), self.task.scanned.n_rows))
        with np.errstate(all="ignore"):
            for place, (exponents, _) in enumerate(ordered):
                for j, p in enumerate(exponents):
                    if p:
                        if (j, p) not in powers:
                            powers[j, p] = np.power(self.columns[j], p)
                        values[place] *= powers[j, p]
        costs = np.array([cost for _, cost in ordered], dtype=np.int64)
        dimension = self.library.table.ids(
            self.task.units.of_monomial(np.array([exponents for exponents, _ in ordered]))
        )
        with np.errstate(over="ignore"):
            values32 = values.astype(np.float32)
        made = self.library.add(
            values32, costs, lambda i: Recipe("monomial", exponents=ordered[i][0]), dimension=dimension
        )
        return self.library.cheapest(made)

    def _of_wanted_dimensions(self) -> Iterator[Exponents]:
        """Monomials that are not cheap enough to be there anyway."""
        if not self.task.units.n_base:
            return
        active = np.array(self.active, dtype=np.intp)
        system = self.task.exponents_of(active)
        for wanted in self.wanted:
            for exponents in system.monomials(wanted, COST_OF_EXPONENT, N_OF_DIMENSION):
                full = np.zeros(self.task.n_features)
                full[active] = exponents
                if self._is_defined(full.tolist()):
                    yield tuple(full.tolist())

    def _is_defined(self, exponents: Sequence[float]) -> bool:
        return all(p == int(p) or self.task.is_positive[j] for j, p in enumerate(exponents))

    def exponents_of(self, place: int) -> Exponents:
        return self.library.recipe(int(place)).exponents

    def _is_lone(self, place: int) -> bool:
        return sum(p != 0 for p in self.exponents_of(place)) == 1 and bool(self.library.cost[place] <= 2)

    # Everything else

    def everything(self, monomials: Places) -> Iterator[tuple[str, Places]]:
        library = self.library
        whole = np.array([i for i in monomials if all(p == int(p) for p in self.exponents_of(i))], dtype=np.intp)
        simple = np.array([i for i in whole if max(map(abs, self.exponents_of(i))) == 1], dtype=np.intp)
        lone = np.array([i for i in monomials if self._is_lone(i)], dtype=np.intp)
        in_front = monomials[np.isin(library.dimension[monomials], self.wanted_ids)]
        arguments = _distinct(simple[:300], whole[:250])
        if self.has_units:
            arguments = library.without_unit(monomials)[: arguments.size]
        sums = self._sums(whole, lone)
        yield "sums", sums
        one = self._one_plus(arguments, whole)
        yield "1 +", one
        low, squares = self._low_sums(sums, whole)
        yield "low sums", low
        yield "squares", squares
        functions = self._functions(arguments, _distinct(arguments, low, squares))
        yield "functions", functions
        one_f = self._one(functions[:2500], (1.0, -1.0), 5000)
        yield "1 + functions", one_f
        products = library.pairs("*", in_front[:200], functions[:3000], 30_000)
        products = library.cheapest(products)
        yield "products", products
        yield "1 + products", self._one(library.without_unit(products)[:5000], (1.0, -1.0), 10_000)
        some = _distinct(functions[:150], products[:400])
        yield (
            "features + products",
            _distinct(library.pairs("+", lone[:12], some, 3000), library.pairs("-", lone[:12], some, 3000)),
        )
        library.pairs("*", functions[:250], functions[:250], 5000, is_symmetric=True)
        base = library.cheapest(_distinct(sums, one, one_f))
        powers = self._powers(base[:1500])
        yield "powers", powers
        both = library.cheapest(_distinct(base[:800], powers[:2500]))
        library.pairs("*", monomials[: 150 if self.has_units else 40], both, 16_000, wanted=self.wanted_ids)

    def _sums(self, whole: Places, lone: Places) -> Places:
        # With units, most pairs must not be added.
        n_cheap, n_whole = (N_WITH_UNITS, None) if self.has_units else (40, 300)
        pairs, cheap = self.library.pairs, whole[:n_cheap]
        return _distinct(
            pairs("-", cheap, cheap, 900, is_symmetric=True),
            pairs("+", cheap, cheap, 900, is_symmetric=True),
            pairs("-", lone, whole[:n_whole], 1500),
            pairs("+", lone, whole[:n_whole], 1500),
        )

    def _one(self, places: Places, numbers: Sequence[float], n_most: int) -> Places:
        """1 + a number times an atom."""
        each = n_most // len(numbers)
        return _distinct(
            *(
                self.library.mapped("1 +", places, c, each, 2 + (abs(c) != 1), partial(_one_plus, np.float32(c)))
                for c in numbers
            )
        )

    def _one_plus(self, arguments: Places, whole: Places) -> Places:
        first = self._one(_distinct(arguments, whole[:2000]), (1.0, -1.0), 5000)
        return _distinct(first, self._one(arguments[:300], (2.0, -2.0, 0.5, -0.5, 1 / 3, -1 / 3), 1800))

    def _low_sums(self, sums: Places, whole: Places) -> tuple[Places, Places]:
        """Simple sums, also times and over simple monomials, if they have no unit; and squares of them."""
        library = self.library
        others, no_unit = whole[: N_WITH_UNITS if self.has_units else 12], self.wanted_ids[:1]
        simplest = sums[library.cost[sums] <= 3]
        more = [library.pairs(operation, simplest, others, 400, wanted=no_unit) for operation in ("*", "/")]
        low = library.cheapest(_distinct(simplest, *more, sums[(library.cost[sums] > 3) & (library.cost[sums] <= 5)]))
        low = library.without_unit(low)[:900]
        return low, library.mapped("power", low, 2.0, 900, 1, np.square)

    def _functions(self, plain: Places, wide: Places) -> Places:
        library, found = self.library, []
        for name, own in FUNCTIONS.items():
            if name not in self.task.functions or not own.numbers:
                continue
            before = len(library)
            # Plain ones first: exp(1 - u) is a twin of exp(-u).
            for places in [plain, wide] if own.is_wide else [plain]:
                for i, c in enumerate(own.numbers):
                    share = 0.4 if i == 0 else 0.6 / max(1, len(own.numbers) - 1)
                    cost = 1 + (0 if c == 1 else 1 if c == -1 else 2 if abs(c) in (2, 0.5) else 3)
                    of = partial(_of_scaled, BUILTIN[own.primitive].meaning, np.float32(c))
                    left = own.n_atoms - (len(library) - before)
                    n_most = min(int(share * own.n_atoms), left)
                    found.append(library.mapped(name, library.cheapest(places), c, n_most, cost, of))
        return library.cheapest(_distinct(*found)) if found else np.zeros(0, dtype=np.intp)

    def _powers(self, base: Places) -> Places:
        found, left = [], 6000
        for p in (-1.0, 0.5, -0.5, 2.0, -2.0):
            before = len(self.library)
            found.append(self.library.mapped("power", base, p, left, 1, partial(_to_the, np.float32(p))))
            left -= len(self.library) - before
        return self.library.cheapest(_distinct(*found))


def _one_plus(number: np.float32, values: Floats) -> Floats:
    return 1 + number * values


def _of_scaled(meaning: Meaning, number: np.float32, values: Floats) -> Floats:
    scaled = number * values
    found: Floats = meaning(scaled, scaled, 0.0)
    return found


def _to_the(exponent: np.float32, values: Floats) -> Floats:
    return np.power(values, exponent)


def _distinct(*parts: Places) -> Places:
    """Places of several parts, each once, in their order."""
    return np.array([*dict.fromkeys(np.concatenate(parts).tolist())], dtype=np.intp) if parts else np.zeros(0, np.intp)


def _cheap_monomials(n_features: int, n_most: int) -> list[tuple[Exponents, int]]:
    """Exponents with their cost, the cheapest first."""
    found: list[tuple[Exponents, int]] = []
    choices = sorted(COST_OF_EXPONENT.items(), key=lambda item: item[1])
    for cost in range(1, LARGEST_COST + 1):
        found += [(own, cost) for own in _of_cost(n_features, cost, choices, n_most - len(found))]
        if len(found) >= n_most:
            break
    halves = [
        (tuple(signs[vs.index(j)] if j in vs else 0.0 for j in range(n_features)), k + 1)
        for k in (1, 2, 3)
        for vs in combinations(range(n_features), k)
        for signs in product((0.5, -0.5), repeat=k)
    ]
    return [*found, *halves[: n_most // 4]]


def _of_cost(n_features: int, cost: int, choices: Sequence[tuple[float, int]], n_most: int) -> Iterator[Exponents]:
    """All exponents of exactly this cost, those of few features first."""
    n_found = 0
    for n_used in range(1, n_features + 1):
        for places in combinations(range(n_features), n_used):
            for exponents in _split(cost, n_used, choices):
                if n_found >= n_most:
                    return
                full = [0.0] * n_features
                for j, p in zip(places, exponents, strict=True):
                    full[j] = p
                n_found += 1
                yield tuple(full)


def _split(cost: int, n_used: int, choices: Sequence[tuple[float, int]]) -> Iterator[Exponents]:
    if n_used == 0:
        if cost == 0:
            yield ()
        return
    for exponent, own in choices:
        if own <= cost - (n_used - 1):
            for rest in _split(cost - own, n_used - 1, choices):
                yield (exponent, *rest)
