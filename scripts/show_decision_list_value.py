"""V alone under uniform attention: how near it comes to the permutation, and to the task."""

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


def last_of(history: pd.DataFrame, ceilings: pd.DataFrame) -> pd.DataFrame:
    """Every problem at its last step, beside the most that any V can."""
    keys = [*PROBLEM, "seed"]
    last = history.groupby(keys, sort=False).tail(1).rename(columns={"accuracy": "task_accuracy"})
    found = history[history["argmax_accuracy"] == 1].groupby(keys)["step"].min()
    last = last.merge(found.rename("steps_to_argmax"), "left", left_on=keys, right_index=True)
    return last.merge(ceilings, on=keys).reset_index(drop=True)


def table(last: pd.DataFrame) -> pd.DataFrame:
    """The worst size, over seeds; then every problem."""
    by_size = last.groupby(PROBLEM, sort=False)
    cosines = [mean(values, -1, 1) for _, values in by_size["centred_cosine"]]
    ceilings = [mean(values, 0, 1) for _, values in by_size["task_accuracy_ceiling"]]
    all_sizes = dict.fromkeys(KEYS, "all")
    rows = [
        all_sizes | {"quantity": "least_centred_cosine"} | worst(cosines, 1)[1],
        all_sizes | {"quantity": "largest_task_accuracy_ceiling"} | worst(ceilings, -1)[1],
    ]
    problems = readable.long(last, KEYS, QUANTITIES)
    return tidy(pd.concat([pd.DataFrame(rows), problems]), KEYS)


def draw(history: pd.DataFrame, last: pd.DataFrame, values: pd.DataFrame) -> plt.Figure:
    """The cosine of V and P over steps; V at the end; what it solves, and the most it could."""
    figure, axes = plt.subplot_mosaic("AB;CC", figsize=(MIDDLE, 4.8))
    sizes = list(last.groupby(PROBLEM, sort=False))
    for colour, (size, rows) in zip(PALETTE, sizes, strict=False):
        for seed in rows["seed"]:
            path = history[(history[[*PROBLEM, "seed"]] == [*size, seed]).all(axis=1)]
            axes["A"].plot(path["step"], path["centred_cosine"], color=colour, linewidth=0.9)
    readable.steps_axis(axes["A"], history["step"].max())
    axes["A"].set(ylim=(0, 1.05), xlabel="steps on V", ylabel="centred cosine of V and P")
    first = values[[*PROBLEM, "seed"]].iloc[0]
    grid = values[(values[first.index] == first).all(axis=1)]
    grid = grid.pivot(index="row", columns="column", values="value")
    bound = grid.abs().to_numpy().max()
    image = axes["B"].imshow(grid, cmap=DIVERGING, vmin=-bound, vmax=bound)
    axes["B"].set(xticks=[], yticks=[], xlabel="token b", ylabel="label π(b')")
    axes["B"].set_title("V at the end (P: the diagonal alone)", fontsize=9)
    figure.colorbar(image, ax=axes["B"], shrink=0.8)
    for place, (_, rows) in enumerate(sizes):
        x = [place + 0.6 * (k + 0.5) / len(rows) - 0.3 for k in range(len(rows))]
        axes["C"].scatter(x, rows["task_accuracy"], color=PALETTE[place], s=16)
        axes["C"].scatter(x, rows["task_accuracy_ceiling"], color="black", marker="_", s=40)
    axes["C"].axhline(1, color="0.6", linewidth=0.8)
    names = ["L {}, n {}\nm {}".format(*size[:2], readable.lists(*size[2:])) for size, _ in sizes]
    axes["C"].set_xticks(range(len(sizes)), names)
    axes["C"].set(ylim=(0, 1.05), ylabel="share of queries right")
    axes["C"].text(-0.3, 0.75, "● V at the end, by seed   ━ the most that any V can", fontsize=8)
    found, solved = ((last[of] == 1).sum() for of in ("argmax_accuracy", "task_accuracy"))
    figure.suptitle(
        f"V under uniform attention: its argmax is P in {found} of {len(last)} runs,\n"
        f"all queries are right in {solved}"
    )
    despine(axes["A"], axes["C"])
    return figure


with job(snakemake) as step:
    history = pd.read_parquet(snakemake.input.history)
    last = last_of(history, pd.read_parquet(snakemake.input.ceilings))
    step.save_table(
        table(last),
        title="Decision lists: V trained alone under uniform attention (W = 0)",
        shown=readable.for_readers(last, SHOWN),
        notes=NOTES,
    )
    step.save_figure(draw(history, last, pd.read_parquet(snakemake.input.values)))
