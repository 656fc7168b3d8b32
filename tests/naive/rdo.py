"""RDO on prefix lists: inversions from their definitions, sets of acceptable values, a library of lists."""

import math

import numpy as np

from tests.naive import fitness, variation
from tests.naive.programs import end_of, evaluate, from_tokens, positions_by_depth, replace_at

ANY, TIE, SPREAD, MOST_VALUES = "any", 1e-9, 1e-10, 8


def invert(name, place, t, c, eps=1e-10):
    """Values of the operand at `place` that give t, with c as the other operand: a list, or ANY."""
    rules = {
        "add": lambda: [t - c],
        "sub": lambda: [t + c] if place == 0 else [c - t],
        "mul": lambda: [t / c] if c != 0 else ANY if t == 0 else [],
        "div": lambda: divide(place, t, c, eps),
        "pdiv": lambda: [t * (c if c != 0 else 1)] if place == 0 else quotient(t, c),
        "aq": lambda: [t * math.sqrt(1 + c * c)] if place == 0 else root_of_quotient(t, c),
        "min": lambda: [t] if t <= c else [],
        "max": lambda: [t] if t >= c else [],
        "sqrt": lambda: both(t * t) if t >= 0 else [],
        "log": lambda: both(math.exp(t) - eps) if -708 < t < 709.78 and math.exp(t) >= eps else [],
        "log1p": lambda: both(math.expm1(t)) if 0 <= t < 709.78 else [],
        "exp": lambda: [math.log(t)] if 0 < t <= math.exp(80) else [],
        "sin": lambda: [math.asin(t), math.pi - math.asin(t)] if abs(t) <= 1 else [],
        "cos": lambda: both(math.acos(t)) if abs(t) <= 1 else [],
        "tanh": lambda: [math.atanh(t)] if abs(t) < 1 else [],
        "square": lambda: both(math.sqrt(t)) if t >= 0 else [],
        "cube": lambda: [math.copysign(abs(t) ** (1 / 3), t)],
        "neg": lambda: [-t],
        "abs": lambda: both(t) if t >= 0 else [],
    }
    found = rules[name]()
    return found if found == ANY else list(dict.fromkeys(v for v in found if math.isfinite(v)))


def both(v):
    return [v, -v] if v != 0 else [v]


def quotient(t, c):
    if t == 0:
        return ANY if c == 0 else []
    return [c / t] if c / t != 0 else []


def divide(place, t, c, eps):
    """Protected division, a * sign(b) / (|b| + eps), where the sign of 0 is +1."""
    if place == 0:
        return [t * (-1 if c < 0 else 1) * (abs(c) + eps)] if abs(c) + eps > 0 else []
    found = quotient(t, c)
    if found in (ANY, []):
        return found
    size = abs(found[0]) - eps
    if size < 0 or (size == 0 and found[0] < 0):
        return []
    return [math.copysign(size, found[0])]


def root_of_quotient(t, c):
    found = quotient(t, c)
    if found in (ANY, []):
        return found
    return both(math.sqrt((found[0] - 1) * (found[0] + 1))) if found[0] >= 1 else []


def children_of(prefix, position):
    """Positions of the operands of a function."""
    starts, at = [], position + 1
    for _ in range(prefix[position][1]):
        starts.append(at)
        at = end_of(prefix, at)
    return starts


def path_to(prefix, position):
    """(position of a function, which operand comes next) from the root down to a node."""
    at, steps = 0, []
    while at != position:
        starts = children_of(prefix, at)
        side = max(i for i, start in enumerate(starts) if start <= position)
        steps.append((at, side))
        at = starts[side]
    return steps


def invert_as_public_code(name, place, t, c):
    """As `invert`, with the errors of the public code."""
    if name == "sub" and place == 0:
        return [t - c]
    return both(t * t) if name == "sqrt" else invert(name, place, t, c)


def wanted_at(prefix, position, target, X, is_public=False):
    """For every row a list of acceptable values of a node, ANY, or nothing if it is impossible."""
    steps = []
    for at, side in path_to(prefix, position):
        starts = children_of(prefix, at)
        other = None
        if len(starts) == 2:
            start = starts[0 if is_public else 1 - side]
            other = evaluate(from_tokens(prefix[start : end_of(prefix, start)]), X)
        steps.append((prefix[at][0], side, other))
    found = []
    for k, t in enumerate(target):
        values = [float(t)]
        for name, side, other in steps:
            inverse = invert_as_public_code if is_public else invert
            sets = [inverse(name, side, v, None if other is None else float(other[k])) for v in values]
            values = ANY if ANY in sets else [v for each in sets for v in each][:MOST_VALUES]
            if values == ANY:
                break
        found.append(values)
    return found


def make_library(population, X, max_entries, max_height, order=None):
    """(prefix list, outputs) of distinct subtrees, smallest first."""
    subtrees = []
    for prefix in population:
        for position in range(len(prefix)):
            subtree = prefix[position : end_of(prefix, position)]
            if max(positions_by_depth(subtree)) <= max_height and subtree not in subtrees:
                subtrees.append(subtree)
    entries = []
    for i in range(len(subtrees)) if order is None else order(len(subtrees)):
        o = evaluate(from_tokens(subtrees[i]), X)
        if not np.isfinite(o).all() or np.ptp(o) <= SPREAD * np.abs(o).max():
            continue
        equal = [e for e in entries if np.array_equal(e[1], o)]
        if not equal:
            entries.append([subtrees[i], o])
        elif len(subtrees[i]) < len(equal[0][0]):
            equal[0][0] = subtrees[i]
        if len(entries) == max_entries:
            break
    return sorted(entries, key=lambda e: len(e[0]))


def constant(value):
    return [(("constant", value), 0)]


def best_scaled(wanted, weight, library, max_size, max_height):
    """a + b * entry as a prefix list; entries as good as the best but for rounding lose to the smallest."""
    kept = [k for k, values in enumerate(wanted) if values and values != ANY and weight[k] > 0]
    q, w = np.array([wanted[k][0] for k in kept]), weight[kept]
    unit = np.abs(q).max() or 1.0  # squares of large numbers overflow
    q = q / unit
    mean = fitness.weighted_mean(q, w)
    total = math.fsum(w * (q - mean) ** 2)
    gains = []
    for subtree, outputs in library:
        own_unit = np.abs(outputs).max()
        v = outputs[kept] / own_unit
        if len(subtree) + 4 > max_size or max(positions_by_depth(subtree)) + 2 > max_height:
            continue
        if fitness.weighted_mean((v - fitness.weighted_mean(v, w)) ** 2, w) <= SPREAD:
            continue
        slope, intercept = fitness.linear_scaling(v, q, w)
        gain = total - math.fsum(w * (q - intercept - slope * v) ** 2)
        gains.append((gain, slope * unit / own_unit, intercept * unit, subtree))
    most = max((gain for gain, *_ in gains), default=0.0)
    if most <= TIE * total:
        return constant(mean * unit)
    _, slope, intercept, subtree = next(g for g in gains if g[0] >= most - TIE * total)
    if abs(slope - 1) > TIE:
        subtree = [("mul", 2), *constant(slope), *subtree]
    if abs(intercept) > TIE * (abs(mean) + 1) * unit:
        subtree = [("add", 2), *constant(intercept), *subtree]
    return subtree


def nearest(wanted, weight, library, max_size, max_height):
    """The entry, or the constant among acceptable values, with the least sum of squared distances."""

    def distance(v):
        total = 0.0
        for k, values in enumerate(wanted):
            if values and values != ANY and weight[k] > 0:
                total += weight[k] * np.square(min(abs(v[k] - value) for value in values))
        return total

    best = math.inf, None  # infinite distances are none
    for subtree, outputs in library:
        if len(subtree) <= max_size and max(positions_by_depth(subtree)) <= max_height:
            best = min(best, (distance(outputs), subtree), key=lambda b: b[0])
    for k, values in enumerate(wanted):
        for value in values if values != ANY and weight[k] > 0 else ():
            best = min(best, (distance([value] * len(wanted)), constant(value)), key=lambda b: b[0])
    return best[1]


def desired_operator(prefix, position, score, X, y, weight, library, options):
    """The child of a program whose node at `position` is replaced, or the program itself."""
    _, slope, intercept = score
    if slope == 0 or not math.isfinite(slope):
        return prefix
    wanted = wanted_at(prefix, position, (y - intercept) / slope, X, options["is_public"])
    in_sample = [values for k, values in enumerate(wanted) if weight[k] > 0]
    if not options["drops_impossible"] and [] in in_sample:
        return prefix
    if not any(values and values != ANY for values in in_sample):
        return prefix
    if not options["drops_any"] and ANY in in_sample:
        library = []
    end = end_of(prefix, position)
    room = (
        options["max_size"] - (len(prefix) - (end - position)),
        options["max_height"] - len(path_to(prefix, position)) - 1,
    )
    if room[0] < 1:
        return prefix
    with np.errstate(over="ignore"):
        found = (best_scaled if options["scales"] else nearest)(wanted, weight, library, *room)
    return prefix if found is None else replace_at(prefix, position, found)


def generation(population, scores, X, y, weights, stream, number, tournament_size, options, functions=None):
    """The next population; `scores[i][j]` are error, slope and intercept of program i on sample j."""
    n, n_samples = len(population), len(weights)
    rng = stream("selection", number)
    parents = []
    for i, drawn in enumerate(rng.integers(n, size=(n, tournament_size)).tolist()):
        parents.append(min(drawn, key=lambda p, j=i % n_samples: scores[p][j][0]))
    order = stream("library", number).permutation if options["in_random_order"] else None
    library = make_library(population, X, options["library_size"], options["library_depth"], order)
    draws = stream("variation", number)
    is_varied = draws.random(n) < options["p_vary"]
    children = [population[p] for p in parents]
    some = [i for i in range(n) if is_varied[i]]
    if some:
        settings = functions, X.shape[1], (-5.0, 5.0)
        bases = [children[i] for i in some]
        made = variation.vary(draws, bases, 0.0, 1.0, options["max_size"], *settings, minimum=0)
        for i, child in zip(some, made, strict=True):
            children[i] = child if max(positions_by_depth(child)) <= options["max_height"] else children[i]
    for i in range(n):
        if not is_varied[i]:
            j = i % n_samples
            position = variation.choose(draws, children[i])
            score = scores[parents[i]][j]
            children[i] = desired_operator(children[i], position, score, X, y, weights[j], library, options)
    for j in range(n_samples):
        own = [i for i in range(n) if i % n_samples == j]
        best = min(own, key=lambda i: scores[i][j][0])
        children[own[rng.integers(len(own))]] = population[best]
    return children
