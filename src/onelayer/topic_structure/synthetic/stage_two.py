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

from onelayer.ensemble.execution import Execution
from onelayer.settings.topic_structure_synthetic import (
    RatioOverTSettings,
    StageTwoSettings,
    SyntheticTraining,
    TopicModelSettings,
)
from onelayer.topic_structure.synthetic.attention import (
    correct_topics,
    over_different_topics,
    pair_averages,
)
from onelayer.topic_structure.synthetic.closed_form import stage_one_optimum
from onelayer.topic_structure.synthetic.data import MASK, SPECIAL, CountRows, Vocabulary, draw
from onelayer.topic_structure.synthetic.model import attention_logits
from onelayer.topic_structure.synthetic.train import Run, train_runs

# alpha and beta are looked for between exp(-6) and exp(6): far beyond any optimum, and finite where
# the loss does not depend on one of them.
MOST = 6.0
MEASURED = 300  # documents on which trained attention is averaged


def ratios(vocabulary: Vocabulary, alpha: float, beta: float) -> dict[str, float]:
    """`alpha`, `beta` and `ratio`: the theorem's average same-topic over different-topic weight."""
    ratio = (vocabulary.v - 1) / vocabulary.v * alpha + beta / vocabulary.v
    return {"alpha": float(alpha), "beta": float(beta), "ratio": float(ratio)}


class TiedLoss:
    """Squared loss of tied attention over masked documents, with its gradient.

    The output for a word depends on its topic alone, so a row is T topic masses. Masked positions
    are attended to. W_V, [D, D], is constant on blocks: `closed_form.stage_one_optimum`.
    """

    def __init__(self, vocabulary: Vocabulary, rows: CountRows, W_V: np.ndarray) -> None:
        shows_word = rows.query >= SPECIAL
        keys = rows.keys[rows.document[shows_word]].astype(np.float64)
        query, targets = rows.query[shows_word], rows.targets[shows_word].astype(np.float64)
        row, self.v = np.arange(len(query)), vocabulary.v
        masses = keys @ vocabulary.membership  # [rows, T]
        self.targets = targets @ vocabulary.membership
        self.weight = targets.sum(1)
        self.topic = vocabulary.topic[query]
        self.same_word = keys[row, query]
        self.same = masses[row, self.topic] - self.same_word
        self.total = keys.sum(1)
        first = SPECIAL + vocabulary.v * np.arange(vocabulary.T)
        self.blocks = W_V[np.ix_(first, first)]  # [T of the output, T of the key]
        mask_part = np.outer(keys[:, MASK], W_V[first, MASK])
        self.plain = masses @ self.blocks.T + mask_part  # alpha = beta = 1
        self.column = self.blocks.T[self.topic]  # what one more unit of the query's topic adds

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


def optimal_attention(vocabulary: Vocabulary, rows: CountRows, W_V: np.ndarray) -> dict[str, float]:
    """`ratios` of the least `TiedLoss`, by L-BFGS in the logarithms of alpha and beta."""
    how = {"method": "L-BFGS-B", "bounds": [(-MOST, MOST)] * 2}
    options = {"ftol": 1e-14, "gtol": 1e-10}
    loss = TiedLoss(vocabulary, rows, W_V)
    least = minimize(loss, np.zeros(2), jac=True, options=options, **how)
    return ratios(vocabulary, *np.exp(least.x))


def ratio_over_tau(
    base: SyntheticTraining,
    block: StageTwoSettings,
    device: str = "cpu",
    progress: Callable[..., Iterable] = iter,
) -> pd.DataFrame:
    """The optimal same-topic ratio for each tau, and the ratio that training K and Q reaches.

    Returns:
        Rows `documents` (short or long), `method` (optimum or trained), `T`, `tau`, `seed`,
        `alpha`, `beta`, `ratio`, `diverged_at`.
    """
    words, results = base.model, []
    vocabulary = Vocabulary(words.T, words.v)
    lengths = {"short": (block.documents, block.N), "long": (block.documents_long, block.N_long)}
    for tau, (name, (documents, N)) in progress(
        list(itertools.product(block.taus, lengths.items()))
    ):
        draws = [
            draw(words, documents, N, f"stage two {name}", tau=tau, seed=seed)
            for seed in range(block.seeds)
        ]
        W_V = [stage_one_optimum(vocabulary, rows) for rows in draws]
        each = zip(draws, W_V, strict=True)
        found = {"optimum": [optimal_attention(vocabulary, *of) for of in each]}
        if name == "short":
            found["trained"] = trained_attention(base, block, draws, W_V, device)
        keys = {"documents": name, "T": words.T, "tau": tau, "diverged_at": -1}
        for method, of_seeds in found.items():
            for seed, reached in enumerate(of_seeds):
                results.append(keys | {"method": method, "seed": seed} | reached)
    return pd.DataFrame(results)


def trained_attention(
    base: SyntheticTraining,
    block: StageTwoSettings,
    rows: list[CountRows],
    W_V: list[np.ndarray],
    device: str = "cpu",
) -> list[dict[str, float]]:
    """`ratios` of average attention on the first documents, W_K and W_Q alone being trained.

    One run on each of several draws of documents, `rows`, with its own frozen W_V.
    """
    vocabulary = Vocabulary(base.model.T, base.model.v)
    trained = train_runs(
        base,
        rows,
        [Run(seed, "adam", block.learning_rate) for seed in range(len(rows))],
        "one_hot",
        "squared",
        block.steps,
        lambda p: {"S": attention_logits(p, "one_hot")},
        frozen={"W_V": np.stack(W_V)},
        execution=Execution(device),
    )
    topics, found = correct_topics(vocabulary), []
    logits = trained.observed["S"][-1].double().numpy()
    for S, own, diverged in zip(logits, rows, trained.diverged_at.tolist(), strict=True):
        counts = own.keys[:MEASURED].astype(np.float64)
        # The ratios do not depend on the length that weights are scaled to.
        [averages] = pair_averages(S[None], counts, topics, 1)
        reached = ratios(vocabulary, *over_different_topics(averages))
        found.append(reached | {"diverged_at": diverged})
    return found


def ratio_over_topics(words: TopicModelSettings, block: RatioOverTSettings) -> pd.DataFrame:
    """The optimal same-topic ratio over tau and T; exactly the proportion p_m is selected.

    Returns:
        Rows as of `ratio_over_tau`, `documents` being "over T".
    """
    results = []
    for T, tau, seed in itertools.product(block.T, block.taus, range(block.seeds)):
        model = words.model_copy(update={"T": T, "selection": "proportion"})
        rows = draw(model, block.documents, block.N, "over T", tau=tau, seed=seed)
        keys = {"documents": "over T", "method": "optimum", "T": T, "tau": tau, "seed": seed}
        vocabulary = Vocabulary(T, words.v)
        found = optimal_attention(vocabulary, rows, stage_one_optimum(vocabulary, rows))
        results.append(keys | {"diverged_at": -1} | found)
    return pd.DataFrame(results)
