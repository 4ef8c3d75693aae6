"""Times the probe's statistics as a share of the model's forward pass, on real articles.

Takes `results/` of `make results` where it is there; the share is what the statistics add to the
forward pass that they cannot do without.
"""

from statistics import median
from time import perf_counter
from typing import Any

import pandas as pd

from onelayer.models.checkpoints import forward, load_checkpoint
from onelayer.models.tokenizer import encode, load_tokenizer, piece_ids
from onelayer.papers.topic_structure.probe.labels import labels_of
from onelayer.papers.topic_structure.probe.pairs import PairCounter
from onelayer.provenance import REPOSITORY

RESULTS = REPOSITORY / "results"
DOCUMENTS, MAX_TOKENS = 60, 128


def rows() -> list[dict[str, Any]]:
    """One measurement: seconds per document of the statistics and of MiniLM's forward pass."""
    needed = [
        RESULTS / "corpus/vital-articles/articles.parquet",
        RESULTS / "topics/vital-articles/kept_words.parquet",
        RESULTS / "models/minilm",
    ]
    if missing := [str(path.relative_to(REPOSITORY)) for path in needed if not path.exists()]:
        print(f"left out, the share of the forward pass: run `make results` for {missing[0]}")
        return []
    articles, kept, folder = pd.read_parquet(needed[0]), pd.read_parquet(needed[1]), needed[2]
    model, tokenizer = load_checkpoint(folder), load_tokenizer(folder)
    labels = labels_of(kept, [piece_ids(tokenizer, kept["word"].unique())])
    index = {word: place for place, word in enumerate(labels.words)}
    counter = PairCounter(labels, 100)
    passes, statistics = [], []
    for text in articles["text"].iloc[:: len(articles) // DOCUMENTS]:
        encoded = encode(tokenizer, text, MAX_TOKENS)
        start = perf_counter()
        attention = forward(model, encoded.ids)
        middle = perf_counter()
        word_index = [index.get(word, -1) for word in encoded.words]
        counter.pair_sums(attention, encoded.positions, word_index)
        statistics.append(perf_counter() - middle)
        passes.append(middle - start)
    return [
        {
            "name": f"pair sums beside MiniLM's forward pass, {len(passes)} articles",
            "ours_seconds": median(statistics),
            "baseline_seconds": median(passes),
            "ratio": median(passes) / median(statistics),
            "note": f"{sum(statistics) / sum(passes):.1%} of the forward time",
        }
    ]
