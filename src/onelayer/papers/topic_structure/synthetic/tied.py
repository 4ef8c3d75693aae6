"""The optimal tied attention of stage 2: W_V frozen at the optimum of stage 1.

Li, Li & Risteski (2023), 'Stage 2 simplification: tying attention scores'. A word gives weight c1
to itself, c2 to other words of its topic and c3 to everything else, up to normalisation: only
alpha = c2 / c3 and beta = c1 / c3 matter. Queries that show [MASK] have no topic and are not
affected. The theorem: at the optimum (v-1)/v alpha + beta/v lies in (lambda_1 tau, lambda_2 T).
"""

import numpy as np
from scipy.optimize import minimize

from onelayer.papers.topic_structure.synthetic.data import MASK, SPECIAL, CountRows, Vocabulary

# Between this and its inverse alpha and beta are looked for: far beyond any optimum, and finite
# where the loss does not depend on one of them.
LEAST = float(np.exp(-6))


def ratios(vocabulary: Vocabulary, alpha: float, beta: float) -> dict[str, float]:
    """`alpha`, `beta` and `ratio`: the theorem's average same-topic over different-topic weight."""
    ratio = (vocabulary.v - 1) / vocabulary.v * alpha + beta / vocabulary.v
    return {"alpha": float(alpha), "beta": float(beta), "ratio": float(ratio)}


class TiedLoss:
    """Squared loss of tied attention over masked documents, with its gradient.

    The output for a word depends on its topic alone, so a row is T topic masses.

    Args:
        rows: masked documents, masked positions attended.
        W_V: [D, D], constant on blocks: between words of two topics, and the [MASK] column.
    """

    def __init__(self, vocabulary: Vocabulary, rows: CountRows, W_V: np.ndarray) -> None:
        shows_word = rows.query >= SPECIAL
        keys = rows.keys[rows.document[shows_word]].astype(np.float64)
        query, targets = rows.query[shows_word], rows.targets[shows_word].astype(np.float64)
        self.v = vocabulary.v
        self.masses = keys @ vocabulary.membership  # [rows, T]
        self.targets = targets @ vocabulary.membership
        self.weight = targets.sum(1)
        self.topic = vocabulary.topic[query]
        self.row = np.arange(len(query))
        self.same_word = keys[self.row, query]
        self.same = self.masses[self.row, self.topic] - self.same_word
        self.total = keys.sum(1)
        first = SPECIAL + vocabulary.v * np.arange(vocabulary.T)
        self.blocks = W_V[np.ix_(first, first)]  # [T of the output, T of the key]
        self.mask_part = np.outer(keys[:, MASK], W_V[first, MASK])
        self.plain = self.masses @ self.blocks.T + self.mask_part  # alpha = beta = 1

    def __call__(self, logs: np.ndarray) -> tuple[float, np.ndarray]:
        """Loss and gradient at (log alpha, log beta)."""
        alpha, beta = np.exp(logs)
        column = self.blocks.T[self.topic]  # what one more unit of the query's topic adds
        more = (alpha - 1) * self.same + (beta - 1) * self.same_word
        Z = self.total + more
        f = (self.plain + more[:, None] * column) / Z[:, None]
        residual = 2 * (self.weight[:, None] * self.v * f - self.targets)
        loss = self.weight * (self.v * (f * f).sum(1) + 1) - 2 * (self.targets * f).sum(1)
        slope = (residual * (column - f)).sum(1) / Z  # d loss / d more
        n = self.weight.sum()
        gradient = np.array([alpha * (slope @ self.same), beta * (slope @ self.same_word)])
        return loss.sum() / n, gradient / n


def optimal_attention(vocabulary: Vocabulary, rows: CountRows, W_V: np.ndarray) -> dict[str, float]:
    """`ratios` of the least `TiedLoss`, by L-BFGS in the logarithms of alpha and beta."""
    most = -float(np.log(LEAST))
    least = minimize(
        TiedLoss(vocabulary, rows, W_V),
        np.zeros(2),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-most, most)] * 2,
        options={"ftol": 1e-14, "gtol": 1e-10},
    )
    return ratios(vocabulary, *np.exp(least.x))
