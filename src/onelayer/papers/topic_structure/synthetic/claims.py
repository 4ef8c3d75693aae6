"""The claims of Li, Li & Risteski (2023) on synthetic documents that no other table measures."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from onelayer.evidence.claims import BEYOND, NOTES, Claim, of_seeds, readable, tabulated
from onelayer.evidence.intervals import worst
from onelayer.evidence.power_laws import exponents
from onelayer.evidence.tables import table
from onelayer.evidence.verdicts import FLOAT32, THEORY, Direction, Number
from onelayer.papers.topic_structure.synthetic.closed_form import gap, off_by_length
from onelayer.papers.topic_structure.synthetic.data import Vocabulary
from onelayer.papers.topic_structure.synthetic.gap_grid import BASE, as_defined
from onelayer.papers.topic_structure.synthetic.stage_tables import read_stage_steps
from onelayer.papers.topic_structure.synthetic.stages import SMALLER, half_times, stage_times
from onelayer.papers.topic_structure.synthetic.tables import MATTERS, OPTIMIZERS, THEOREM
from onelayer.settings.topic_structure_synthetic import StageSetting, TopicModelSettings, WordRange

REACHED = 0.01  # distances below this share count as 'the same matrix'
NEAR_ZERO = 0.1  # a gradient below this share of W_V's counts as near 0
MAIN_RESULT = "Main result 2"
EMBEDDINGS = "Result: embeddings encode topic structure"
STAGE_1, STAGE_2 = "Stage 1 result", "Stage 2 result"
FUTURE = "Interesting future directions"
PROPORTION = "a constant proportion p_m of the positions is masked; each with probability p_m"
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
        "that hold every point. With one topic in a document (tau = 1) there is nothing to gain, "
        "and the ratio is about 1, so that a band with lambda_1 of tau > 1 leaves it out. The "
        "theorem lets documents be infinitely long; in short ones the ratio grows faster with tau. "
        "Whether beta is above 1 the paper asks; nothing is judged.",
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
    """The claims of the topic-structure paper that no other table measures."""
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


def gap_claims(
    grid: pd.DataFrame, model: TopicModelSettings, N: tuple[int, int]
) -> Iterator[Claim]:
    """The gap over v, T, p_m, p_c, tau and d, beside the theorems' and the exact one.

    A gap is granted what documents of N[0] to N[1] words take off, as the shortest ones do. `grid`
    has rows of `gap_grid.gap_grid`.
    """
    ratios = []
    base, length = as_defined(model), _words(N)
    keys = ["varied", "parameter", "v", "T", "p_m", "p_c", "tau", "d"]
    for key, draws in grid[grid["selection"] == "proportion"].groupby(keys, sort=False):
        varied, parameter, v, T, p_m, p_c, tau, d = key
        theory, expected = draws[["theory", "expected"]].iloc[0]
        setting = f"v = {v}, T = {T}, p_m = {p_m:.15g}, p_c = {p_c:.15g}, tau = {tau}"
        estimate, seeds = of_seeds(draws["gap"]), draws.set_index("seed")["gap"]
        of_setting = base.model_copy(update={"v": v, "T": T, "p_m": p_m, "p_c": p_c})
        off = off_by_length(of_setting, tau, N) / theory
        note = f"{estimate['value'] / theory:.4f} of the theorem's"
        if varied == "d":
            yield Claim("embeddings of d < D dimensions have the theorem's gap for d >= T, and "
                        "(d - 1) / (T - 1) of it below", "Model architecture: usually d < D",
                        f"{setting}, d = {d}", "gap", estimate,
                        f"{note}; the theorem says nothing of d < D", compared=THEOREM,
                        published=expected, tolerance=off * expected, seeds=seeds)  # fmt: skip
            continue
        place = EMBEDDINGS if parameter == "E" else STAGE_1
        claim = f"the average difference of {parameter} is 1 / (v (1 - (1 - p_c) p_m))"
        note += "; E of as many dimensions as it has in the theorem, T" * (parameter == "E")
        yield Claim(claim, place, setting, "gap_of_setting", estimate, note, compared=THEOREM,
                    published=theory, tolerance=off * theory, seeds=seeds)  # fmt: skip
        matrix = f"E of {d} dimensions" if parameter == "E" else parameter
        ratios.append((f"{matrix}, {setting}", draws["gap"].to_numpy() / theory, off))
        if parameter == "W_V":
            note = f"theory for documents of {length} in place of infinitely long ones"
            yield Claim(f"{claim}: exact at this length", place, setting, "gap_at_length", estimate,
                        note, compared=THEOREM, published=expected)  # fmt: skip
    yield farthest(ratios)
    # What selecting each word independently changes beside exactly the proportion p_m.
    selections = grid[grid["varied"].isin([BASE, "selection"])]
    for parameter, draws in selections.groupby("parameter", sort=False):
        by = draws.pivot_table(["gap", "expected"], "seed", "selection")
        change, exact = (by[c]["independent"] - by[c]["proportion"] for c in ("gap", "expected"))
        yield Claim(f"{PROPORTION} instead changes the gap by", "Training loss", "base setting",
                    f"{parameter}_gap_independent_minus_proportion", of_seeds(change),
                    f"documents of {length}", compared=THEOREM,
                    published=float(exact.iloc[0]))  # fmt: skip


def _words(N: tuple[int, int]) -> str:
    return f"{N[0]:,} to {N[1]:,} words"


def farthest(ratios: Sequence[tuple[str, np.ndarray, float]]) -> Claim:
    """The gap that is farthest from the theorem's, beyond its own tolerance: it stands for all.

    Its interval is the one of 95% for all gaps together (Bonferroni): the farthest of several is
    far by chance, too. `ratios` has each setting, the gap of every draw of documents as a multiple
    of the theorem's, [seeds], and what the documents' length takes off.
    """
    setting, seeds, off = max(ratios, key=lambda one: abs(one[1].mean() - 1) - one[2])
    estimate, degrees = of_seeds(seeds), len(seeds) - 1
    wider = stdtrit(degrees, 1 - 0.025 / len(ratios)) / stdtrit(degrees, 0.975)
    half = (estimate["high"] - estimate["value"]) * wider
    estimate |= {"low": estimate["value"] - half, "high": estimate["value"] + half}
    note = f"of {len(ratios)} gaps of W_V and E, beyond what documents of this length take off"
    return Claim("the average difference is 1 / (v (1 - (1 - p_c) p_m)) in every setting",
                 f"{EMBEDDINGS}; {STAGE_1}", setting, "farthest_gap_to_theory_ratio", estimate,
                 note, compared=THEOREM, published=1.0, tolerance=off)  # fmt: skip


def _extreme(
    points: pd.DataFrame,
    keys: str | Sequence[str],
    column: str,
    side: int,
    least: float = -math.inf,
) -> tuple[tuple, dict[str, float], int]:
    """The setting with the least (side 1) or largest mean of a column, which stands for all.

    Its keys; the `worst` of the estimates; and of how many settings it is. `least` is what the
    column is at least, by definition.
    """
    settings = dict(list(points.groupby(keys)[column]))
    place, estimate = worst([of_seeds(seeds, least) for seeds in settings.values()], side)
    return list(settings)[place], estimate, len(settings)


def ratio_claims(ratios: pd.DataFrame) -> Iterator[Claim]:
    """The optimal attention in (lambda_1 tau, lambda_2 T), alpha and beta.

    The paper says that words attend more to words of their topic, of a pair of words (alpha) as of
    the theorem's mean; whether beta exceeds 1 it only asks. Rows of `stage_two.ratio_over_topics`.
    """
    defined, keys = ratios[ratios["selection"] == "proportion"], ["T", "tau"]
    for (T, tau), draws in defined.groupby(keys, sort=False):
        seeds = draws.set_index("seed")
        single = f"; documents of {draws['words'].iloc[0]}"
        single += "; one topic a document: all words are alike" * (tau == 1)
        bound = f"; at the optimiser's lower bound exp(-6) for {draws['at_bound'].sum()} of "
        bound = single + f"{bound}{len(draws)} seeds" * bool(draws["at_bound"].any())
        for quantity, claim, place, side, note in (
            ("ratio", "words attend more to words of their topic", MAIN_RESULT, MORE_ATTENTION,
             f"(v-1)/v alpha + beta/v{single}"),
            ("alpha", "words attend more to other words of their topic: alpha > 1", MAIN_RESULT,
             MORE_ATTENTION, f"c2 / c3{single}"),
            ("beta", "is beta > 1 in the optimal attention?", "Stage 2 simplification", None,
             f"c1 / c3{bound}"),
        ):  # fmt: skip
            yield Claim(claim, place, f"T = {T}, tau = {tau}", quantity,
                        of_seeds(draws[quantity], least=0.0), note, side=side,
                        seeds=seeds[quantity])  # fmt: skip
    single = defined["tau"] == 1  # apart: all words of such documents are alike
    for quantity, column, points in (
        ("least_alpha", "alpha", defined[~single]),
        ("least_alpha_of_one_topic", "alpha", defined[single]),
        ("least_ratio_of_one_topic", "ratio", defined[single]),
    ):
        if len(points):
            (T, tau), estimate, several = _extreme(points, keys, column, 1, least=0.0)
            yield Claim("words attend more to words of their topic, for every T and tau",
                        MAIN_RESULT, f"T = {T}, tau = {tau}", quantity, estimate,
                        f"the least of {several} settings", side=MORE_ATTENTION)  # fmt: skip
    yield from _band_claims(defined)
    both = ratios[ratios["T"] == ratios["T"].iloc[0]]
    for tau, draws in both.groupby("tau", sort=False):
        by = draws.pivot(index="seed", columns="selection", values="ratio")
        yield Claim(f"{PROPORTION} instead changes the optimal ratio by", "Training loss",
                    f"T = {draws['T'].iloc[0]}, tau = {tau}", "ratio_independent_minus_proportion",
                    of_seeds(by["independent"] - by["proportion"]),
                    "other draws of documents")  # fmt: skip


def _band_claims(ratios: pd.DataFrame) -> Iterator[Claim]:
    """lambda_1 and lambda_2 of every point and of those with tau > 1; growth with tau and T."""
    band = "(v-1)/v alpha + beta/v lies in (lambda_1 tau, lambda_2 T)"
    ratios = ratios.assign(
        lambda_1=ratios["ratio"] / ratios["tau"], lambda_2=ratios["ratio"] / ratios["T"]
    )
    several = ratios[ratios["tau"] > 1]
    for name, points in (("all", ratios), ("tau > 1", several)):
        setting = f"{name}: T = {_listed(points['T'])}; tau = {_listed(points['tau'])}"
        for quantity, side in (("lambda_1", 1), ("lambda_2", -1)):
            (T, tau), estimate, _ = _extreme(points, ["T", "tau"], quantity, side)
            note = f"the tightest that holds all points; set by T = {T}, tau = {tau}"
            yield Claim(band, STAGE_2, setting, quantity, estimate, note)
    for fixed, along, claim, note, side in (
        ("T", "tau", "more topics per document: more attention to the same topic", ", tau > 1",
         Direction(0.0, 1)),
        ("tau", "T", f"{band}: no faster than T", "", Direction(1.0, -1)),
    ):  # fmt: skip
        for value, points in several.groupby(fixed, sort=False):
            yield Claim(claim, STAGE_2, f"{fixed} = {value}", f"exponent_of_{along}",
                        of_seeds(exponents_of(points, along)),
                        f"slope of log ratio against log {along}{note}; documents of "
                        f"{points['words'].iloc[0]}", side=side)  # fmt: skip


def _listed(values: pd.Series) -> str:
    return ", ".join(f"{value}" for value in np.unique(values))


def exponents_of(points: pd.DataFrame, along: str) -> np.ndarray:
    """Exponent of the ratio as a power of a column, [seeds]."""
    grid = points.pivot(index=along, columns="seed", values="ratio")
    return exponents(grid.to_numpy(), grid.index.to_numpy()[:, None])[0]


def ratio_exponents(ratios: pd.DataFrame) -> Iterator[Claim]:
    """The exponent of the optimal ratio as a power of tau, for every T; T / tau is its `level`.

    The theorem bounds the ratio by lambda_1 tau from below and by lambda_2 T from above. Where T is
    far above tau the upper bound holds nothing back, and what is asked, beyond the theorem, is
    whether the ratio then goes as its lower bound. Documents of one topic, in which all words are
    alike, are left out; T / tau is over the geometric mean of the others. Rows of
    `stage_two.ratio_over_topics`.
    """
    points = ratios[(ratios["selection"] == "proportion") & (ratios["tau"] > 1)]
    middle = float(np.exp(np.log(points["tau"].unique()).mean()))
    for T, of_T in points.groupby("T"):
        yield Claim("the optimal ratio grows in proportion to tau where T / tau is large", BEYOND,
                    f"T = {T}, tau = {_listed(points['tau'])}", "exponent_of_tau",
                    of_seeds(exponents_of(of_T, "tau")),
                    f"slope of log ratio on log tau, documents of {of_T['words'].iloc[0]}",
                    compared=THEORY, published=1.0, kind="analogue",
                    keys={"level": T / middle, "nearest": int(points["T"].max() == T)})  # fmt: skip


def descent_claims(descent: pd.DataFrame, N: tuple[int, int]) -> Iterator[Claim]:
    """Stage 1 converges from every start; its optimum is unique with weight decay alone.

    Rows of `descent.stage_one_descent`, on documents of N[0] to N[1] words.
    """
    convex = "stage 1 is convex: descent converges from every start"
    kinds = {"drawn": f"documents of {_words(N)}", "limit": "infinitely long documents"}
    before, last = np.unique(descent["step"])[-2:]
    keys = ["parameter", "documents", "weight_decay"]
    for (parameter, documents, decay), runs in descent.groupby(keys, sort=False):
        end, middle = (runs[runs["step"] == s].set_index("start") for s in (last, before))
        unique, side = "without weight decay not strongly convex: optima differ", SEVERAL_MATRICES
        if decay:
            unique, side = "weight decay makes the optima unique", ONE_MATRIX
        place = EMBEDDINGS if parameter == "E" else STAGE_1
        setting = f"{parameter}, weight decay {decay:.15g}, {kinds[documents]}"
        yield Claim(unique, place, setting, "distance_between_starts", of_seeds(end["between"]),
                    f"between ends after {last} steps, as a share of that between starts",
                    side=side, seeds=end["between"])  # fmt: skip
        if not decay:
            continue
        yield Claim(convex, place, setting, "distance_to_optimum", of_seeds(end["to_optimum"]),
                    f"to the closed form after {last} steps, as a share of its norm",
                    side=ONE_MATRIX, seeds=end["to_optimum"])  # fmt: skip
        rate = 1 - (end["to_optimum"] / middle["to_optimum"]) ** (1 / (last - before))
        note = f"share of the distance to the optimum that one step takes off, from step {before}"
        note = f"{note} to {last}"
        if not math.isnan(slowest := 1 - runs["contraction"].iloc[0]):
            note += f"; that of the slowest direction, to which it falls: {slowest:.5f}"
        yield Claim(convex, place, setting, "rate", of_seeds(rate), note)
    # Of W_V the largest distances with weight decay and the least without: each stands for all.
    ends = descent[(descent["step"] == last) & (descent["parameter"] == "W_V")]
    decayed = ends["weight_decay"] > 0
    for quantity, claim, measured, points, side in (
        ("largest_distance_between_starts", "weight decay makes the optima unique", "between",
         ends[decayed], ONE_MATRIX),
        ("least_distance_between_starts", "without weight decay optima differ", "between",
         ends[~decayed], SEVERAL_MATRICES),
        ("largest_distance_to_optimum", convex, "to_optimum", ends[decayed], ONE_MATRIX),
    ):  # fmt: skip
        if len(points):
            (documents, decay), estimate, several = _extreme(points, keys[1:], measured, side.side)
            setting = f"W_V, weight decay {decay:.15g}, {kinds[documents]}"
            yield Claim(claim, STAGE_1, setting, quantity, estimate,
                        f"of {several} kinds of documents and decay", side=side)  # fmt: skip


def gradient_claims(
    gradients: pd.DataFrame, stages: Sequence[StageSetting], stage_1_ends: float
) -> Iterator[Claim]:
    """The gradient of W_K is near 0 in stage 1 because W_Q is.

    The setting nearest to the paper's steps is judged up to that at which stage 1 ends in the
    paper; when it ends in others the paper does not say. Rows of `norms.stage_gradients`, of some
    of `stages`.
    """
    place = "Intuition: two-stage optimization process"
    pictured = [one.name for one in stages if one.pictured]
    lost = {name: _left_out(runs) for name, runs in gradients.groupby("name")}
    for name, runs in gradients[gradients["diverged_at"] < 0].groupby("name", sort=False):
        steps = np.sort(runs["step"].unique())
        looks = [
            steps[np.abs(steps - share * steps[-1]).argmin()] for share in (0, 0.1, 0.2, 0.4, 1)
        ]
        in_stage_1 = {}
        for step in dict.fromkeys(looks):
            at, setting = runs[runs["step"] == step].set_index("seed"), f"{name}, step {step}"
            ratio = at["gradient_W_K"] / at["gradient_W_V"]
            norms = ", ".join(
                f"{column.replace('gradient_', 'gradient of ')} {at[column].mean():.2g}"
                for column in ("gradient_W_K", "gradient_W_V", "W_K", "W_Q")
            )
            if judged := name in pictured and step <= stage_1_ends:
                in_stage_1[step] = ratio
            yield Claim("the gradient of W_K is near 0 in stage 1", place, setting,
                        "gradient_ratio_W_K_to_W_V", of_seeds(ratio), f"norms: {norms}{lost[name]}",
                        side=NO_GRADIENT if judged else None, seeds=ratio)  # fmt: skip
            if step in (0, looks[3]):
                scaled = at["with_smaller_W_Q"] / at["gradient_W_K"]
                yield Claim("the gradient of W_K contains the term W_Q", place, setting,
                            "gradient_W_K_with_a_tenth_of_W_Q", of_seeds(scaled),
                            f"as a share of the gradient with W_Q as it is{lost[name]}",
                            compared=IN_PROPORTION, published=SMALLER)  # fmt: skip
        if in_stage_1:
            look, estimate = worst(list(map(of_seeds, in_stage_1.values())), NO_GRADIENT.side)
            yield Claim("the gradient of W_K is near 0 in all of stage 1", place,
                        f"{name}, step {list(in_stage_1)[look]}",
                        "largest_gradient_ratio_in_stage_1", estimate,
                        f"of {len(in_stage_1)} looks{lost[name]}", side=NO_GRADIENT)  # fmt: skip


def _left_out(runs: pd.DataFrame) -> str:
    """How many of some runs diverged, behind a note; empty for none."""
    diverged = runs.groupby("seed")["diverged_at"].first() >= 0
    said = f"; {diverged.sum()} of {len(diverged)} runs diverged and are left out"
    return said * bool(diverged.any())


def component_claims(
    components: pd.DataFrame, pictured: Mapping[str, np.ndarray], T: int, v: int
) -> Iterator[Claim]:
    """E and attention with all components trained, and which of them comes first.

    The paper shows blocks of E; how components act on each other it asks, and nothing is judged.
    Rows of `components.all_components`; E [D, D] by `E/loss/optimizer`, the matrices of the heat
    maps, of which others are left out.
    """
    vocabulary = Vocabulary(T, v)
    block = "all components trained: E is larger for words of one topic"
    for name, matrix in pictured.items():
        parameter, loss, optimizer = name.split("/")
        if parameter == "E":
            value = of_seeds(np.array([gap(vocabulary, matrix, diagonal=False)]))
            setting = f"{loss.replace('_', '-')}, {OPTIMIZERS[optimizer]}, the matrix of "
            yield Claim(block, "Figure 1", f"{setting}figure_topic_blocks",
                        "gap_without_diagonal", value, "one run")  # fmt: skip
    last, ends, keys = components["step"].max(), [], ["loss", "optimizer", "d"]
    times = half_times(components).set_index(keys)
    for key, runs in components.groupby(keys, sort=False):
        loss, optimizer, d = key
        end = runs[(runs["step"] == last) & (runs["diverged_at"] < 0)].set_index("seed")
        missing, lost = "" if len(end) else "no run went through", _left_out(runs)
        setting = f"{loss.replace('_', '-')}, {OPTIMIZERS[optimizer]}, d = {d}, {last} steps"
        yield Claim(block, "Figure 1", setting, "gap_without_diagonal", of_seeds(end["gap"]),
                    f"between different words{lost}", side=LARGER_WITHIN, missing=missing,
                    seeds=end["gap"])  # fmt: skip
        yield Claim("all components trained: do words of one topic attend more to each other?",
                    FUTURE, setting, "attention_ratio", of_seeds(end["attention"]),
                    f"another word of the topic over other topics{lost}", missing=missing,
                    seeds=end["attention"])  # fmt: skip
        ends.append(end.assign(setting=setting, small=d < vocabulary.size))
        halves = times.loc[[key]] if key in times.index else times.iloc[:0]
        later = (halves["t_A"] - halves["t_E"]).to_numpy()
        yield Claim("which comes first, jointly trained? embeddings before attention", FUTURE,
                    setting, "t_A_minus_t_E", of_seeds(later),
                    "steps between half of what E and half of what attention have at the end, "
                    f"growing or not; {np.isfinite(later).sum()} of {len(later)} runs come to have "
                    "both", missing="" if np.isfinite(later).any() else "neither")  # fmt: skip
    # The least gap of E over losses and optimisers stands for all.
    names = {False: "least_gap_without_diagonal", True: "least_gap_of_small_embeddings"}
    for small, points in pd.concat(ends).groupby("small"):
        setting, estimate, several = _extreme(points, "setting", "gap", 1)
        yield Claim(f"{block}, for every loss and optimiser", "Figure 1", setting, names[small],
                    estimate, f"of {several} settings", side=LARGER_WITHIN)  # fmt: skip


def dyck_claims(brackets: pd.DataFrame, norms: pd.DataFrame) -> Iterator[Claim]:
    """What `dyck.dyck` found: the paper's theory on another text than its own."""
    setting = "Dyck words, a type of brackets in place of a topic"
    by = brackets.pivot_table(["value", "expected"], "seed", "quantity", dropna=False)
    for quantity, claim, sign in (
        ("W_V_gap", "brackets, stage 1: W_V is larger within a type", 0),
        ("E_gap", "brackets, embeddings: E is larger within a type", 1),
        ("W_V_partner_minus_self", "brackets, stage 1: W_V tells a bracket's partner from itself",
         0),
        ("E_partner_minus_self", "brackets, embeddings: E, semidefinite, cannot favour the partner",
         -1),
    ):  # fmt: skip
        value, note = by["value"][quantity], "closed form"
        if sign:
            judged = {"side": Direction(0.0, sign, kind="analogue")}
        else:
            judged = {"compared": BRACKETS, "published": float(by["expected"][quantity].iloc[0])}
            note += "; theory: exact for this length"
        yield Claim(claim, BEYOND, setting, quantity, of_seeds(value), note, seeds=value, **judged)
    for quantity, claim in (
        ("same_topic", "brackets, stage 2: more attention to the partner than to other types"),
        ("same_word", "brackets, stage 2: more attention to the same bracket than to other types"),
    ):
        ratio = by["value"][quantity] / by["value"]["different_topic"]
        yield Claim(claim, BEYOND, setting, f"{quantity}_ratio", of_seeds(ratio),
                    "W_V frozen at stage 1's optimum, W_K and W_Q trained",
                    side=Direction(1.0, 1, MATTERS, kind="analogue"), seeds=ratio)  # fmt: skip
    times = stage_times(norms).set_index("seed")
    later = times["t_KQ"] - times["t_V"]
    note = f"steps; t_V {times['t_V'].mean():.0f}, t_KQ {times['t_KQ'].mean():.0f}"
    yield Claim("brackets: W_V is trained before W_K begins", BEYOND, setting, "t_KQ_minus_t_V",
                of_seeds(later), note, side=Direction(0.0, 1, kind="analogue"), seeds=later,
                missing="" if later.notna().any() else "W_K does not begin to grow")  # fmt: skip
