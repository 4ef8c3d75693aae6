"""Times pretraining of every family against transformers' own Trainer on the same batches.

Model, batches, masks, optimizer settings and thread count are the same; the Trainer finds its
batches ready made, while ours draws masks as it goes. The Trainer's losses are transformers' own,
over logits at every position.
"""

import tempfile
from time import process_time
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor, nn
from transformers.utils import is_accelerate_available

from onelayer.models.families import FAMILIES
from onelayer.pretraining.objectives import Objective, Text, Words, new_objective
from onelayer.pretraining.text import Segments, plan_batches
from onelayer.pretraining.training import train
from onelayer.pretraining.vocabulary import SPECIAL
from onelayer.settings.pretraining import PretrainingSettings, PretrainModelSettings

TOKENS, PIECES, SEGMENTS = 15_000, 11_000, 1200
REPETITIONS = 2
IGNORED = -100


def rows() -> list[dict[str, Any]]:
    """One measurement per family: CPU seconds of the same pretraining, the best of two."""
    if not is_accelerate_available():
        print("left out, pretraining beside transformers' Trainer: it needs the package accelerate")
        return []
    return [_row(family) for family in FAMILIES]


def _row(family: str) -> dict[str, Any]:
    settings = PretrainingSettings(
        tokens=TOKENS, held_out_tokens=16, first_snapshot=10 * TOKENS
    ).of(family, 0, None)
    ours, theirs = [], []
    for _ in range(REPETITIONS):
        ours.append(_seconds_of_ours(settings))
        theirs.append(_seconds_of_trainer(settings))
    return {
        "name": f"pretraining, {family}, {TOKENS:,} tokens (CPU time)",
        "ours_seconds": min(ours),
        "baseline_seconds": min(theirs),
        "ratio": min(theirs) / min(ours),
        "note": f"{TOKENS / min(ours):,.0f} tokens/s; transformers' Trainer "
        f"{TOKENS / min(theirs):,.0f}",
    }


def _text(name: str) -> Text:
    """Segments of 40 to 120 words with Zipf's frequencies."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(40, 121, SEGMENTS)
    ranks = np.arange(1, PIECES - len(SPECIAL) + 1)
    ids = len(SPECIAL) + rng.choice(len(ranks), lengths.sum(), p=1 / ranks / (1 / ranks).sum())
    return Text(name, Segments(ids, np.cumsum([0, *lengths]), lengths // 2))


def _objective(settings: PretrainModelSettings) -> Objective:
    words = Words(np.arange(PIECES) >= 100, np.ones(PIECES, dtype=np.int64))
    return new_objective(settings.family, settings.size, words, settings.objective, settings.seed)


def _seconds_of_ours(settings: PretrainModelSettings) -> float:
    objective, training, held_out = _objective(settings), _text("training"), _text("held-out")
    start = process_time()
    train(objective, training, held_out, settings)
    return process_time() - start


def _seconds_of_trainer(settings: PretrainModelSettings) -> float:
    objective, text = _objective(settings), _text("training")
    plan = plan_batches(
        text.segments, settings.tokens, settings.batch_tokens, objective.special, settings.seed
    )
    batches = [_for_transformers(objective, text, batch) for batch in plan]
    model = _Electra(objective) if settings.family == "electra" else objective.saved
    optimizer = settings.optimizer
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            output_dir=folder,
            use_cpu=True,
            max_steps=len(batches),
            per_device_train_batch_size=1,  # a batch of ours
            remove_unused_columns=False,
            learning_rate=optimizer.learning_rate,
            warmup_steps=round(optimizer.warmup * len(batches)),
            weight_decay=optimizer.weight_decay,
            adam_beta1=optimizer.beta_1,
            adam_beta2=optimizer.beta_2,
            max_grad_norm=optimizer.most_norm,
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        trainer = transformers.Trainer(
            model, arguments, data_collator=lambda batch: dict(batch[0]), train_dataset=batches
        )
        start = process_time()
        trainer.train()
        return process_time() - start


def _for_transformers(objective: Objective, text: Text, batch) -> dict[str, Tensor]:
    """A batch as transformers' own classes take it, with labels at every position."""
    inputs = {name: torch.from_numpy(a) for name, a in objective.inputs(text, batch).items()}
    read = {"ids": "input_ids", "types": "token_type_ids", "written": "decoder_input_ids"}
    result = {theirs: inputs[ours] for ours, theirs in read.items() if ours in inputs}
    labels = torch.full_like(inputs.get("written", inputs["ids"]), IGNORED)
    labels.view(-1)[inputs["positions"]] = inputs["labels"]
    result["labels"] = labels
    if "swapped" in inputs:
        result["sentence_order_label"] = inputs["swapped"]
    return result


class _Electra(nn.Module):
    """Generator and discriminator, which transformers has no joint class for."""

    def __init__(self, objective: Objective) -> None:
        super().__init__()
        self.generator, self.discriminator = objective.generator, objective.saved
        self.weight = objective.settings.discriminator_weight

    def forward(self, input_ids: Tensor, labels: Tensor) -> dict[str, Tensor]:
        generated = self.generator(input_ids=input_ids, labels=labels)
        chosen = labels != IGNORED
        with torch.no_grad():
            guesses = torch.multinomial(generated.logits[chosen].softmax(-1), 1)[:, 0]
        filled = input_ids.masked_scatter(chosen, guesses)
        replaced = (chosen & (filled != labels)).long()
        found = self.discriminator(input_ids=filled, labels=replaced)
        return {"loss": generated.loss + self.weight * found.loss}
