"""What a schedule is, from the definitions.

Nodes are ("feature", i), ("constant", value), or (code, operand, ...) with ids of nodes as operands. A step is (code,
scalar, result, operand, ...); results and operands are ("feature", i), ("kept", i), ("root", i) or ("scratch", i).
"""

COPY, FILL = 0, 1


def steps_and_kept(nodes, roots, slots, was_computed, free, epsilon, keep_roots):
    """The steps, and the slots of the nodes that are to be kept; `slots` has those of nodes that are."""
    free, kept, steps, n_scratch = list(free), {}, [], 0
    lies = {node: ("kept", slot) for node, slot in slots.items()}
    lies |= {node: what for node, what in enumerate(nodes) if what[0] == "feature"}
    for node in needed(nodes, roots, lies):
        code, *operands = nodes[node]
        is_constant = code == "constant"
        is_wanted = node in was_computed or (keep_roots and node in roots)
        n_reserved = sum(root > node for root in roots) if keep_roots and node not in roots else 0
        if is_wanted and len(free) > n_reserved and not is_constant:
            kept[node] = free.pop(0)
            lies[node] = ("kept", kept[node])
        elif node in roots:
            lies[node] = ("root", roots.index(node))
        else:
            lies[node] = ("scratch", n_scratch)
            n_scratch += 1
        if is_constant:
            steps.append((FILL, operands[0], lies[node]))
        else:
            steps.append((code, epsilon[code], lies[node], *(lies[operand] for operand in operands)))
    copies = [(COPY, 0, ("root", i), lies[root]) for i, root in enumerate(roots) if lies[root] != ("root", i)]
    return steps + copies, kept


def needed(nodes, roots, at_hand):
    """Nodes that the roots are made of, and that are not at hand, ascending."""
    found, waiting = set(), list(roots)
    while waiting:
        node = waiting.pop()
        if node not in at_hand and node not in found:
            found.add(node)
            waiting += nodes[node][1:] if nodes[node][0] != "constant" else ()
    return sorted(found)


def levels(steps):
    """0 for a step that reads nothing of another step, else one more than the highest level of those it reads."""
    writer = {out: k for k, (_, _, out, *_) in enumerate(steps)}

    def level(k):
        return max((1 + level(writer[operand]) for operand in steps[k][3:] if operand in writer), default=0)

    return [level(k) for k in range(len(steps))]


def n_rows(steps, kinds):
    """The largest number of results of these kinds that exist during a step: written in it or before, read in it or
    after, or written in it."""
    most = 0
    for k in range(len(steps)):
        written = {out for _, _, out, *_ in steps[: k + 1] if out[0] in kinds}
        read = {operand for step in steps[k:] for operand in step[3:]}
        most = max(most, len(written & (read | {steps[k][2]})))
    return most
