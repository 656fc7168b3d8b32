"""A bootstrap sample from its definition: one row after the other is drawn from all."""


def counts(sizes, rng):
    """Counts of each block's rows."""
    found = [[0] * size for size in sizes]
    for _ in range(sum(sizes)):
        row = int(rng.integers(sum(sizes)))
        block = 0
        while row >= sizes[block]:
            row -= sizes[block]
            block += 1
        found[block][row] += 1
    return found
