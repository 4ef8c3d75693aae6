"""Why W_K and W_Q stay near 0 in stage 1: norms of their gradients beside that of W_V, over steps.

Li, Li & Risteski (2023), 'Intuition: two-stage optimization process': the gradient of W_K contains
the factor W_Q, which starts near 0, and that of W_Q the factor W_K; that of W_V contains Attn(Z).
"""

import pandas as pd
from torch import Tensor

from onelayer.compute.execution import Execution
from onelayer.papers.topic_structure.synthetic.model import gradients
from onelayer.papers.topic_structure.synthetic.norms import frobenius, stage_documents
from onelayer.papers.topic_structure.synthetic.stages import SMALLER
from onelayer.papers.topic_structure.synthetic.training import (
    Batches,
    Plan,
    Run,
    train_runs,
    without_bias,
)
from onelayer.settings.topic_structure_synthetic import (
    StageGradientsSettings,
    TopicModelSettings,
    TwoStageSettings,
)


def stage_gradients(
    model: TopicModelSettings,
    stages: TwoStageSettings,
    followed: StageGradientsSettings,
    batch: int,
    chunk: int,
    execution: Execution = Execution(),
) -> pd.DataFrame:
    """Norms of W_K, W_Q, W_V and of their gradients, on documents that are the same at all steps.

    The runs are those of `norms.two_stages`, looked at now and then.

    Args:
        model: the words and their masking.
        stages: the trainings.
        followed: which of them are looked at, and when.
        batch, chunk: as of `training.Plan`.
        execution: how they run.

    Returns:
        Rows `name`, `seed`, `step`; columns `W_K`, `W_Q`, `W_V`; `gradient_W_K` and so on;
        `with_smaller_W_Q` (the norm of W_K's gradient were W_Q a tenth of what it is);
        `diverged_at`.
    """
    rows, parts = stage_documents(model, stages), []
    looks = sorted({*range(0, stages.steps + 1, followed.every), stages.steps})
    chosen = [one for one in stages.settings if one.name in followed.settings]
    for number, one in enumerate(chosen):
        plan = Plan(
            batch=batch,
            chunk=chunk,
            steps=stages.steps,
            embedding=one.embedding,
            loss=one.loss,
            trained=without_bias(one.embedding),
        )
        shown = Batches(rows, [0], batch, execution.device)(0)

        def observe(p: dict[str, Tensor], shown=shown, plan=plan) -> dict[str, Tensor]:
            found = frobenius(p)
            _, slopes = gradients(p, shown, plan.embedding, plan.loss)
            found |= {f"gradient_{name}": norm for name, norm in frobenius(slopes).items()}
            smaller = p | {"W_Q": SMALLER * p["W_Q"]}
            if "b_Q" in p:
                smaller["b_Q"] = SMALLER * p["b_Q"]
            _, slopes = gradients(smaller, shown, plan.embedding, plan.loss)
            return found | {"with_smaller_W_Q": frobenius(slopes)["W_K"]}

        trained = train_runs(
            rows,
            [
                Run(seed, one.optimizer, one.learning_rate, noise=one.noise)
                for seed in range(followed.seeds)
            ],
            plan,
            observe,
            looks,
            execution.part(number, one.name),
        )
        for seed in range(followed.seeds):
            columns = {key: values[:, seed].double() for key, values in trained.observed.items()}
            known = {"name": one.name, "seed": seed, "step": trained.observed_at}
            parts.append(
                pd.DataFrame(known | columns | {"diverged_at": int(trained.diverged_at[seed])})
            )
    return pd.concat(parts, ignore_index=True)
