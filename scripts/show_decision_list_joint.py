"""V alone under uniform attention; W and V together, near V = cP (Theorem 2) and small starts."""

import numpy as np
import pandas as pd

from onelayer.decision_lists import readable
from onelayer.evidence.figures import MARKERS, MIDDLE, PALETTE, despine, plt
from onelayer.evidence.intervals import mean, worst
from onelayer.evidence.tables import EMPTY, number, tidy
from onelayer.job import job

SYMBOLS = list(readable.WORDS)
VALUE_KEYS = [*readable.SIZES, "seed"]
VALUE = {"argmax_accuracy": "argmax of V is P", "steps_to_argmax": "from step"}
VALUE |= {"centred_cosine": "centred cosine with P", "task_accuracy": "task accuracy"}
VALUE |= {"task_accuracy_ceiling": "most that any V can", "loss": "loss"}
VALUE_NOTES = [
    "The paper reports, without numbers, that uniform attention 'is sufficient to push V in the "
    "direction of P'. Population gradient descent on V from V = 0.",
    "Centred cosine: of V and P, each minus its mean. 'Most that any V can': at W = 0 all queries "
    "of a sequence get the same output, at best its most frequent label.",
]


def value_table(last: pd.DataFrame) -> pd.DataFrame:
    """The worst size, over seeds; then every problem."""
    by_size, rows = last.groupby(SYMBOLS, sort=False), []
    for quantity, least, side in (("centred_cosine", -1, 1), ("task_accuracy_ceiling", 0, -1)):
        sizes = [mean(values, least, 1) for _, values in by_size[quantity]]
        name = ("least_" if side == 1 else "largest_") + quantity
        rows.append(dict.fromkeys(VALUE_KEYS, "all") | {"quantity": name} | worst(sizes, side)[1])
    problems = readable.long(last, VALUE_KEYS, list(VALUE))
    return tidy(pd.concat([pd.DataFrame(rows), problems]), VALUE_KEYS)


def draw_value(history: pd.DataFrame, last: pd.DataFrame) -> plt.Figure:
    """The cosine of V and P over steps; what V solves at the end, and the most that it could."""
    figure, (over_time, at_the_end) = plt.subplots(2, 1, figsize=(MIDDLE, 4.8))
    names = []
    groups = zip(history.groupby(SYMBOLS, sort=False), last.groupby(SYMBOLS, sort=False),
                 PALETTE, strict=False)  # fmt: skip
    for place, ((size, paths), (_, rows), colour) in enumerate(groups):
        for _, path in paths.groupby("seed"):
            over_time.plot(path["step"], path["centred_cosine"], color=colour, linewidth=0.9)
        x = place + 0.6 * (np.arange(len(rows)) + 0.5) / len(rows) - 0.3
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


JOINT_KEYS = ["start", *readable.SIZES, "seed"]
CONSTANTS = ["c", "starting_loss", "largest_a", "least_a", "lambda_max"]
WINDOW = ["window_first_step", "window_last_step"]
OBSERVED = ["steps_to_perfect", "accuracy"]
JOINT_NOTES = [
    "Near cP: gradient descent from W = 0 and V = cP + noise of sup norm ε / 2; c is Theorem 2's, "
    "10 n² L₀ / δ + 4 ε n, with the loss L₀ of each run's own start and δ = 1, which is ours.",
    "The hypotheses ask for an A with sqrt(4 m L₀ / ε) < A < L₀ - 6 ε / n. Some ε meets this only "
    "where n L₀² > 162 m: with L₀ = log(n), as at cP, n of 19, 29, 38 or more for m of 1, 2, 3. "
    "Where the noise of some runs meets them, constants, window and steps are of these alone.",
    "They also ask for η ≤ 1 / λ_max. Elsewhere η is 1 / λ_max at the start; where the other "
    "hypotheses hold it is halved until η × the largest curvature met on the way is at most 1: of "
    "every step the mean second derivative along it, after 1, 2, 4, ... steps and at the perfect "
    "step the Hessian's largest eigenvalue.",
    "A perfect step is promised up to every T of the window; its beginning 2 m L₀ / (A² η), with "
    "the largest A, is 'published' of latest_step, the slowest run's.",
    "'200 sequences': drawn once; perfect then means on these and on fresh ones, no proof. "
    "N(0, σ²): every entry of W and V, which the authors leave open; learning rates are ours.",
]


def slowest(runs: pd.DataFrame) -> tuple[pd.Series, dict]:
    """Perfect steps, and the largest in units of its window's beginning, as a row's values."""
    # A run out of steps took longer: they count as its step where they reach into the window.
    out_of_steps = runs["steps"].where(runs["steps"] > runs["window_first_step"])
    seen = runs["first_perfect"].fillna(out_of_steps)
    return seen, readable.largest_ratio(seen, runs["window_first_step"])


def theorem_2(runs: pd.DataFrame) -> list[dict]:
    """Hypotheses, constants and observed steps of the runs of one start."""
    met = runs["holds"].astype(bool)
    rows = [{"quantity": "hypotheses_hold", "value": met.mean(), "n": len(met)}]
    runs = runs[met] if met.any() else runs
    for quantity in (*CONSTANTS, *WINDOW):
        rows.append({"quantity": quantity} | mean(runs[quantity]))
    if met.any():
        curved = {"value": runs["eta_times_curvature"].max(), "n": len(runs), "published": 1.0}
        rows.append({"quantity": "eta_times_curvature"} | curved)
    promise = {"published": runs["window_first_step"].mean() if met.any() else np.nan}
    perfect, (seen, ratio) = runs["first_perfect"].dropna(), slowest(runs)
    state = "" if len(perfect) else "not reached"
    rows.append({"quantity": "observed_step", "state": state} | mean(perfect) | promise)
    latest = {"value": np.nan if ratio["state"] else seen.max(), "n": len(runs)} | promise
    return [*rows, {"quantity": "latest_step", "state": ratio["state"]} | latest]


def joint_table(near: pd.DataFrame, small: pd.DataFrame) -> pd.DataFrame:
    """All starts together; of each start what Theorem 2 says of it; then every run."""
    rows = []
    for drawn, runs in near[near["holds"]].groupby(near["trained_on"] != "all"):
        quantity = "largest_step_to_window_ratio" + "_drawn_sequences" * drawn
        rows.append(dict.fromkeys(JOINT_KEYS, "all") | {"quantity": quantity} | slowest(runs)[1])
    for values, runs in near.groupby(["start", *SYMBOLS], sort=False):
        key = dict(zip(JOINT_KEYS, [*values, "all"], strict=True))
        rows += [key | row for row in theorem_2(runs)]
    near, small = (runs.assign(steps_to_perfect=runs["first_perfect"]) for runs in (near, small))
    at_the_end = [*OBSERVED, "order", "argmax_accuracy", "centred_cosine"]
    runs = [readable.long(near, JOINT_KEYS, OBSERVED), readable.long(small, JOINT_KEYS, at_the_end)]
    return tidy(pd.concat([pd.DataFrame(rows), *runs]), JOINT_KEYS)


def spread(values: pd.Series, digits: int) -> str:
    """`0.88 (0.82 to 0.94)`: mean, smallest and largest; one where all are alike."""
    middle, low, high = (number(v, digits) for v in (values.mean(), values.min(), values.max()))
    return middle if low == high else f"{middle} ({low} to {high})"


def joint_shown(near: pd.DataFrame, small: pd.DataFrame) -> pd.DataFrame:
    """A row per start and size for readers."""
    rows = []
    starts = pd.concat([near, small]).groupby(["start", *SYMBOLS], sort=False)
    for (start, L, n, m, shortest), runs in starts:
        met, steps, of_all = runs[runs["holds"] == 1], runs["first_perfect"], f"{len(runs)} seeds"
        window = [number(met[name].mean(), 0) for name in WINDOW]
        rows.append({
            "start": start, "L": L, "n": n, "m": readable.lists(m, shortest),
            "hypotheses hold": f"{len(met)} of {of_all}" if runs["holds"].notna().all() else EMPTY,
            "η × curvature": number(met["eta_times_curvature"].max()),
            "window of T (steps)": " to ".join(window) if len(met) else EMPTY,
            "perfect": f"{steps.notna().sum()} of {of_all}",
            "at step": spread(steps, 0),
            "accuracy at the end": spread(runs["accuracy"], 4),
        })  # fmt: skip
    return pd.DataFrame(rows)


def draw_near(axis: plt.Axes, swept: pd.DataFrame) -> None:
    """Steps to perfect against epsilon, a colour per size."""
    limit = swept["steps"].max()
    groups = zip(swept.groupby(SYMBOLS, sort=False), PALETTE, MARKERS, strict=False)
    for ((L, _, m, shortest), rows), colour, marker in groups:
        steps = rows["first_perfect"].fillna(1.6 * limit)  # in the grey: not perfect in time
        middle = steps.groupby(rows["epsilon"]).median()
        axis.plot(middle.index, middle, color=colour)
        label = f"L = {L}, m = {readable.lists(m, shortest)}"
        axis.plot(rows["epsilon"], steps, color=colour, marker=marker, linestyle="", label=label)
    axis.axhspan(1.25 * limit, 2.1 * limit, color="0.9", linewidth=0, zorder=0)
    axis.text(swept["epsilon"].min(), 1.6 * limit, f"not within {limit}", va="center", fontsize=8)
    axis.set(xscale="log", yscale="log", ylim=(1.5, 2.1 * limit), title="near V = cP")
    axis.set(xlabel="ε, noise on V = cP", ylabel="steps to perfect (line: median)")
    axis.xaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_major_formatter("{x:g}")


def draw_small(axis: plt.Axes, history: pd.DataFrame) -> None:
    """Accuracy over steps from small random numbers, a colour per size and optimiser."""
    starts = history.groupby([*SYMBOLS, "optimiser", "eta"], sort=False)
    for ((L, _, m, shortest, name, eta), runs), colour in zip(starts, PALETTE, strict=False):
        label = f"{name}, η = {eta:g}, L = {L}, m = {readable.lists(m, shortest)}"
        axis.plot([], [], color=colour, marker="o", label=label)
        for _, path in runs.groupby("seed"):
            axis.plot(path["step"], path["accuracy"], color=colour, linewidth=0.9)
            axis.plot(path["step"].iloc[-1], path["accuracy"].iloc[-1], "o", color=colour)
    axis.set_xscale("symlog", linthresh=1)
    axis.set(ylim=(0, 1.05), xlabel="steps", ylabel="share of queries right", title="small start")


def draw_joint(near: pd.DataFrame, small: pd.DataFrame, history: pd.DataFrame) -> plt.Figure:
    """Near cP on the left, small starts on the right."""
    figure, axes = plt.subplots(1, 2, figsize=(MIDDLE, 4.4))
    swept = near[near.groupby(SYMBOLS)["epsilon"].transform("nunique") > 1]
    draw_near(axes[0], swept)
    draw_small(axes[1], history)
    for axis in axes:
        axis.legend(loc="upper center", bbox_to_anchor=(0.45, -0.2), fontsize=7.5)
    perfect = [f"{runs['first_perfect'].count()} of" for runs in (swept, small)]
    figure.suptitle(
        f"W and V trained together: {perfect[0]} {len(swept)} runs near cP and {perfect[1]}\n"
        f"{len(small)} from small random numbers come to be perfect"
    )
    despine(*axes)
    return figure


with job(snakemake) as step:
    history = pd.read_parquet(snakemake.input.history)
    runs = history.groupby([*SYMBOLS, "seed"], sort=False)
    last = runs.tail(1).rename(columns={"accuracy": "task_accuracy"})
    found = history["step"].where(history["argmax_accuracy"] == 1)
    last["steps_to_argmax"] = found.groupby(runs.ngroup()).min().to_numpy()
    title = "Decision lists: V trained alone under uniform attention (W = 0)"
    shown = readable.for_readers(last, {"seed": "seed"} | VALUE)
    step.save_table(value_table(last), "value", title=title, shown=shown, notes=VALUE_NOTES)
    step.save_figure(draw_value(history, last), "value_figure")
    near, small = map(pd.read_parquet, (snakemake.input.near, snakemake.input.small))
    title = "Decision lists: W and V trained together, and Theorem 2"
    shown, rows = joint_shown(near, small), joint_table(near, small)
    step.save_table(rows, "joint", title=title, shown=shown, notes=JOINT_NOTES)
    history = pd.read_parquet(snakemake.input.small_history)
    step.save_figure(draw_joint(near, small, history), "joint_figure")
