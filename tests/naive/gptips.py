"""GPTIPS on nested tuples, with the same random draws as the package.

A gene is a program of functions with one or two operands. It is read with three where a function of `THREE` stands in
its own first operand: ("add", ("add", a, b), c) is ("add", a, b, c).
"""

import math

import numpy as np

from tests.naive import linear_heads
from tests.naive.programs import evaluate, is_function
from tests.naive.variation import below

DECIMALS = 1e4


def read(gene, three):
    if not is_function(gene):
        return gene
    name, *operands = gene
    if name in three and operands[0][0] == name:
        operands = [*operands[0][1:], operands[1]]
    return (name, *(read(operand, three) for operand in operands))


def written(gene):
    if not is_function(gene):
        return gene
    name, *operands = gene
    operands = [written(operand) for operand in operands]
    if len(operands) == 3:
        operands = [(name, *operands[:2]), operands[2]]
    return (name, *operands)


def nodes(tree, path=()):
    """Places of all nodes, each with its branch, from left to right."""
    found = [(path, tree)]
    if is_function(tree):
        for k, operand in enumerate(tree[1:], start=1):
            found += nodes(operand, (*path, k))
    return found


def replaced(tree, path, branch):
    if not path:
        return branch
    k = path[0]
    return (*tree[:k], replaced(tree[k], path[1:], branch), *tree[k + 1 :])


def depth(tree):
    return 1 + max(map(depth, tree[1:])) if is_function(tree) else 1


def complexity(gene, three):
    """Sum of the sizes of all branches."""
    return sum(len(nodes(branch)) for _, branch in nodes(read(gene, three)))


def error(individual, X, y, weight=None):
    columns = [evaluate(gene, X) for gene in individual]
    if not all(np.isfinite(column).all() for column in columns):
        return math.inf
    return linear_heads.head(columns, y, weight)[2]


class GPTIPS:
    """Settings: functions as (name, arity), names that have three operands too, and those of the estimator."""

    def __init__(self, functions, three, n_features, settings):
        self.functions = [*functions, *((name, 3) for name in three)]
        self.three, self.n_features, self.settings = three, n_features, settings

    def first(self, rng, n):
        return [self.individual(rng) for _ in range(n)]

    def individual(self, rng):
        s, genes = self.settings, []
        for _ in range(1 + below(rng, s["max_genes"])):
            for n_drawn in range(101):
                limit = 1 + below(rng, s["max_depth"]) if n_drawn < 100 else 1
                tree = self.tree(rng, limit, rng.random() < 0.5)
                if len(nodes(tree)) <= (s["max_size"] or math.inf) and written(tree) not in genes:
                    genes.append(written(tree))
                    break
            else:
                break
        return genes

    def tree(self, rng, limit, is_full, level=1):
        if level < limit and (is_full or level == 1 or rng.random() < 0.5):
            name, arity = self.functions[below(rng, len(self.functions))]
            return (name, *[self.tree(rng, limit, is_full, level + 1) for _ in range(arity)])
        span = self.settings["constant_range"]
        if span is not None and rng.random() < self.settings["p_constant"]:
            value = span[0] + (span[1] - span[0]) * rng.random()
            return ("constant", math.floor(value * DECIMALS + 0.5) / DECIMALS + 0.0)
        return ("feature", below(rng, self.n_features))

    def following(self, rng, population, errors):
        """The next population."""
        s, n = self.settings, len(population)
        complexities = [sum(complexity(gene, self.three) for gene in own) for own in population]
        n_children = int((1 - s["elite_fraction"]) * n + 1e-9)
        winners = []
        for pair in rng.integers(n, size=(n_children, 2, s["tournament_size"])).tolist():
            winners.append([min(drawn, key=lambda i: (errors[i], complexities[i])) for drawn in pair])
        children = []
        for dad, mum in winners:
            if len(children) < n_children:
                children += self.children(rng, population[dad], population[mum])
        order = sorted(range(n), key=lambda i: errors[i])[: n - n_children]
        if order:
            equal = [i for i in range(n) if errors[i] == errors[order[0]]]
            order[0] = min(equal, key=lambda i: complexities[i])
        return children[:n_children] + [population[i] for i in order]

    def children(self, rng, dad, mum):
        s = self.settings
        u = rng.random()
        if u >= s["p_crossover"] + s["p_mutation"]:
            return [dad]
        if u >= s["p_crossover"]:
            place = below(rng, len(dad))
            for _ in range(10):
                gene = self.mutated(rng, dad[place])
                if self.fits(gene):
                    return [[*dad[:place], gene, *dad[place + 1 :]]]
            return [dad]
        if rng.random() < s["p_whole_genes"] and max(len(dad), len(mum)) > 1:
            given, taken = self.marked(rng, dad), self.marked(rng, mum)
            first = [g for g, m in zip(mum, taken, strict=True) if not m]
            second = [g for g, m in zip(dad, given, strict=True) if not m]
            first += [g for g, m in zip(dad, given, strict=True) if m]
            second += [g for g, m in zip(mum, taken, strict=True) if m]
            return [first[: s["max_genes"]], second[: s["max_genes"]]]
        place, other = below(rng, len(dad)), below(rng, len(mum))
        for _ in range(10):
            (path, branch), (mums_path, mums_branch) = self.any_node(rng, dad[place]), self.any_node(rng, mum[other])
            son = written(replaced(read(dad[place], self.three), path, mums_branch))
            daughter = written(replaced(read(mum[other], self.three), mums_path, branch))
            if self.fits(son) and self.fits(daughter):
                return [[*dad[:place], son, *dad[place + 1 :]], [*mum[:other], daughter, *mum[other + 1 :]]]
        return [dad, mum]

    def marked(self, rng, individual):
        marks = [rng.random() < self.settings["p_gene"] for _ in individual]
        if not any(marks):
            marks[below(rng, len(individual))] = True
        return marks

    def any_node(self, rng, gene, kind=None):
        found = [(p, b) for p, b in nodes(read(gene, self.three)) if kind in (None, b[0])]
        return found[below(rng, len(found))] if found else None

    def mutated(self, rng, gene):
        s, tree = self.settings, read(gene, self.three)
        u = rng.random()
        if u < s["p_feature_mutation"]:
            chosen = self.any_node(rng, gene, "feature")
            if chosen:
                return written(replaced(tree, chosen[0], ("feature", below(rng, self.n_features))))
        elif u < s["p_feature_mutation"] + s["p_constant_mutation"]:
            chosen = self.any_node(rng, gene, "constant")
            if chosen:
                value = chosen[1][1] + s["constant_step"] * rng.standard_normal()
                return written(replaced(tree, chosen[0], ("constant", math.floor(value * DECIMALS + 0.5) / DECIMALS)))
        path, _ = self.any_node(rng, gene)
        return written(replaced(tree, path, self.tree(rng, 1 + below(rng, s["max_mutation_depth"]), is_full=True)))

    def fits(self, gene):
        tree = read(gene, self.three)
        return depth(tree) <= self.settings["max_depth"] and len(nodes(tree)) <= (self.settings["max_size"] or math.inf)
