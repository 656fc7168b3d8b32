"""Parameters that are refused: by the check of their class, without a fit. Every `fit` begins with its check."""

from dataclasses import fields

import numpy as np
import pytest

import symgrove as sg
from symgrove._missing import MissingFunction
from symgrove.estimators.parameters import (
    EvolutionParameters,
    ProgramParameters,
    check_evolution,
    check_programs,
    check_samples,
)
from tests.contracts.test_methods import METHODS

HUGE = 10**20
TOO_LARGE_TO_PRINT = 10**5000


def flag(name):
    return [(name, value, f"{name} must be True or False, got {value!r}.") for value in ("yes", 1, None)]


def whole(name, low, *values, highest=2**62, also=""):
    """Cases of a whole number: these values, and some that are none or too large."""
    return [
        *(
            (name, v, f"{name} must be a whole number of at least {low}{also}, got {v!r}.")
            for v in (*values, 2.5, True)
        ),
        (name, HUGE, f"{name} must be a whole number from {low} to {highest}{also}, got {HUGE}."),
        (name, TOO_LARGE_TO_PRINT, f"{name} must be a whole number from {low} to {highest}{also}, got a larger one."),
    ]


def number(name, accepted, *values):
    return [(name, v, f"{name} must be a number {accepted}, got {v!r}.") for v in (*values, "much", np.nan)]


def pair(name, *values):
    return [(name, v, f"{name} must be a pair of finite numbers (low, high), got {v!r}.") for v in values]


def choice(name, accepted, value):
    return [(name, v, f"{name} must be one of {accepted}, got {v!r}.") for v in (value, 3)]


EVOLUTION = [
    ("engine", "gpu", "engine must be one of 'cpu', 'cuda', 'dask', 'dask-cuda', got 'gpu'."),
    *whole("population_size", 2, 1, highest=10**7),
    *whole("generations", 0, -1),
    ("functions", ("add", "sine"), "unknown primitive 'sine'. Did you mean 'sin'? Accepted: "),
    ("functions", (), "functions is empty; name at least one primitive"),
    ("functions", ("add", "mul", "add"), "functions names 'add' more than once."),
    ("functions", 3, "functions must be a list or tuple of names and primitives, got 3."),
    ("functions", ("add", abs), "functions holds <built-in function abs>; give names of built-in primitives or "),
    ("epsilon", -1, "epsilon of 'div' must be a finite number of at least 0, got -1."),
    ("epsilon", {"log": "small"}, "epsilon of 'log' must be a finite number of at least 0, got 'small'."),
    ("epsilon", {"sin": 1e-3}, "epsilon names 'sin'; only 'div' and 'log' have one."),
    *flag("standardize"),
    *number("max_time", "above 0 and below inf or None", 0, -1.0, np.inf),
    *whole("max_evaluations", 1, 0, also=" or None"),
    *number("target_error", "above -inf and below inf or None", np.inf, True),
    *number("calibration", "above 0 and below 1 or None", 0, 1, 1.5),
    ("dtype", "float16", "dtype must be one of 'float64', 'float32', got 'float16'."),
    ("dtype", "numbers", "dtype must be one of 'float64', 'float32', got 'numbers'."),
    ("dtype", ">f8", "dtype must be one of 'float64', 'float32', got '>f8'."),
    *whole("memory_budget", 1, 0, also=" or None"),
    ("checkpoint", 3, "checkpoint must be a path or None, got 3."),
    ("checkpoint", "/", "checkpoint '/' is a folder; name a file."),
    ("checkpoint", "/nowhere/run.npz", "checkpoint '/nowhere/run.npz' cannot be written: No such file or directory."),
    *flag("warm_start"),
    ("callbacks", 3, "callbacks must be a function or a list of functions, got 3."),
    ("callbacks", [print, "print"], "callbacks must be a function or a list of functions, got [<built-in function"),
    *(("n_jobs", v, f"n_jobs must be None or a whole number other than 0, got {v!r}.") for v in (0, 1.5, True, "all")),
    *(case for case in whole("verbose", 0, -1) if case[1] is not True),
]
MISSING_LOSS, MISSING_SELECTION = (MissingFunction(name, "mine") for name in ("loss", "selection"))
PROGRAMS = [
    *pair("constant_range", (5, -5), (0, np.inf), 3, (1, 2, 3), ("a", 1)),
    *pair("init_depth", (6, 2), "deep", 4, (2, np.nan)),
    ("init_depth", (-1, 2), "init_depth[0] must be a whole number of at least 0, got -1."),
    ("init_depth", (0.5, 2), "init_depth[0] must be a whole number of at least 0, got 0.5."),
    *whole("min_grow_depth", 0, -1),
    *whole("max_size", 1, 0, highest=100_000),
    *flag("linear_scaling"),
    *flag("early_stopping"),
    *number("validation_fraction", "above 0 and below 1", 0, 1, 1.5, None),
    *whole("n_generations_no_change", 1, 0, None),
    ("loss", "absolute", "loss must be None or a function (y, prediction) -> loss on one row, got 'absolute'."),
    ("loss", MISSING_LOSS, "the loss of this model was a function of yours, 'mine'"),
    ("variation", 3, "variation must be None or a function (forest, parents, donors, rng) -> children, got 3."),
]
NAMES = "'squared', 'absolute', 'huber', 'quantile'"
LOSS = [
    (
        "loss",
        "poisson",
        f"loss must be one of {NAMES} or a function (y, prediction) -> loss on one row, got 'poisson'.",
    ),
    ("loss", "poisson", "The Poisson loss needs a logarithm as its link, which GroveRegressor has."),
    ("loss", MISSING_LOSS, "the loss of this model was a function of yours, 'mine'"),
    *number("quantile", "above 0 and below 1", 0, 1, None),
    *number("huber_delta", "above 0 and below inf or None", 0, np.inf),
]
# Seeds are scikit-learn's to check, and rates those of the variation: see the last test. Columns need data.
ELSEWHERE = {"random_state", "p_crossover", "p_mutation", "categorical_features"}

SAMPLES = [*whole("n_estimators", 1, 0, highest=10**6), *flag("prune")]
TOURNAMENT = whole("tournament_size", 1, 0, highest=100_000)
NO_PLACE = "n_estimators=50 is larger than population_size=49: some samples would keep no program."
AGGREGATION = choice("aggregation", "'mean', 'median', 'interquartile', 'weighted'", "mode")
ALWAYS = "above -1e-12 and below 1"
TWO_SEGP = [
    *SAMPLES,
    ("population_size", 49, NO_PLACE),
    ("selection", "lexicase", "selection must be one of 'partition', 'truncation-best', "),
    (
        "selection",
        3,
        "a selection of symgrove.selection, or a function (errors, n_selected, rng) -> indices or (candidates, ",
    ),
    (
        "selection",
        MissingFunction("selection", "mine"),
        "was a function of yours, 'mine', which its file does not hold",
    ),
]
CLASSIC_GP = [*TOURNAMENT, *flag("allow_duplicates")]
INDEPENDENT_GP = [*SAMPLES, *TOURNAMENT, *flag("match_budget")]
DIVNICH_GP = [
    *TOURNAMENT,
    *number("radius", "above -1e-300 and below inf", -1, np.inf),
    *whole("niche_size", 1, 0),
    *choice("greedy_order", "'population', 'best'", "worst"),
    *flag("prune"),
]
SPATIAL_GP = [
    *SAMPLES,
    ("population_size", 49, NO_PLACE),
    ("population_size", 192, "fill a torus of 13 x 14 cells (182). Take population_size=182 or 195, or give torus"),
    (
        "torus",
        (2, 98),
        "has 2 x 98 cells; each side must have at least 3, so that a cell has eight neighbours. Take another torus.",
    ),
    ("torus", (3, 4), "population_size=196 does not fill a torus of 3 x 4 cells (12). Take another one."),
    ("torus", (7.0, 28), "torus[0] must be a whole number of at least 1, got 7.0."),
    ("torus", (7, "28"), "torus[1] must be a whole number of at least 1, got '28'."),
    ("torus", 7, "torus must be a pair (rows, columns) or None, got 7."),
    *(case for case in whole("mutation_depth", 0, -1) if case[1] not in (HUGE, TOO_LARGE_TO_PRINT)),
    ("mutation_depth", 7, "mutation_depth=7 is more than init_depth[1]=6; raise that too."),
    *choice("member_error", "'out_of_bag', 'in_bag'", "both"),
    *AGGREGATION,
]
RDO = [
    *SAMPLES,
    ("n_estimators", 501, "n_estimators=501 is larger than population_size=500: some samples would keep no program."),
    *TOURNAMENT,
    *whole("max_height", 0, -1, highest=100_000),
    ("max_height", 5, "max_height=5 is less than init_depth[1]=6; lower that too."),
    *whole("library_size", 1, 0, highest=100_000),
    *whole("library_depth", 0, -1, highest=100_000),
    *whole("max_rows", 1, 0, highest=10**7),
    *choice("library_order", "'population', 'random'", "best"),
    *flag("library_scaling"),
    *choice("impossible_cases", "'abandon', 'drop'", "keep"),
    *choice("dont_care_cases", "'drop', 'constant'", "keep"),
    *choice("inversions", "'exact', 'public_code'", "numerical"),
    ("functions", ("sub", "div"), "functions has no 'add' and no 'mul', which library_scaling puts in as intercept + "),
    ("functions", ("add", "div"), "functions has no 'mul', which library_scaling"),
    ("variation", max, "variation is given but never used: p_crossover + p_mutation is the share of children"),
]
STANDARD_GP = [
    *TOURNAMENT,
    ("init_depth", 1, "init_depth must be a whole number of at least 2, got 1."),
    ("init_depth", (2, 6), "init_depth must be a whole number of at least 2, got (2, 6)."),
    *whole("max_depth", 6, 3, 5, highest=10_000),
    ("min_init_depth", 0, "min_init_depth must be a whole number of at least 1, got 0."),
    ("min_init_depth", 7, "min_init_depth must be at most init_depth=6, got 7."),
    *(case for name in ("p_crossover", "p_function") for case in number(name, ALWAYS, -0.1, 1.9)),
    *number("p_mutation", f"{ALWAYS} or None", -0.1, 1.9),
    *number("threshold", "above -inf and below inf", np.inf, None),
    *pair("constant_range", (5, -5), 3),
    *flag("prefer_small"),
]
EGP = [
    *whole("n_subsets", 1, 0, highest=10**6),
    ("n_subsets", 251, "n_subsets=251 is more than half of population_size=500: each needs two trees."),
    *(case for name in ("row_fraction", "feature_fraction") for case in number(name, "above 0 and below 1", 0, 1.9)),
    *whole("max_trees", 1, 0, highest=1000),
    *TOURNAMENT,
    ("init_depth", 1, "init_depth must be a whole number of at least 2, got 1."),
    *whole("max_depth", 6, 3, 5, highest=10_000),
    *number("p_crossover", ALWAYS, -0.1, 1.9),
    *choice("weighting", "'accuracy', 'none', 'margin'", "votes"),
    *flag("early_stopping"),
    *number("validation_fraction", "above 0 and below 1", 0, 1.0),
    *whole("n_generations_no_change", 1, 0),
]
EARLY_STOPPING = ("early_stopping", "validation_fraction", "n_generations_no_change")
M3GP = [
    *(case for case in PROGRAMS if case[0] in EARLY_STOPPING),
    *TOURNAMENT,
    ("init_depth", 1, "init_depth must be a whole number of at least 2, got 1."),
    *whole("max_depth", 6, 3, 5, highest=10_000),
    *whole("max_dimensions", 1, 0, highest=10_000),
    *number("p_crossover", ALWAYS, -0.1, 1.9),
    *pair("constant_range", (5, -5), 3),
    *flag("prune_best"),
]
GSGP = [
    *(case for case in PROGRAMS if case[0] not in ("max_size", "loss", "variation")),
    *SAMPLES,
    *TOURNAMENT,
    ("n_estimators", 501, "n_estimators=501 is larger than population_size=500"),
    ("p_crossover", "often", "p_crossover must be a number"),
    ("p_mutation", -0.1, "p_crossover and p_mutation must be probabilities that sum to at most 1, got 0.5 and -0.1."),
    ("p_crossover", 0.7, "p_crossover and p_mutation must be probabilities that sum to at most 1, got 0.7 and 0.5."),
    *number("mutation_step", "above 0 and below inf", 0, -1.0, np.inf, None),
]
EFS = [
    *whole("population_size", 2, 1, also=" or None", highest=10**7),
    *whole("archive_size", 0, -1, also=" or None", highest=10**7),
    *whole("max_size", 1, 0, highest=100_000),
    *TOURNAMENT,
    *number("p_binary", "above 0 and below 1", 0, 1),
    *number("max_correlation", "above 0 and below 1 or None", 0, 1),
    *choice("selection_rule", "'published', 'bic'", "aic"),
    *flag("clip"),
    *flag("early_stopping"),
    *number("validation_fraction", "above 0 and below 1", 0, 1, 1.5, None),
    *whole("n_generations_no_change", 1, 0, None),
]
THREE = "with_three must be None, or a list or tuple of those of 'add' and 'mul' that are among functions, "
THREE += "here of {}, got {}."
GPTIPS = [
    *TOURNAMENT,
    *(case for case in PROGRAMS if case[0] in ("early_stopping", "validation_fraction", "n_generations_no_change")),
    *pair("constant_range", (5, -5), 3),
    *(("with_three", value, THREE.format("'mul', 'add'", value)) for value in (["sub"], [3])),
    ("with_three", "add", THREE.format("'mul', 'add'", "'add'")),
    ("with_three", ["add", "add"], "with_three must name a function once, got ['add', 'add']."),
    *whole("max_genes", 1, 0, highest=1000),
    *whole("genes_per_feature", 1, 0, also=" or None", highest=1000),
    *whole("max_depth", 1, 0, highest=10),
    *whole("max_mutation_depth", 1, 0, highest=10),
    *whole("max_size", 1, 0, also=" or None", highest=100_000),
    *number("elite_fraction", "above -1e-12 and below 1", -0.1, 1.0),
    *(case for name in ("p_constant", "p_whole_genes", "p_gene") for case in number(name, ALWAYS, -0.1, 1.9)),
    *(case for name in ("p_feature_mutation", "p_constant_mutation") for case in number(name, ALWAYS, -0.1, 1.9)),
    (
        "p_feature_mutation",
        0.97,
        "p_feature_mutation and p_constant_mutation must sum to at most 1, got 0.97 and 0.05.",
    ),
    ("p_crossover", 0.9, "p_crossover and p_mutation must be probabilities that sum to at most 1, got 0.9 and 0.14."),
    ("p_mutation", -0.1, "p_crossover and p_mutation must be probabilities that sum to at most 1, got 0.84 and -0.1."),
    *number("constant_step", "above 5e-05 and below inf", 0, 1e-6, np.inf, None),
]
WINDOW = "window must be a number of candidates (int) or a share of population_size (float up to 1), got {!r}."
SHARE = "sampling must be 'bootstrap' or a share of the rows (float up to 1), got {!r}."
SCALED = [case for case in PROGRAMS if case[0] not in ("init_depth", "min_grow_depth", "max_size", "variation")]
GOMEA = [
    *SCALED,
    *SAMPLES,
    *whole("template_height", 1, 0, highest=9),
    *whole("n_subgenerations", 2, 1, also=" or None", highest=1000),
    *flag("forced_improvement"),
]
GROVE = [
    *(
        c
        for name in ("n_populations", "n_estimators", "max_terms", "n_joining")
        for c in whole(name, 1, 0, highest=10**6)
    ),
    *whole("max_size", 1, 0, highest=100_000),
    *number("ridge", "above 0 and below inf", -1.0, 0, np.inf),
    *(("window", value, WINDOW.format(value)) for value in (1.5, 0.0, "wide", True)),
    ("window", 0, "window must be a whole number of at least 1, got 0."),
    ("window", HUGE, f"window must be a whole number from 1 to 10000000, got {HUGE}."),
    ("window", TOO_LARGE_TO_PRINT, "window must be a whole number from 1 to 10000000, got a larger one."),
    *choice("strength", "'auto', 'fixed'", "full"),
    *choice("aggregation", "'interquartile', 'mean'", "mode"),
    *flag("clip"),
    *(("sampling", value, SHARE.format(value)) for value in (1.5, 0.0, 1, "jackknife", None)),
]
LAW_FUNCTIONS = "'log', 'exp', 'sin', 'cos', 'tanh', 'arcsin', 'arccos', 'max', 'min'"
CHOOSE = "choose must be one of 'auto', 'mdl', 'one_se', 'accuracy', or a size (int), got {!r}."
LAW = [
    ("functions", ("sin", "sine"), f"functions must be one of {LAW_FUNCTIONS}, got 'sine'."),
    ("functions", ("add",), f"functions must be one of {LAW_FUNCTIONS}, got 'add'."),
    ("functions", "sine", f"functions must be one of {LAW_FUNCTIONS}, got 'sine'."),
    ("functions", 3, "functions must be a list or tuple of names, got 3."),
    *(("choose", value, CHOOSE.format(value)) for value in ("best", 2.5, True, None, ["mdl"])),
    ("choose", 0, "choose must be a whole number of at least 1, got 0."),
    ("units", {"v": "m"}, "units and target_unit go together, got units={'v': 'm'} and target_unit=None."),
    ("target_unit", "m", "units and target_unit go together, got units=None and target_unit='m'."),
    ("constants_have_units", 1, "constants_have_units must be True or False, got 1."),
    ("max_size", 0, "max_size must be a whole number of at least 1, got 0."),
    ("effort", "none", "effort must be one of 'full', 'quick', got 'none'."),
    ("nested_constraints", "sin", "nested_constraints must be a dictionary such as {'sin': {'sin': 0, 'cos': 0}}, got"),
    *(case for case in EVOLUTION if case[0] in ("max_time", "calibration", "memory_budget", "n_jobs", "verbose")),
]
OWN = {
    sg.LawRegressor: LAW,
    sg.TwoSEGPRegressor: [*TWO_SEGP, *AGGREGATION, *LOSS],
    sg.TwoSEGPClassifier: TWO_SEGP,
    sg.ClassicGPRegressor: [*CLASSIC_GP, *LOSS],
    sg.ClassicGPClassifier: CLASSIC_GP,
    sg.StandardGPClassifier: STANDARD_GP,
    sg.IndependentGPRegressor: [*INDEPENDENT_GP, *AGGREGATION, *LOSS],
    sg.IndependentGPClassifier: INDEPENDENT_GP,
    sg.DivNichGPRegressor: [*DIVNICH_GP, *AGGREGATION, *LOSS],
    sg.DivNichGPClassifier: DIVNICH_GP,
    sg.SpatialGPRegressor: [*SPATIAL_GP, *LOSS],
    sg.GOMEARegressor: [*(case for case in GOMEA if case[0] != "loss"), *AGGREGATION, *LOSS],
    sg.GOMEAClassifier: GOMEA,
    sg.GSGPRegressor: GSGP,
    sg.RDORegressor: RDO,
    sg.EFSRegressor: EFS,
    sg.EGPClassifier: EGP,
    sg.GPTIPSRegressor: GPTIPS,
    sg.M3GPRegressor: M3GP,
    sg.M3GPClassifier: [*M3GP, *choice("covariance", "'centred', 'uncentred'", "pooled")],
    sg.GroveRegressor: [
        *GROVE,
        *choice("loss", f"{NAMES}, 'poisson'", "log"),
        *(case for case in LOSS if case[0] != "loss"),
    ],
    sg.GroveClassifier: GROVE,
}
REFUSED = "target_transform must be None, 'log' or 'box-cox', got {!r}."
TRANSFORM = [("target_transform", value, REFUSED.format(value)) for value in ("ln", 1)]
OWN = {kind: own if hasattr(kind, "predict_proba") else [*own, *TRANSFORM] for kind, own in OWN.items()}
each_estimator = pytest.mark.parametrize("kind", METHODS, ids=lambda kind: kind.__name__)


def assert_refused(check, cases):
    """Each value is refused with its message: what was given, what is accepted."""
    for name, value, message in cases:
        with pytest.raises((ValueError, TypeError)) as refusal:
            check(**{name: value})
        assert message in str(refusal.value)


def names_of(cases):
    return {name for name, _, _ in cases}


def parameters_of(kind):
    return {field.name for field in fields(kind)}


def test_what_every_method_has_is_checked():
    check_evolution(EvolutionParameters())
    assert_refused(lambda **given: check_evolution(EvolutionParameters(**given)), EVOLUTION)
    assert parameters_of(EvolutionParameters) - ELSEWHERE == names_of(EVOLUTION)


def test_what_methods_with_programs_have_is_checked():
    check_programs(ProgramParameters(constant_range=None))
    assert_refused(lambda **given: check_programs(ProgramParameters(**given)), PROGRAMS)
    assert parameters_of(ProgramParameters) - ELSEWHERE == names_of(EVOLUTION + PROGRAMS)
    with pytest.raises(ValueError, match="generations must be"):
        check_programs(ProgramParameters(generations=-1))


def test_numbers_of_samples_are_checked():
    check_samples(50, True, 50)
    check_samples(50, np.True_)
    assert_refused(lambda n_estimators=50, prune=True: check_samples(n_estimators, prune), SAMPLES)
    with pytest.raises(ValueError, match="Lower n_estimators or raise population_size") as refusal:
        check_samples(50, True, 49)
    assert NO_PLACE in str(refusal.value)


@each_estimator
def test_what_a_method_has_of_its_own_is_checked(kind):
    kind(**METHODS[kind]).check_parameters()
    assert_refused(lambda **given: kind(**given).check_parameters(), OWN[kind])
    if kind is sg.LawRegressor:
        assert set(kind().get_params()) - ELSEWHERE == names_of(OWN[kind])
        return
    shared = ProgramParameters if issubclass(kind, ProgramParameters) else EvolutionParameters
    is_optional = {"class_weight"} if hasattr(kind, "predict_proba") else set()  # checked with the labels
    assert parameters_of(kind) - parameters_of(shared) - is_optional <= names_of(OWN[kind])


def test_populations_too_small_for_a_torus_are_refused():
    with pytest.raises(ValueError, match=r"each side must have at least 3.* at least 9"):
        sg.SpatialGPRegressor(population_size=5, n_estimators=3).check_parameters()


class Untouchable:
    """Data that nobody may look at."""

    def __getattribute__(self, name):
        raise AssertionError(f"somebody looked at {name} of the data")


@each_estimator
@pytest.mark.parametrize(("name", "value"), [("generations", -1), ("max_size", 0)])
def test_fits_check_parameters_before_they_look_at_data(kind, name, value):
    if name not in kind().get_params():
        pytest.skip("has no such parameter")
    model = kind(**{name: value})
    with pytest.raises(ValueError, match=f"{name} must be a whole number"):
        model.fit(Untouchable(), Untouchable(), sample_weight=Untouchable())
    assert vars(model) == model.get_params()


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (sg.ClassicGPRegressor, {"p_crossover": 1.9}, "p_crossover and p_mutation must be probabilities that sum"),
        (sg.TwoSEGPClassifier, {"p_mutation": -0.1}, "p_crossover and p_mutation must be probabilities that sum"),
        (sg.TwoSEGPRegressor, {"init_depth": (2, 10**9)}, "can have more than 1048576 nodes"),
        (sg.TwoSEGPRegressor, {"memory_budget": 1000}, r"memory_budget=1000 bytes is too small: .* at least \d+"),
        (sg.GSGPRegressor, {"memory_budget": 10**5}, "is too small: .*give fewer rows, or lower population_size"),
        (sg.GroveRegressor, {"memory_budget": 1000}, "memory_budget=1000 bytes is too small"),
        (
            sg.GroveRegressor,
            {"memory_budget": 10**6, "max_terms": 100, "n_estimators": 50},
            r"memory_budget=1000000 bytes is too small: a fit on 150 rows, or on some of them, needs at least \d+\.",
        ),
        (sg.LawRegressor, {"memory_budget": 1000}, r"memory_budget=1000 bytes is too small: .* at least \d+"),
        (sg.LawRegressor, {"random_state": "seed"}, "'seed' cannot be used to seed"),
        (sg.GroveClassifier, {"random_state": "seed"}, "'seed' cannot be used to seed"),
        (sg.GroveClassifier, {"class_weight": "heavy"}, "(?s)class_weight.*heavy"),
    ],
)
def test_what_is_checked_where_it_is_used_gets_a_clear_error_too(kind, parameters, message):
    X = np.random.default_rng(0).normal(size=(150, 2))
    with pytest.raises(ValueError, match=message):
        kind(**{**METHODS[kind], **parameters}).fit(X, X[:, 0] > 0)
