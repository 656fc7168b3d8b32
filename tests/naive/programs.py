"""Programs as nested tuples: ("feature", i), ("constant", v), or (name, operand, ...)."""

import numpy as np


def _sign(b):
    return np.where(b < 0, -1.0, 1.0).astype(b.dtype)


MEANING = {
    "add": lambda a, b, eps: a + b,
    "sub": lambda a, b, eps: a - b,
    "mul": lambda a, b, eps: a * b,
    "div": lambda a, b, eps: a * _sign(b) / (np.abs(b) + eps),
    "pdiv": lambda a, b, eps: np.where(b == 0, a, a / np.where(b == 0, 1, b)),
    "aq": lambda a, b, eps: a / np.sqrt(1 + b * b),
    "min": lambda a, b, eps: np.minimum(a, b),
    "max": lambda a, b, eps: np.maximum(a, b),
    "step": lambda a, b, eps: (a > b).astype(a.dtype),
    "sqrt": lambda a, eps: np.sqrt(np.abs(a)),
    "log": lambda a, eps: np.log(np.abs(a) + eps),
    "log1p": lambda a, eps: np.log1p(np.abs(a)),
    "exp": lambda a, eps: np.exp(np.minimum(a, a.dtype.type(80))),
    "sin": lambda a, eps: np.sin(a),
    "cos": lambda a, eps: np.cos(a),
    "tanh": lambda a, eps: np.tanh(a),
    "square": lambda a, eps: a * a,
    "cube": lambda a, eps: a * a * a,
    "neg": lambda a, eps: -a,
    "abs": lambda a, eps: np.abs(a),
    "plain_div": lambda a, b, eps: a / b,
    "plain_sqrt": lambda a, eps: np.sqrt(a),
    "plain_log": lambda a, eps: np.log(a),
    "plain_exp": lambda a, eps: np.exp(a),
    "power": lambda a, b, eps: np.power(a, b),
    "arcsin": lambda a, eps: np.arcsin(a),
    "arccos": lambda a, eps: np.arccos(a),
}
PLAIN = ("plain_div", "plain_sqrt", "plain_log", "plain_exp", "power", "arcsin", "arccos")  # without protection
UNARY = tuple(name for name, f in MEANING.items() if f.__code__.co_argcount == 2)
BINARY = tuple(name for name in MEANING if name not in UNARY)


def evaluate(program, X, eps=1e-10, eps_div=None):
    """Output of a program on the rows of X, in the dtype of X; divisions may have an epsilon of their own."""
    with np.errstate(all="ignore"):
        return _evaluate(program, X, X.dtype.type(eps), X.dtype.type(eps if eps_div is None else eps_div))


def _evaluate(program, X, eps, eps_div):
    if program[0] == "feature":
        return X[:, program[1]].copy()
    if program[0] == "constant":
        return np.full(len(X), program[1], dtype=X.dtype)
    operands = (_evaluate(operand, X, eps, eps_div) for operand in program[1:])
    return MEANING[program[0]](*operands, eps_div if program[0] == "div" else eps)


def size(program):
    return 1 + sum(size(p) for p in program[1:]) if is_function(program) else 1


def height(program):
    return 1 + max(height(p) for p in program[1:]) if is_function(program) else 0


def is_function(program):
    return program[0] not in ("feature", "constant")


def tokens(program):
    """Prefix list of (token, arity); a token is a name, ("feature", i) or ("constant", v)."""
    if not is_function(program):
        return [(program, 0)]
    result = [(program[0], len(program) - 1)]
    for operand in program[1:]:
        result += tokens(operand)
    return result


def from_tokens(prefix):
    """The program that a prefix list describes."""
    program, rest = _read(list(prefix))
    assert not rest
    return program


def _read(prefix):
    token, arity = prefix[0]
    rest = prefix[1:]
    if arity == 0:
        return token, rest
    operands = []
    for _ in range(arity):
        operand, rest = _read(rest)
        operands.append(operand)
    return (token, *operands), rest


def to_tokens(program):
    """Undo `from_tokens`."""
    if program[0] in ("feature", "constant"):
        return [(program, 0)]
    name, *operands = program
    return [(name, len(operands)), *(token for operand in operands for token in to_tokens(operand))]


def positions_by_depth(prefix):
    """For each depth, the positions in the prefix list of its nodes, from left to right."""
    by_depth, stack = {}, [0]
    for position, (_, arity) in enumerate(prefix):
        depth = stack.pop()
        by_depth.setdefault(depth, []).append(position)
        stack += [depth + 1] * arity
    return by_depth


def end_of(prefix, position):
    """First position behind the subtree that starts at `position`."""
    missing = 1
    while missing:
        missing += prefix[position][1] - 1
        position += 1
    return position


def replace_at(prefix, position, branch):
    """List surgery: the subtree at `position` replaced by another prefix list."""
    return prefix[:position] + branch + prefix[end_of(prefix, position) :]
