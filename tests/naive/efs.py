"""EFS on nested tuples and columns of rows, with the same random draws as the package."""

import math

import numpy as np

from tests.naive.lasso import lasso_path, scores_of, standardized
from tests.naive.programs import MEANING, UNARY, evaluate, size

PLAIN = {
    "div": lambda a, b: a / b,
    "log": np.log,
    "sqrt": np.sqrt,
    "exp": np.exp,
}


def plain(program, X):
    """Output without any protection, which may not be finite."""
    if program[0] == "feature":
        return X[:, program[1]]
    operands = [plain(operand, X) for operand in program[1:]]
    with np.errstate(all="ignore"):
        return PLAIN[program[0]](*operands) if program[0] in PLAIN else MEANING[program[0]](*operands, 0.0)


def winner(scores, drawn):
    best = drawn[0]
    for other in drawn[1:]:
        if scores[other] > scores[best]:
            best = other
    return best


def new_features(rng, features, scores, X, weight, n_new, functions, max_size):
    """Trees that are small, new, finite as 32-bit floats, not constant, and not close to a parent."""
    drawn = [rng.integers(len(features), size=(n_new, 2)) for _ in range(2)]
    is_binary = rng.random(n_new) < 0.5
    unary, binary = ([f for f in functions if (f in UNARY) == is_unary] for is_unary in (True, False))
    which = [rng.integers(len(names), size=n_new) for names in (unary, binary)]
    made, kept, n_computed = set(features), [], 0
    for i in range(n_new):
        parents = [features[winner(scores, own[i])] for own in drawn]
        if is_binary[i]:
            tree = (binary[which[1][i]], *parents)
        else:
            parents = parents[:1]
            tree = (unary[which[0][i]], *parents)
        if size(tree) > max_size or tree in made:
            continue
        output = plain(tree, X)
        if tree[0] in ("log", "sqrt") and not np.isfinite(output).all():
            continue  # its operand shows it: nothing is computed
        if tree[0] == "exp" and plain(parents[0], X).max() > 80:
            continue
        made.add(tree)
        n_computed += 1
        with np.errstate(over="ignore"):
            is_finite = np.isfinite(output.astype(np.float32)).all()
        if not is_finite or np.ptp(output) <= 1e-12 * np.abs(output).max():
            continue
        z = standardized(output, weight)
        close = [np.average(z * standardized(plain(p, X), weight), weights=weight) >= 0.95 for p in parents]
        if not any(close):
            kept.append(tree)
    return kept, n_computed


def model_of(features, X, y, weight, path):
    """Weights by tree of the last model of a path, in the units of the target, and its error."""
    b = path[-1][0]
    spread = math.sqrt(np.average((y - np.average(y, weights=weight)) ** 2, weights=weight))
    individual, prediction = {}, np.zeros(len(y))
    for tree, own in zip(features, b, strict=True):
        if own != 0.0:
            output = evaluate(tree, X, 0.0)
            mean = np.average(output, weights=weight)
            slope = spread * own / math.sqrt(np.average((output - mean) ** 2, weights=weight))
            individual[tree] = slope
            prediction = prediction + slope * output
    constant = np.average(y - prediction, weights=weight)
    individual[("constant", constant)] = 1.0
    return individual, np.average((y - prediction - constant) ** 2, weights=weight)


def run(X, y, weight, functions, n_new, archive_size, generations, stream, max_size=5):
    """Yield (features, scores, best model, its error, computed features) before the first and after each iteration."""
    target = standardized(y, weight)

    def path_of(trees):
        return lasso_path([standardized(plain(tree, X), weight) for tree in trees], target, weight)

    originals = [("feature", i) for i in range(X.shape[1])]
    features, path = list(originals), path_of(originals)
    scores = scores_of(path)
    best, error = model_of(features, X, y, weight, path)
    n_computed = 0
    yield features, scores, best, error, n_computed
    for generation in range(generations):
        rng = stream("variation", generation)
        made, n = new_features(rng, features, scores, X, weight, n_new, functions, max_size)
        n_computed += n
        features = features + made
        scores = scores_of(path_of(features))
        others = sorted(range(len(originals), len(features)), key=lambda i: -scores[i])[:archive_size]
        stay = [*range(len(originals)), *sorted(others)]
        features, scores = [features[i] for i in stay], [scores[i] for i in stay]
        model, own_error = model_of(features, X, y, weight, path_of(features))
        if own_error < error:
            best, error = model, own_error
        yield features, scores, best, error, n_computed
