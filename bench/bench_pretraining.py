"""Times pretraining of every family against a plain loop and against transformers' own Trainer.

Model, batches, masks and optimizer settings are the same; both baselines find their batches ready
made, while ours draws masks as it goes. The plain loop computes logits where a word is predicted;
the Trainer's losses are transformers' own, over logits at every position.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
import transformers
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy
from transformers.utils import is_accelerate_available

from bench.case import Case, Numbers, Way, Work, counted_flops
from onelayer.settings.pretraining import PretrainModelSettings, SizeSettings
from onelayer.settings.root import default_settings
from onelayer.text.models.families import FAMILIES
from onelayer.text.pretraining.objectives import Objective, Words, new_objective
from onelayer.text.pretraining.text import Batch, Segments, plan_batches
from onelayer.text.pretraining.training import learning_rate, train
from onelayer.text.pretraining.vocabulary import SPECIAL

PRETRAINING = default_settings().pretraining
IGNORED = -100
Inputs = dict[str, Tensor]


@dataclass(frozen=True)
class Task:
    """One family's training on segments with Zipf's frequencies."""

    settings: PretrainModelSettings
    pieces: int

    def objective(self) -> Objective:
        """Freshly initialised, always to the same weights."""
        words = Words(np.arange(self.pieces) >= 100, np.ones(self.pieces, dtype=np.int64))
        own = self.settings
        return new_objective(own.family, own.size, words, own.objective, own.seed)

    def text(self, name: str) -> Segments:
        """Segments of 40 to 120 words."""
        rng = np.random.default_rng(0)
        lengths = rng.integers(40, 121, self.settings.tokens // 80 + 10)
        ranks = np.arange(1, self.pieces - len(SPECIAL) + 1)
        chances = 1 / ranks / (1 / ranks).sum()
        ids = len(SPECIAL) + rng.choice(len(ranks), lengths.sum(), p=chances)
        return Segments(name, ids, np.cumsum([0, *lengths]), lengths // 2)

    def batches(self, objective: Objective) -> list[tuple[Batch, Inputs]]:
        """Every batch, and what it looks like to the model."""
        own, text = self.settings, self.text("training")
        plan = plan_batches(text, own.tokens, own.batch_tokens, objective.special, own.seed)
        return [
            (batch, {n: torch.from_numpy(a) for n, a in objective.inputs(text, batch).items()})
            for batch in plan
        ]


def cases(small: bool = False) -> Iterator[Case]:
    """One case a family."""
    size = SizeSettings(layers=1, width=16, heads=2, longest=128) if small else SizeSettings()
    tokens = 400 if small else 8_000
    settings = PRETRAINING.but(
        size=size,
        tokens=tokens,
        batch_tokens=200 if small else 1024,
        held_out_tokens=16,
        first_snapshot=10 * tokens,
        device="cpu",
    )
    for family in FAMILIES:
        yield _case(Task(settings.of(family, 0), 300 if small else 11_000))


def _case(task: Task) -> Case:
    family, tokens = task.settings.family, task.settings.tokens
    authors: Way | str = "transformers' Trainer needs the package accelerate"
    if is_accelerate_available():
        authors = Way(
            "transformers' Trainer, logits at every position; compared in its first loss",
            _trained_by_trainer,
            prepare=lambda: _trainer(task),
            tolerance=1e-5,
        )
    return Case(
        name=f"pretraining, {family}, {tokens:,} tokens",
        steps=("pretrain_model",),
        ours=Way("ours", _ours, prepare=lambda: _prepared_ours(task)),
        simple=Way(
            "plain loop on transformers' model: logits where words are predicted, fused AdamW",
            _plain_loop,
            prepare=lambda: _prepared(task),
            tolerance=1e-4,
        ),
        authors=authors,
        count_work=lambda: _work(task),
    )


def _prepared_ours(task: Task) -> tuple:
    return task, task.objective(), task.text("training"), task.text("held-out")


def _ours(prepared: tuple) -> Numbers:
    task, objective, training, held_out = prepared
    history = train(objective, training, held_out, task.settings).history
    of = {
        name: [value for (_, split, own), value in sorted(history.items()) if (split, own) == key]
        for name, key in {
            "losses": ("training", "loss"),
            "words_losses": ("training", "words_loss"),
        }.items()
    }
    first = (of["words_losses"] or of["losses"])[0]
    return {"losses": of["losses"], "first loss of words": first}


def _prepared(task: Task) -> tuple:
    objective = task.objective()
    return task, objective, task.batches(objective)


def _plain_loop(prepared: tuple) -> Numbers:
    task, objective, batches = prepared
    own, losses = task.settings.optimizer, []
    parameters = list(objective.model.parameters())
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": own.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, betas=(own.beta_1, own.beta_2), fused=True)
    for batch, inputs in batches:
        loss = _loss(objective, inputs)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, own.most_norm)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(batch.before, task.settings.tokens, own)
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses}


def _loss(objective: Objective, inputs: Inputs) -> Tensor:
    """What a user would write from transformers' documentation, one branch a family."""
    model, ids, chosen = objective.saved, inputs["ids"], inputs["positions"]
    kind = model.config.model_type
    if kind == "electra":
        return _electra_loss(objective, inputs)
    if kind == "bart":
        output = model.model(input_ids=ids, decoder_input_ids=inputs["written"], use_cache=False)
        logits = model.lm_head(output[0].flatten(0, 1)[chosen]) + model.final_logits_bias
        return cross_entropy(logits, inputs["labels"])
    if kind == "albert":
        output = model.albert(input_ids=ids, token_type_ids=inputs["types"])
        words = model.predictions(output[0].flatten(0, 1)[chosen])
        order = cross_entropy(model.sop_classifier(output.pooler_output), inputs["swapped"])
        weight = objective.settings.sentence_order_weight
        return cross_entropy(words, inputs["labels"]) + weight * order
    head = model.cls if kind == "bert" else model.lm_head
    hidden = model.base_model(input_ids=ids)[0]
    return cross_entropy(head(hidden.flatten(0, 1)[chosen]), inputs["labels"])


def _electra_loss(objective: Objective, inputs: Inputs) -> Tensor:
    generator, ids, chosen = objective.generator, inputs["ids"], inputs["positions"]
    hidden = generator.electra(input_ids=ids)[0].flatten(0, 1)[chosen]
    logits = generator.generator_lm_head(generator.generator_predictions(hidden))
    with torch.no_grad():
        sums = logits.softmax(-1).cumsum(-1)
        drawn = inputs["draws"].float()[:, None] * sums[:, -1:]
        guesses = torch.searchsorted(sums, drawn, right=True)[:, 0]
    filled = ids.flatten().scatter(0, chosen, guesses)
    target = torch.zeros(len(filled)).scatter(0, chosen, (guesses != inputs["labels"]).float())
    scores = objective.saved(input_ids=filled.view_as(ids)).logits
    # The first and the last piece of a row are special: never replaced, left out.
    inside = [part.view_as(ids)[:, 1:-1] for part in (scores, target)]
    found = binary_cross_entropy_with_logits(*inside)
    weight = objective.settings.discriminator_weight
    return cross_entropy(logits, inputs["labels"]) + weight * found


def _work(task: Task) -> Work:
    """Products of the plain loop as torch counts them; AdamW reads four numbers, writes three."""
    prepared = _, objective, batches = _prepared(task)
    flops = counted_flops(lambda: _plain_loop(prepared))
    weights = sum(parameter.numel() for parameter in objective.model.parameters())
    return Work(
        flops=flops,
        bytes=4 * 7 * weights * len(batches),
        rate="torch float32",
        formula="products that torch counts in the plain loop "
        f"({flops / task.settings.tokens / 1e6:.1f} Mflop a token); "
        "28 bytes a weight and update",
    )


def _trainer(task: Task) -> tuple[transformers.Trainer, tempfile.TemporaryDirectory, float]:
    objective = task.objective()
    batches = [_for_transformers(objective, inputs) for _, inputs in task.batches(objective)]
    model = _Electra(objective) if task.settings.family == "electra" else objective.saved
    optimizer, folder = task.settings.optimizer, tempfile.TemporaryDirectory()
    arguments = transformers.TrainingArguments(
        output_dir=folder.name,
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
    with torch.no_grad():
        first = _word_loss_of_transformers(model, batches[0])
    trainer = transformers.Trainer(
        model, arguments, data_collator=lambda batch: dict(batch[0]), train_dataset=batches
    )
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer, folder, first


def _trained_by_trainer(prepared: tuple) -> Numbers:
    trainer, folder, first = prepared
    # Its epochs shuffle, as everybody's; the first loss is that of the first batch of ours.
    trainer.train()
    folder.cleanup()
    return {"first loss of words": first}


def _word_loss_of_transformers(model: nn.Module, batch: Inputs) -> float:
    if isinstance(model, _Electra):
        return model.generator(input_ids=batch["input_ids"], labels=batch["labels"]).loss.item()
    output = model(**batch)
    logits = output["prediction_logits"] if "prediction_logits" in output else output["logits"]
    return cross_entropy(logits.flatten(0, 1), batch["labels"].flatten()).item()


def _for_transformers(objective: Objective, inputs: Inputs) -> Inputs:
    """A batch as transformers' own classes take it, with labels at every position."""
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
