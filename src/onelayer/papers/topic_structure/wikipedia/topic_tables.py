"""Topics for readers: the tables of topics and of the topic model's quality."""

from collections.abc import Sequence

import pandas as pd

from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import ALL, Report, interval, number, table, tidy
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
    "little, since all numbers of the reference run rest on it, and the findings hold under others "
    "too (`table_topic_model_robustness`). `config/coherent.yaml` has better settings of the same "
    "algorithm, and the grid that they were chosen from; `topics.lda.backend: tomotopy` coheres "
    "most.",
]
SETTINGS_NOTES = [
    "Each topic model is fitted to a random half of the articles, and judged in the other half by "
    "the NPMI of its topics' top words; means over halves, with Student's 95% interval. The first "
    "one is `topics.lda`.",
    "What a model does not say has the default of its key: 6 passes, chunks of 500 articles, "
    "decay .7, offset 10, 50 iterations, alpha and eta 1 / topics.",
]
TOPIC_NOTES = [
    "Most prevalent topic first. 'Human topic': the most frequent one among the articles whose "
    "most probable topic this is, with its share of them."
]


def quality_table(
    quality: pd.DataFrame, corpus: str, held_out: Sequence[pd.DataFrame] = ()
) -> pd.DataFrame:
    """Quality of the topic model, tidy; a quantity without a value keeps its row.

    Args:
        quality: rows of `onelayer.text.topics.quality`.
        corpus: its name.
        held_out: rows of `onelayer.text.topics.variation`, where they were measured.
    """
    table = quality.assign(corpus=corpus, note="")
    for coherence in held_out:
        own = coherence[coherence["setting"] == LDA]
        rows = _over_halves(own[own["quantity"] == "npmi_held_out"], ["quantity"])
        table = pd.concat([table, rows.assign(corpus=corpus, n=own["n"].iloc[0])])
    table = table.fillna({"note": ""}).reset_index(drop=True)
    missing = table["value"].isna()
    table.loc[missing, "note"] = "the corpus has no human topics"
    return tidy(table, ["corpus"])


def _over_halves(coherence: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Means over seeds with their intervals; `n` and `runs` are the number of seeds."""
    groups = coherence.groupby(keys, sort=False)["value"]
    found = [dict(zip(keys, key, strict=True)) | mean(own) for key, own in groups]
    return pd.DataFrame([row | {"runs": row["n"]} for row in found])


def settings_table(
    coherence: pd.DataFrame, corpus: str, models: Sequence[NamedLda]
) -> pd.DataFrame:
    """Coherence of every compared topic model, tidy: over seeds, and of each.

    Args:
        coherence: rows of `onelayer.text.topics.variation`.
        corpus: its name.
        models: the topic models, whose settings are the rows' notes.
    """
    notes = {m.name: _settings(m) for m in models}
    means = _over_halves(coherence, ["setting", "quantity"]).assign(seed=ALL)
    alone = coherence.assign(seed=coherence["seed"].astype(str), n=1, runs=1)
    several = len(coherence["seed"].unique()) > 1
    table = pd.concat([means, alone] if several else [means])
    table = table.assign(corpus=corpus, note=table["setting"].map(notes))
    return tidy(table, ["corpus", "setting", "seed"])


def _settings(model: NamedLda) -> str:
    own = model.model_dump(exclude_defaults=True, exclude={"name"})
    return ", ".join(f"{key} {value}" for key, value in own.items()) or "all defaults"


def readable_settings(table: pd.DataFrame) -> pd.DataFrame:
    """One row per topic model, the most coherent one first."""
    table = table[table["seed"] == ALL]
    rows = []
    for setting, group in table.groupby("setting", sort=False):
        by = group.set_index("quantity")
        other, own = by.loc["npmi_held_out"], by.loc["npmi_fitted"]
        rows.append(
            {
                "topic model": setting,
                "NPMI in the other half [95%]": interval(*other[["value", "low", "high"]], 3),
                "in the half fitted": number(own["value"], 3),
                "halves": number(other["n"], 0),
                "settings": other["note"],
                "order": -other["value"],
            }
        )
    return pd.DataFrame(rows).sort_values("order", kind="stable").drop(columns="order")


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


def topic_table(words: pd.DataFrame, corpus: str) -> pd.DataFrame:
    """Top words of each topic, tidy: keys `corpus`, `topic`, `rank`, `word`."""
    table = words.rename(columns={"probability": "value"}).drop(columns=["npmi", "prevalence"])
    table = table.assign(corpus=corpus, quantity="probability")
    return tidy(table, ["corpus", "topic", "rank", "word"])


def readable_topics(words: pd.DataFrame, shares: pd.DataFrame) -> pd.DataFrame:
    """One row per topic, most prevalent first."""
    rows = []
    for topic, group in words.groupby("topic"):
        covered = shares[shares["topic"] == topic].sort_values(
            ["share", "label"], ascending=[False, True]
        )
        label = f"{covered.iloc[0].label} ({covered.iloc[0].share:.0%})" if len(covered) else "–"
        rows.append(
            {
                "topic": topic,
                "prevalence": group["prevalence"].iloc[0],
                "NPMI": number(group["npmi"].iloc[0]),
                "most probable words": ", ".join(group.sort_values("rank")["word"]),
                "human topic": label,
            }
        )
    shown = pd.DataFrame(rows).sort_values(["prevalence", "topic"], ascending=[False, True])
    return shown.assign(prevalence=shown["prevalence"].map("{:.1%}".format))


@table(
    "topic_structure/topics",
    "Wikipedia: data and topics",
    "table: topics",
    reads={"words": "measure_topics.words", "shares": "measure_topics.shares"},
    settings={"corpus": "topic_structure.wikipedia.corpus"},
)
def topics(words: pd.DataFrame, shares: pd.DataFrame, corpus: str) -> Report:
    """The topics: the most probable words of each, and the human topic it covers."""
    shown, title = readable_topics(words, shares), f"The topics of {corpus}"
    return Report(topic_table(words, corpus), shown, title, TOPIC_NOTES)


@table(
    "topic_structure/topic_settings",
    "Wikipedia: data and topics",
    "table: topic models compared by coherence",
    reads={"held_out": "held_out_topics"},
    settings={"corpus": "topic_structure.wikipedia.corpus", "models": "judged_topic_models"},
    made="topic_models_compared",
)
def topic_settings(held_out: pd.DataFrame, corpus: str, models: list[NamedLda]) -> Report:
    """The settings of topic models beside their coherence in articles held out from them."""
    found = settings_table(held_out, corpus, models)
    title = f"Topic models of {corpus} by their coherence in articles held out"
    return Report(found, readable_settings(found), title, SETTINGS_NOTES)


@table(
    "topic_structure/topic_quality",
    "Wikipedia: data and topics",
    "table: topic quality",
    reads={"quality": "measure_topics.quality", "held_out": "held_out_topics"},
    settings={"corpus": "topic_structure.wikipedia.corpus"},
)
def topic_quality(quality: pd.DataFrame, held_out: list[pd.DataFrame], corpus: str) -> Report:
    """The quality of the topic model: NMI, NPMI, topics used."""
    found, title = (
        quality_table(quality, corpus, held_out),
        f"Quality of the topic model on {corpus}",
    )
    return Report(found, readable_quality(found), title, QUALITY_NOTES)
