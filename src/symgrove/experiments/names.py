"""The built-in studies; a module of its own, because the command line lists them before anything else is loaded."""

# In the order of the paper, then ours.
NAMES = (
    "table1",
    "table2",
    "table3",
    "figure-scaling",
    "figure-beta",
    "figure-diversity",
    "figure-elites",
    "figure-evolvability",
    "pruning",
    "budget",
    "minimum-height",
    "bagging",
    "aggregation",
    "egp",
    "grove",
    "intervals",
)
# Not a study of tables: equations to find again, run by `experiments/law_study.py`.
LAWS = "laws"
LAWS_FILE = "laws.jsonl"
