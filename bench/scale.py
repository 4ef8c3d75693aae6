"""Time and memory of parsing, counting, the topic model and the probe, against documents.

Each step is a process of its own that loads what its script loads, before the clock starts.
Documents are the articles of the default corpus, repeated under new ids, and words must be in so
many more of them, so that the vocabulary is the same at every size.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

SIZES = (10_000, 20_000, 40_000)
PROBED = 0.01  # share of the documents


def measure(results: Path, share: float) -> pd.DataFrame:
    """A row per step and size: CPU seconds and peak memory, and their slopes (log over log)."""
    articles = pd.read_parquet(results / "corpora/vital-articles/articles.parquet")
    rows = []
    for size in (round(share * size) for size in SIZES):
        with tempfile.TemporaryDirectory() as folder:
            repeated = articles.iloc[np.arange(size) % len(articles)].assign(id=np.arange(size))
            repeated.to_json(Path(folder, "source.json"), orient="records", lines=True)
            more = str(max(1.0, size / len(articles)))
            for name in STEPS:
                # As a script: the package would load torch, which is memory.
                command = [sys.executable, __file__, name, folder, results, more]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                rows.append({"step": name, "documents": size} | json.loads(done.stdout))
                print(rows[-1], file=sys.stderr, flush=True)
    table = pd.DataFrame(rows)
    logs = np.log(table.set_index("step"))
    for name, own in logs.groupby("step"):
        for column in ("seconds", "peak_mb"):
            slope = np.polyfit(own["documents"], own[column], 1)[0]
            table.loc[table["step"] == name, f"{column}_slope"] = slope
    return table.sort_values(["step", "documents"])


def run(name: str, folder: str, results: str, more: str) -> None:
    """Run one step in this process; print its CPU seconds and peak memory (MB)."""
    import yaml

    from onelayer.settings.topics import TopicSettings

    topics = TopicSettings(**yaml.safe_load(Path("config.yaml").read_text("utf-8"))["topics"])
    work = STEPS[name](Path(folder), Path(results, "models/minilm"), topics, float(more))
    start = process_time()
    work()
    seconds = process_time() - start
    # Not `ru_maxrss`, which begins at the memory of the process that started this one.
    peak = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text("ascii"))[1]
    print(json.dumps({"seconds": round(seconds, 3), "peak_mb": round(int(peak) / 1024)}))


def parse(here: Path, *_: object):
    """JSON lines to articles."""
    from onelayer.settings.corpus import ParseSettings
    from onelayer.text.corpus import articles, formats

    source, how = here / "source.json", ParseSettings(format="json")
    corpus = here / "articles.parquet"
    return lambda: articles.write_articles(formats.read_corpus([source], how), corpus, str(source))


def count(here: Path, model: Path, topics, more: float):
    """Articles to a bag of words."""
    from gensim.parsing.preprocessing import STOPWORDS  # noqa: F401  # what takes long to load

    from onelayer.text.corpus.articles import read_column
    from onelayer.text.models.tokenizer import load_tokenizer, piece_ids
    from onelayer.text.topics import bag

    tokenizer, least = load_tokenizer(model), round(more * topics.words.min_documents)
    settings = topics.words.model_copy(update={"min_documents": least})

    def work() -> None:
        texts = read_column(here / "articles.parquet")
        counted = bag.count_words(texts, settings, lambda word: piece_ids(tokenizer, [word]))
        bag.write_bag(counted, here / "vocabulary.parquet", here / "counts.npz")

    return work


def topic_model(here: Path, _: Path, topics, more: float):
    """A bag of words to topics, in one pass."""
    from gensim.models import LdaModel  # noqa: F401  # what takes long to load

    from onelayer.text.topics import bag, lda

    settings = topics.lda.model_copy(update={"passes": 1})

    def work() -> None:
        counted = bag.read_bag(here / "vocabulary.parquet", here / "counts.npz")
        lda.write_topics(lda.fit_topics(counted, settings), here / "lda.safetensors")

    return work


def probe(here: Path, folder: Path, topics, more: float):
    """A share of the articles through MiniLM."""
    from onelayer.settings.probe import AttentionProbeSettings
    from onelayer.text.corpus.articles import read_articles
    from onelayer.text.models.checkpoints import load_checkpoint
    from onelayer.text.models.tokenizer import load_tokenizer, piece_ids
    from onelayer.text.topics import ambiguity, lda
    from onelayer.topic_structure.wikipedia import probe, words

    vocabulary = pd.read_parquet(here / "vocabulary.parquet")
    likely = lda.read_topics(here / "lda.safetensors").word_probability
    top = topics.ambiguity.model_copy(update={"overlaps": ["overlapping"]})
    kept = ambiguity.filter_ambiguous_words(likely, vocabulary["word"].tolist(), top)
    model, tokenizer = load_checkpoint(folder, "cpu"), load_tokenizer(folder)
    labels = words.label_words(kept, vocabulary, piece_ids(tokenizer, kept["word"].unique()))

    def work() -> None:
        everything, how = read_articles(here / "articles.parquet"), {"max_tokens": 128, "seed": 0}
        few = {"documents": max(2, round(PROBED * len(everything))), "reference_length": 100}
        drawn = probe.sample_articles(everything, AttentionProbeSettings(**few, **how))
        texts = probe.encode_texts(tokenizer, drawn["text"], labels.words, 128)
        bits = words.topic_bits(labels.topics[0])
        probe.probe(model, texts, drawn["id"], labels.words, bits, 100)

    return work


STEPS = {"parse": parse, "count": count, "topic model": topic_model, "probe": probe}

if __name__ == "__main__":
    run(*sys.argv[1:])
