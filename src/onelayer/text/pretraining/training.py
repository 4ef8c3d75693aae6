"""The training loop: batches, AdamW by tokens seen, held-out loss, resume after a kill.

Nothing depends on how fast the machine is: the budget is in tokens, every random draw derives
from the seed and the batch's number, and a killed training goes on from its checkpoint to the same
bytes.
"""

import math
import shutil
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from onelayer.ensemble.execution import Checkpoint, Execution, to_device, under
from onelayer.errors import OnelayerError
from onelayer.settings.pretraining import OneTraining
from onelayer.text.models.checkpoints import readable
from onelayer.text.pretraining.objectives import Objective, new_objective
from onelayer.text.pretraining.text import (
    Batch,
    Segments,
    plan_batches,
    predictable_pieces,
    read_encoded,
    segment,
)

HISTORY_POINTS = 100
WARMUP = 0.05  # share of the budget in which the learning rate rises
BETAS, WEIGHT_DECAY = (0.9, 0.98), 0.01  # of AdamW; decay is decoupled
MOST_NORM = 1.0  # gradients are clipped to it
# Tokens of a held-out batch, whatever a training's are: a batch is cut to its shortest input, and
# held-out inputs are few, so that a large one would be of all lengths, cut to a few words.
HELD_OUT_BATCH = 1024
HELD_OUT_SEED = 0  # of which inputs are read, whatever the training's seed


def read_task(text: Path, vocabulary: Path, settings: OneTraining) -> tuple:
    """A freshly initialised objective, its training text and its held-out text."""
    pieces = pd.read_parquet(vocabulary)
    encoded = read_encoded(text, pieces["piece"])
    predictable = predictable_pieces(pieces, settings.predictable_document_share)
    trained = ~np.repeat(encoded.held_out, np.diff(encoded.starts))
    occurrences = np.bincount(encoded.ids[trained], minlength=len(pieces))
    objective = new_objective(settings, predictable, occurrences)
    longest = settings.size.longest - objective.special
    return objective, *(segment(encoded, part, longest) for part in (False, True))


def save_model(objective: Objective, folder: Path, tokenizer: Path) -> None:
    """Write `config.json` and `model.safetensors`, and the files of its tokenizer beside them."""
    with readable(folder):
        objective.saved.cpu().save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(tokenizer / name, folder / name)


@dataclass
class Training:
    """A training and how far it is."""

    objective: Objective
    optimizer: torch.optim.AdamW
    steps: int = 0  # batches trained on
    history: dict[tuple[int, str, str], float] = field(default_factory=dict)  # tokens, split, what
    # Sums of each loss since the last history point, float64 on the device, and of the gradients'
    # norm: what is not finite stays so. The host asks where it reads losses.
    recent: dict[str, Tensor | float] = field(default_factory=lambda: defaultdict(float))


def train(
    objective: Objective,
    training_text: Segments,
    held_out_text: Segments,
    settings: OneTraining,
    execution: Execution = Execution(),
) -> pd.DataFrame:
    """Train a freshly initialised objective until the budget is reached.

    A training of the same identity goes on from its checkpoint. Raises `OnelayerError` if gradients
    are not finite any more.

    Returns one row per point: `tokens` seen, `split` (training or held-out), `quantity`, `value`.
    Held-out text is read before and after, the same of it under the same masks whatever seed,
    batch and width; its `below_unigram` says whether the model has learned: how far its loss lies
    below that of the words' frequencies (nats a word).
    """
    torch.use_deterministic_algorithms(True)
    # No result depends on memory that nobody wrote; filling it costs a tenth of the time.
    torch.utils.deterministic.fill_uninitialized_memory = False
    objective.model.to(execution.device).train()
    parameters = list(objective.model.parameters())
    matrices, others = ([p for p in parameters if (p.ndim > 1) == many] for many in (True, False))
    groups = [{"params": matrices}, {"params": others, "weight_decay": 0.0}]
    # Fused: the output layer's moments are read and written once an update.
    how = {"betas": BETAS, "weight_decay": WEIGHT_DECAY, "fused": True}
    run = Training(objective, adamw := torch.optim.AdamW(groups, settings.learning_rate, **how))
    _resume(run, execution.checkpoint, execution.device)
    read = settings.batch_tokens, objective.special, objective.seed
    plan = plan_batches(training_text, settings.tokens, *read)
    read = HELD_OUT_BATCH, objective.special, HELD_OUT_SEED
    held_out = plan_batches(held_out_text, settings.held_out_tokens, *read)
    if not run.steps:
        _measure_held_out(run, held_out_text, held_out, 0, execution.device)
    spacing = settings.tokens / HISTORY_POINTS
    for batch in execution.progress(plan[run.steps :], unit="batch"):
        losses = _losses(objective, training_text, batch, execution.device)
        adamw.zero_grad()
        losses["loss"].backward()
        losses["norm"] = nn.utils.clip_grad_norm_(parameters, MOST_NORM)
        for group in adamw.param_groups:
            group["lr"] = learning_rate(batch.before, settings.tokens, settings.learning_rate)
        adamw.step()
        for name, value in losses.items():
            run.recent[name] = run.recent[name] + value.detach().double()
        run.recent["batches"] += 1
        run.steps += 1
        if batch is plan[-1] or int(batch.after / spacing) > int(batch.before / spacing):
            _note_recent(run, batch.after)
        execution.checkpoint.write_if_due(lambda: _state(run), run.steps)
    _measure_held_out(run, held_out_text, held_out, plan[-1].after, execution.device)
    rows = [(*key, value) for key, value in sorted(run.history.items())]
    return pd.DataFrame(rows, columns=["tokens", "split", "quantity", "value"])


def learning_rate(tokens: int, budget: int, highest: float) -> float:
    """Linear warm-up from 0 and linear fall to 0, at so many tokens seen of a budget."""
    warmup = WARMUP * budget
    if tokens < warmup:
        return highest * (tokens + 1) / (warmup + 1)
    return highest * min(1.0, max(0.0, (budget - tokens) / (budget - warmup)))


def _losses(objective: Objective, text: Segments, batch: Batch, device: str) -> dict[str, Tensor]:
    arrays = objective.inputs(text, batch)
    return objective.losses({name: to_device(array, device) for name, array in arrays.items()})


def _note_recent(run: Training, tokens: int) -> None:
    count, norm = float(run.recent.pop("batches")), float(run.recent.pop("norm"))
    if not math.isfinite(norm):
        hint = "lower pretraining.learning_rate"
        raise OnelayerError(f"gradients are not finite within {tokens} tokens; {hint}")
    for name, total in run.recent.items():
        run.history[tokens, "training", name] = float(total) / count
    run.recent.clear()


def _measure_held_out(run, text: Segments, batches, tokens: int, device: str) -> None:
    """Write down mean losses on held-out text; a batch without a word behind a mask has no mean."""
    run.objective.model.eval()
    with torch.inference_mode():
        losses = [_losses(run.objective, text, batch, device) for batch in batches]
    run.objective.model.train()
    for name in losses[0]:
        mean = torch.stack([of_batch[name].double() for of_batch in losses]).nanmean()
        run.history[tokens, "held-out", name] = float(mean)


def _state(run: Training) -> dict[str, Tensor]:
    """Everything that the rest of a training depends on, as tensors by name."""
    state = {}
    for name, parameter in run.objective.model.named_parameters():  # shared ones once
        state[f"model/{name}"] = parameter
        state |= {f"{key}/{name}": v for key, v in run.optimizer.state[parameter].items()}
    for key, value in run.history.items():
        state["history/" + "/".join(map(str, key))] = torch.tensor(value, dtype=torch.float64)
    for name, value in run.recent.items():
        state[f"recent/{name}"] = torch.as_tensor(value, dtype=torch.float64)
    return state


def _resume(run: Training, checkpoint: Checkpoint, device: str) -> None:
    if (kept := checkpoint.read()) is None:
        return
    state, run.steps = kept
    for name, parameter in run.objective.model.named_parameters():
        with torch.no_grad():
            parameter.copy_(state[f"model/{name}"])
        moments = {key: f"{key}/{name}" for key in ("step", "exp_avg", "exp_avg_sq")}
        run.optimizer.state[parameter] = {  # of a parameter that no loss depends on there are none
            key: state[saved].to(device) for key, saved in moments.items() if saved in state
        }
    for name, value in under("history", state).items():
        tokens, split, quantity = name.split("/")
        run.history[int(tokens), split, quantity] = float(value)
    recent = under("recent", state)
    run.recent.update({name: to_device(total, device) for name, total in recent.items()})
