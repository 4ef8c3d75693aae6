"""What `make bench-gpu` runs of text models: pretraining of each family, and the probe."""

import numpy as np
import pandas as pd
import torch
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel

from bench.bench_pretraining import Task
from bench.gpu import Numbers, Part
from onelayer.compute.execution import Execution
from onelayer.papers.topic_structure.wikipedia.probe.attention import probe_articles
from onelayer.settings.pretraining import SizeSettings
from onelayer.settings.root import default_settings
from onelayer.text.pretraining.training import train
from onelayer.text.pretraining.vocabulary import SPECIAL, word_level_tokenizer

PRETRAINING = default_settings().pretraining
PROBED = default_settings().probe.attention
ADAM_BYTES = 28  # read and written for each weight


def pretraining(family: str, small: bool) -> Part:
    """A family at the size of the default on words with Zipf's frequencies; a step is a batch."""
    size = SizeSettings(layers=1, width=16, heads=2, longest=128) if small else SizeSettings()
    batch_tokens = 200 if small else 4096

    def task(steps: int) -> Task:
        settings = PRETRAINING.but(
            size=size,
            tokens=steps * batch_tokens,
            batch_tokens=batch_tokens,
            held_out_tokens=batch_tokens,
            first_snapshot=2**40,
        )
        return Task(settings.of(family, 0), 300 if small else 11_000)

    def run(device: str, steps: int) -> Numbers:
        asked = task(steps)
        texts = (asked.text(name) for name in ("training", "held-out"))
        trained = train(
            asked.objective(), *texts, asked.settings, Execution(device, progress=_silent)
        )
        table = trained.history_table()
        last = table[table["tokens"] == table["tokens"].max()]
        # Of one training no interval says how far the next would be: nats, to the second digit.
        return {"exactly loss": last.loc[last["quantity"] == "loss", "value"].to_numpy().round(2)}

    weights = sum(p.numel() for p in task(1).objective().model.parameters())
    label = f"pretraining, {family}, {batch_tokens:,} tokens a batch"
    return Part(label, 2 if small else 250, 1, run, ADAM_BYTES * weights)


def probe(small: bool) -> Part:
    """A random model of MiniLM's shape reads texts of words of 50 topics; a step is a text."""
    layers, width, heads = (2, 24, 4) if small else (6, 384, 12)
    words = [
        f"w{'abcdefghij'[i // 100 % 10]}{chr(97 + i % 25)}{chr(97 + i // 25 % 25)}"
        for i in range(100 if small else 2500)
    ]
    words = sorted(set(words))
    config = BertConfig(
        vocab_size=len(words) + len(SPECIAL),
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        attn_implementation="eager",
    )
    torch.manual_seed(0)
    model = BertModel(config).eval()
    tokenizer: Tokenizer = word_level_tokenizer([*SPECIAL, *words])
    rng = np.random.default_rng(0)
    topics = rng.integers(0, 50, len(words))
    kept = pd.DataFrame({"topic": topics, "word": words}).assign(
        overlap="disjoint", threshold="all", probability=0.1
    )
    lengths = rng.integers(8, 20, 1000) if small else np.minimum(rng.integers(60, 400, 1000), 126)
    texts = [" ".join(rng.choice(words, length)) for length in lengths]

    def run(device: str, steps: int) -> Numbers:
        articles = pd.DataFrame({"id": [str(i) for i in range(steps)], "text": texts[:steps]})
        settings = PROBED.but(documents=steps, max_tokens=128)
        sums = probe_articles(model.to(device), tokenizer, articles, kept, settings)
        return {"exactly by head": sums.head_sums, "exactly pairs": sums.word_pairs.sums}

    weights = sum(parameter.numel() for parameter in model.parameters())
    label = f"probe, {layers} layers, width {width}"
    return Part(label, 6 if small else 1000, 1, run, 4 * weights / 16)


def _silent(items, **_):
    return items
