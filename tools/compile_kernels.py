"""Compile the kernels of all estimators before the tests, in two processes that share the work.

Two workers of the test suite would both compile most of them, at the same time.
"""

from concurrent.futures import ProcessPoolExecutor

import symgrove as sg
from symgrove.estimators.warm_up import warm_up

# Each list takes about half of the time; methods that are not named need nothing else, or little.
FIRST = (sg.TwoSEGPRegressor, sg.StandardGPClassifier, sg.DivNichGPRegressor, sg.GOMEARegressor, sg.GSGPRegressor)
SECOND = (sg.GroveRegressor, sg.GPTIPSRegressor, sg.M3GPClassifier, sg.RDORegressor, sg.EFSRegressor, sg.EGPClassifier)


def compile_all(kinds: tuple[type, ...]) -> None:
    """Fit each kind of estimator to a few rows."""
    for kind in kinds:
        warm_up(kind())


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(compile_all, (FIRST, SECOND)))
