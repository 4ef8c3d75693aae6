"""Decision lists written as plain loops from the paper's text: sets, combinations, no arrays."""

from __future__ import annotations

import math
from itertools import combinations, pairwise


def lists_of(fast):
    """`DecisionLists` as a list of lists and a list."""
    lists = [[b for b in row if b >= 0] for row in fast.lists.tolist()]
    return lists, fast.permutation.tolist()


def determining_token(query, sequence, lists):
    """a_j with the smallest j such that a_j is in the sequence."""
    for token in lists[query]:
        if token in sequence:
            return token
    raise AssertionError(f"token {query} is not in its own sequence")


def subsets(L, n, weights=None):
    """{subset: probability}, probability proportional to the product of weights."""
    mass = {}
    for subset in combinations(range(L), n):
        product = 1.0
        for token in subset:
            product *= 1.0 if weights is None else float(weights[token])
        mass[subset] = product
    total = math.fsum(mass.values())
    return {subset: value / total for subset, value in mass.items()}


def softmax(values):
    """Softmax of a list."""
    top = max(values)
    exponentials = [math.exp(value - top) for value in values]
    total = sum(exponentials)
    return [value / total for value in exponentials]


def output(query, sequence, W, V):
    """Column of f_{W,V}(X) that belongs to the query: probabilities of all L labels."""
    p = softmax([W[key][query] for key in sequence])
    logits = [
        sum(V[label][key] * weight for key, weight in zip(sequence, p, strict=True))
        for label in range(len(V))
    ]
    return softmax(logits)


def loss(W, V, lists, permutation, distribution):
    """Population loss, eq. (2)."""
    total = 0.0
    for sequence, probability in distribution.items():
        of_sequence = 0.0
        for query in sequence:
            label = permutation[determining_token(query, sequence, lists)]
            of_sequence -= math.log(output(query, sequence, W, V)[label])
        total += probability * of_sequence / len(sequence)
    return total


def strictly_right(query, sequence, W, lists):
    """Whether the label-determining token has more attention than every other token."""
    right = determining_token(query, sequence, lists)
    return all(W[right][query] > W[key][query] for key in sequence if key != right)


def strict_accuracy(W, lists, distribution):
    """Probability of a strictly right query at a uniform position."""
    return sum(
        probability
        * sum(strictly_right(query, sequence, W, lists) for query in sequence)
        / len(sequence)
        for sequence, probability in distribution.items()
    )


def gamma(lists, distribution):
    """min over a, k of P(s_j = a and the label-determining token is a_k)."""
    mass = {(a, b): 0.0 for a, tokens in enumerate(lists) for b in tokens}
    for sequence, probability in distribution.items():
        for query in sequence:
            key = (query, determining_token(query, sequence, lists))
            mass[key] += probability / len(sequence)
    return min(mass.values())


def pattern_probabilities(lists, query, distribution):
    """P(which list tokens are present | the query is), as {tuple of places: probability}."""
    mass = {}
    for sequence, probability in distribution.items():
        if query in sequence:
            pattern = tuple(k for k, token in enumerate(lists[query]) if token in sequence)
            mass[pattern] = mass.get(pattern, 0.0) + probability
    total = sum(mass.values())
    return {pattern: value / total for pattern, value in mass.items()}


def certified(W, lists, query):
    """W[a_1, a] > ... > W[a_m, a] > every token outside the list."""
    inside = [W[token][query] for token in lists[query]]
    outside = [W[token][query] for token in range(len(W)) if token not in lists[query]]
    falling = all(high > low for high, low in pairwise(inside))
    return falling and all(inside[-1] > value for value in outside)
