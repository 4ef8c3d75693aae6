"""The optimal attention of stage 2 against tau, and what training W_K and W_Q reaches.

Li, Li & Risteski (2023), 'Stage 2 result: attention encodes topic structure'.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from onelayer.checkpoint import Checkpoint
from onelayer.execution import Execution
from onelayer.papers.topic_structure.synthetic import attention, closed_form, data, model, tied
from onelayer.papers.topic_structure.synthetic.documents import draw, vocabulary_of
from onelayer.papers.topic_structure.synthetic.training import Plan, Run, train_runs
from onelayer.settings.topic_structure_synthetic import (
    RatioOverTRun,
    TiedAttentionSettings,
    TopicModelSettings,
)


def stage_two(settings: TiedAttentionSettings, execution: Execution = Execution()) -> pd.DataFrame:
    """The optimal same-topic ratio for each tau, and the ratio that training K and Q reaches.

    W_V is frozen at stage 1's optimum for the documents at hand.

    Returns:
        Rows `method` (optimum or trained), `documents` (short or long), `tau`, `seed`, `alpha`,
        `beta`, `ratio`, `diverged_at`.
    """
    block = settings.stage_two
    execution = replace(execution, checkpoint=Checkpoint())  # each training takes seconds
    lengths = {
        "short": (block.documents, block.N),
        "long": (block.documents_long, block.N_long),
    }
    found = []
    for tau in block.taus:
        for seed in range(block.seeds):
            for name, (documents, N) in lengths.items():
                known = {"documents": name, "tau": tau, "seed": seed}
                rows = draw(settings.model, documents, N, f"stage two {name}", tau=tau, seed=seed)
                W_V = _stage_one_optimum(settings.model, rows)
                found.append(known | _optimum(settings.model, rows, W_V))
                if name == "short":
                    found.append(known | _trained_ratio(settings, execution, rows, W_V, seed))
    return pd.DataFrame(found)


def ratio_over_topics(settings: RatioOverTRun) -> pd.DataFrame:
    """The optimal same-topic ratio over tau and T, and with both kinds of selection.

    Returns:
        Rows `T`, `tau`, `selection`, `seed`, `alpha`, `beta`, `ratio`, `at_bound` (beta at the
        least value that the optimiser may take).
    """
    block, found = settings.ratio_over_T, []
    for T in block.T:
        for selection in ("proportion", "independent") if block.T[0] == T else ("proportion",):
            model = settings.model.model_copy(update={"T": T, "selection": selection})
            for tau in block.taus:
                for seed in range(block.seeds):
                    rows = draw(model, block.documents, block.N, "over T", tau=tau, seed=seed)
                    best = _optimum(model, rows, _stage_one_optimum(model, rows))
                    known = {"T": T, "tau": tau, "selection": selection, "seed": seed}
                    known["at_bound"] = bool(best["beta"] <= tied.LEAST * (1 + 1e-6))
                    found.append(known | {name: best[name] for name in ("alpha", "beta", "ratio")})
    return pd.DataFrame(found)


def _stage_one_optimum(settings: TopicModelSettings, rows: data.Rows) -> np.ndarray:
    optimum = closed_form.ridge_value(closed_form.moments(rows), 0.0)
    return closed_form.blocks(vocabulary_of(settings), optimum)


def _optimum(settings: TopicModelSettings, rows: data.Rows, W_V: np.ndarray) -> dict:
    vocabulary = vocabulary_of(settings)
    best = tied.optimal_attention(vocabulary, rows, W_V)
    return {
        "method": "optimum",
        "alpha": best.alpha,
        "beta": best.beta,
        "ratio": tied.ratio(vocabulary, best.alpha, best.beta),
        "diverged_at": -1,
    }


def _trained_ratio(
    settings: TiedAttentionSettings,
    execution: Execution,
    rows: data.Rows,
    W_V: np.ndarray,
    seed: int,
) -> dict:
    vocabulary = vocabulary_of(settings.model)
    plan = Plan(
        batch=settings.batch,
        chunk=settings.chunk,
        steps=settings.stage_two.steps,
        embedding="one_hot",
        loss="squared",
        trained=("W_K", "W_Q"),
        frozen={"W_V": W_V},
    )
    trained = train_runs(
        rows,
        [Run(seed, "adam", settings.stage_two.learning_rate)],
        plan,
        lambda p: {"S": model.attention_logits(p, "one_hot")},
        execution=execution,
    )
    counts = rows.keys[:300].astype(np.float64)
    S = trained.observed["S"][-1].double().numpy()
    topics = attention.correct_topics(vocabulary)
    [(own, same, different)] = attention.pair_averages(S, counts, topics, length=100)
    alpha, beta = float(same / different), float(own / different)
    return {
        "method": "trained",
        "alpha": alpha,
        "beta": beta,
        "ratio": tied.ratio(vocabulary, alpha, beta),
        "diverged_at": int(trained.diverged_at[0]),
    }
