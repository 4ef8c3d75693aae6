"""W and V together: near V = cP beside Theorem 2, and from small starts."""

import pandas as pd

from onelayer.decision_lists import readable
from onelayer.evidence.figures import MARKERS, MIDDLE, PALETTE, despine, plt
from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import tidy
from onelayer.job import job

SYMBOLS = list(readable.WORDS)
KEYS = ["start", *readable.SIZES, "seed"]
CONSTANTS = ["c", "starting_loss", "largest_a", "least_a", "lambda_max"]
WINDOW = ["window_first_step", "window_last_step"]
OBSERVED = ["steps_to_perfect", "accuracy"]
SHOWN = {"start": "start", "hypotheses_hold": "hypotheses hold"}
SHOWN |= {"eta_times_curvature": "η × curvature", "window_first_step": "T from"}
SHOWN |= {"step_to_window_ratio": "step / T from", "perfect": "perfect", "seeds": "of seeds"}
SHOWN |= {"first_step": "first at step", "last_step": "last at step", "accuracy": "least accuracy"}
NOTES = [
    "Near cP: gradient descent from W = 0 and V = cP + noise of sup norm ε / 2; c is Theorem 2's, "
    "10 n² L₀ / δ + 4 ε n, with the loss L₀ of each run's own start and δ = 1, which is ours.",
    "The hypotheses ask for an A with sqrt(4 m L₀ / ε) < A < L₀ - 6 ε / n. Some ε meets this only "
    "where n L₀² > 162 m: with L₀ = log(n), as at cP, n of 19, 29, 38 or more for m of 1, 2, 3. "
    "Where the noise of some runs meets them, constants, window and steps are of these alone.",
    "They also ask for η ≤ 1 / λ_max. Elsewhere η is 1 / λ_max at the start; where the other "
    "hypotheses hold it is halved until η × the largest curvature met on the way is at most 1: of "
    "every step the mean second derivative along it, after 1, 2, 4, ... steps and at the perfect "
    "step the Hessian's largest eigenvalue.",
    "A perfect step is promised up to every T of the window. 'T from': its beginning 2 m L₀ / "
    "(A² η) with the largest A, of the seeds the least; it is 'published' of latest_step, the "
    "slowest run's.",
    "'200 sequences': drawn once; perfect then means on these and on fresh ones, no proof. "
    "N(0, σ²): every entry of W and V, which the authors leave open; learning rates are ours.",
]


def judged(near: pd.DataFrame) -> pd.DataFrame:
    """All starts at which Theorem 2 promises, trained on all sequences or on drawn ones."""
    rows = []
    for drawn, runs in near[near["holds"]].groupby(near["trained_on"] != "all"):
        quantity = "largest_step_to_window_ratio" + "_drawn_sequences" * drawn
        ratio = readable.largest_ratio(runs["step_to_window_ratio"])
        rows.append(dict.fromkeys(KEYS, "all") | {"quantity": quantity} | ratio)
    return tidy(rows, KEYS)


def theorem_2(runs: pd.DataFrame) -> list[dict]:
    """Hypotheses, constants and observed steps of the runs of one start."""
    met, promise = runs["holds"], {}
    rows = [{"quantity": "hypotheses_hold", "value": met.mean(), "n": len(met)}]
    runs = runs[met] if met.any() else runs
    rows += [{"quantity": quantity} | mean(runs[quantity]) for quantity in (*CONSTANTS, *WINDOW)]
    if met.any():
        promise["published"] = runs["window_first_step"].mean()
        curved = {"value": runs["eta_times_curvature"].max(), "n": len(runs), "published": 1.0}
        rows.append({"quantity": "eta_times_curvature"} | curved)
    perfect, latest = runs["first_perfect"].dropna(), runs["latest_step"]
    state = "" if len(perfect) else "not reached"
    rows.append({"quantity": "observed_step", "state": state} | mean(perfect) | promise)
    known = latest.notna().all() or runs["step_to_window_ratio"].max() > 1
    last = {"value": latest.max(), "state": ""} if known else {"state": "not reached"}
    return [*rows, {"quantity": "latest_step", "n": len(runs)} | last | promise]


def table(top: pd.DataFrame, near: pd.DataFrame, small: pd.DataFrame) -> pd.DataFrame:
    """All starts together; of each start what Theorem 2 says of it; then every run."""
    rows = []
    for values, runs in near.groupby(["start", *SYMBOLS], sort=False):
        key = dict(zip(KEYS, [*values, "all"], strict=True))
        rows += [key | row for row in theorem_2(runs)]
    near, small = (runs.assign(steps_to_perfect=runs["first_perfect"]) for runs in (near, small))
    at_the_end = [*OBSERVED, "order", "argmax_accuracy", "centred_cosine"]
    runs = [readable.long(near, KEYS, OBSERVED), readable.long(small, KEYS, at_the_end)]
    return tidy(pd.concat([top, pd.DataFrame(rows), *runs]), KEYS)


def summary(near: pd.DataFrame, small: pd.DataFrame) -> pd.DataFrame:
    """A row per start and size for readers; windows are of runs whose hypotheses hold."""
    promised = ["window_first_step", "step_to_window_ratio"]
    near = near.assign(**near[promised].where(near["holds"]), holds=near["holds"].astype(float))
    starts = pd.concat([near, small]).groupby(["start", *SYMBOLS], sort=False)
    return starts.agg(
        hypotheses_hold=("holds", "mean"),
        eta_times_curvature=("eta_times_curvature", "max"),
        window_first_step=("window_first_step", "min"),
        step_to_window_ratio=("step_to_window_ratio", "max"),
        perfect=("first_perfect", "count"),
        seeds=("seed", "count"),
        first_step=("first_perfect", "min"),
        last_step=("first_perfect", "max"),
        accuracy=("accuracy", "min"),
    ).reset_index()


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


with job(snakemake) as step:
    near, small, history = map(pd.read_parquet, snakemake.input)
    # A run out of steps took longer: they count as its step where they reach into the window.
    out_of_steps = near["steps"].where(near["steps"] > near["window_first_step"])
    near["latest_step"] = near["first_perfect"].fillna(out_of_steps)
    near["step_to_window_ratio"] = near["latest_step"] / near["window_first_step"]
    title = "Decision lists: W and V trained together, and Theorem 2"
    top = judged(near)
    measures = ["step_to_window_ratio"] * len(top)
    shown = readable.for_readers(top, measures, summary(near, small), SHOWN)
    step.save_table(table(top, near, small), title=title, shown=shown, notes=NOTES)
    figure, axes = plt.subplots(1, 2, figsize=(MIDDLE, 4.4))
    swept = near[near.groupby(SYMBOLS)["epsilon"].transform("nunique") > 1]
    draw_near(axes[0], swept)
    draw_small(axes[1], history)
    for axis in axes:
        axis.legend(loc="upper center", bbox_to_anchor=(0.45, -0.2), fontsize=7.5)
    perfect = [f"{runs['first_perfect'].count()} of {len(runs)}" for runs in (swept, small)]
    figure.suptitle(
        f"W and V trained together: {perfect[0]} runs near cP and\n"
        f"{perfect[1]} from small random numbers come to be perfect"
    )
    despine(*axes)
    step.save_figure(figure)
