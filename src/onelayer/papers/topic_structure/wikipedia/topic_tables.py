"""The tables of corpora, of their topics and of the topic model's quality."""

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import ALL, Report, interval_of, number, row_per, table, tidy
from onelayer.settings.topic_structure import NamedCorpus
from onelayer.settings.topics import NamedLda

LDA = "topics.lda"
QUALITY_NAMES = {
    "nmi": "NMI with the human topics",
    "npmi": "NPMI, mean over topics",
    "npmi_held_out": "NPMI of topics of half the articles in the other half",
    "topics_used": "topics that are some article's most probable one",
    "topics_effective": "effective number of topics",
    "vocabulary": "words in the vocabulary",
    "tokens": "occurrences of these words",
}

QUALITY_NOTES = [
    "NMI: normalised mutual information of each article's most probable topic and its human topic, "
    "0 to 1. A collapsed model can score high on it: read it together with the topics used.",
    "NPMI: mean over the pairs of a topic's top words of log(P(v,w)/(P(v)P(w))) / -log P(v,w), "
    "with P the share of articles that use a word or both; -1 for a pair that never meets.",
    "Held out: the topic model fitted once more to a random half of the articles; half as much "
    "text makes less coherent topics, and a pair of rare words meets less often in it. Settings "
    "are chosen by this number, never by the ratios that a probe finds.",
    "Effective number: exp(entropy) of the topics' shares of all articles.",
    "The default is online LDA for 6 passes, as in the paper; it stays although its topics cohere "
    "little, since all numbers of the reference run rest on it. `table_topic_model_robustness` has "
    "the ratios under others, of its own models alone (by default MiniLM and a random one). "
    "`config/coherent.yaml` has better settings of the same algorithm, and the grid that they were "
    "chosen from; `topics.lda.backend: tomotopy` coheres most.",
]
SETTINGS_NOTES = [
    "Each topic model is fitted to a random half of the articles, and judged in the other half by "
    "the NPMI of its topics' top words; means over halves, with Student's 95% interval, widened "
    "for articles that halves share. The most coherent one comes first; `topics.lda` is the one "
    "that the other tables rest on.",
    "alpha or eta None: 1 / topics. The seed of each fit is that of its half.",
]
TOPIC_NOTES = [
    "Most prevalent topic first. 'Human topic': the most frequent one among the articles whose "
    "most probable topic this is, with its share of them."
]


def _over_halves(coherence: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Means over random halves with their intervals; `n` and `runs` are how many halves.

    Any two halves share half of their articles: the variance of the mean of k is k + 1 times that
    of as many independent ones (Nadeau & Bengio 2003, as much text in the other half).
    """
    groups = coherence.groupby(keys, sort=False)["value"]
    means = pd.DataFrame([dict(zip(keys, key, strict=True)) | mean(of) for key, of in groups])
    for end in ("low", "high"):
        means[end] = means["value"] + (means[end] - means["value"]) * np.sqrt(1 + means["n"])
    return means.assign(runs=means["n"])


@row_per("setting")
def readable_settings(rows: pd.DataFrame, setting: str) -> dict[str, str]:
    """One row per topic model."""
    other, fitted = (
        rows[rows["seed"] == ALL].loc[quantity] for quantity in ("npmi_held_out", "npmi_fitted")
    )
    return {
        "topic model": setting,
        "NPMI in the other half [95%]": interval_of(other, 3),
        "in the half fitted": number(fitted["value"], 3),
        "halves": number(other["n"], 0),
        "settings": other["note"],
    }


def readable_quality(table: pd.DataFrame) -> pd.DataFrame:
    """Quality for readers, one row per quantity."""
    digits = {"nmi": 3, "npmi": 3, "npmi_held_out": 3, "topics_effective": 1}
    return pd.DataFrame(
        {
            "quantity": table["quantity"].map(QUALITY_NAMES),
            "value": [number(r.value, digits.get(r.quantity, 0)) for r in table.itertuples()],
            "of": [f"{n:,.0f}" for n in table["n"]],
        }
    )


def readable_topics(words: pd.DataFrame, shares: pd.DataFrame) -> pd.DataFrame:
    """One row per topic, most prevalent first."""
    shares = shares.sort_values(["share", "label"], ascending=[False, True])
    commonest = shares.drop_duplicates("topic")
    labels = {row.topic: f"{row.label} ({row.share:.0%})" for row in commonest.itertuples()}
    topics = words.sort_values("rank").groupby("topic")
    shown = pd.DataFrame(
        {
            "prevalence": topics["prevalence"].first(),
            "NPMI": topics["npmi"].first().map(number),
            "most probable words": topics["word"].agg(", ".join),
        }
    )
    shown["human topic"] = [labels.get(topic, "–") for topic in shown.index]
    shown = shown.reset_index().sort_values(["prevalence", "topic"], ascending=[False, True])
    return shown.assign(prevalence=shown["prevalence"].map("{:.1%}".format))


def readable_corpora(table: pd.DataFrame) -> pd.DataFrame:
    """One row per corpus."""
    shown = table.pivot(index="corpus", columns="quantity", values="value")
    shown = shown[table["quantity"].unique()].map("{:,.0f}".format)
    by_corpus = table.groupby("corpus", sort=False)
    shown = shown.loc[list(by_corpus.groups)].assign(credit=by_corpus["note"].first())
    shown = shown.reset_index().rename(columns=lambda name: name.replace("_", " "))
    return shown[["corpus", "articles", "words", "human topics", "labelled articles", "credit"]]


@table(
    "topic_structure/corpora",
    "Wikipedia: data and topics",
    "table: corpora",
    title="The corpora",
    notes=[
        "Words are lower-cased runs of letters. Human topics come with the corpus; articles "
        "without one are probed like any other and left out of NMI."
    ],
    readable=readable_corpora,
    reads={"summaries": "corpus_summaries"},
    settings={"corpora": "named_corpora"},
)
def corpora_table(summaries: list[pd.DataFrame], corpora: list[NamedCorpus]) -> pd.DataFrame:
    """The corpora: how many articles, words and human topics, and whose text it is.

    Args:
        summaries: of `corpus.articles.count_articles_and_words`, part by part of each corpus.
        corpora: in the order of rows and of their summaries.

    Returns:
        Of each corpus `articles`, `words`, `human_topics` and `labelled_articles`, tidy.
    """
    unread, rows = iter(summaries), []
    for corpus in corpora:
        parts = pd.concat([next(unread) for _ in range(corpus.settings.parts)], ignore_index=True)
        labelled = parts[parts["label"].notna()]
        articles = int(parts["articles"].sum())
        counts = {
            "articles": articles,
            "words": int(parts["words"].sum()),
            "human_topics": labelled["label"].nunique(),
            "labelled_articles": int(labelled["articles"].sum()),
        }
        of = {"corpus": corpus.name, "n": articles, "note": corpus.settings.credit}
        rows += [of | {"quantity": name, "value": count} for name, count in counts.items()]
    return tidy(rows, ["corpus"])


@table(
    "topic_structure/topics",
    "Wikipedia: data and topics",
    "table: topics",
    reads={"words": "measure_topics.words", "shares": "measure_topics.shares"},
    settings={"corpus": "topic_structure.wikipedia.corpus"},
)
def topics(words: pd.DataFrame, shares: pd.DataFrame, corpus: str) -> Report:
    """The topics: the most probable words of each, and the human topic it covers."""
    table = words.rename(columns={"probability": "value"}).drop(columns=["npmi", "prevalence"])
    table = table.assign(corpus=corpus, quantity="probability")
    table = tidy(table, ["corpus", "topic", "rank", "word"])
    return Report(table, readable_topics(words, shares), f"The topics of {corpus}", TOPIC_NOTES)


@table(
    "topic_structure/topic_settings",
    "Wikipedia: data and topics",
    "table: topic models compared by coherence",
    reads={"held_out": "held_out_topics"},
    settings={"corpus": "topic_structure.wikipedia.corpus", "models": "judged_topic_models"},
    made="topic_models_compared",
)
def topic_settings(held_out: pd.DataFrame, corpus: str, models: list[NamedLda]) -> Report:
    """The settings of topic models beside their coherence in articles held out from them.

    Over seeds, and of each: rows of `onelayer.text.topics.variation`. Readers see the most coherent
    one first.
    """
    notes = {
        one.name: ", ".join(
            f"{key} {value}" for key, value in one.model_dump(exclude={"name", "seed"}).items()
        )
        for one in models
    }
    means = _over_halves(held_out, ["setting", "quantity"]).assign(seed=ALL)
    alone = held_out.assign(seed=held_out["seed"].astype(str), n=1, runs=1)
    several = len(held_out["seed"].unique()) > 1
    table = pd.concat([means, alone] if several else [means])
    table = table.assign(corpus=corpus, note=table["setting"].map(notes))
    table = tidy(table, ["corpus", "setting", "seed"])
    order = means[means["quantity"] == "npmi_held_out"]["value"].to_numpy()
    shown = readable_settings(table).iloc[np.argsort(-order, kind="stable")]
    title = f"Topic models of {corpus} by their coherence in articles held out"
    return Report(table, shown, title, SETTINGS_NOTES)


@table(
    "topic_structure/topic_quality",
    "Wikipedia: data and topics",
    "table: topic quality",
    reads={"quality": "measure_topics.quality", "held_out": "held_out_topics"},
    settings={"corpus": "topic_structure.wikipedia.corpus"},
)
def topic_quality(quality: pd.DataFrame, held_out: list[pd.DataFrame], corpus: str) -> Report:
    """The quality of the topic model: NMI, NPMI, topics used.

    A quantity without a value keeps its row. `held_out` are rows of
    `onelayer.text.topics.variation`, where they were measured.
    """
    table = quality.assign(corpus=corpus, note="")
    for coherence in held_out:
        of_default = coherence[coherence["setting"] == LDA]
        rows = _over_halves(of_default[of_default["quantity"] == "npmi_held_out"], ["quantity"])
        table = pd.concat([table, rows.assign(corpus=corpus, n=of_default["n"].iloc[0])])
    table = table.fillna({"note": ""}).reset_index(drop=True)
    table.loc[table["value"].isna(), "note"] = "the corpus has no human topics"
    table, title = tidy(table, ["corpus"]), f"Quality of the topic model on {corpus}"
    return Report(table, readable_quality(table), title, QUALITY_NOTES)
