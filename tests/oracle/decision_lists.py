"""Decision lists written as plain loops from the paper's text: sets, combinations, no arrays."""

import math
from itertools import combinations, pairwise

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import softmax as scipy_softmax


def lists_of(fast):
    """`DecisionLists` as a list of lists and a list."""
    lists = [[b for b in row if b >= 0] for row in fast.lists.tolist()]
    return lists, fast.permutation.tolist()


def determining_token(query, sequence, lists):
    """a_j with the smallest j such that a_j is in the sequence."""
    return next(token for token in lists[query] if token in sequence)


def subsets(L, n, weights=None):
    """{subset: probability}, probability proportional to the product of weights."""
    mass = {}
    for subset in combinations(range(L), n):
        mass[subset] = math.prod(1.0 if weights is None else float(weights[t]) for t in subset)
    total = math.fsum(mass.values())
    return {subset: value / total for subset, value in mass.items()}


def softmax(values):
    """Softmax of a list."""
    exponentials = [math.exp(value - max(values)) for value in values]
    return [value / sum(exponentials) for value in exponentials]


def output(query, sequence, W, V):
    """Column of f_{W,V}(X) that belongs to the query: probabilities of all L labels."""
    p = softmax([W[key][query] for key in sequence])
    return softmax([sum(row[key] * a for key, a in zip(sequence, p, strict=True)) for row in V])


def loss(W, V, lists, permutation, distribution):
    """Population loss, eq. (2)."""
    total = 0.0
    for sequence, probability in distribution.items():
        for query in sequence:
            label = permutation[determining_token(query, sequence, lists)]
            chance = output(query, sequence, W, V)[label]
            total -= probability * math.log(chance) / len(sequence)
    return total


def strictly_right(query, sequence, W, lists):
    """Whether the label-determining token has more attention than every other token."""
    right = determining_token(query, sequence, lists)
    return all(W[right][query] > W[key][query] for key in sequence if key != right)


def strict_accuracy(W, lists, distribution):
    """Probability of a strictly right query at a uniform position."""
    return sum(
        probability * strictly_right(query, sequence, W, lists) / len(sequence)
        for sequence, probability in distribution.items()
        for query in sequence
    )


def gamma(lists, distribution):
    """min over a, k of P(s_j = a and the label-determining token is a_k)."""
    mass = {(a, b): 0.0 for a, tokens in enumerate(lists) for b in tokens}
    for sequence, probability in distribution.items():
        for query in sequence:
            key = (query, determining_token(query, sequence, lists))
            mass[key] += probability / len(sequence)
    return min(mass.values())


def certified(W, lists, query):
    """W[a_1, a] > ... > W[a_m, a] > every token outside the list."""
    inside = [W[token][query] for token in lists[query]]
    outside = [W[token][query] for token in range(len(W)) if token not in lists[query]]
    falling = all(high > low for high, low in pairwise(inside))
    return falling and all(inside[-1] > value for value in outside)


def time_to_bound_ratio(lists, weights, n, delta):
    """t* over Theorem 1's bound, column by column of W, every sequence in turn."""
    L, distribution = len(lists), subsets(len(lists), n, weights)
    c, times = 4 * n * np.log(L) / delta, []
    for a in range(L):
        asked = [
            (np.array(s), determining_token(a, s, lists), probability)
            for s, probability in distribution.items()
            if a in s
        ]

        def flow(_, column, asked=asked):
            moved = np.zeros(L)
            for s, label, probability in asked:
                attention = scipy_softmax(column[s])
                logits = np.zeros(L)
                logits[s] = c * attention
                error = scipy_softmax(logits)
                error[label] -= 1
                moved[s] -= probability / n * c * attention * (error[s] - attention @ error[s])
            return moved

        def margin(_, column, asked=asked):
            return min(column[label] - column[s[s != label]].max() for s, label, _ in asked)

        margin.terminal = True
        start = 1e-6 * flow(0.0, np.zeros(L))  # at W = 0 all tie
        if margin(0.0, start) > 0:
            times.append(0.0)
            continue
        path = solve_ivp(flow, (0, 1e4), start, "Radau", events=margin, rtol=1e-7, atol=1e-10)
        times.append(path.t_events[0][0])
    return max(times) * np.log(L) * gamma(lists, distribution) / (4 * max(map(len, lists)))
