"""Random programs and subtree variation on prefix lists, drawing the same random numbers as the kernels."""

import math

from tests.naive.programs import end_of, positions_by_depth, replace_at


def below(rng, n):
    return min(int(rng.random() * n), n - 1)


def draw_constant(rng, low, high):
    return math.floor((low + (high - low) * rng.random()) * 1000.0 + 0.5) / 1000.0 + 0.0


def grow(rng, functions, n_features, constants, height, minimum, is_full=False, p_function=None):
    """A random program as a prefix list; `functions` are (name, arity), `constants` is (low, high) or None."""
    n_terminals = n_features + (constants is not None)
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
        elif choice == n_features:
            result.append((("constant", draw_constant(rng, *constants)), 0))
        else:
            result.append((("feature", choice), 0))
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


def swap_or_mutate(rng, mothers, fathers, p_crossover, max_height, functions, n_features, branch_height, p_function):
    """Two children of a swap of uniformly drawn branches, or a mutated mother; those that are too high are dropped."""
    children = []
    for mother, father in zip(mothers, fathers, strict=True):
        is_swap = rng.random() < p_crossover
        start = below(rng, len(mother))
        if is_swap:
            other = below(rng, len(father))
            branch, donated = mother[start : end_of(mother, start)], father[other : end_of(father, other)]
            made = [replace_at(mother, start, donated), replace_at(father, other, branch)]
        else:
            branch = grow(rng, functions, n_features, None, branch_height, 0, p_function=p_function)
            made = [replace_at(mother, start, branch)]
        children += [child for child in made if max(positions_by_depth(child)) <= max_height]
    return children
