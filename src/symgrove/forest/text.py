"""Programs as text, and back, with an exact round trip.

Infix where people expect it (``x0 * 2.5 + x1``), calls elsewhere (``sin(x0)``). Protected functions are written as
what they compute: the primitive sqrt of x0 is ``sqrt(abs(x0))``, log is ``log(abs(x0) + 1e-10)``. Two protections are
left out: an epsilon of a division of at most 1e-9 (``x0 / x1`` is x0 divided by epsilon where x1 is exactly 0; with a
larger epsilon, a division is a call, ``div(x0, x1)``), and the cap of exp at e^80.

`/`, div, sqrt, log and exp mean the primitives without protection (plain_div, plain_sqrt, plain_log, plain_exp) where
the forest's primitive set has been given those and not the protected ones, which are then called protected_sqrt and so
on. Elsewhere the plain ones are called by their own names. ``a^b`` is a power in any set; it binds closer than a sign
before it, and from the right: ``-a^b^c`` is ``-(a^(b^c))``.

Every primitive may also be written as a call: ``add(x0, x1)``. Feature names that are not plain names are quoted with
backticks, a backtick inside doubled. Constants are written so that they read back to the same bits. Parsing what was
printed gives the same node; nothing is reordered or simplified.
"""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

from symgrove.forest.forest import Forest
from symgrove.forest.primitive_table import BUILTIN
from symgrove.forest.templates import ATOM, POWER

_PRECEDENCE = {name: row.templates.text_level for name, row in BUILTIN.items() if row.templates.text_level < ATOM}
_INFIX = {
    BUILTIN[name].templates.text.format("", "").strip(): (name, level)
    for name, level in _PRECEDENCE.items()
    if BUILTIN[name].arity == 2 and not BUILTIN[name].plain_form_of
}
# Primitives of an absolute value. It is written, except around what is never negative.
_OF_ABSOLUTE = tuple(name for name, row in BUILTIN.items() if row.templates.text == f"{name}(abs({{0}}))")
# That of an absolute value itself is written, so that the text reads back to both.
_NEVER_NEGATIVE = tuple(name for name, row in BUILTIN.items() if row.is_never_negative and name != "abs")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|`(?P<quoted>(?:[^`]|``)*)`"
    r"|(?P<indicator>\[[^\[\]`\n]+ (?:is|of) [^\[\]`\n]+\])"
    r"|(?P<symbol>[-+*/^(),]))"
)


def feature_labels(n_features: int, names: Sequence[str] | None = None) -> list[str]:
    """Checked names of all features; x0, x1, ... by default."""
    if names is None:
        return [f"x{i}" for i in range(n_features)]
    if isinstance(names, (str, set, dict)):
        raise TypeError(f"feature_names must be a sequence of names, got {names!s:.100}.")
    if len(names) != n_features:
        raise ValueError(f"{len(names)} feature names for {n_features} features.")
    labels = [str(name) for name in names]
    repeated = sorted(label for label, n in Counter(labels).items() if n > 1)
    if repeated:
        raise ValueError(f"feature names must differ; repeated: {', '.join(map(repr, repeated))}.")
    return labels


def to_text(
    forest: Forest,
    root: int,
    feature_names: Sequence[str] | None = None,
    digits: int | None = None,
    numbers: Mapping[int, str] | None = None,
) -> str:
    """Formula of a program.

    Parameters
    ----------
    forest : Forest
    root : int
        Id of the program.
    feature_names : sequence of str, optional
        One for each feature; x0, x1, ... by default.
    digits : int, optional
        Significant digits of constants; by default all, so that the text reads back to the same program.
    numbers : mapping from int to str, optional
        Texts of some constants, by their ids.

    Examples
    --------
    >>> from symgrove import Forest, parse, to_text
    >>> forest = Forest(2)
    >>> root = parse(forest, "x0 * 1.23456 + x1")
    >>> to_text(forest, root, ["rooms", "age"], digits=3)
    'rooms * 1.23 + age'
    """
    labels = feature_labels(forest.n_features, feature_names)
    forest.check_ids(root)
    texts: list[tuple[str, int]] = []  # finished operands: text and precedence
    for node in reversed(list(forest.prefix(root))):
        operands = [texts.pop() for _ in forest.children(node)]
        given = None if numbers is None else numbers.get(node)
        texts.append(_write(forest, node, operands, labels, digits) if given is None else (given, ATOM))
    return texts[0][0]


def _write(
    forest: Forest, node: int, operands: list[tuple[str, int]], labels: list[str], digits: int | None
) -> tuple[str, int]:
    name = forest.name(node)
    if name == "feature":
        return _quote(forest, labels[forest.columns.left[node]]), ATOM
    if name == "constant":
        value = float(forest.columns.value[node])
        text = number_text(value) if digits is None else f"{value:.{digits}g}"
        return text, ATOM if text[0] != "-" else _PRECEDENCE["neg"]
    if name not in _PRECEDENCE or _is_call(forest, node, name):
        return _call(forest, node, name, [text for text, _ in operands]), ATOM
    level = _PRECEDENCE[name]
    is_bare = [forest.name(child) == "constant" for child in forest.children(node)]
    texts = [f"({t})" if _needs_brackets(level, i, p, is_bare[i]) else t for i, (t, p) in enumerate(operands)]
    return forest.primitives[name].templates.text.format(*texts), level


def number_text(value: float) -> str:
    """A number that reads back to the same bits: whole ones without a point."""
    return repr(value).removesuffix(".0")


def _needs_brackets(level: int, position: int, precedence: int, is_constant: bool) -> bool:
    """Left-associative: an equal level needs brackets on the right only; a power in a power has them on both sides."""
    if level == POWER:
        return precedence <= level and not (position == 1 and is_constant)  # a^-2.0 has one meaning
    return precedence < level or (position == 1 and precedence == level)


def _is_call(forest: Forest, node: int, name: str) -> bool:
    """Whether an operator cannot be written as one: -2.5 is a constant, `/` one division, without a large epsilon."""
    if name == "neg":
        return forest.name(forest.children(node)[0]) == "constant"
    if name not in ("div", "plain_div"):
        return False
    return forest.primitives.meant_by("div") != name or forest.primitives.written_epsilon(name) is not None


def _call(forest: Forest, node: int, name: str, operands: list[str]) -> str:
    written = forest.primitives.written_names.get(name, name)
    if name not in _OF_ABSOLUTE:
        return f"{written}({', '.join(operands)})"
    epsilon = forest.primitives.written_epsilon(name)
    if epsilon is not None:
        return f"{written}(abs({operands[0]}) + {epsilon!r})"
    template = "{0}({1})" if _is_never_negative(forest, forest.children(node)[0]) else "{0}(abs({1}))"
    return template.format(written, operands[0])


def _is_never_negative(forest: Forest, node: int) -> bool:
    value = float(forest.columns.value[node])
    is_constant = forest.name(node) == "constant" and math.copysign(1.0, value) > 0
    return is_constant or forest.name(node) in _NEVER_NEGATIVE


def _quote(forest: Forest, label: str) -> str:
    if is_indicator(label) or (re.fullmatch(r"[^\W\d]\w*", label) and label not in forest.primitives):
        return label
    return "`" + label.replace("`", "``") + "`"


def is_indicator(label: str) -> bool:
    """Whether a name is written as it is because it stands in brackets, such as [age is missing]."""
    match = _TOKEN.fullmatch(label)
    return match is not None and match.lastgroup == "indicator" and label[0] == "[" and label.isprintable()


def _closing_brackets(tokens: Sequence[_Token]) -> dict[int, int]:
    """Position of the closing bracket of every opening one that has one."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for k, token in enumerate(tokens):
        if token.kind == "symbol" and token.text == "(":
            opened.append(k)
        elif token.kind == "symbol" and token.text == ")" and opened:
            found[opened.pop()] = k
    return found


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


def parse(forest: Forest, text: str, feature_names: Sequence[str] | None = None) -> int:
    """Id of the program that a formula describes; the inverse of `to_text`.

    Parameters
    ----------
    forest : Forest
        Where the program is interned; its primitive set says which functions exist.
    text : str
        The formula.
    feature_names : sequence of str, optional
        As for `to_text`.

    Examples
    --------
    >>> from symgrove import Forest, parse, to_text
    >>> forest = Forest(2)
    >>> to_text(forest, parse(forest, "rooms * 2 + age", ["rooms", "age"]), ["rooms", "age"])
    'rooms * 2 + age'
    """
    if not isinstance(text, str):
        raise TypeError(f"a formula must be text, got {text!r}.")
    return _Parser(forest, text, feature_labels(forest.n_features, feature_names)).parse()


class _Parser:
    """Operator precedence with explicit stacks, so that nesting is not limited by recursion.

    An open bracket on the stack is "(" or a primitive's name; `counts` holds how many operands each has so far.
    """

    def __init__(self, forest: Forest, text: str, labels: list[str]) -> None:
        self.forest = forest
        self.text = text
        self.index_of = {label: i for i, label in enumerate(labels)}
        self.tokens = self._without_absolutes(self._tokenize())
        self.nodes: list[int] = []
        self.pending: list[str] = []  # operators and open brackets
        self.counts: list[int] = []

    def fail(self, problem: str, position: int) -> NoReturn:
        raise ValueError(
            f"cannot read formula at character {position + 1}: {problem}\n  {self.text}\n  {' ' * position}^"
        )

    def _tokenize(self) -> list[_Token]:
        tokens = []
        position = 0
        end = len(self.text.rstrip())
        while position < end:
            match = _TOKEN.match(self.text, position)
            if match is None or match.lastgroup is None:
                start = position + len(self.text[position:]) - len(self.text[position:].lstrip())
                self.fail(f"unexpected {self.text[start]!r}.", start)
            tokens.append(_Token(match.lastgroup, match.group(match.lastgroup), match.start(match.lastgroup)))
            position = match.end()
        return tokens

    def _without_absolutes(self, tokens: list[_Token]) -> list[_Token]:
        """Take out what `to_text` writes inside primitives of an absolute value: abs(...), and a large epsilon."""
        closing = _closing_brackets(tokens)
        dropped: set[int] = set()
        for k in range(len(tokens) - 4):
            written, *rest = (token.text for token in tokens[k : k + 4])
            name = self.forest.primitives.meant_by(written)
            if name not in _OF_ABSOLUTE or rest != ["(", "abs", "("]:
                continue
            if any(token.kind == "quoted" for token in tokens[k : k + 3]):
                continue
            end = closing.get(k + 3, len(tokens))
            after = [token.text for token in tokens[end + 1 : end + 4]]
            epsilon = self.forest.primitives.written_epsilon(name)
            if epsilon is None and after[:1] == [")"]:
                dropped |= {k + 2, k + 3, end}
            elif epsilon is not None and after == ["+", repr(epsilon), ")"]:
                dropped |= {k + 2, k + 3, end, end + 1, end + 2}
        return [token for k, token in enumerate(tokens) if k not in dropped]

    def parse(self) -> int:
        wants_operand = True
        k = 0
        while k < len(self.tokens):
            if wants_operand:
                used, wants_operand = self._operand(*self.tokens[k : k + 3])
                k += used
            else:
                wants_operand = self._after_operand(self.tokens[k])
                k += 1
        if wants_operand:
            self.fail("it ends where a feature, number or function should follow.", len(self.text.rstrip()))
        self._reduce(0)
        if self.pending:
            self.fail("a closing bracket is missing.", len(self.text.rstrip()))
        return self.nodes[0]

    def _operand(self, token: _Token, following: _Token | None = None, third: _Token | None = None) -> tuple[int, bool]:
        """Read the start of an operand; returns tokens used and whether an operand is still wanted."""
        is_call = following is not None and following.text == "(" and following.kind == "symbol"
        if token.kind == "number":
            self.nodes.append(self._constant(token, ""))
            return 1, False
        if token.text == "-" and token.kind == "symbol":
            # -2^x is -(2^x).
            is_of_power = third is not None and third.text == "^" and third.kind == "symbol"
            if following is not None and following.kind == "number" and not is_of_power:
                self.nodes.append(self._constant(following, "-"))
                return 2, False
            self.pending.append("neg-sign")
            return 1, True
        if token.text == "(" and token.kind == "symbol":
            self._open("(")
            return 1, True
        if token.kind in ("quoted", "indicator") or (token.kind == "name" and not is_call):
            self.nodes.append(self._feature(token))
            return 1, False
        if token.kind == "name":
            name = self.forest.primitives.meant_by(token.text)
            if name not in self.forest.primitives:
                try:
                    self.forest.primitives[name]
                except ValueError as error:
                    self.fail(str(error), token.position)
            self._open(name)
            return 2, True
        self.fail(f"{token.text!r} where a feature, number or function should stand.", token.position)

    def _after_operand(self, token: _Token) -> bool:
        """Read what follows an operand; returns whether an operand is wanted next."""
        if token.kind == "symbol" and token.text in _INFIX:
            name, level = _INFIX[token.text]
            self._reduce(level + 1 if level == POWER else level)  # powers are read from the right
            self.pending.append(self.forest.primitives.meant_by(name) + "-sign")
            return True
        if token.kind == "symbol" and token.text in ",)":
            self._reduce(0)
            if not self.pending:
                self.fail(f"{token.text!r} without an opening bracket.", token.position)
            self.counts[-1] += 1
            if token.text == ")":
                self._close(token)
                return False
            if self.pending[-1] == "(":
                self.fail("a comma outside the operands of a function.", token.position)
            return True
        self.fail(f"{token.text!r} where an operator or a bracket should stand.", token.position)

    def _open(self, bracket: str) -> None:
        self.pending.append(bracket)
        self.counts.append(0)

    def _close(self, token: _Token) -> None:
        name = self.pending.pop()
        n_operands = self.counts.pop()
        if name == "(":
            return
        arity = self.forest.primitives[name].arity
        if n_operands != arity:
            self.fail(f"{name!r} takes {arity} operands, got {n_operands}.", token.position)
        self._apply(name, arity)

    def _reduce(self, level: int) -> None:
        """Apply waiting operators that bind at least as strongly as `level`, down to the last open bracket."""
        while self.pending and self.pending[-1].endswith("-sign"):
            name = self.pending[-1].removesuffix("-sign")
            if _PRECEDENCE[name] < level:
                return
            self.pending.pop()
            self._apply(name, self.forest.primitives[name].arity)

    def _apply(self, name: str, arity: int) -> None:
        operands = self.nodes[len(self.nodes) - arity :]
        del self.nodes[len(self.nodes) - arity :]
        self.nodes.append(self.forest.apply(name, *operands))

    def _constant(self, token: _Token, sign: str) -> int:
        value = float(sign + token.text)
        if value in (float("inf"), float("-inf")):
            self.fail(f"the number {token.text} is too large.", token.position)
        return self.forest.constant(value)

    def _feature(self, token: _Token) -> int:
        label = token.text.replace("``", "`") if token.kind == "quoted" else token.text
        if label in self.index_of:
            return self.forest.feature(self.index_of[label])
        if label in self.forest.primitives:
            self.fail(f"function {label!r} without its operands in brackets.", token.position)
        near = difflib.get_close_matches(label, self.index_of, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        known = list(self.index_of)
        shown = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
        self.fail(f"unknown feature {label!r}.{hint} Features: {shown}.", token.position)
