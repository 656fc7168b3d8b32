"""Random programs and subtree variation on prefix lists, drawing the same random numbers as the kernels."""

import math

from tests.naive.programs import end_of, positions_by_depth, replace_at


def below(rng, n):
    return min(int(rng.random() * n), n - 1)


def draw_constant(rng, low, high):
    return math.floor((low + (high - low) * rng.random()) * 1000.0 + 0.5) / 1000.0 + 0.0


def grow(rng, functions, n_features, constants, height, minimum, is_full=False, p_function=None):
    """A random program as a prefix list; `functions` are (name, arity), `constants` is (low, high) or None.

    `n_features` is their number, or a list of those that may be used.
    """
    features = range(n_features) if isinstance(n_features, int) else n_features
    n_terminals = len(features) + (constants is not None)
    result, depths = [], [0]
    while depths:
        depth = depths.pop()
        if depth >= height:
            choice = below(rng, n_terminals)
        elif is_full or depth < minimum:
            choice = n_terminals + below(rng, len(functions))
        elif p_function is None:
            choice = below(rng, n_terminals + len(functions))
        elif rng.random() < p_function:
            choice = n_terminals + below(rng, len(functions))
        else:
            choice = below(rng, n_terminals)
        if choice >= n_terminals:
            name, arity = functions[choice - n_terminals]
            result.append((name, arity))
            depths += [depth + 1] * arity
        elif choice == len(features):
            result.append((("constant", draw_constant(rng, *constants)), 0))
        else:
            result.append((("feature", features[choice]), 0))
    return result


def ramped_half_and_half(rng, functions, n_features, constants, n_programs, low=2, high=6, minimum=2):
    """Full half, then grown half; heights in equal shares; duplicates redrawn at most 10 * n_programs times."""
    accepted, n_rejected = [], 0
    for half, is_full in ((n_programs // 2, True), (n_programs - n_programs // 2, False)):
        n_done = 0
        while n_done < half:
            height = low + n_done * (high - low + 1) // half
            program = grow(rng, functions, n_features, constants, height, minimum, is_full)
            if program in accepted and n_rejected < 10 * n_programs:
                n_rejected += 1
                continue
            accepted.append(program)
            n_done += 1
    return accepted


def choose(rng, prefix):
    """Position of a node at a uniformly drawn depth, uniform among the nodes there."""
    by_depth = positions_by_depth(prefix)
    depth = below(rng, len(by_depth))
    return by_depth[depth][below(rng, len(by_depth[depth]))]


def vary(
    rng,
    parents,
    p_crossover,
    p_mutation,
    max_size,
    functions,
    n_features,
    constants,
    height=6,
    minimum=2,
    donors=None,
    substitutes=None,
):
    """One child for every parent, by list surgery."""
    children = []
    for i, base in enumerate(parents):
        u = rng.random()
        child = base
        if u < p_crossover:
            donor = donors[i] if donors is not None else parents[below(rng, len(parents))]
            start = choose(rng, donor)
            child = replace_at(base, choose(rng, base), donor[start : end_of(donor, start)])
        elif u < p_crossover + p_mutation:
            position = choose(rng, base)
            child = replace_at(base, position, grow(rng, functions, n_features, constants, height, minimum))
        children.append(child if len(child) <= max_size else (substitutes or parents)[i])
    return children


def swap_or_mutate(
    rng,
    mothers,
    fathers,
    p_crossover,
    max_height,
    functions,
    n_features,
    branch_height,
    p_function,
    p_mutation=None,
    constants=None,
):
    """Two children of a swap of uniformly drawn branches, or the mother; what is too high at any time is dropped.

    Without a chance of mutation, mothers that are not swapped are mutated; else a coin for each pair decides.
    """

    def fits(program):
        return max(positions_by_depth(program)) <= max_height

    children = []
    for mother, father in zip(mothers, fathers, strict=True):
        is_swap = rng.random() < p_crossover
        is_mutated = not is_swap if p_mutation is None else rng.random() < p_mutation
        made = [mother]
        if is_swap:
            start, other = below(rng, len(mother)), below(rng, len(father))
            branch, donated = mother[start : end_of(mother, start)], father[other : end_of(father, other)]
            made = [replace_at(mother, start, donated), replace_at(father, other, branch)]
            made = [child for child in made if fits(child)]
        for program in made:
            child = program
            if is_mutated:
                start = below(rng, len(program))
                branch = grow(rng, functions, n_features, constants, branch_height, 0, p_function=p_function)
                child = replace_at(program, start, branch)
            children += [child] if fits(child) else []
    return children


class Mixture:
    """Children by one of six operators, drawing the same random numbers as the kernels.

    `rates` are cumulative: crossover, mutation, perturbation, join, new, hoist. `functions` are (name, arity), `values`
    those of each feature.
    """

    def __init__(self, rng, rates, functions, n_features, values, height, max_size):
        self.rng, self.rates, self.functions, self.n_features = rng, rates, functions, n_features
        self.values, self.height, self.max_size = values, height, max_size
        self.binary = [name for name, arity in functions if arity == 2]

    def children(self, bases, donors):
        """One for every base; too large ones are drawn again, at last as new programs."""
        return [self.child(base, donor) for base, donor in zip(bases, donors, strict=True)]

    def child(self, base, donor):
        for _ in range(4):
            child = self.make(base, donor)
            if child is not None and len(child) <= self.max_size:
                return child
        return self.new()

    def make(self, base, donor):
        rng, rates = self.rng, self.rates
        u = rng.random()
        if rates[3] <= u < rates[4]:
            return self.new()
        if u < rates[0]:
            start = below(rng, len(donor))
            return self.splice(base, donor[start : end_of(donor, start)])
        if u < rates[1]:
            return self.splice(base, self.branch(below(rng, self.height + 1)))
        if u < rates[2]:
            return self.perturb(list(base))
        if u < rates[3]:
            return self.join(base, donor if rng.random() < 0.5 else self.branch(below(rng, self.height + 1)))
        start = below(rng, len(base))
        return base[start : end_of(base, start)]

    def draw_value(self, feature=None):
        if self.rng.random() < 0.5:
            row = self.values[below(self.rng, self.n_features) if feature is None else feature]
            return float(row[below(self.rng, len(row))]) + 0.0
        return self.rng.standard_normal() * 1.5 + 0.0

    def put_leaf(self, result, place):
        """At a place, which may be the end; a constant beside a feature takes the feature's values."""
        sibling = result[place - 1][0] if place >= 2 and result[place - 2][1] == 2 else ("none",)
        if self.rng.random() < 0.15:
            leaf = ("constant", self.draw_value(sibling[1] if sibling[0] == "feature" else None))
        else:
            leaf = ("feature", below(self.rng, self.n_features))
            if sibling[0] == "constant":
                result[place - 1] = (("constant", self.draw_value(leaf[1])), 0)
        result[place : place + 1] = [(leaf, 0)]

    def branch(self, limit):
        result, depths = [], [0]
        while depths:
            depth = depths.pop()
            if depth < limit and (depth == 0 or self.rng.random() < 0.5):
                name, arity = self.functions[below(self.rng, len(self.functions))]
                result.append((name, arity))
                depths += [depth + 1] * arity
            else:
                self.put_leaf(result, len(result))
        return result

    def new(self):
        return self.branch(min(1 + below(self.rng, self.height), self.height))

    def splice(self, base, branch):
        return replace_at(base, below(self.rng, len(base)), branch)

    def perturb(self, child):
        rng = self.rng
        places = [i for i, (token, _) in enumerate(child) if token[0] == "constant"]
        if places and rng.random() < 0.5:
            nudge = 0.01 * (1.0 / 0.01) ** rng.random()
            for i in places:
                child[i] = (("constant", child[i][0][1] + nudge * rng.standard_normal()), 0)
            return child
        i = below(rng, len(child))
        if child[i][1] == 0:
            self.put_leaf(child, i)
            return child
        for _ in range(8):
            name, arity = self.functions[below(rng, len(self.functions))]
            if arity == child[i][1]:
                child[i] = (name, arity)
                break
        return child

    def join(self, base, other):
        if not self.binary or 1 + len(base) + len(other) > self.max_size:
            return None
        root = [(self.binary[below(self.rng, len(self.binary))], 2)]
        return root + base + other if self.rng.random() < 0.5 else root + other + base
