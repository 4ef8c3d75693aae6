"""Claims of synthetic experiments measured again: the papers' own functions, the settings given.

What is measured again is a row of a paper's own table, its verdict with it; where a paper's table
goes seed by seed, its mean over them.
"""

from collections.abc import Sequence

import pandas as pd

from onelayer.compute.execution import Execution
from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import ALL, VALUE_COLUMNS, tidy
from onelayer.papers import PAPERS
from onelayer.papers.decision_lists import starts
from onelayer.papers.decision_lists import tables as decision_lists
from onelayer.papers.decision_lists.data import list_length
from onelayer.papers.local_to_global import training, training_tables
from onelayer.papers.scan_snap import claims as scan_snap
from onelayer.papers.scan_snap.simulation import simulate
from onelayer.papers.topic_structure.synthetic import stage_tables
from onelayer.papers.topic_structure.synthetic.norms import two_stages
from onelayer.settings.decision_lists import SmallStart
from onelayer.settings.local_to_global import AblationRunSettings
from onelayer.settings.scan_snap import SimulationSettings
from onelayer.settings.stability import ClaimsAgainSettings, StagesRun
from onelayer.stability import CLAIM

# Between which the means of decision lists lie by definition.
BETWEEN = {
    "accuracy": (0, 1),
    "order": (0, 1),
    "argmax_accuracy": (0, 1),
    "centred_cosine": (-1, 1),
    "steps_to_perfect": (0,),
}


def nothing() -> pd.DataFrame:
    """No claims: what is measured on a machine that this processor cannot stand in for."""
    return tidy(pd.DataFrame(columns=CLAIM), CLAIM)


def measure(settings: ClaimsAgainSettings, execution: Execution = Execution()) -> pd.DataFrame:
    """All claims but those of pretrained models: `CLAIM` and `VALUE_COLUMNS`."""
    other = settings.machine.other_seeds
    return pd.concat(
        [
            stages(settings.two_stages, other, execution),
            transformers(settings.transformers, other, execution),
            joint_training(settings.joint_training),
            scan(settings.scan, other, execution),
        ],
        ignore_index=True,
    )


def stages(
    settings: StagesRun, other_seeds: bool = False, execution: Execution = Execution()
) -> pd.DataFrame:
    """Topic structure, synthetic: the two stages, `table_two_stage` over its seeds."""
    # In an ensemble of fewer runs the same ones round otherwise: all of them train, so that the
    # numbers stay those that were kept.
    first = settings.two_stages.seeds * other_seeds
    again = {"maps": [], "seeds": first + settings.two_stages.seeds}
    block = settings.two_stages.model_copy(update=again)
    norms = two_stages(settings.model, block, settings.batch, settings.chunk, execution)
    table = stage_tables.tidy_stages(norms[norms["seed"] >= first], block)
    table = table[table["seed"] == ALL]
    return claims_of("topic_structure", "two stages: " + table["setting"], table)


def transformers(
    settings: AblationRunSettings, other_seeds: bool = False, execution: Execution = Execution()
) -> pd.DataFrame:
    """Local to Global: rows of `table_ablation`.

    Held-out sequences are drawn by the seed after the runs': those of other seeds are others, too.
    """
    variants = [(v.name, v.initialisation, v.applied(settings.training)) for v in settings.variants]
    first = settings.seeds * other_seeds
    curves = training.train_variants(variants, settings, execution, first_seed=first)
    block = settings.variants, settings.training, settings.chain
    table = training_tables.ablation(curves, *block).table
    named = "transformers: " + table["variant"] + ", " + table["initialisation"] + " start"
    return claims_of("local_to_global", named, table)


def joint_training(small: Sequence[SmallStart]) -> pd.DataFrame:
    """Decision lists: means over the seeds of `table_joint_training`, small random starts.

    Steps are a mean over the seeds that came to be perfect.
    """
    table = decision_lists.joint_training(pd.DataFrame(), starts.small_runs(small)[0])
    rows = []
    for (start, L, n, m, shortest, quantity), runs in table.groupby(
        ["start", *decision_lists.SIZES, "quantity"], sort=False
    ):
        claim = f"W and V together, {start}, L {L}, n {n}, m {list_length(m, shortest)}"
        found = mean(runs["value"].dropna(), *BETWEEN.get(quantity, ()))
        rows.append({"claim": claim, "quantity": quantity, "runs": found["n"]} | found)
    found = tidy(rows, ["claim"])
    return claims_of("decision_lists", found["claim"], found)


def scan(
    settings: SimulationSettings, other_seeds: bool = False, execution: Execution = Execution()
) -> pd.DataFrame:
    """Scan and Snap: the claims of Fig. 4 in `table_scan_snap_claims`."""
    simulated = simulate(settings, execution, first_seed=settings.seeds * other_seeds)
    no_sweep, iterations = simulated.iloc[:0], settings.iterations
    table = scan_snap.assemble(simulated, no_sweep, no_sweep, {}, iterations, iterations)
    return claims_of("scan_snap", table["claim"], table)


def claims_of(paper: str, claim: str | pd.Series, table: pd.DataFrame) -> pd.DataFrame:
    """Rows of a paper's table under the paper's name and the claim's; its own keys are left out."""
    named = table.assign(paper=PAPERS[paper], claim=claim)
    return tidy(named[[column for column in named if column in [*CLAIM, *VALUE_COLUMNS]]], CLAIM)
