"""The training loop: batches, AdamW by tokens seen, held-out loss, snapshots, resume after a kill.

Nothing depends on how fast the machine is: the budget is in tokens, every random draw derives
from the seed and the batch's number, and a killed training goes on from its checkpoint to the same
bytes.
"""

from collections import defaultdict
from dataclasses import dataclass, field

import pandas as pd
import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from onelayer.compute.checkpoint import Checkpoint, under
from onelayer.compute.device import to_device
from onelayer.compute.execution import Execution
from onelayer.compute.seeds import stable_seed
from onelayer.errors import OnelayerError
from onelayer.settings.pretraining import AdamWSettings, TrainingSettings
from onelayer.text.pretraining.objectives import Objective
from onelayer.text.pretraining.text import Batch, Segments, plan_batches

HISTORY_POINTS = 100
FLOAT32_ATTENTION = "sdpa_float32"
MOST_HELD_OUT = 1024  # tokens of a held-out batch


@dataclass
class Training:
    """A training and how far it is.

    `recent` sums each training quantity since the last history point, float64 on the device, and
    counts the `batches`. `blown_up` is how many tokens were seen before the first batch whose
    gradients were not finite, on the device; -1 for none. The host asks where it reads losses, and
    before a state is kept.
    """

    objective: Objective
    settings: TrainingSettings
    device: str
    optimizer: torch.optim.AdamW = field(init=False)
    steps: int = 0  # batches trained on
    history: dict[tuple[int, str, str], float] = field(default_factory=dict)  # tokens, split, what
    snapshots: dict[int, dict[str, Tensor]] = field(default_factory=dict)  # by tokens seen
    recent: dict[str, Tensor | float] = field(default_factory=lambda: defaultdict(float))
    blown_up: Tensor = field(init=False)

    def __post_init__(self) -> None:
        self.objective.model.to(self.device).train()
        self.blown_up = torch.full((), -1, device=self.device)
        if self.settings.precision == "bfloat16" and self.device == "cpu":
            _keep_attention_in_float32(self.objective.model)
        self.optimizer = _adamw(self.objective.model, self.settings.optimizer)

    def history_table(self) -> pd.DataFrame:
        """One row per point: `tokens`, `split` (training or held-out), `quantity`, `value`."""
        rows = [(*key, value) for key, value in sorted(self.history.items())]
        return pd.DataFrame(rows, columns=["tokens", "split", "quantity", "value"])


def train(
    objective: Objective,
    training_text: Segments,
    held_out_text: Segments,
    settings: TrainingSettings,
    execution: Execution = Execution(),
) -> Training:
    """Train a freshly initialised objective until the budget is reached.

    A training of the same identity goes on from its checkpoint, which stays: a step's is gone when
    its outputs are in place.

    Raises:
        OnelayerError: gradients are not finite any more.
    """
    torch.use_deterministic_algorithms(True)
    # No result depends on memory that nobody wrote; filling it costs a tenth of the time.
    torch.utils.deterministic.fill_uninitialized_memory = False
    run = Training(objective, settings, execution.device)
    _resume(run, execution.checkpoint)
    how = settings.batch_tokens, objective.special, objective.seed
    plan = plan_batches(training_text, settings.tokens, *how)
    held_out = held_out_plan(objective, held_out_text, settings)
    if not run.steps:
        _measure_held_out(run, held_out_text, held_out, 0)
    for batch in execution.progress(plan[run.steps :], unit="batch"):
        _train_on(run, training_text, batch)
        _observe(run, held_out_text, held_out, batch, last=batch is plan[-1])
        execution.checkpoint.write_if_due(lambda: _state(run), run.steps)
    return run


def held_out_plan(objective: Objective, text: Segments, settings: TrainingSettings) -> list[Batch]:
    """The batches of held-out text whose mean loss is the held-out loss, always the same.

    However large those of the training are: a batch is cut to its shortest input, and held-out
    inputs are few, so that a large one would be of all lengths, cut to a few words.
    """
    how = min(settings.batch_tokens, MOST_HELD_OUT), objective.special, objective.seed
    return plan_batches(text, settings.held_out_tokens, *how)


def _keep_attention_in_float32(model: nn.Module) -> None:
    """Let all of transformers' models in a module attend in float32, whatever autocast says.

    On a CPU the backward pass of torch's fused attention takes several times as long in bfloat16.
    """
    AttentionInterface.register(FLOAT32_ATTENTION, _attention)
    AttentionMaskInterface.register(FLOAT32_ATTENTION, AttentionMaskInterface()["sdpa"])
    for part in model.modules():
        if isinstance(part, PreTrainedModel):
            part.set_attn_implementation(FLOAT32_ATTENTION)


def _attention(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **options
) -> tuple[Tensor, None]:
    with torch.autocast(query.device.type, enabled=False):
        parts = (part.float() for part in (query, key, value))
        return sdpa_attention_forward(module, *parts, mask, **options)


def _train_on(run: Training, text: Segments, batch: Batch) -> None:
    """One update."""
    if run.settings.size.dropout:  # of the batch alone: a resumed training drops the same
        torch.manual_seed(stable_seed("dropout", run.objective.seed, batch.step))
    losses = _losses(run, text, batch)
    run.optimizer.zero_grad(set_to_none=True)
    losses["loss"].backward()
    norm = nn.utils.clip_grad_norm_(
        run.objective.model.parameters(), run.settings.optimizer.most_norm
    )
    first = torch.isfinite(norm).logical_not_() & (run.blown_up < 0)
    run.blown_up.masked_fill_(first, batch.before)
    rate = learning_rate(batch.before, run.settings.tokens, run.settings.optimizer)
    for group in run.optimizer.param_groups:
        group["lr"] = rate
    run.optimizer.step()
    for name, value in losses.items():
        run.recent[name] = run.recent[name] + value.detach().double()
    run.recent["batches"] += 1
    run.steps += 1


def _check_finite(run: Training) -> None:
    if (tokens := int(run.blown_up)) >= 0:
        raise OnelayerError(
            f"gradients are not finite after {tokens} tokens; "
            "lower pretraining.optimizer.learning_rate"
        )


def learning_rate(tokens: int, budget: int, settings: AdamWSettings) -> float:
    """Linear warm-up from 0 and linear fall to 0, at so many tokens seen of a budget."""
    warmup = settings.warmup_tokens or settings.warmup * budget
    if tokens < warmup:
        return settings.learning_rate * (tokens + 1) / (warmup + 1)
    falls = budget - warmup
    if settings.schedule == "constant":
        falls = min(falls, settings.cool_down * budget)
    return settings.learning_rate * min(1.0, max(0.0, (budget - tokens) / falls))


def _observe(
    run: Training, text: Segments, held_out: list[Batch], batch: Batch, last: bool
) -> None:
    """Write down losses and keep a snapshot where this batch passed a point."""
    spacing = run.settings.tokens / HISTORY_POINTS
    if last or int(batch.after / spacing) > int(batch.before / spacing):
        _check_finite(run)
        count = run.recent.pop("batches")
        for name, total in run.recent.items():
            run.history[batch.after, "training", name] = float(total) / float(count)
        run.recent.clear()
    if last or passes_snapshot(run.settings, batch):
        _check_finite(run)
        _measure_held_out(run, text, held_out, batch.after)
        run.snapshots[batch.after] = probed_weights(run.objective)


def passes_snapshot(settings: TrainingSettings, batch: Batch) -> bool:
    """Whether a batch passes a power of two at which every seed keeps a snapshot.

    Not where it can be the last one of a seed: others would have one snapshot more.
    """
    power = 1 << (batch.after.bit_length() - 1)
    longest = max(settings.batch_tokens, settings.size.longest)
    return batch.before < power and settings.first_snapshot <= power <= settings.tokens - longest


def _measure_held_out(run: Training, text: Segments, held_out: list[Batch], tokens: int) -> None:
    """Write down mean losses on held-out text, always under the same masks.

    Of what a batch has none of, as words behind a mask, those are left out that have none.
    """
    sums: dict[str, Tensor | float] = defaultdict(float)
    batches: dict[str, Tensor | float] = defaultdict(float)
    run.objective.model.eval()
    with torch.inference_mode():
        for batch in held_out:
            for name, value in _losses(run, text, batch).items():
                there = ~value.isnan()
                sums[name] = sums[name] + value.double().where(there, 0) / len(held_out)
                batches[name] = batches[name] + there.double()
    run.objective.model.train()
    for name, total in sums.items():
        run.history[tokens, "held-out", name] = float(total * (len(held_out) / batches[name]))


def _losses(run: Training, text: Segments, batch: Batch) -> dict[str, Tensor]:
    arrays = run.objective.inputs(text, batch)
    inputs = {name: to_device(array, run.device) for name, array in arrays.items()}
    short = run.settings.precision == "bfloat16"
    with torch.autocast(run.device, torch.bfloat16, enabled=short):
        return run.objective.losses(inputs)


def probed_weights(objective: Objective) -> dict[str, Tensor]:
    """A copy of the weights that a probe of the bare model depends on (no heads, no decoder)."""
    return {
        name: parameter.detach().cpu().clone()
        for name, parameter in objective.saved.base_model.named_parameters()
        if not name.startswith("decoder.")
    }


def _adamw(model: nn.Module, settings: AdamWSettings) -> torch.optim.AdamW:
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    # Fused: the output layer's moments are read and written once an update.
    return torch.optim.AdamW(
        groups, lr=settings.learning_rate, betas=(settings.beta_1, settings.beta_2), fused=True
    )


def _state(run: Training) -> dict[str, Tensor]:
    """Everything that the rest of a training depends on, as tensors by name."""
    _check_finite(run)
    parameters = dict(run.objective.model.named_parameters())  # shared ones once
    state = {f"model/{name}": parameter for name, parameter in parameters.items()}
    for name, parameter in parameters.items():
        for key, value in run.optimizer.state[parameter].items():
            state[f"{key}/{name}"] = value
    for tokens, weights in run.snapshots.items():
        state |= {f"snapshot/{tokens}/{name}": weight for name, weight in weights.items()}
    for key, value in run.history.items():
        state["history/" + "/".join(map(str, key))] = torch.tensor(value, dtype=torch.float64)
    for name, value in run.recent.items():
        state[f"recent/{name}"] = torch.as_tensor(value, dtype=torch.float64)
    return state


def _resume(run: Training, checkpoint: Checkpoint) -> None:
    kept = checkpoint.read()
    if kept is None:
        return
    state, run.steps = kept
    for name, parameter in run.objective.model.named_parameters():
        with torch.no_grad():
            parameter.copy_(state[f"model/{name}"])
        moments = {key: f"{key}/{name}" for key in ("step", "exp_avg", "exp_avg_sq")}
        run.optimizer.state[parameter] = {  # of a parameter that no loss depends on there are none
            key: state[saved].to(run.device) for key, saved in moments.items() if saved in state
        }
    for name, value in under("history", state).items():
        tokens, split, quantity = name.split("/")
        run.history[int(tokens), split, quantity] = float(value)
    for name, weight in under("snapshot", state).items():
        tokens, _, parameter = name.partition("/")
        run.snapshots.setdefault(int(tokens), {})[parameter] = weight
    recent = under("recent", state)
    run.recent.update({name: to_device(total, run.device) for name, total in recent.items()})
