"""Every public class and function has an example in its docstring, and it runs."""

import doctest

import pytest
from matplotlib import pyplot

from tools.site_reference import public_names, value_of

CALLABLE = [name for name in public_names() if callable(value_of(name))]


@pytest.mark.parametrize("name", CALLABLE)
def test_the_example_of_a_public_name_runs(name):
    pyplot.switch_backend("agg")
    examples = doctest.DocTestParser().get_doctest(value_of(name).__doc__, {}, name, None, 0)
    assert examples.examples, "give its docstring an example"
    output = []
    doctest.DocTestRunner().run(examples, out=output.append, clear_globs=False)
    assert not output, "".join(output)
    pyplot.close("all")
