"""The optimal attention of stage 2, W_V being frozen at the optimum of stage 1.

'Stage 2 simplification: tying attention scores': a word gives weight c1 to itself, c2 to other
words of its topic and c3 to everything else, up to normalisation, so that only alpha = c2 / c3 and
beta = c1 / c3 matter. Queries that show [MASK] have no topic and are not affected. 'Stage 2
result': at the optimum (v-1)/v alpha + beta/v lies in (lambda_1 tau, lambda_2 T).
"""

import itertools
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from onelayer.settings import topic_structure_synthetic as blocks
from onelayer.topic_structure.synthetic.data import MASK, SPECIAL, CountRows, Vocabulary, draw
from onelayer.topic_structure.synthetic.optima import stage_one_optimum

# alpha and beta are looked for between exp(-6) and exp(6). An optimal beta may be 0, and the loss
# need not depend on one of them: they end at the edge, or where they start.
MOST = 6.0


class TiedLoss:
    """Squared loss of tied attention over masked documents, with its gradient.

    The output for a word depends on its topic alone, so a row is T topic masses. Masked positions
    are attended to. W_V, [D, D], is constant on blocks: `optima.stage_one_optimum`.
    """

    def __init__(self, vocabulary: Vocabulary, rows: CountRows, W_V: np.ndarray) -> None:
        shows_word = rows.query >= SPECIAL
        keys = rows.keys[rows.document[shows_word]].astype(np.float64)
        query, targets = rows.query[shows_word], rows.targets[shows_word].astype(np.float64)
        row, self.v = np.arange(len(query)), vocabulary.v
        masses = keys @ vocabulary.membership  # [rows, T]
        self.targets = targets @ vocabulary.membership
        self.weight = targets.sum(1)
        topic = vocabulary.topic[query]
        self.same_word = keys[row, query]
        self.same = masses[row, topic] - self.same_word
        self.total = keys.sum(1)
        first = SPECIAL + vocabulary.v * np.arange(vocabulary.T)
        blocks = W_V[np.ix_(first, first)]  # [T of the output, T of the key]
        mask_part = np.outer(keys[:, MASK], W_V[first, MASK])
        self.plain = masses @ blocks.T + mask_part  # alpha = beta = 1
        self.column = blocks.T[topic]  # what one more unit of the query's topic adds

    def __call__(self, logs: np.ndarray) -> tuple[float, np.ndarray]:
        """Loss and gradient at (log alpha, log beta)."""
        alpha, beta = np.exp(logs)
        more = (alpha - 1) * self.same + (beta - 1) * self.same_word
        Z = self.total + more
        f = (self.plain + more[:, None] * self.column) / Z[:, None]
        residual = 2 * (self.weight[:, None] * self.v * f - self.targets)
        loss = self.weight * (self.v * (f * f).sum(1) + 1) - 2 * (self.targets * f).sum(1)
        slope = (residual * (self.column - f)).sum(1) / Z  # d loss / d more
        n = self.weight.sum()
        gradient = np.array([alpha * (slope @ self.same), beta * (slope @ self.same_word)])
        return loss.sum() / n, gradient / n


def optimal_attention(vocabulary: Vocabulary, rows: CountRows) -> dict[str, float]:
    """`alpha` and `beta` of the least `TiedLoss`, by L-BFGS in their logarithms, and `ratio`."""
    loss = TiedLoss(vocabulary, rows, stage_one_optimum(vocabulary, rows))
    how = {"method": "L-BFGS-B", "bounds": [(-MOST, MOST)] * 2}
    least = minimize(loss, np.zeros(2), jac=True, options={"ftol": 1e-14, "gtol": 1e-10}, **how)
    alpha, beta = map(float, np.exp(least.x))
    v = vocabulary.v
    return {"alpha": alpha, "beta": beta, "ratio": (v - 1) / v * alpha + beta / v}


def optimal_ratios(
    words: blocks.TopicModelSettings,
    block: blocks.StageTwoSettings,
    over_T: blocks.RatioOverTSettings,
    progress: Callable[..., Iterable] = iter,
) -> pd.DataFrame:
    """The optimal same-topic ratio over tau, in short and long documents, and over T.

    Over T exactly the proportion p_m of the words is selected.

    Returns:
        Rows `documents` (short, long or over T), `T`, `tau`, `seed`, `alpha`, `beta`, `ratio`.
    """
    chosen = words.model_copy(update={"selection": "proportion"})
    # what documents are called here and in their seeds; words, how many documents, their lengths
    kinds = {
        "short": ("stage two short", words, block.documents, block.N),
        "long": ("stage two long", words, block.documents_long, block.N_long),
        "over T": ("over T", chosen, over_T.documents, over_T.N),
    }
    points = [
        *itertools.product(("short", "long"), [words.T], block.taus, range(block.seeds)),
        *itertools.product(["over T"], over_T.T, over_T.taus, range(over_T.seeds)),
    ]
    results = []
    for kind, T, tau, seed in progress(points):
        use, model, documents, N = kinds[kind]
        rows = draw(model.model_copy(update={"T": T}), documents, N, use, tau=tau, seed=seed)
        keys = {"documents": kind, "T": T, "tau": tau, "seed": seed}
        results.append(keys | optimal_attention(Vocabulary(T, words.v), rows))
    return pd.DataFrame(results)
