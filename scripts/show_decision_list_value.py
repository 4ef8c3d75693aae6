"""V alone under uniform attention: how near it comes to the permutation, and to the task."""

import numpy as np
import pandas as pd

from onelayer.decision_lists import readable
from onelayer.evidence.figures import DIVERGING, MIDDLE, PALETTE, despine, plt
from onelayer.evidence.intervals import mean, worst
from onelayer.evidence.tables import tidy
from onelayer.job import job

PROBLEM = list(readable.WORDS)
KEYS = [*readable.SIZES, "seed"]
QUANTITIES = ["argmax_accuracy", "steps_to_argmax", "centred_cosine", "task_accuracy"]
QUANTITIES += ["task_accuracy_ceiling", "loss"]
SHOWN = {"seed": "seed", "argmax of V is P": "argmax_accuracy", "from step": "steps_to_argmax"}
SHOWN |= {"centred cosine with P": "centred_cosine", "task accuracy": "task_accuracy"}
SHOWN |= {"most that any V can": "task_accuracy_ceiling", "loss": "loss"}
NOTES = [
    "The paper reports, without numbers, that uniform attention 'is sufficient to push V in the "
    "direction of P'. Population gradient descent on V from V = 0.",
    "Centred cosine: of V and P, each minus its mean. 'Most that any V can': at W = 0 all queries "
    "of a sequence get the same output, so no V classifies more than the most frequent label of "
    "each sequence.",
]


def table(last: pd.DataFrame) -> pd.DataFrame:
    """The worst size, over seeds; then every problem."""
    by_size, rows = last.groupby(PROBLEM, sort=False), []
    for quantity, least, side in (("centred_cosine", -1, 1), ("task_accuracy_ceiling", 0, -1)):
        sizes = [mean(values, least, 1) for _, values in by_size[quantity]]
        name = ("least_" if side == 1 else "largest_") + quantity
        rows.append(dict.fromkeys(KEYS, "all") | {"quantity": name} | worst(sizes, side)[1])
    problems = readable.long(last, KEYS, QUANTITIES)
    return tidy(pd.concat([pd.DataFrame(rows), problems]), KEYS)


def draw(history: pd.DataFrame, last: pd.DataFrame, values: pd.DataFrame) -> plt.Figure:
    """The cosine of V and P over steps; V at the end; what it solves, and the most it could."""
    figure, axes = plt.subplot_mosaic("AB;CC", figsize=(MIDDLE, 4.8))
    names = []
    groups = zip(history.groupby(PROBLEM, sort=False), last.groupby(PROBLEM, sort=False),
                 PALETTE, strict=False)  # fmt: skip
    for place, ((size, paths), (_, rows), colour) in enumerate(groups):
        for _, path in paths.groupby("seed"):
            axes["A"].plot(path["step"], path["centred_cosine"], color=colour, linewidth=0.9)
        x = place + 0.6 * (np.arange(len(rows)) + 0.5) / len(rows) - 0.3
        axes["C"].scatter(x, rows["task_accuracy"], color=colour, s=16)
        axes["C"].scatter(x, rows["task_accuracy_ceiling"], color="black", marker="_", s=40)
        names.append("L {}, n {}\nm {}".format(*size[:2], readable.lists(*size[2:])))
    axes["A"].set_xscale("symlog", linthresh=1)
    axes["A"].set(ylim=(0, 1.05), xlabel="steps on V", ylabel="centred cosine of V and P")
    axes["C"].axhline(1, color="0.6", linewidth=0.8)
    axes["C"].set_xticks(range(len(names)), names)
    axes["C"].set(ylim=(0, 1.05), ylabel="share of queries right")
    axes["C"].text(-0.3, 0.75, "● V at the end, by seed   ━ the most that any V can", fontsize=8)
    L = values["L"].iloc[0]
    grid = values["value"].to_numpy()[: L**2].reshape(L, L)  # of the first run
    bound = np.abs(grid).max()
    image = axes["B"].imshow(grid, cmap=DIVERGING, vmin=-bound, vmax=bound)
    axes["B"].set(xticks=[], yticks=[], xlabel="token b", ylabel="label π(b')")
    axes["B"].set_title("V at the end (P: the diagonal alone)", fontsize=9)
    figure.colorbar(image, ax=axes["B"], shrink=0.8)
    found, solved = ((last[of] == 1).sum() for of in ("argmax_accuracy", "task_accuracy"))
    figure.suptitle(
        f"V under uniform attention: its argmax is P in {found} of {len(last)} runs,\n"
        f"all queries are right in {solved}"
    )
    despine(axes["A"], axes["C"])
    return figure


with job(snakemake) as step:
    history = pd.read_parquet(snakemake.input.history)
    runs = history.groupby([*PROBLEM, "seed"], sort=False)
    last = runs.tail(1).rename(columns={"accuracy": "task_accuracy"})
    found = history["step"].where(history["argmax_accuracy"] == 1)
    last["steps_to_argmax"] = found.groupby(runs.ngroup()).min().to_numpy()
    title = "Decision lists: V trained alone under uniform attention (W = 0)"
    shown = readable.for_readers(last, SHOWN)
    step.save_table(table(last), title=title, shown=shown, notes=NOTES)
    step.save_figure(draw(history, last, pd.read_parquet(snakemake.input.values)))
