"""The claims of Li, Li & Risteski (2023) on synthetic documents that no other table measures."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from onelayer.evidence.claims import BEYOND, NOTES, Claim, of_seeds, readable, tabulated
from onelayer.evidence.tables import table
from onelayer.evidence.verdicts import FLOAT32, Direction, Number
from onelayer.papers.topic_structure.synthetic.closed_form import gap, off_by_length
from onelayer.papers.topic_structure.synthetic.data import Vocabulary
from onelayer.papers.topic_structure.synthetic.gap_grid import BASE, as_defined
from onelayer.papers.topic_structure.synthetic.stage_tables import read_stage_steps
from onelayer.papers.topic_structure.synthetic.stages import SMALLER, half_times, stage_times
from onelayer.papers.topic_structure.synthetic.tables import MATTERS, THEOREM
from onelayer.settings.topic_structure_synthetic import StageSetting, TopicModelSettings, WordRange

REACHED = 0.01  # distances below this share count as 'the same matrix'
NEAR_ZERO = 0.1  # a gradient below this share of W_V's counts as near 0
MAIN_RESULT, EMBEDDINGS, STAGE_1, STAGE_2 = (
    "Main result 2",
    "Result: embeddings encode topic structure",
    "Stage 1 result",
    "Stage 2 result",
)
FUTURE = "Interesting future directions"
OPTIMIZERS = {"adam": "Adam", "sgd": "SGD"}
# Of bracket words: exact for their length, and another text than the paper's.
BRACKETS = Number(0.0, kind="analogue", relative=FLOAT32)
# Whether all starts come to one matrix, and whether words attend more to their topic.
ONE_MATRIX, SEVERAL_MATRICES = Direction(REACHED, -1), Direction(REACHED, 1)
MORE_ATTENTION = Direction(1.0, 1, MATTERS)
NO_GRADIENT = Direction(NEAR_ZERO, -1)
# Without the factor W_Q its size would make no difference to the gradient of W_K.
IN_PROPORTION = Number(1.0, kind="theory", relative=FLOAT32)
LARGER_WITHIN = Direction(0.0, 1)


@table(
    "topic_structure/claims",
    "Claims",
    "table: claims",
    target="table_topic_structure_claims",
    title="Topic structure: the paper's claims",
    notes=[
        *NOTES,
        "What other tables measure stands there: the gap of trained matrices, the two stages, "
        "attention by optimiser, the optimal ratio against tau, and everything on Wikipedia.",
        "Gaps: the theorem lets documents be infinitely long. The column `tolerance` grants what "
        "documents of the shortest length take off, computed exactly; the rows 'exact at this "
        "length' compare with the exact gap of all lengths there are. The farthest of all gaps, "
        "beyond its tolerance, stands for all; its interval is for all of them together.",
        "Embeddings of d < T dimensions: of contrasts that are equally good in the long run these "
        "documents favour some, so that few dimensions catch a little more than their share.",
        "The theorem of stage 2 names no lambda_1 and lambda_2: the rows are the tightest ones "
        "that hold every point. With one topic in a document (tau = 1) the ratio is 1 or less, so "
        "that a band with lambda_1 of tau > 1 leaves it out. Whether beta is above 1 the paper "
        "asks; nothing is judged.",
        f"An attention ratio matters from {MATTERS:g} above 1 on, a tenth of about the smallest "
        "effect in the paper's table of attention.",
        f"Distances below {REACHED:g} of those at the start count as the same matrix; gradients "
        f"below {NEAR_ZERO:g} of W_V's as near 0.",
        "Without weight decay the directions that documents leave flat stay where they started: "
        "all but T + 1 in infinitely long documents. In documents of finite length they are "
        "nearly flat, and descent does not come to their ends.",
        "Brackets are another text than the paper's, which names them as ongoing work. All types "
        "are as likely in every document, so that a type is no topic. What W_V learns is that a "
        "bracket lacks its partner: a negative eigenvalue, which E = W_E^T W_E cannot have.",
    ],
    readable=readable,
    reads={
        "pictured": "train_uniform_attention.matrices",
        "gap_grid": "solve_gap_grid.gaps",
        "descent": "descend_stage_one.descent",
        "gradients": "measure_stage_gradients.gradients",
        "ratios": "optimise_attention_over_T.ratios",
        "components": "train_all_components.components",
        "brackets": "train_on_brackets.found",
        "norms": "train_on_brackets.norms",
        "published": "reference/topic_structure_stages.csv",
    },
    settings={
        "model": "topic_structure.synthetic.model",
        "grid_words": "topic_structure.synthetic.gap_grid.N",
        "descent_words": "topic_structure.synthetic.theory.N",
        "stages": "topic_structure.synthetic.two_stages.settings",
    },
)
def topic_structure_claims(
    pictured: dict[str, np.ndarray],
    gap_grid: pd.DataFrame,
    descent: pd.DataFrame,
    gradients: pd.DataFrame,
    ratios: pd.DataFrame,
    components: pd.DataFrame,
    brackets: pd.DataFrame,
    norms: pd.DataFrame,
    published: Path,
    model: TopicModelSettings,
    grid_words: WordRange,
    descent_words: WordRange,
    stages: list[StageSetting],
) -> pd.DataFrame:
    """The claims of the topic-structure paper that no other table measures.

    Args:
        pictured: matrices of `gaps.uniform_attention`.
        gap_grid, descent, gradients, ratios, components: as of the claims of each, below.
        brackets, norms: what `dyck.dyck` returns.
        published: see `read_stage_steps`.
        model: the words and their masking.
        grid_words, descent_words: fewest and most words of the documents of `gap_grid` and of
            `descent`.
        stages: settings of which some were followed in `gradients`.
    """
    stage_1_ends = read_stage_steps(published).loc["t_V_median", "published"]
    return tabulated(
        [
            *gap_claims(gap_grid, model, grid_words),
            *descent_claims(descent, descent_words),
            *gradient_claims(gradients, stages, stage_1_ends),
            *ratio_claims(ratios),
            *component_claims(components, pictured, model.T, model.v),
            *dyck_claims(brackets, norms),
        ]
    )


def gap_claims(grid: pd.DataFrame, model: TopicModelSettings, N: tuple[int, int]) -> list[Claim]:
    """The gap over v, T, p_m, p_c, tau and d, beside the theorems' and the exact one.

    A gap is granted what documents of this length take off, as the shortest ones do.

    Args:
        grid: rows of `gap_grid.gap_grid`.
        model: the words and their masking.
        N: fewest and most words of its documents.
    """
    claims, ratios = [], []
    keys = ["varied", "parameter", "v", "T", "p_m", "p_c", "tau", "d"]
    base, length = as_defined(model), _words(N)
    for known, own in grid[grid["selection"] == "proportion"].groupby(keys, sort=False):
        varied, parameter, v, T, p_m, p_c, tau, d = known
        theory, expected = own["theory"].iloc[0], own["expected"].iloc[0]
        setting = f"v = {v}, T = {T}, p_m = {p_m:.15g}, p_c = {p_c:.15g}, tau = {tau}"
        found, seeds = of_seeds(own["gap"]), own.set_index("seed")["gap"]
        masking = base.model_copy(update={"p_m": p_m, "p_c": p_c})
        off = off_by_length(Vocabulary(T, v), masking, tau, N) / theory
        if varied == "d":
            claims.append(
                Claim("embeddings of d < D dimensions have the theorem's gap for d >= T, and "
                      "(d - 1) / (T - 1) of it below", "Model architecture: usually d < D",
                      f"{setting}, d = {d}", "gap", found,
                      f"{found['value'] / theory:.4f} of the theorem's; the theorem says nothing "
                      "of d < D", compared=THEOREM, published=expected,
                      tolerance=off * expected, seeds=seeds)
            )  # fmt: skip
            continue
        place = EMBEDDINGS if parameter == "E" else STAGE_1
        claim = f"the average difference of {parameter} is 1 / (v (1 - (1 - p_c) p_m))"
        note = f"{found['value'] / theory:.4f} of the theorem's"
        claims.append(
            Claim(claim, place, setting, "gap_of_setting", found, note,
                  compared=THEOREM, published=theory, tolerance=off * theory, seeds=seeds)
        )  # fmt: skip
        ratios.append(Ratio(f"{parameter}, {setting}", own["gap"].to_numpy() / theory, off))
        if parameter == "W_V":
            note = f"theory for documents of {length} in place of infinitely long ones"
            claims.append(
                Claim(f"{claim}: exact at this length", place, setting, "gap_at_length", found,
                      note, compared=THEOREM, published=expected)
            )  # fmt: skip
    return [*claims, farthest(ratios), *_selection_claims(grid, length)]


def _words(N: tuple[int, int]) -> str:
    return f"{N[0]:,} to {N[1]:,} words"


class Ratio(NamedTuple):
    """A gap as a multiple of the theorem's.

    Attributes:
        setting: of which.
        seeds: one per draw of documents, [seeds].
        tolerance: what the documents' length takes off.
    """

    setting: str
    seeds: np.ndarray
    tolerance: float


def farthest(ratios: list[Ratio]) -> Claim:
    """The gap that is farthest from the theorem's, beyond its own tolerance: it stands for all.

    Its interval is the one of 95% for all gaps together (Bonferroni): the farthest of several is
    far by chance, too.
    """
    far = max(ratios, key=lambda one: abs(one.seeds.mean() - 1) - one.tolerance)
    found, degrees = of_seeds(far.seeds), len(far.seeds) - 1
    wider = stdtrit(degrees, 1 - 0.025 / len(ratios)) / stdtrit(degrees, 0.975)
    half = (found["high"] - found["value"]) * wider
    found |= {"low": found["value"] - half, "high": found["value"] + half}
    note = f"of {len(ratios)} gaps of W_V and E, beyond what documents of this length take off"
    return Claim("the average difference is 1 / (v (1 - (1 - p_c) p_m)) in every setting",
                 f"{EMBEDDINGS}; {STAGE_1}", far.setting, "farthest_gap_to_theory_ratio", found,
                 note, compared=THEOREM, published=1.0,
                 tolerance=far.tolerance)  # fmt: skip


def _selection_claims(grid: pd.DataFrame, length: str) -> list[Claim]:
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
                  f"documents of {length}", compared=THEOREM, published=float(exact.iloc[0]))
        )  # fmt: skip
    return claims


def ratio_claims(ratios: pd.DataFrame) -> list[Claim]:
    """The optimal attention in (lambda_1 tau, lambda_2 T), alpha and beta.

    The paper says that words attend more to words of their topic, of a pair of words (alpha) as of
    the theorem's mean; whether beta exceeds 1 it only asks.

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
        for quantity, claim, place, side, note in (
            ("ratio", "words attend more to words of their topic", MAIN_RESULT, MORE_ATTENTION,
             f"(v-1)/v alpha + beta/v{single}"),
            ("alpha", "words attend more to other words of their topic: alpha > 1", MAIN_RESULT,
             MORE_ATTENTION, f"c2 / c3{single}"),
            ("beta", "is beta > 1 in the optimal attention?", "Stage 2 simplification", None,
             f"c1 / c3{told}"),
        ):  # fmt: skip
            claims.append(
                Claim(claim, place, setting, quantity, of_seeds(own[quantity], least=0.0), note,
                      side=side, seeds=seeds[quantity])
            )  # fmt: skip
    claims += _least_claims(defined)
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


def _least_claims(ratios: pd.DataFrame) -> list[Claim]:
    """The least alpha over T and tau > 1; apart, what one topic a document gives: all are alike."""
    claims, single = [], ratios["tau"] == 1
    for quantity, column, points in (
        ("least_alpha", "alpha", ratios[~single]),
        ("least_alpha_of_one_topic", "alpha", ratios[single]),
        ("least_ratio_of_one_topic", "ratio", ratios[single]),
    ):
        if points.empty:
            continue
        T, tau = points.groupby(["T", "tau"])[column].mean().idxmin()
        own = points[(points["T"] == T) & (points["tau"] == tau)].set_index("seed")
        several = len(points[["T", "tau"]].drop_duplicates())
        claims.append(
            Claim("words attend more to words of their topic, for every T and tau",
                  MAIN_RESULT, f"T = {T}, tau = {tau}", quantity,
                  of_seeds(own[column], least=0.0), f"the least of {several} settings",
                  side=MORE_ATTENTION)
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


def descent_claims(descent: pd.DataFrame, N: tuple[int, int]) -> list[Claim]:
    """Stage 1 converges from every start; its optimum is unique with weight decay alone.

    Args:
        descent: rows of `descent.stage_one_descent`.
        N: fewest and most words of its documents.
    """
    claims = []
    where = {"drawn": f"documents of {_words(N)}", "limit": "infinitely long documents"}
    last = descent["step"].max()
    keys = ["parameter", "documents", "weight_decay"]
    for (parameter, documents, decay), own in descent.groupby(keys, sort=False):
        end = own[own["step"] == last].set_index("start")
        place = EMBEDDINGS if parameter == "E" else STAGE_1
        setting = f"{parameter}, weight decay {decay:.15g}, {where[documents]}"
        unique = (
            "weight decay makes the optima unique"
            if decay
            else ("without weight decay not strongly convex: optima differ")
        )
        claims.append(
            Claim(unique, place, setting, "distance_between_starts", of_seeds(end["between"]),
                  f"between ends after {last} steps, as a share of that between starts",
                  side=ONE_MATRIX if decay else SEVERAL_MATRICES, seeds=end["between"])
        )  # fmt: skip
        if not decay:
            continue
        convex = "stage 1 is convex: descent converges from every start"
        claims.append(
            Claim(convex, place, setting, "distance_to_optimum", of_seeds(end["to_optimum"]),
                  f"to the closed form after {last} steps, as a share of its norm",
                  side=ONE_MATRIX, seeds=end["to_optimum"])
        )  # fmt: skip
        middle = own[own["step"] == own["step"].unique()[-2]].set_index("start")
        steps = last - own["step"].unique()[-2]
        rate = 1 - (end["to_optimum"] / middle["to_optimum"]) ** (1 / steps)
        slowest = 1 - own["contraction"].iloc[0]
        known = {} if math.isnan(slowest) else {"compared": THEOREM, "published": slowest}
        told = "; theory: that of the slowest direction, larger while others move" if known else ""
        claims.append(
            Claim(convex, place, setting, "rate", of_seeds(rate),
                  f"share of the distance to the optimum that one step takes off, from step "
                  f"{last - steps} to {last}{told}", **known)
        )  # fmt: skip
    return claims + _extreme_distances(descent[descent["step"] == last], where)


def _extreme_distances(end: pd.DataFrame, where: Mapping[str, str]) -> list[Claim]:
    """Of W_V the largest distances with weight decay and the least without: each stands for all."""
    claims, own = [], end[end["parameter"] == "W_V"]
    decayed = own["weight_decay"] > 0
    for quantity, claim, measured, points, pick, side in (
        ("largest_distance_between_starts", "weight decay makes the optima unique", "between",
         own[decayed], "idxmax", ONE_MATRIX),
        ("least_distance_between_starts", "without weight decay optima differ", "between",
         own[~decayed], "idxmin", SEVERAL_MATRICES),
        ("largest_distance_to_optimum", "stage 1 is convex: descent converges from every start",
         "to_optimum", own[decayed], "idxmax", ONE_MATRIX),
    ):  # fmt: skip
        if points.empty:
            continue
        means = points.groupby(["documents", "weight_decay"])[measured].mean()
        documents, decay = getattr(means, pick)()
        at = (points["documents"] == documents) & (points["weight_decay"] == decay)
        claims.append(
            Claim(claim, STAGE_1, f"W_V, weight decay {decay:.15g}, {where[documents]}", quantity,
                  of_seeds(points.loc[at, measured]),
                  f"of {len(means)} kinds of documents and decay", side=side)
        )  # fmt: skip
    return claims


def gradient_claims(
    gradients: pd.DataFrame, stages: Sequence[StageSetting], stage_1_ends: float
) -> list[Claim]:
    """The gradient of W_K is near 0 in stage 1 because W_Q is.

    The paper's own setting is judged up to the step at which stage 1 ends in the paper; when it
    ends in others the paper does not say.

    Args:
        gradients: rows of `stage_gradients.stage_gradients`.
        stages: the settings of which some were followed.
        stage_1_ends: after how many updates (steps).
    """
    claims, place = [], "Intuition: two-stage optimization process"
    pictured = [one.name for one in stages if one.pictured]
    for name, own in gradients[gradients["diverged_at"] < 0].groupby("name", sort=False):
        steps = np.sort(own["step"].unique())
        looks = [
            steps[np.abs(steps - share * steps[-1]).argmin()] for share in (0, 0.1, 0.2, 0.4, 1)
        ]
        in_stage_1 = {}
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
                      side=NO_GRADIENT if name in pictured and step <= stage_1_ends else None,
                      seeds=ratio)
            )  # fmt: skip
            if name in pictured and step <= stage_1_ends:
                in_stage_1[step] = ratio
            if step in (0, looks[3]):
                setting = f"{name}, step {step}"
                scaled = at["with_smaller_W_Q"] / at["gradient_W_K"]
                claims.append(
                    Claim("the gradient of W_K contains the term W_Q", place, setting,
                          "gradient_W_K_with_a_tenth_of_W_Q", of_seeds(scaled),
                          "as a share of the gradient with W_Q as it is",
                          compared=IN_PROPORTION, published=SMALLER)
                )  # fmt: skip
        if in_stage_1:
            step = max(in_stage_1, key=lambda look: in_stage_1[look].mean())
            claims.append(
                Claim("the gradient of W_K is near 0 in all of stage 1", place,
                      f"{name}, step {step}", "largest_gradient_ratio_in_stage_1",
                      of_seeds(in_stage_1[step]), f"of {len(in_stage_1)} looks", side=NO_GRADIENT)
            )  # fmt: skip
    return claims


def component_claims(
    components: pd.DataFrame, pictured: Mapping[str, np.ndarray], T: int, v: int
) -> list[Claim]:
    """E and attention with all components trained, and which of them comes first.

    The paper shows blocks of E; how components act on each other it asks, and nothing is judged.

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
                      "matrix of figure_topic_blocks", "gap_without_diagonal", value, "one run")
            )  # fmt: skip
    last = components["step"].max()
    times = half_times(components).set_index(["loss", "optimizer", "d"])
    keys, ends = ["loss", "optimizer", "d"], {}
    for known, own in components.groupby(keys, sort=False):
        loss, optimizer, d = known
        end = own[(own["step"] == last) & (own["diverged_at"] < 0)].set_index("seed")
        missing = "" if len(end) else "no run went through"
        setting = f"{loss.replace('_', '-')}, {OPTIMIZERS[optimizer]}, d = {d}, {last} steps"
        claims += [
            Claim(block, "Figure 1", setting, "gap_without_diagonal", of_seeds(end["gap"]),
                  "between different words",
                  side=LARGER_WITHIN, missing=missing, seeds=end["gap"]),
            Claim("all components trained: do words of one topic attend more to each other?",
                  FUTURE, setting, "attention_ratio", of_seeds(end["attention"]),
                  "another word of the topic over other topics",
                  missing=missing, seeds=end["attention"]),
        ]  # fmt: skip
        if len(end):
            ends[setting, d] = end["gap"]
        own_times = times.loc[[known]] if known in times.index else times.iloc[:0]
        later = (own_times["t_A"] - own_times["t_E"]).to_numpy()
        told = f"{np.isfinite(later).sum()} of {len(later)} runs come to have both"
        claims.append(
            Claim("which comes first, jointly trained? embeddings before attention", FUTURE,
                  setting, "t_A_minus_t_E", of_seeds(later),
                  f"steps between half of what E and half of what attention have at the end, "
                  f"growing or not; {told}", missing="" if np.isfinite(later).any() else "neither")
        )  # fmt: skip
    return claims + _least_blocks(ends, vocabulary.size, block)


def _least_blocks(ends: Mapping[tuple[str, int], pd.Series], D: int, claim: str) -> list[Claim]:
    """The least gap of E over losses and optimisers, of embeddings as large as D and of smaller."""
    claims = []
    for quantity, own in (
        ("least_gap_without_diagonal", {name: gaps for (name, d), gaps in ends.items() if d == D}),
        (
            "least_gap_of_small_embeddings",
            {name: gaps for (name, d), gaps in ends.items() if d < D},
        ),
    ):
        if own:
            name = min(own, key=lambda setting: own[setting].mean())
            claims.append(
                Claim(f"{claim}, for every loss and optimiser", "Figure 1", name, quantity,
                      of_seeds(own[name]), f"of {len(own)} settings", side=LARGER_WITHIN)
            )  # fmt: skip
    return claims


def dyck_claims(found: pd.DataFrame, norms: pd.DataFrame) -> list[Claim]:
    """Brackets through the three stages: the paper's theory on another text than its own.

    Args:
        found, norms: what `dyck.dyck` returns.
    """
    setting, claims = "Dyck words, a type of brackets in place of a topic", []
    sides = {"E_gap": 1, "E_partner_minus_self": -1}
    said = {
        "W_V_gap": "brackets, stage 1: W_V is larger within a type",
        "E_gap": "brackets, embeddings: E is larger within a type",
        "W_V_partner_minus_self": "brackets, stage 1: W_V tells a bracket's partner from itself",
        "E_partner_minus_self": "brackets, embeddings: E, semidefinite, cannot favour the partner",
    }
    for quantity, claim in said.items():
        own = found[found["quantity"] == quantity].set_index("seed")
        note = "closed form"
        if quantity in sides:
            known = {"side": Direction(0.0, sides[quantity], kind="analogue")}
        else:
            known = {"compared": BRACKETS, "published": float(own["expected"].iloc[0])}
            note += "; theory: exact for this length"
        claims.append(
            Claim(claim, BEYOND, setting, quantity, of_seeds(own["value"]), note,
                  seeds=own["value"], **known)
        )  # fmt: skip
    by = found.pivot_table("value", "seed", "quantity", dropna=False)
    more = Direction(1.0, 1, MATTERS, kind="analogue")
    for quantity, claim in (
        ("same_topic", "brackets, stage 2: more attention to the partner than to other types"),
        ("same_word", "brackets, stage 2: more attention to the same bracket than to other types"),
    ):
        ratio = by[quantity] / by["different_topic"]
        claims.append(
            Claim(claim, BEYOND, setting, f"{quantity}_ratio", of_seeds(ratio),
                  "W_V frozen at stage 1's optimum, W_K and W_Q trained", side=more, seeds=ratio)
        )  # fmt: skip
    times = stage_times(norms).set_index("seed")
    later = times["t_KQ"] - times["t_V"]
    told = f"steps; t_V {times['t_V'].mean():.0f}, t_KQ {times['t_KQ'].mean():.0f}"
    claims.append(
        Claim("brackets: W_V is trained before W_K begins", BEYOND, setting, "t_KQ_minus_t_V",
              of_seeds(later), told, side=Direction(0.0, 1, kind="analogue"), seeds=later,
              missing="" if later.notna().any() else "W_K does not begin to grow")
    )  # fmt: skip
    return claims
