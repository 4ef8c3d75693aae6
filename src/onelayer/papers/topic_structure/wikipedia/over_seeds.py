"""What a row of the Wikipedia tables rests on: several seeds, one, or weights from elsewhere.

Rows of seed `all` are judged; those of a seed alone, where there are several, are there to be read.
"""

import math

import pandas as pd

from onelayer.evidence.tables import number
from onelayer.evidence.verdicts import UNDECIDED
from onelayer.papers.topic_structure.wikipedia.probe.measures import ALL
from onelayer.settings.models import ModelSettings, PretrainedModel, RandomModel

SEED = "seed"
SEVERAL = "mean of {} seeds: the interval covers seeds too"
# Of what has no interval over seeds, by the end of the quantity's name.
OTHERWISE = {
    "_null": "mean of {} seeds: the interval is 95% of permutations, for these seeds",
    **dict.fromkeys(
        ("_z", "_p", "heads_above", "heads_below"), "over {} seeds, without an interval"
    ),
}
# What an interval says nothing about, by what the seed of such a model decides.
ONE_SEED = {
    "pretrain": "one seed: the interval leaves the training out",
    "random": "one seed: the interval leaves the draw of the weights out",
}
ALONE = "this seed alone, over the same articles and words as the others"
# For readers, below a table.
NOTE = (
    "Models made here are means over seeds (the column `runs`); their intervals cover seeds and "
    "articles (or words) together: Student's t over the seeds and a bootstrap with the same "
    "resamples for all, their distances added as squares. Over seeds: the smallest and the largest "
    "seed. One seed: the interval leaves out how much one training differs from the next."
)


def runs(seed: str, model: ModelSettings) -> float:
    """How many trainings or draws of weights a row rests on; NaN where they come from elsewhere."""
    if not isinstance(model, RandomModel | PretrainedModel):
        return math.nan
    return len(model.seeds) if seed == ALL else 1


def note(seed: str, model: ModelSettings, quantity: str) -> str:
    """The same in words, for readers of a row; empty where the weights come from elsewhere."""
    if not isinstance(model, RandomModel | PretrainedModel):
        return ""
    if seed != ALL:
        return ALONE
    seeds = len(model.seeds)
    if seeds == 1:
        return ONE_SEED[model.source]
    fitting = (said for end, said in OTHERWISE.items() if quantity.endswith(end))
    return next(fitting, SEVERAL).format(seeds)


def explained(rows: pd.DataFrame, model: ModelSettings) -> pd.DataFrame:
    """A model's rows with what each rests on, `runs`, and the same in words, `note`."""
    notes = [note(one.seed, model, one.quantity) for one in rows.itertuples()]
    return rows.assign(runs=[runs(seed, model) for seed in rows[SEED]], note=notes)


def undecided(model: ModelSettings) -> str:
    """The verdict that every row of a model comes with: one training decides nothing."""
    alone = isinstance(model, PretrainedModel) and len(model.seeds) == 1
    return UNDECIDED if alone else ""


def spread(rows: pd.DataFrame, digits: int) -> str:
    """The smallest and the largest seed, for readers, of one quantity's `rows` of all seeds."""
    seeds = rows.loc[rows[SEED] != ALL, "value"]
    if len(seeds):
        return f"{number(seeds.min(), digits)} to {number(seeds.max(), digits)}"
    return "one seed" if (rows["runs"] == 1).any() else "–"
