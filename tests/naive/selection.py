"""Selection by sorting Python lists."""


def truncation(errors, n_selected):
    return sorted(range(len(errors)), key=lambda i: errors[i])[:n_selected]


def partitioned_truncation(errors, slots):
    """The `slots[j]` best of every column j; sorting is stable, so ties go to the lower index."""
    selected = []
    for j, n in enumerate(slots):
        selected += truncation([row[j] for row in errors], n)
    return selected
