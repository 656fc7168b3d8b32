"""Grove: ensembles of sums of formulas, in which a formula is judged by what it adds to a team.

Samples of the rows and selection by sample, as in 2SEGP. What changes is the question that a formula answers: not how
well it fits a sample alone, but how much it adds to the team that the sample already has.

    configuration.py   the numbers behind it
    teams.py           a generation: how a term joins a team, how one leaves
    populations.py     populations of different sizes in one table
    setup.py           from a problem to evolutions of teams, and from their states to a model
    strength.py        how strongly to fit: evolutions on folds (folds.py), and those that the stack needs
    weights.py         weights of the stack, from predictions of rows held out
    pooling.py         regressions over the terms of many teams
    many_rows.py       the same where rows are many: turns.py (rows come and go), settling.py (coefficients on all rows)
"""
