"""Selection by sorting Python lists."""


def truncation(errors, n_selected):
    return sorted(range(len(errors)), key=lambda i: errors[i])[:n_selected]


def partitioned_truncation(errors, slots):
    """The `slots[j]` best of every column j; sorting is stable, so ties go to the lower index."""
    selected = []
    for j, n in enumerate(slots):
        selected += truncation([row[j] for row in errors], n)
    return selected


def tournaments(errors, n_selected, size, rng):
    """The first drawn of the best of each tournament."""
    winners = []
    for contestants in rng.integers(len(errors), size=(n_selected, size)).tolist():
        winners.append(min(contestants, key=lambda i: errors[i]))
    return winners


def deviation(values):
    values = sorted(v for v in values if v < float("inf"))
    middle = median(values)
    return median(sorted(abs(v - middle) for v in values))


def median(ordered):
    n = len(ordered)
    return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2


def lexicase(errors, cases, sample_of, rng):
    """Lexicase with the same draws as the kernel; programs must be distinct and usable."""
    n_cases = len(cases[0])
    order = list(range(n_cases))
    selected = []
    for j in sample_of:
        column = [row[j] for row in errors]
        limit = min(column) + deviation(column)
        pool = [i for i in range(len(errors)) if column[i] <= limit]
        for c in range(n_cases):
            if len(pool) == 1:
                break
            k = c + min(int(rng.random() * (n_cases - c)), n_cases - c - 1)
            order[c], order[k] = order[k], order[c]
            case = [row[order[c]] for row in cases]
            limit = min(case[i] for i in pool) + deviation(case)
            pool = [i for i in pool if case[i] <= limit]
        selected.append(pool[min(int(rng.random() * len(pool)), len(pool) - 1)])
    return selected


def distinct_tournaments(errors, n_selected, size, rng):
    """Rounds of tournaments among those that have not won; what is missing in the end comes from ordinary ones."""
    left, selected = list(range(len(errors))), []
    while len(selected) < n_selected and left:
        n_rounds = min(n_selected - len(selected), len(left))
        won = tournaments([errors[i] for i in left], n_rounds, size, rng)
        selected += dict.fromkeys(left[i] for i in won)
        left = [i for i in left if i not in selected]
    return selected + tournaments(errors, n_selected - len(selected), size, rng)
