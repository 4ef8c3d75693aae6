"""Table: do the ratios depend on how they are measured? One choice changed in each row."""

import numpy as np
import pandas as pd

from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.topic_structure.wikipedia.measure import ALL, ATTENTION
from onelayer.topic_structure.wikipedia.published import read_published
from onelayer.topic_structure.wikipedia.similarity import COSINE

FACTORS = ["backend", "weights", "schedule", "topics", "seed", "words", "overlap", "pooling"]
FACTORS += ["length"]
KEYS = ["model", "way", *FACTORS]
AUTHORS_THRESHOLD = 0.0005  # int(f 100,000) + 1 = 51 words of gensim's largest vocabulary
NOTES = [
    "ours: as in the tables of all models, on fewer articles. Each other way changes one choice. "
    "authors: as in their released code, topics of tf-idf weights in one pass with gensim's "
    "defaults, 51 words a topic (int(V f) + 1 at f = .0005 for V = 100,000), topics overlap, "
    "weights as they are; beside it what they publish.",
    "null: the same with topics permuted among equally frequent words. Intervals are over articles "
    "(attention) and words (embeddings), for this topic model alone.",
    "not reached: too few pairs of words of some class.",
]

with job(snakemake) as step:
    published, parts = read_published(step.given("published")), []
    for (name, like), path in zip(step.settings["models"], snakemake.input.measures, strict=True):
        measures = pd.read_parquet(path)
        measures = measures[measures["seed"] == ALL].set_index(["way", "quantity"])
        for way in step.settings["ways"]:
            of = {"model": name, "way": way["name"], **{factor: way[factor] for factor in FACTORS}}
            for quantity in (ATTENTION, COSINE):
                row = of | {"quantity": quantity}
                if (way["name"], quantity) in measures.index:
                    columns = ["value", "low", "high", "n", "null"]
                    row |= measures.loc[(way["name"], quantity), columns].to_dict()
                else:
                    row["state"] = "not reached"
                if way["name"] == "authors":
                    key = (way["overlap"], like, AUTHORS_THRESHOLD, quantity)
                    row["published"] = published.get(key, np.nan)
                parts.append(row)
    rows, shown = tidy(parts, KEYS), []
    for (model, way), part in rows.groupby(["model", "way"], sort=False):
        row, by = {"model": model, "way": way}, part.set_index("quantity")
        for quantity, name in ((ATTENTION, "attention"), (COSINE, "cosine")):
            one = by.loc[quantity]
            row[f"{name} [95%]"] = interval(*one["value":"high"], 3)
            row[f"{name}, null"] = number(one["null"], 3)
            row[f"{name}, paper"] = number(one["published"], 2)
        shown.append(row)
    title = "Topic structure on Wikipedia: does it depend on how it is probed?"
    step.save_table(rows, title=title, shown=pd.DataFrame(shown), notes=NOTES)
