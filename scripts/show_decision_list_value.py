"""V alone under uniform attention: how near it comes to P, and what it solves."""

import numpy as np
import pandas as pd

from onelayer.decision_lists import readable
from onelayer.evidence.figures import MIDDLE, PALETTE, despine, plt
from onelayer.evidence.intervals import mean, worst
from onelayer.evidence.tables import tidy
from onelayer.job import job

SYMBOLS = list(readable.WORDS)
KEYS = [*readable.SIZES, "seed"]
VALUE = {"argmax_accuracy": "argmax of V is P", "steps_to_argmax": "from step"}
VALUE |= {"centred_cosine": "centred cosine with P", "task_accuracy": "task accuracy"}
VALUE |= {"task_accuracy_ceiling": "most that any V can", "loss": "loss"}
NOTES = [
    "The paper reports, without numbers, that uniform attention 'is sufficient to push V in the "
    "direction of P'. Population gradient descent on V from V = 0.",
    "Centred cosine: of V and P, each minus its mean. 'Most that any V can': at W = 0 all queries "
    "of a sequence get the same output, at best its most frequent label.",
    "The first two rows: the mean over seeds at the size where it is least or largest.",
]


def judged(last: pd.DataFrame) -> pd.DataFrame:
    """The worst size, over seeds, of the cosine and of the most that any V can."""
    by_size, rows = last.groupby(SYMBOLS, sort=False), []
    for name, quantity, least, side in (
        ("least_centred_cosine", "centred_cosine", -1, 1),
        ("largest_task_accuracy_ceiling", "task_accuracy_ceiling", 0, -1),
    ):
        sizes = [mean(values, least, 1) for _, values in by_size[quantity]]
        rows.append(dict.fromkeys(KEYS, "all") | {"quantity": name} | worst(sizes, side)[1])
    return tidy(rows, KEYS)


def draw(history: pd.DataFrame, last: pd.DataFrame) -> plt.Figure:
    """The cosine of V and P over steps; what V solves at the end, and the most that it could."""
    figure, (over_time, at_the_end) = plt.subplots(2, 1, figsize=(MIDDLE, 4.8))
    names = []
    for colour, (size, rows) in zip(PALETTE, last.groupby(SYMBOLS, sort=False), strict=False):
        of_size = history[(history[SYMBOLS] == size).all(axis=1)]
        for _, path in of_size.groupby("seed"):
            over_time.plot(path["step"], path["centred_cosine"], color=colour, linewidth=0.9)
        x = len(names) + 0.6 * (np.arange(len(rows)) + 0.5) / len(rows) - 0.3
        at_the_end.scatter(x, rows["task_accuracy"], color=colour, s=16)
        at_the_end.scatter(x, rows["task_accuracy_ceiling"], color="black", marker="_", s=40)
        names.append("L {}, n {}\nm {}".format(*size[:2], readable.lists(*size[2:])))
    over_time.set_xscale("symlog", linthresh=1)
    over_time.set(ylim=(0, 1.05), xlabel="steps on V", ylabel="centred cosine of V and P")
    at_the_end.axhline(1, color="0.6", linewidth=0.8)
    at_the_end.set_xticks(range(len(names)), names)
    at_the_end.set(ylim=(0, 1.05), ylabel="share of queries right")
    key = "● V at the end, by seed   ━ the most that any V can"
    at_the_end.text(0.02, 0.75, key, fontsize=8, transform=at_the_end.transAxes)
    found, solved = ((last[of] == 1).sum() for of in ("argmax_accuracy", "task_accuracy"))
    figure.suptitle(
        f"V under uniform attention: its argmax is P in {found} of {len(last)} runs,\n"
        f"all queries are right in {solved}"
    )
    despine(over_time, at_the_end)
    return figure


with job(snakemake) as step:
    history = pd.read_parquet(snakemake.input[0])
    runs = history.groupby([*SYMBOLS, "seed"], sort=False)
    last = runs.tail(1).rename(columns={"accuracy": "task_accuracy"})
    found = history["step"].where(history["argmax_accuracy"] == 1)
    last["steps_to_argmax"] = found.groupby(runs.ngroup()).min().to_numpy()
    title = "Decision lists: V trained alone under uniform attention (W = 0)"
    top, measures = judged(last), ["centred_cosine", "task_accuracy_ceiling"]
    shown = readable.for_readers(top, measures, last, {"seed": "seed"} | VALUE)
    rows = tidy(pd.concat([top, readable.long(last, KEYS, list(VALUE))]), KEYS)
    step.save_table(rows, title=title, shown=shown, notes=NOTES)
    step.save_figure(draw(history, last))
