"""The table of topics: their most probable words, and how good the topic model is."""

import pandas as pd

from onelayer.evidence.tables import EMPTY, number, tidy
from onelayer.job import job
from onelayer.settings.topics import TopicSettings
from onelayer.text.corpus.articles import read_column
from onelayer.text.topics.bag import read_bag
from onelayer.text.topics.lda import read_topics
from onelayer.text.topics.quality import held_out_coherence, measure_quality

NOTES = [
    "Most prevalent topic first. 'Human topic': the most frequent one among the articles whose "
    "most probable topic this is, with its share of them.",
    "NPMI: mean over the pairs of a topic's top words of log(P(v,w)/(P(v)P(w))) / -log P(v,w), "
    "with P the share of articles that use a word or both; -1 for a pair that never meets.",
    "NMI: normalised mutual information of each article's most probable topic and its human topic, "
    "0 to 1. A collapsed model can score high on it: read it together with the topics used.",
    "Held out: topics fitted to a random half of the articles, judged in the other half. Half as "
    "much text makes less coherent topics, and a pair of rare words meets less often in it.",
    "Effective number of topics: exp(entropy) of the topics' shares of all articles.",
    "The topics themselves are fitted to all articles, those that a model is probed on or that its "
    "pretraining held out among them: they describe a corpus, and are no prediction.",
]
QUALITY = {  # and how many digits readers see
    "nmi": ("NMI with the human topics", 3),
    "npmi": ("NPMI, mean over topics", 3),
    "npmi_held_out": ("NPMI held out", 3),
    "topics_used": ("topics that are some article's most probable one", 0),
    "topics_effective": ("effective number of topics", 1),
    "vocabulary": ("words in the vocabulary", 0),
    "tokens": ("occurrences of these words", 0),
}


with job(snakemake) as step:
    corpus = step.settings.pop("corpus")
    settings, given = TopicSettings(**step.settings), snakemake.input
    bag, topics = read_bag(*given.bag), read_topics(given.topics[0])
    labels, lda = list(read_column(given.articles, "label")), settings.lda
    quality, of_topics = measure_quality(bag, topics, labels, lda)
    held_out = held_out_coherence(bag, lda, settings.held_out_seeds, progress=step.progress)
    quality.loc[len(quality)] = "npmi_held_out", held_out, len(topics.alpha)

    words = of_topics[["topic", "word", "probability"]].explode(["word", "probability"])
    words = words.rename(columns={"probability": "value"}).assign(quantity="probability")
    words["rank"] = words.groupby("topic").cumcount() + 1
    table = pd.concat([words, quality.assign(topic="all", rank="", word="")]).assign(corpus=corpus)
    # For readers: one row per topic, most prevalent first; then one per measure of quality.
    of_topics = of_topics.sort_values(["prevalence", "topic"], ascending=[False, True])
    human = zip(of_topics["label"], of_topics["label_share"], strict=True)
    human = [f"{label} ({share:.0%})" if share > 0 else EMPTY for label, share in human]
    shown = {
        "topic": of_topics["topic"],
        "prevalence": of_topics["prevalence"].map("{:.1%}".format),
        "NPMI": of_topics["npmi"].map(number),
        "most probable words": of_topics["word"].map(", ".join),
        "human topic": human,
    }
    pairs = zip(quality["quantity"].map(QUALITY), quality["value"], strict=True)
    of_all = [f"{name}: {number(value, digits)}" for (name, digits), value in pairs]
    of_all = pd.DataFrame({"topic": "all", "most probable words": of_all})

    none = ["The corpus has no human topics."] * bool(of_topics["label"].isna().all())
    step.save_table(
        tidy(table, ["corpus", "topic", "rank", "word"]),
        title=f"The topics of {corpus}",
        shown=pd.concat([pd.DataFrame(shown), of_all]).fillna(""),
        notes=[*NOTES, *none],
    )
