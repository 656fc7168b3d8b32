"""Functions of one's own in LaTeX and MathML."""

import symgrove as sg
from symgrove.forest.latex import to_latex
from symgrove.forest.mathml import to_mathml


def bent_line(x):
    return abs(x) + 0.1 * x


def blend(a, b):
    return 0.3 * a + 0.7 * b


def test_functions_of_ones_own():
    forest = sg.Forest(2, sg.PrimitiveSet(("add", sg.primitive(bent_line), sg.primitive(blend))))
    root = sg.parse(forest, "blend(bent_line(x0), x1)")
    inner = r"\operatorname{bent\_line}\left(x_{0}\right)"
    assert to_latex(forest, root) == rf"\operatorname{{blend}}\left({inner}, x_{{1}}\right)"
    assert "<mi>blend</mi><mo>(</mo><mrow><mi>bent_line</mi>" in to_mathml(forest, root)
