"""The training loop: batches, AdamW by tokens seen, held-out loss.

Nothing depends on how fast the machine is: the budget is in tokens, every random draw derives
from the seed and the batch's number, so that a killed training goes on.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from onelayer.ensemble.execution import Execution, to_device
from onelayer.errors import OnelayerError
from onelayer.settings.models import OneTraining
from onelayer.text.pretraining import text as articles
from onelayer.text.pretraining.objectives import Objective, new_objective
from onelayer.text.pretraining.text import Batch, Segments, plan_batches

WARMUP = 0.05  # share of the budget in which the learning rate rises
# Tokens of a held-out batch, whatever a training's are: a batch is cut to its shortest input, and
# held-out inputs are few, so that a large one would be of all lengths, cut to a few words.
HELD_OUT_BATCH = 1024


def read_task(text: Path, vocabulary: Path, settings: OneTraining) -> tuple:
    """A freshly initialised objective, its training text and its held-out text."""
    pieces = pd.read_parquet(vocabulary)
    encoded = articles.read_encoded(text, pieces["piece"])
    predictable = articles.predictable_pieces(pieces, settings.predictable_document_share)
    trained = ~np.repeat(encoded.held_out, np.diff(encoded.starts))
    occurrences = np.bincount(encoded.ids[trained], minlength=len(pieces))
    objective = new_objective(settings, predictable, occurrences)
    longest = settings.size.longest - objective.special
    return objective, *(articles.segment(encoded, part, longest) for part in (False, True))


def train(
    objective: Objective,
    training_text: Segments,
    held_out_text: Segments,
    settings: OneTraining,
    execution: Execution = Execution(),
) -> pd.DataFrame:
    """Train a freshly initialised objective until the budget is reached.

    A training of the same identity goes on from its checkpoint. Raises `OnelayerError` when a state
    is kept, or at the end, if some gradient was infinite or not a number.
    Returns one row per `quantity` on held-out text at the end: `tokens` seen, `split`, `value`. The
    text and its masks are the same whatever seed, batch and width. `below_unigram` says whether the
    model has learned: how far its loss lies below that of the words' frequencies (nats a word).
    """
    torch.use_deterministic_algorithms(True)
    # No result depends on memory that nobody wrote; filling it costs a tenth of the time.
    torch.utils.deterministic.fill_uninitialized_memory = False
    model, device = objective.model.to(execution.device).train(), execution.device
    parameters = list(model.parameters())
    matrices, others = ([p for p in parameters if (p.ndim > 1) == many] for many in (True, False))
    groups = [{"params": matrices}, {"params": others, "weight_decay": 0.0}]
    # Fused: the output layer's moments are read and written once an update.
    how = {"betas": (0.9, 0.98), "weight_decay": 0.01, "fused": True}
    adamw = torch.optim.AdamW(groups, settings.learning_rate, **how)
    read = settings.batch_tokens, objective.special, objective.seed
    plan = plan_batches(training_text, settings.tokens, *read)
    finite = torch.ones((), dtype=torch.bool, device=device)

    def state() -> dict[str, Tensor]:  # all that the rest of the training depends on
        _refuse_unless(finite)
        kept = {}
        for name, parameter in model.named_parameters():
            tensors = adamw.state[parameter] | {"weights": parameter}
            kept |= {f"{name}/{key}": tensor for key, tensor in tensors.items()}
        return kept

    kept, done = execution.checkpoint.read()
    for place, tensor in kept.items():
        name, key = place.split("/")
        parameter = model.get_parameter(name)
        if key == "weights":
            parameter.data.copy_(tensor)
        else:
            adamw.state[parameter][key] = tensor.to(device)
    for batch in execution.progress(plan[done:], unit="batch"):
        adamw.zero_grad()
        _losses(objective, training_text, batch, device)["loss"].backward()
        # Looked at where a state is kept: in every batch a GPU would be waited for.
        finite &= clip_grad_norm_(parameters, 1.0).isfinite()
        for group in adamw.param_groups:
            group["lr"] = learning_rate(batch.before, settings.tokens, settings.learning_rate)
        adamw.step()
        execution.checkpoint.write_if_due(state, batch.step + 1)
    _refuse_unless(finite)
    read = HELD_OUT_BATCH, objective.special, 0  # whatever the training's seed
    batches = plan_batches(held_out_text, settings.held_out_tokens, *read)
    losses = held_out_losses(objective, held_out_text, batches, device)
    history = pd.DataFrame({"quantity": losses.keys(), "value": losses.values()})
    return history.assign(tokens=plan[-1].after, split="held-out")


def _refuse_unless(finite: Tensor) -> None:
    if not finite:
        raise OnelayerError("gradients are not finite any more; lower pretraining.learning_rate")


def learning_rate(tokens: int, budget: int, highest: float) -> float:
    """Linear warm-up from 0 and linear fall to 0, at so many tokens seen of a budget."""
    warmup = WARMUP * budget
    if tokens < warmup:
        return highest * (tokens + 1) / (warmup + 1)
    return highest * min(1.0, max(0.0, (budget - tokens) / (budget - warmup)))


def held_out_losses(objective: Objective, text: Segments, batches, device: str) -> dict[str, float]:
    """Mean losses on held-out text; a batch without a word behind a mask has no mean."""
    objective.model.eval()
    with torch.inference_mode():
        losses = [_losses(objective, text, batch, device) for batch in batches]
    means = {name: torch.stack([one[name].double() for one in losses]) for name in losses[0]}
    return {name: float(values.nanmean()) for name, values in means.items()}


def _losses(objective: Objective, text: Segments, batch: Batch, device: str) -> dict[str, Tensor]:
    arrays = objective.inputs(text, batch)
    return objective.losses({name: to_device(array, device) for name, array in arrays.items()})
