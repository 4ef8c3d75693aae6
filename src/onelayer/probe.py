"""A model of one's own under the topic probe of Li, Li & Risteski (2023).

In Python `probe_topic_structure`, with texts and topics of one's own; on the command line
`onelayer probe`, which calls `probe_folder` with the articles and topics of a run.
"""

import tempfile
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from onelayer.ensemble.execution import resolve_device
from onelayer.errors import OnelayerError
from onelayer.evidence.tables import interval, number, tidy, write
from onelayer.evidence.verdicts import judge
from onelayer.settings.probe import LONGEST, SHORTEST, AttentionProbeSettings, UncertaintySettings
from onelayer.text.corpus.articles import words
from onelayer.text.models.checkpoints import load_checkpoint, longest_text, save_random_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer, piece_ids
from onelayer.topic_structure.wikipedia.measure import ALL, ATTENTION, EQUAL, measure_attention
from onelayer.topic_structure.wikipedia.probe import embed, encode_texts, probe, sample_articles
from onelayer.topic_structure.wikipedia.ratio import topic_bits
from onelayer.topic_structure.wikipedia.reading import choose_articles, page, shown_model
from onelayer.topic_structure.wikipedia.similarity import COSINE, measure_embeddings
from onelayer.topic_structure.wikipedia.words import Labels, label_words

REFERENCE_LENGTH = 100
CONTROLS = [0, 1]  # seeds of random weights
USUAL = UncertaintySettings()
NEGLIGIBLE = 0.03  # a ratio that lies so close to 1 on both sides shows nothing
SHOWN = {ATTENTION: "attention", EQUAL: "equal distance", COSINE: "cosine"}
READING = Path(__file__).parents[2] / "workflow/report/reading.html"
Progress = Callable[..., Iterable]


def silent(items: Iterable, **_) -> Iterable:
    """No progress bar."""
    return items


def probe_topic_structure(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    topics: Mapping[str, Iterable[str]] | pd.DataFrame,
    *,
    max_tokens: int = 128,
    uncertainty: UncertaintySettings = USUAL,
    progress: Progress = silent,
) -> pd.DataFrame:
    """Whether words of one topic attend to each other more, and have more similar embeddings.

    Args:
        model, tokenizer: as `onelayer.load_checkpoint` and `onelayer.load_tokenizer` load them.
        texts: at least two; the model reads each once.
        topics: words of each topic by its name, a dozen each or so; or the words that a run kept,
            `results/topics/<corpus>/kept_words.parquet`. A word that is several pieces in the
            tokenizer is left out; of words that are one and the same piece the first is taken.
        max_tokens: texts are cut after the last whole word that fits.

    Returns:
        A row for each quantity (and `overlap`, `threshold`): `value`, its 95% interval `low`,
        `high` over `n` texts or words; and of permuted topics `null` (mean), `z` and others.
        `attention_ratio` and `embedding_cosine_ratio` are of pairs of one topic over pairs of two.

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
    pieces = piece_ids(tokenizer, kept["word"].unique())
    counts = pd.Series([word for text in texts for word in words(text)]).value_counts()
    occurrences = counts.reindex(list(pieces), fill_value=0)
    vocabulary = pd.DataFrame({"word": list(pieces), "occurrences": occurrences.to_numpy()})
    try:
        labels = label_words(kept, vocabulary, pieces)
        articles = pd.DataFrame({"id": range(len(texts)), "text": texts})
        pairs, _ = run(model, tokenizer, articles, labels, max_tokens, progress)
        measured = measure([(pairs, embed(model, tokenizer, labels.words))], labels, uncertainty)
    except OnelayerError as error:  # keys of the settings mean nothing here
        raise OnelayerError(str(error).replace("topics.ambiguity: ", "topics: ")) from None
    return measured.drop(columns=["seed", "over_replicates"])


def kept_words(topics: Mapping[str, Iterable[str]] | pd.DataFrame) -> pd.DataFrame:
    """Topics in the form of the ambiguity filter's table, in which a run's words are already."""
    if isinstance(topics, pd.DataFrame):
        if missing := {"overlap", "threshold", "topic", "word"} - set(topics):
            raise OnelayerError(f"topics: no column {', '.join(sorted(missing))}")
        return topics
    if not isinstance(topics, Mapping) or len(topics) < 2:
        raise OnelayerError("topics: words by topic are needed, of at least 2 topics")
    if one := [name for name, of in topics.items() if isinstance(of, str)]:
        raise OnelayerError(f"topics: {one[0]}: one word was given; a list of words is needed")
    rows = [(k, word.lower()) for k, of in enumerate(topics.values()) for word in of]
    kept = pd.DataFrame(rows, columns=["topic", "word"]).drop_duplicates(ignore_index=True)
    overlap = "overlapping" if kept["word"].duplicated().any() else "disjoint"
    return kept.assign(overlap=overlap, threshold="given")


def run(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    articles: pd.DataFrame,
    labels: Labels,
    max_tokens: int,
    progress: Progress,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Pairs and heads of `probe` over articles `id`, `text`."""
    texts = encode_texts(tokenizer, articles["text"], labels.words, max_tokens)
    of = articles["id"], labels.words, topic_bits(labels.topics[0]), REFERENCE_LENGTH
    return probe(model, texts, *of, progress=progress)


def measure(
    checkpoints: Sequence[tuple[pd.DataFrame, pd.DataFrame]],
    labels: Labels,
    uncertainty: UncertaintySettings,
) -> pd.DataFrame:
    """Rows of `measure` of checkpoints: pairs and embeddings of each."""
    pairs, vectors = zip(*checkpoints, strict=True)
    seeds = range(len(checkpoints))
    tables = [
        measure_attention(pairs[0], [one["mean"] for one in pairs], labels, uncertainty, seeds),
        measure_embeddings(vectors, labels, uncertainty, seeds),
    ]
    return pd.concat(tables, ignore_index=True)


def probe_folder(
    checkpoint: Path,
    results: Path,
    to: Path,
    *,
    name: str,
    corpus: str = "vital-articles",
    overlap: str = "disjoint",
    documents: int = 1000,
    max_tokens: int = 128,
    device: str = "auto",
    progress: Progress = silent,
) -> str:
    """Probe a checkpoint beside two random models of its architecture, with a run's topics.

    Writes `probe.csv`, `.md`, `.tex`, `.pdf`, `.png` and `reading.html` into the folder `to`.

    Returns:
        A table of at most 80 columns and a sentence, to be printed.

    Raises:
        OnelayerError: the checkpoint cannot be probed, or the run has no topics of the corpus.
    """
    kept, vocabulary = _topics_of_run(results / "topics" / corpus)
    kept = kept[kept["overlap"] == overlap]
    device, tokenizer = resolve_device(device), load_tokenizer(checkpoint)
    model = load_checkpoint(checkpoint, device)
    labels = label_words(kept, vocabulary, piece_ids(tokenizer, kept["word"].unique()))
    max_tokens = int(min(max_tokens, longest_text(model)))
    how = {"reference_length": REFERENCE_LENGTH, "max_tokens": max_tokens, "seed": 0}
    drawn = AttentionProbeSettings(documents=documents, **how)
    articles = sample_articles(results / "corpora" / corpus / "articles.parquet", drawn)
    chosen, shown = choose_articles(articles, kept, count=3, most_words=40), []

    def probed(title: str, model: PreTrainedModel) -> tuple[pd.DataFrame, pd.DataFrame]:
        pairs, heads = run(model, tokenizer, articles, labels, max_tokens, progress)
        shown.append(shown_model(title, model, tokenizer, heads, chosen))
        return pairs, embed(model, tokenizer, labels.words)

    measures, controls = {name: measure([probed(name, model)], labels, USUAL)}, []
    for seed in CONTROLS:
        with tempfile.TemporaryDirectory() as folder:
            save_random_checkpoint(Path(checkpoint), Path(folder), seed)
            controls.append(probed(f"random {seed}", load_checkpoint(folder, device)))
    measures["random"] = measure(controls, labels, USUAL)
    rows = pd.concat([one.assign(model=title) for title, one in measures.items()])
    rows = rows[(rows["seed"] == ALL) & ~rows["quantity"].str.endswith("_different")]
    title = f"{name}: pairs of words of one topic over pairs of two"
    to.mkdir(parents=True, exist_ok=True)
    _write(rows, name, title, to)
    template = READING.read_text(encoding="utf-8")
    (to / "reading.html").write_text(page(template, chosen, kept, shown), encoding="utf-8")
    return f"{title}\n\n{_said(rows, name)}\n\nAll numbers and the page to read: {to}"


def _topics_of_run(topics: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Kept words and vocabulary of a run."""
    if not (topics / "kept_words.parquet").is_file():
        raise OnelayerError(f"{topics}: no topics here; snakemake {topics}/kept_words.parquet")
    kept, vocabulary = (
        pd.read_parquet(topics / f"{table}.parquet") for table in ("kept_words", "vocabulary")
    )
    return kept, vocabulary


def _write(rows: pd.DataFrame, name: str, title: str, to: Path) -> None:
    """The table of all rows, and the figure of those in `SHOWN`."""
    from onelayer.evidence.figures import PALETTE, WIDTH, despine, plain, plt, save

    columns = ["overlap", "model", "threshold", "quantity", "value", "low", "high", "n", "null"]
    files = (to / f"probe.{ending}" for ending in ("csv", "md", "tex"))
    write(tidy(rows[columns], columns[:3]), *files, title=title)
    figure, axes = plt.subplots(1, len(SHOWN), figsize=(WIDTH, 2.4), sharey=True)
    for axis, (quantity, of) in zip(axes, SHOWN.items(), strict=True):
        part = rows[rows["quantity"] == quantity]
        thresholds = list(dict.fromkeys(part["threshold"]))
        for k, model in enumerate((name, "random")):
            own = part[part["model"] == model]
            heights = [thresholds.index(t) + 0.16 * (2 * k - 1) for t in own["threshold"]]
            axis.hlines(heights, own["null_low"], own["null_high"], color="0.85", linewidth=5)
            axis.hlines(heights, own["low"], own["high"], color=PALETTE[k])
            axis.plot(own["value"], heights, "o", color=PALETTE[k], label=plain(model))
        axis.axvline(1, color="0.5", linewidth=0.8, zorder=0)
        axis.set(yticks=range(len(thresholds)), yticklabels=thresholds, xlabel=of)
        despine(axis)
    axes[0].invert_yaxis()
    axes[-1].legend()
    title = f"{name}: one topic over two (bars: 95% intervals; grey: permuted topics)"
    figure.suptitle(plain(title), fontsize=10)
    save(figure, to / "probe.pdf", to / "probe.png")


def _said(rows: pd.DataFrame, name: str) -> str:
    by, lines = rows.set_index(["model", "threshold", "quantity"]), []
    thresholds = list(dict.fromkeys(rows.loc[rows["quantity"] == ATTENTION, "threshold"]))
    for quantity, of in SHOWN.items():
        for threshold in thresholds:
            row, ends = {"ratio of": of, "words": threshold}, slice("value", "high")
            for model, column in ((name, "checkpoint [95%]"), ("random", "random [95%]")):
                row[column] = interval(*by.loc[(model, threshold, quantity), ends])
            one = by.loc[(name, threshold, quantity)]
            lines.append(row | {"null": number(one["null"]), "z": number(one["z"], 1)})
    one = by.loc[(name, thresholds[0], EQUAL)]
    over = {end: one[end] / one["null"] for end in ("value", "low", "high")}
    text = (
        f"In {name} words of one topic ({thresholds[0]}) attend to each other "
        f"{interval(*over.values())} times as much as equally frequent words of permuted topics, "
        f"at equal distance. {verdict(over)}"
    )
    return f"{pd.DataFrame(lines).to_string(index=False)}\n\n{textwrap.fill(text, 80)}"


def verdict(over: Mapping[str, float]) -> str:
    """What a ratio over its null shows, in the scoreboard's words: `value`, `low`, `high`."""
    row = {**over, "null": 1.0, "n": float("nan"), "state": ""}
    found = judge(row, {"rule": "direction", "side": 1, "matters": NEGLIGIBLE})
    return {
        "reproduced": "The difference is one of topics.",
        "opposite": "It is less, not more.",
        "negligible": f"That is negligible: within {NEGLIGIBLE} of 1.",
        "undecided": "Whether it is more or less than 1 is undecided.",
    }[found]
