"""Table: do the ratios depend on how they are measured? One choice changed in each row."""

import pandas as pd

from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.topic_structure.wikipedia.measure import ALL, ATTENTION, EQUAL
from onelayer.topic_structure.wikipedia.similarity import COSINE

FACTORS = ["backend", "weights", "schedule", "topics", "seed", "words", "overlap", "pooling"]
FACTORS += ["length"]
KEYS = ["model", "way", *FACTORS]
SHOWN = {ATTENTION: "attention", EQUAL: "at equal distance", COSINE: "cosine"}
NOTES = [
    "ours: as in the second rows of the tables of all models, on fewer articles, so that numbers "
    "differ: the tables decide. Each other way changes one choice; the authors' way, which "
    "changes several, is in the tables.",
    "null: the same with topics permuted among equally frequent words. Intervals are over articles "
    "(attention) and words (embeddings), for this topic model alone.",
    "not reached: too few pairs of words of some class.",
]

with job(snakemake) as step:
    parts = []
    for name, path in zip(snakemake.params.models, snakemake.input.measures, strict=True):
        measures = pd.read_parquet(path)
        measures = measures[measures["seed"] == ALL].set_index(["way", "quantity"])
        for way in snakemake.params.ways:
            of = {"model": name, "way": way["name"], **{factor: way[factor] for factor in FACTORS}}
            for quantity in SHOWN:
                row = of | {"quantity": quantity, "state": "not reached"}
                if (way["name"], quantity) in measures.index:
                    columns = ["value", "low", "high", "n", "null"]
                    row |= measures.loc[(way["name"], quantity), columns].to_dict() | {"state": ""}
                parts.append(row)
    rows, shown = tidy(parts, KEYS), []
    for (model, way), part in rows.groupby(["model", "way"], sort=False):
        row, by = {"model": model, "way": way}, part.set_index("quantity")
        for quantity, name in SHOWN.items():
            row[f"{name} [95%]"] = interval(*by.loc[quantity, "value":"high"], 3)
            row[f"{name}, null"] = number(by.loc[quantity, "null"], 3)
        shown.append(row)
    title = "Topic structure on Wikipedia: does it depend on how it is probed?"
    step.save_table(rows, title=title, shown=pd.DataFrame(shown), notes=NOTES)
