"""Models of one's own under the topic probe of Li, Li & Risteski (2023).

In Python `probe_topic_structure`, with texts and topics of one's own; on the command line
`onelayer probe`, several checkpoints with the articles of a run, the authors' way and ours.
"""

import functools
import math
import resource
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.ensemble.execution import resolve_device
from onelayer.errors import OnelayerError
from onelayer.evidence.tables import interval, tidy, write
from onelayer.evidence.verdicts import judge
from onelayer.job import silent
from onelayer.settings.probe import LONGEST, SHORTEST, AttentionProbeSettings, UncertaintySettings
from onelayer.settings.topic_structure import AUTHORS_WORDS
from onelayer.settings.topics import AUTHORS_TOPICS, AmbiguitySettings
from onelayer.text.corpus.articles import words
from onelayer.text.models.checkpoints import load_checkpoint, longest_text, random_model
from onelayer.text.models.tokenizer import check_pieces, load_tokenizer, piece_ids
from onelayer.topic_structure.wikipedia import measure, probe
from onelayer.topic_structure.wikipedia.measure import ATTENTION, AUTHORS, EQUAL, OURS
from onelayer.topic_structure.wikipedia.ratio import keep_words, label_words, topic_bits
from onelayer.topic_structure.wikipedia.reading import choose_articles, page, shown_model

MAX_TOKENS = 128
USUAL = UncertaintySettings()
NEGLIGIBLE = 0.03  # a ratio that lies so close to 1 on both sides shows nothing
NOTHING = f"negligibly more or less (within {NEGLIGIBLE}) in"
HEAD = "head_ratio"
SHOWN = {ATTENTION: "attention", EQUAL: "at equal distance"}
WEIGHTS = TRAINED, RANDOM = "checkpoint", "random weights"
WAYS = {AUTHORS: "the authors' way", OURS: "our way"}  # as in the run's tables
COLUMNS = {  # of the table that is printed; the last two stand under one header
    "attention [95%]": (TRAINED, ATTENTION),
    "its weights": (TRAINED, EQUAL),
    "random weights": (RANDOM, EQUAL),
}
HEADER = f"{' at equal distance ':-^35}"
READING = Path(__file__).parents[2] / "workflow/report/reading.html"


def probe_topic_structure(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    topics: Mapping[str, Iterable[str]] | pd.DataFrame,
    *,
    max_tokens: int = 128,
    uncertainty: UncertaintySettings = USUAL,
    batch: int = 1,
    progress: Callable = silent,
) -> pd.DataFrame:
    """Whether words of one topic attend to each other more, and have more similar embeddings.

    Args:
        model, tokenizer: as `onelayer.load_checkpoint` and `onelayer.load_tokenizer` load them.
        texts: at least two; the model reads each once.
        topics: words of each topic by its name, a dozen each or so; or the words that a run kept,
            `results/topics/<corpus>/kept_words.parquet`. A word that is several pieces in the
            tokenizer is left out; of words that are one and the same piece the first is taken.
        max_tokens: texts are cut after the last whole word that fits.
        batch: texts a forward pass.

    Returns:
        A row for each quantity (and `overlap`, `threshold`): `value`, its 95% interval `low`,
        `high` over `n` texts or words; and of permuted topics `null` (mean) and others.
        `attention_ratio` and `embedding_cosine_ratio` are of pairs of one topic over pairs of two;
        `over_null`, `over_low`, `over_high` are the first over its null. `head_ratio` is of single
        heads, by `layer` and `head`, at the first threshold.

    Raises:
        OnelayerError: fewer than two texts or topics, too few pairs of their words, more tokens
            than the model reads, or no attention weights. One line that names the argument.
    """
    if isinstance(texts, str) or len(texts) < 2:
        raise OnelayerError("texts: a list of at least 2 is needed for an interval")
    if bad := [text for text in texts if not isinstance(text, str)]:
        raise OnelayerError(f"texts: a list of texts is needed, found {type(bad[0]).__name__}")
    longest = min(longest_text(model), LONGEST)
    if not SHORTEST <= max_tokens <= longest:
        raise OnelayerError(f"max_tokens: {max_tokens}; from {SHORTEST} to {longest} are read")
    kept = kept_words(topics)
    counts = pd.Series([word for text in texts for word in words(text)]).value_counts()
    occurrences = counts.reindex(kept["word"].unique(), fill_value=0)
    vocabulary = occurrences.rename_axis("word").reset_index(name="occurrences")
    read = texts, {OURS: kept}, vocabulary, max_tokens
    rows = _probe_ways(model, tokenizer, *read, uncertainty, batch, progress)
    return rows.drop(columns="way")


def _probe_ways(
    model, tokenizer, texts, kept, vocabulary, max_tokens, uncertainty, batch, progress
) -> pd.DataFrame:
    """Rows of `probe_topic_structure` for each `way` in `kept`, of one forward pass a text."""
    check_pieces(tokenizer, len(model.get_input_embeddings().weight), "tokenizer")
    pieces = piece_ids(tokenizer, pd.concat(kept.values())["word"].unique())
    labels = {way: label_words(words, vocabulary, pieces) for way, words in kept.items()}
    ours = labels[OURS]
    encoded = probe.encode_texts(tokenizer, texts, ours.words, max_tokens)
    bits = topic_bits(ours.topics[0])
    pairs, heads = probe.pair_attention(model, encoded, bits, progress=progress, batch=batch)
    vectors = [probe.embed(model, tokenizer, ours.words)]
    rows = measure.measure_model(pairs, vectors, labels, uncertainty)
    heads = heads.rename(columns={"ratio": "value"})
    heads = heads.assign(quantity=HEAD, way=OURS, **ours.variants[0]._asdict())
    table = pd.concat([rows, heads], ignore_index=True)
    table = table.astype({"layer": "Int64", "head": "Int64"})  # none but of single heads
    return table.drop(columns=["seed", "over_replicates"])


def kept_words(topics: Mapping[str, Iterable[str]] | pd.DataFrame) -> pd.DataFrame:
    """Topics in the form of the ambiguity filter's table, in which a run's words are already."""
    if isinstance(topics, pd.DataFrame):
        if missing := {"overlap", "threshold", "topic", "word"} - set(topics):
            raise OnelayerError(f"topics: no column {', '.join(sorted(missing))}")
        return topics
    if not isinstance(topics, Mapping) or len(topics) < 2:
        raise OnelayerError("topics: words by topic are needed, of at least 2 topics")
    if bad := [name for name, given in topics.items() if isinstance(given, str)]:
        raise OnelayerError(f"topics: {bad[0]}: one word was given; a list of words is needed")
    rows = [(k, word.lower()) for k, given in enumerate(topics.values()) for word in given]
    kept = pd.DataFrame(rows, columns=["topic", "word"]).drop_duplicates(ignore_index=True)
    overlap = "overlapping" if kept["word"].duplicated().any() else "disjoint"
    return kept.assign(overlap=overlap, threshold="given")


def compare_checkpoints(
    checkpoints: Mapping[str, Path],
    results: Path,
    to: Path,
    *,
    corpus: str = "vital-articles",
    overlap: str = "disjoint",
    documents: int = 1000,
    device: str = "auto",
    batch: int = 1,
    progress: Callable = silent,
) -> str:
    """Probe checkpoints, each beside random weights, with a run's topics: the authors' and ours.

    One model is held at a time, in the precision that its weights are stored in. Writes
    `probe.csv`, `.md`, `.tex`, `.pdf`, `.png`, `heads.csv` and `reading.html` into the folder `to`.

    Returns:
        A table of at most 80 columns, a sentence and the page's path, to be printed.

    Raises:
        OnelayerError: a checkpoint cannot be probed, or the run has no topics of the corpus.
    """
    started, device = time.monotonic(), resolve_device(device)
    path = results / "topics" / corpus / "kept_words.parquet"
    theirs = sorted((results / "sensitivity" / corpus / "topics").glob(AUTHORS_TOPICS))
    if not path.is_file() or not theirs:
        raise OnelayerError(f"{path.parent}: no topics here; snakemake {path}")
    kept = pd.read_parquet(path).query("overlap == @overlap")
    vocabulary = pd.read_parquet(path.with_name("vocabulary.parquet"))
    ambiguity = AmbiguitySettings(overlaps=[overlap], thresholds=AUTHORS_WORDS)
    by_way = {AUTHORS: keep_words(theirs[0], vocabulary, ambiguity), OURS: kept}
    settings = AttentionProbeSettings(documents=documents, max_tokens=MAX_TOKENS, seed=0)
    articles = probe.sample_articles(results / "corpora" / corpus / "articles.parquet", settings)
    chosen = choose_articles(articles, kept, count=3, most_words=40)
    to.mkdir(parents=True, exist_ok=True)
    tables, shown = [], []
    for name, folder in checkpoints.items():
        tokenizer = load_tokenizer(folder)
        for weights in WEIGHTS:
            if weights == TRAINED:
                model = load_checkpoint(folder, device, dtype="auto")
                dtype, most = model.dtype, int(min(MAX_TOKENS, longest_text(model)))
            else:
                model = random_model(folder, seed=0, attn_implementation="eager", dtype=dtype)
                model = model.to(device)
            title = f"{name}, {weights}"
            read = articles["text"], by_way, vocabulary, most
            bar = functools.partial(progress, desc=title)
            found = _probe_ways(model, tokenizer, *read, USUAL, batch, bar)
            tables.append(found.assign(model=name, weights=weights))
            heads = found[found["quantity"] == HEAD].rename(columns={"value": "ratio"})
            shown.append(shown_model(title, model, tokenizer, heads, chosen))
            del model  # before the next one is made
    rows = pd.concat(tables, ignore_index=True)
    _write(rows, to)
    template = READING.read_text(encoding="utf-8")
    (to / "reading.html").write_text(page(template, chosen, kept, shown), encoding="utf-8")
    took = f"{time.monotonic() - started:.0f} s, at most {_memory():.1f} GiB of memory"
    return f"{described(rows)}\n\n{to / 'reading.html'} ({took})"


def _memory() -> float:
    """The most memory that this process has held, of a GPU where it used one, in GiB."""
    if torch.cuda.is_initialized():
        return torch.cuda.max_memory_allocated() / 2**30
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (2**30 if sys.platform == "darwin" else 2**20)


def _write(rows: pd.DataFrame, to: Path) -> None:
    """The table of all rows but those of heads, the heads' table, and the figure of both."""
    keys = ["model", "weights", "way", "overlap", "threshold"]
    heads = rows[rows["quantity"] == HEAD]
    columns = ["model", "weights", "layer", "head", "value"]
    heads[columns].to_csv(to / "heads.csv", index=False, float_format="%.9g")
    numbers = ["quantity", "value", "low", "high", "n", "null", "null_low", "null_high"]
    ratios = rows[(rows["quantity"] != HEAD) & ~rows["quantity"].str.endswith("_different")]
    table = tidy(ratios[[*keys, *numbers]], keys)
    files = (to / f"probe.{ending}" for ending in ("csv", "md", "tex"))
    write(table, *files, title="Pairs of words of one topic over pairs of two")
    _draw(rows, heads, to)


def _draw(rows: pd.DataFrame, heads: pd.DataFrame, to: Path) -> None:
    """A row for each checkpoint: its ratios both ways, its heads, and heads of random weights."""
    from onelayer.evidence.figures import DIVERGING, PALETTE, WIDTH, despine, plain, plt, save

    names, lines = list(dict.fromkeys(rows["model"])), list(product(WAYS, SHOWN))
    size = WIDTH, 0.8 + 1.7 * len(names)
    figure, axes = plt.subplots(len(names), 3, figsize=size, squeeze=False)
    strongest = heads["value"].sub(1).abs().replace(math.inf, math.nan).max()
    most = 1 + min(1, max(NEGLIGIBLE, strongest))
    for (ratios, *maps), name in zip(axes, names, strict=True):
        for k, weights in enumerate(WEIGHTS):
            part = rows[(rows["model"] == name) & (rows["weights"] == weights)]
            part = part.drop_duplicates(["way", "quantity"]).set_index(["way", "quantity"])
            part = part.loc[lines]
            heights = np.arange(len(lines)) + 0.16 * (2 * k - 1)
            ratios.hlines(heights, part["null_low"], part["null_high"], color="0.85", linewidth=5)
            ratios.hlines(heights, part["low"], part["high"], color=PALETTE[k])
            ratios.plot(part["value"], heights, "o", color=PALETTE[k], label=weights)
            grid = heads[(heads["model"] == name) & (heads["weights"] == weights)]
            grid = grid.pivot(index="layer", columns="head", values="value").to_numpy()
            extent = 0.5, grid.shape[1] + 0.5, grid.shape[0] + 0.5, 0.5
            colours = {"vmin": 2 - most, "vmax": most, "cmap": DIVERGING}
            image = maps[k].imshow(grid, extent=extent, aspect="auto", **colours)
            maps[k].set_ylabel("layer")
            for axis in (maps[k].xaxis, maps[k].yaxis):
                axis.get_major_locator().set_params(integer=True)
        ratios.axvline(1, color="0.5", linewidth=0.8, zorder=0)
        labels = [f"{way}: {SHOWN[quantity]}" for way, quantity in lines]
        ratios.set(yticks=range(len(lines)), yticklabels=labels, title=plain(name))
        ratios.set_ylim(len(lines) - 0.5, -0.5)
        despine(ratios)
        if ratios is not axes[0, 0]:
            ratios.sharex(axes[0, 0])
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
    for axis, label in zip(axes[-1], ("one topic over two", "head", "head"), strict=True):
        axis.set_xlabel(label)
    for axis, weights in zip(axes[0, 1:], WEIGHTS, strict=True):
        axis.set_title(f"heads, {weights}")
    figure.colorbar(image, ax=axes[:, 1:], label="one topic over two")
    save(figure, to / "probe.pdf", to / "probe.png")


def described(rows: pd.DataFrame) -> str:
    """A table of at most 80 columns, of each way's first threshold, and a sentence.

    `rows`: of `probe_topic_structure`, with `model`, `weights` (`TRAINED`, `RANDOM`) and `way`.
    """
    keys = ["model", "way", "weights", "quantity"]
    by = rows.drop_duplicates(keys).set_index(keys)
    lines, found = [], {way: {} for way in WAYS}
    for name, way in product(dict.fromkeys(rows["model"]), WAYS):
        line = {"checkpoint": name, "way": way}
        for column, place in COLUMNS.items():
            line[column] = interval(*by.loc[(name, way, *place), ["value", "low", "high"]])
        lines.append(line)
        row = by.loc[(name, way, TRAINED, EQUAL)]
        times = interval(row["over_null"], row["over_low"], row["over_high"])
        outcome = verdict(row)
        named = name if outcome == NOTHING else f"{name} ({times} times)"
        found[way].setdefault(outcome, []).append(named)
    table = pd.DataFrame(lines)
    room = 79 - len(table.drop(columns="checkpoint").to_string(index=False).splitlines()[0])
    short = [n if len(n) <= room else f"…{n[1 - room :]}" for n in table["checkpoint"]]
    text, sentences = table.assign(checkpoint=short).to_string(index=False), []
    for way, outcomes in found.items():
        words = by.xs(way, level="way")["threshold"].iloc[0]
        parts = "; ".join(f"{one} {', '.join(names)}" for one, names in outcomes.items())
        sentences.append(f"{WAYS[way]} ({words}) {parts}")
    sentence = (
        "Beside equally frequent words of permuted topics, and at equal distance, words of one "
        f"topic attend to each other: {'; '.join(sentences)}."
    )
    header = HEADER.rjust(len(text.splitlines()[0]))
    return f"{header}\n{text}\n\n{textwrap.fill(sentence, 80)}"


def verdict(row: Mapping) -> str:
    """What a ratio over its null shows, in the scoreboard's words: a row of the ratio."""
    over = {"value": row["over_null"], "low": row["over_low"], "high": row["over_high"]}
    null = {end: row[end] / row["null"] for end in ("null_low", "null_high")}
    corrected = {**over, **null, "null": 1.0, "n": row["n"], "state": ""}
    words = {"reproduced": "more in", "opposite": "less in", "undecided": "undecided in"}
    words |= {"negligible": NOTHING}
    return words[judge(corrected, {"rule": "direction", "side": 1, "matters": NEGLIGIBLE})]
