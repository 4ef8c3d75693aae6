"""The claims of Li, Li & Risteski (2023) on synthetic documents that no other table measures."""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from onelayer.claims import Claim, of_seeds
from onelayer.papers.topic_structure.synthetic.closed_form import gap
from onelayer.papers.topic_structure.synthetic.data import Vocabulary
from onelayer.papers.topic_structure.synthetic.gap_grid import BASE
from onelayer.papers.topic_structure.synthetic.stages import half_times, stage_times
from onelayer.verdicts import FLOAT32, Direction, Number

PAPERS_STEP = 400  # 'In Stage 1 (steps 0-400)'
PAPERS_STEP_TOLERANCE = 50  # half a unit of its last digit that is not 0
FINITE = 0.007  # what is granted to documents of 1,000 words beside the theorem's infinite ones
REACHED = 0.01  # distances below this share count as 'the same matrix'
NEAR_ZERO = 0.1  # a gradient below this share of W_V's counts as near 0
EMBEDDINGS, STAGE_1, STAGE_2 = (
    "Result: embeddings encode topic structure",
    "Stage 1 result",
    "Stage 2 result",
)
FUTURE = "Interesting future directions"
OPTIMIZERS = {"adam": "Adam", "sgd": "SGD"}


def gap_claims(grid: pd.DataFrame) -> list[Claim]:
    """The gap over v, T, p_m, p_c, tau and d, beside the theorems' and the exact one.

    Args:
        grid: rows of `gap_grid.gap_grid`.
    """
    claims = []
    keys = ["varied", "parameter", "v", "T", "p_m", "p_c", "tau", "d"]
    for known, own in grid[grid["selection"] == "proportion"].groupby(keys, sort=False):
        varied, parameter, v, T, p_m, p_c, tau, d = known
        theory, expected = own["theory"].iloc[0], own["expected"].iloc[0]
        setting = f"v = {v}, T = {T}, p_m = {p_m:g}, p_c = {p_c:g}, tau = {tau}"
        found, seeds = of_seeds(own["gap"]), own.set_index("seed")["gap"]
        if varied == "d":
            claims.append(
                Claim("embeddings of d < D dimensions have the theorem's gap for d >= T, and "
                      "(d - 1) / (T - 1) of it below", "Model architecture: usually d < D",
                      f"{setting}, d = {d}", "gap", found,
                      f"{found['value'] / theory:.4f} of the theorem's; the theorem says nothing "
                      "of d < D", compared=Number(0.0, kind="theory"), published=expected,
                      tolerance=FINITE * expected, seeds=seeds)
            )  # fmt: skip
            continue
        place = EMBEDDINGS if parameter == "E" else STAGE_1
        claim = f"the average difference of {parameter} is 1 / (v (1 - (1 - p_c) p_m))"
        note = f"{found['value'] / theory:.4f} of the theorem's"
        claims.append(
            Claim(claim, place, setting, "gap_of_setting", found, note,
                  compared=Number(0.0, kind="theory"), published=theory,
                  tolerance=FINITE * theory, seeds=seeds)
        )  # fmt: skip
        if parameter == "W_V":
            note = "theory for documents of 1,000 to 1,200 words in place of infinitely long ones"
            exact = Number(0.0, kind="theory", relative=FLOAT32)
            claims.append(
                Claim(f"{claim}: exact at this length", place, setting, "gap_at_length", found,
                      note, compared=exact, published=expected)
            )  # fmt: skip
    return claims + _selection_claims(grid)


def _selection_claims(grid: pd.DataFrame) -> list[Claim]:
    """What selecting each word independently changes beside exactly the proportion p_m."""
    claims = []
    compared = grid[grid["varied"].isin([BASE, "selection"])]
    for parameter, own in compared.groupby("parameter", sort=False):
        by = own.pivot_table(["gap", "expected"], "seed", "selection")
        change = by["gap"]["independent"] - by["gap"]["proportion"]
        exact = by["expected"]["independent"] - by["expected"]["proportion"]
        claims.append(
            Claim("a constant proportion p_m of the positions is masked; each with probability p_m "
                  "instead changes the gap by", "Training loss", "base setting",
                  f"{parameter}_gap_independent_minus_proportion", of_seeds(change),
                  "documents of 1,000 to 1,200 words",
                  compared=Number(None, kind="theory", relative=FLOAT32),
                  published=float(exact.iloc[0]))
        )  # fmt: skip
    return claims


def ratio_claims(ratios: pd.DataFrame) -> list[Claim]:
    """The optimal attention in (lambda_1 tau, lambda_2 T), alpha and beta.

    Args:
        ratios: rows of `stage_two.ratio_over_T`.
    """
    claims, defined = [], ratios[ratios["selection"] == "proportion"]
    for (T, tau), own in defined.groupby(["T", "tau"], sort=False):
        setting, seeds = f"T = {T}, tau = {tau}", own.set_index("seed")
        bound = int(own["at_bound"].sum())
        told = f"; at the optimiser's lower bound exp(-6) for {bound} of {len(own)} seeds" * (
            bound > 0
        )
        single = "; one topic a document: all words are alike" * (tau == 1)
        for quantity, claim, note in (
            (
                "ratio",
                "words attend more to words of their topic",
                f"(v-1)/v alpha + beta/v{single}",
            ),
            ("alpha", "alpha > 1 in the optimal attention", f"c2 / c3{single}"),
            ("beta", "beta > 1 in the optimal attention", f"c1 / c3{told}"),
        ):
            claims.append(
                Claim(claim, STAGE_2, setting, quantity, of_seeds(own[quantity], least=0.0), note,
                      side=Direction(1.0, 1), seeds=seeds[quantity])
            )  # fmt: skip
    claims += _band_claims(defined)
    both = ratios[ratios["T"] == ratios["T"].iloc[0]]
    for tau, own in both.groupby("tau", sort=False):
        by = own.pivot(index="seed", columns="selection", values="ratio")
        claims.append(
            Claim("a constant proportion p_m of the positions is masked; each with probability p_m "
                  "instead changes the optimal ratio by", "Training loss",
                  f"T = {own['T'].iloc[0]}, tau = {tau}", "ratio_independent_minus_proportion",
                  of_seeds(by["independent"] - by["proportion"]), "other draws of documents")
        )  # fmt: skip
    return claims


def _band_claims(ratios: pd.DataFrame) -> list[Claim]:
    """lambda_1 and lambda_2 of every point and of those with tau > 1; growth with tau and T."""
    claims = []
    band = "(v-1)/v alpha + beta/v lies in (lambda_1 tau, lambda_2 T)"
    for name, points in (("all", ratios), ("tau > 1", ratios[ratios["tau"] > 1])):
        setting = f"{name}: T = {_listed(points['T'])}; tau = {_listed(points['tau'])}"
        for quantity, values, pick in (
            ("lambda_1", points["ratio"] / points["tau"], "min"),
            ("lambda_2", points["ratio"] / points["T"], "max"),
        ):
            means = values.groupby([points["T"], points["tau"]]).mean()
            T, tau = getattr(means, f"idx{pick}")()
            own = values[(points["T"] == T) & (points["tau"] == tau)]
            claims.append(
                Claim(band, STAGE_2, setting, quantity, of_seeds(own),
                      f"the tightest that holds all points; set by T = {T}, tau = {tau}")
            )  # fmt: skip
    for T, own in ratios[ratios["tau"] > 1].groupby("T", sort=False):
        claims.append(
            Claim("more topics per document: more attention to the same topic", STAGE_2, f"T = {T}",
                  "exponent_of_tau", of_seeds(_slopes(own, "tau")),
                  "slope of log ratio against log tau, tau > 1", side=Direction(0.0, 1))
        )  # fmt: skip
    for tau, own in ratios[ratios["tau"] > 1].groupby("tau", sort=False):
        claims.append(
            Claim(f"{band}: no faster than T", STAGE_2, f"tau = {tau}", "exponent_of_T",
                  of_seeds(_slopes(own, "T")), "slope of log ratio against log T",
                  side=Direction(1.0, -1))
        )  # fmt: skip
    return claims


def _listed(values: pd.Series) -> str:
    return ", ".join(f"{value}" for value in np.unique(values))


def _slopes(own: pd.DataFrame, along: str) -> np.ndarray:
    """Slope of log ratio against the logarithm of a column, [seeds]."""
    grid = np.log(own.pivot(index=along, columns="seed", values="ratio"))
    x = np.log(grid.index.to_numpy(dtype=float))
    if len(x) < 2:
        return np.full(grid.shape[1], np.nan)
    return np.polyfit(x, grid.to_numpy(), 1)[0]


def descent_claims(descent: pd.DataFrame) -> list[Claim]:
    """Stage 1 converges from every start; its optimum is unique with weight decay alone.

    Args:
        descent: rows of `descent.stage_one_descent`.
    """
    claims = []
    where = {"drawn": "documents of 1,000 to 1,200 words", "limit": "infinitely long documents"}
    last = descent["step"].max()
    keys = ["parameter", "documents", "weight_decay"]
    for (parameter, documents, decay), own in descent.groupby(keys, sort=False):
        end = own[own["step"] == last].set_index("start")
        place = EMBEDDINGS if parameter == "E" else STAGE_1
        setting = f"{parameter}, weight decay {decay:g}, {where[documents]}"
        unique = (
            "weight decay makes the optima unique"
            if decay
            else ("without weight decay not strongly convex: optima differ")
        )
        claims.append(
            Claim(unique, place, setting, "distance_between_starts", of_seeds(end["between"]),
                  f"between ends after {last} steps, as a share of that between starts",
                  side=Direction(REACHED, -1 if decay else 1), seeds=end["between"])
        )  # fmt: skip
        if not decay:
            continue
        convex = "stage 1 is convex: descent converges from every start"
        claims.append(
            Claim(convex, place, setting, "distance_to_optimum", of_seeds(end["to_optimum"]),
                  f"to the closed form after {last} steps, as a share of its norm",
                  side=Direction(REACHED, -1), seeds=end["to_optimum"])
        )  # fmt: skip
        middle = own[own["step"] == own["step"].unique()[-2]].set_index("start")
        steps = last - own["step"].unique()[-2]
        rate = 1 - (end["to_optimum"] / middle["to_optimum"]) ** (1 / steps)
        theory = 1 - own["contraction"].iloc[0]
        known = {} if math.isnan(theory) else {
            "compared": Number(0.0, kind="theory"), "published": theory, "tolerance": 0.02 * theory
        }  # fmt: skip
        told = "; theory: that of the slowest direction" if known else ""
        claims.append(
            Claim(convex, place, setting, "rate", of_seeds(rate),
                  f"share of the distance to the optimum that one step takes off, from step "
                  f"{last - steps} to {last}{told}", **known)
        )  # fmt: skip
    return claims


def gradient_claims(gradients: pd.DataFrame) -> list[Claim]:
    """The gradient of W_K is near 0 in stage 1 because W_Q is.

    Args:
        gradients: rows of `stage_gradients.stage_gradients`.
    """
    claims, place = [], "Intuition: two-stage optimization process"
    for name, own in gradients[gradients["diverged_at"] < 0].groupby("name", sort=False):
        steps = np.sort(own["step"].unique())
        looks = [
            steps[np.abs(steps - share * steps[-1]).argmin()] for share in (0, 0.1, 0.2, 0.4, 1)
        ]
        for step in dict.fromkeys(looks):
            at = own[own["step"] == step].set_index("seed")
            ratio = at["gradient_W_K"] / at["gradient_W_V"]
            norms = ", ".join(
                f"{column.replace('gradient_', 'gradient of ')} {at[column].mean():.2g}"
                for column in ("gradient_W_K", "gradient_W_V", "W_K", "W_Q")
            )
            claims.append(
                Claim("the gradient of W_K is near 0 in stage 1", place, f"{name}, step {step}",
                      "gradient_ratio_W_K_to_W_V", of_seeds(ratio), f"norms: {norms}",
                      side=Direction(NEAR_ZERO, -1) if step <= PAPERS_STEP else None, seeds=ratio)
            )  # fmt: skip
            if step in (0, looks[3]):
                setting = f"{name}, step {step}"
                scaled = at["with_smaller_W_Q"] / at["gradient_W_K"]
                claims.append(
                    Claim("the gradient of W_K contains the term W_Q", place, setting,
                          "gradient_W_K_with_a_tenth_of_W_Q", of_seeds(scaled),
                          "as a share of the gradient with W_Q as it is",
                          compared=Number(1.0, kind="theory"), published=0.1, tolerance=0.001)
                )  # fmt: skip
    return claims


def component_claims(
    components: pd.DataFrame, pictured: Mapping[str, np.ndarray], T: int, v: int
) -> list[Claim]:
    """E and attention with all components trained, and which of them comes first.

    Args:
        components: rows of `components.all_components`.
        pictured: E by `E/loss/optimizer`, the matrices of the heat maps; others are left out.
        T, v: topics and words in each.
    """
    claims, vocabulary = [], Vocabulary(T, v)
    block = "all components trained: E is larger for words of one topic"
    for name, matrix in pictured.items():
        parameter, loss, optimizer = name.split("/")
        if parameter == "E":
            value = of_seeds(np.array([gap(vocabulary, matrix, diagonal=False)]))
            claims.append(
                Claim(block, "Figure 1", f"{loss.replace('_', '-')}, {OPTIMIZERS[optimizer]}, the "
                      "matrix of figure_topic_blocks", "gap_without_diagonal", value, "one run",
                      side=Direction(0.0, 1))
            )  # fmt: skip
    last = components["step"].max()
    times = half_times(components).set_index(["loss", "optimizer", "d"])
    keys = ["loss", "optimizer", "d"]
    for known, own in components.groupby(keys, sort=False):
        loss, optimizer, d = known
        end = own[(own["step"] == last) & (own["diverged_at"] < 0)].set_index("seed")
        missing = "" if len(end) else "no run went through"
        setting = f"{loss.replace('_', '-')}, {OPTIMIZERS[optimizer]}, d = {d}, {last} steps"
        claims += [
            Claim(block, "Figure 1", setting, "gap_without_diagonal", of_seeds(end["gap"]),
                  "between different words",
                  side=Direction(0.0, 1), missing=missing, seeds=end["gap"]),
            Claim("all components trained: words of one topic attend more to each other", FUTURE,
                  setting, "attention_ratio", of_seeds(end["attention"]),
                  "another word of the topic over other topics", side=Direction(1.0, 1),
                  missing=missing, seeds=end["attention"]),
        ]  # fmt: skip
        own_times = times.loc[[known]] if known in times.index else times.iloc[:0]
        later = (own_times["t_A"] - own_times["t_E"]).to_numpy()
        told = f"{np.isfinite(later).sum()} of {len(later)} runs come to have both"
        claims.append(
            Claim("which comes first, jointly trained? embeddings before attention", FUTURE,
                  setting, "t_A_minus_t_E", of_seeds(later),
                  f"steps between half of what E and half of what attention have at the end, "
                  f"growing or not; {told}",
                  side=Direction(0.0, 1), missing="" if np.isfinite(later).any() else "neither")
        )  # fmt: skip
    return claims


def dyck_claims(found: pd.DataFrame, norms: pd.DataFrame) -> list[Claim]:
    """Brackets through the three stages.

    Args:
        found, norms: what `dyck.dyck` returns.
    """
    setting, claims = "Dyck words, a type of brackets in place of a topic", []
    said = {
        "W_V_gap": "brackets, stage 1: W_V is larger within a type",
        "E_gap": "brackets, embeddings: E is larger within a type",
        "W_V_partner_minus_self": "brackets, stage 1: W_V tells a bracket's partner from itself",
        "E_partner_minus_self": "brackets, embeddings: E, semidefinite, cannot favour the partner",
    }
    for quantity, claim in said.items():
        own = found[found["quantity"] == quantity].set_index("seed")
        exact = quantity.startswith("W_V")
        theory = Number(0.0, kind="theory", relative=FLOAT32)
        claims.append(
            Claim(claim, FUTURE, setting, quantity, of_seeds(own["value"]),
                  "closed form" + ("; theory: exact for this length" if exact else ""),
                  compared=theory if exact else None, seeds=own["value"],
                  side=None if exact else Direction(0.0, 1 if quantity == "E_gap" else -1),
                  published=float(own["expected"].iloc[0]) if exact else math.nan)
        )  # fmt: skip
    by = found.pivot_table("value", "seed", "quantity", dropna=False)
    for quantity, claim in (
        ("same_topic", "brackets, stage 2: more attention to the partner than to other types"),
        ("same_word", "brackets, stage 2: more attention to the same bracket than to other types"),
    ):
        ratio = by[quantity] / by["different_topic"]
        claims.append(
            Claim(claim, FUTURE, setting, f"{quantity}_ratio", of_seeds(ratio),
                  "W_V frozen at stage 1's optimum, W_K and W_Q trained", side=Direction(1.0, 1),
                  seeds=ratio)
        )  # fmt: skip
    times = stage_times(norms).set_index("seed")
    later = times["t_KQ"] - times["t_V"]
    told = f"steps; t_V {times['t_V'].mean():.0f}, t_KQ {times['t_KQ'].mean():.0f}"
    claims.append(
        Claim("brackets: W_V is trained before W_K begins", FUTURE, setting, "t_KQ_minus_t_V",
              of_seeds(later), told,
              side=Direction(0.0, 1), seeds=later,
              missing="" if later.notna().any() else "W_K does not begin to grow")
    )  # fmt: skip
    return claims
