"""Formulas evaluated as they are written, by their plain mathematical meaning: text and LaTeX."""

import ast
import re

import numpy as np

# Functions in formulas, unprotected. What is protected must be written out.
PLAIN = {
    "abs": np.abs,
    "sqrt": np.sqrt,
    "log": np.log,
    "log1p": np.log1p,
    "exp": np.exp,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "min": np.minimum,
    "max": np.maximum,
    "neg": np.negative,
    "square": lambda a: a * a,
    "cube": lambda a: a * a * a,
    "aq": lambda a, b: a / np.sqrt(1 + b * b),
    "step": lambda a, b: np.where(a > b, 1.0, 0.0),
    "pdiv": lambda a, b: np.where(b == 0, a, a / np.where(b == 0, 1.0, b)),
    "arcsin": np.arcsin,
    "arccos": np.arccos,
    # Their names where the protected ones have the plain names.
    "plain_div": np.divide,
    "plain_sqrt": np.sqrt,
    "plain_log": np.log,
    "plain_exp": np.exp,
}


class _Numbers(ast.NodeTransformer):
    """Python's own numbers raise when they are divided by zero; NumPy's do not."""

    def visit_Constant(self, node):
        return ast.Call(ast.Name("float64", ast.Load()), [node], [])


def evaluate_text(text, columns, **functions):
    """A formula as Python reads it, with ^ for powers; names of columns must be plain."""
    tree = ast.fix_missing_locations(_Numbers().visit(ast.parse(text.replace("^", "**"), mode="eval")))
    with np.errstate(all="ignore"):
        value = eval(
            compile(tree, "formula", "eval"),
            {"__builtins__": {}, "float64": np.float64},
            {**PLAIN, **functions, **columns},
        )
    return np.broadcast_to(np.asarray(value, dtype=float), next(iter(columns.values())).shape)


def evaluate_latex(latex, columns):
    """LaTeX in our subset; columns are named as in LaTeX, such as x_{0}."""
    with np.errstate(all="ignore"):
        value = _Latex(latex, columns).sum()
    return np.broadcast_to(value, next(iter(columns.values())).shape)


class _Latex:
    """Recursive descent: sums of products of powers."""

    def __init__(self, latex, columns):
        self.columns = columns
        pattern = r"\\left.|\\right.|\\[a-z]+|[a-z]_\{\d+\}|[a-z]+|\d+\.?\d*|[-+^{}<>,()]"
        self.tokens = re.findall(pattern, latex)
        assert "".join(self.tokens).replace(" ", "") == latex.replace(" ", ""), latex
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, expected=None):
        token = self.peek()
        assert expected is None or token == expected, (token, expected)
        self.at += 1
        return token

    def sum(self):
        value = -self.product() if self.peek() == "-" and self.take() else self.product()
        while self.peek() in ("+", "-"):
            value = value + self.product() if self.take() == "+" else value - self.product()
        return value

    def product(self):
        value = self.power()
        while self.peek() == "\\cdot":
            self.take()
            value = value * self.power()
        return value

    def power(self):
        base = self.atom()
        if self.peek() != "^":
            return base
        self.take()
        return base ** (self.group() if self.peek() == "{" else float(self.take()))

    def group(self):
        self.take("{")
        value = self.sum()
        self.take("}")
        return value

    def between(self, left, right):
        """Values between two brackets, separated by commas."""
        self.take(left)
        values = [self.sum()]
        while self.peek() in (",", ">", "<"):
            is_less = self.take() == "<"
            values.append(self.sum())
            if is_less:
                values.reverse()
        self.take(right)
        return values

    def atom(self):
        token = self.peek()
        if token == "{":
            return self.group()
        if token == "\\left(":
            return self.between(token, "\\right)")[0]
        if token == "\\left|":
            return np.abs(self.between(token, "\\right|")[0])
        if token == "\\left[":
            return PLAIN["step"](*self.between(token, "\\right]"))
        self.take()
        if token in self.columns:
            return self.columns[token]
        if token == "\\frac":
            numerator = self.group()
            return numerator / self.group()
        if token == "\\sqrt":
            return np.sqrt(self.group())
        if token == "\\operatorname":
            self.take("{")
            name = ""
            while self.peek() != "}":
                name += self.take()
            self.take("}")
            return PLAIN[name](*self.between("\\left(", "\\right)"))
        if token.startswith("\\"):
            name = token[1:]
            is_absolute = self.peek() == "\\left|"
            return PLAIN[name](*([self.atom()] if is_absolute else self.between("\\left(", "\\right)")))
        return np.float64(token)
