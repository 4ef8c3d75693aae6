"""Claims of synthetic experiments measured again: the papers' own functions, the settings given.

What is measured again is a row of a paper's own table, its verdict with it; where a paper's table
goes seed by seed, its mean over them.
"""

from collections.abc import Sequence

import pandas as pd

from onelayer.compute.execution import Execution
from onelayer.evidence.claims import tabulated
from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import ALL, tidy
from onelayer.papers.decision_lists import joint
from onelayer.papers.decision_lists import tables as decision_lists
from onelayer.papers.decision_lists.data import list_length
from onelayer.papers.local_to_global import training, training_tables
from onelayer.papers.scan_snap.claims import scan_claims
from onelayer.papers.scan_snap.simulation import simulate
from onelayer.papers.topic_structure.synthetic import stage_tables
from onelayer.papers.topic_structure.synthetic.norms import two_stages
from onelayer.run.step import Step
from onelayer.settings.decision_lists import SmallStart
from onelayer.settings.local_to_global import EnsembleSettings, Variant
from onelayer.settings.scan_snap import SimulationSettings
from onelayer.settings.topic_structure_synthetic import SyntheticTraining, TwoStageSettings
from onelayer.stability import CLAIM
from onelayer.stability.rows import claims_of

# Between which the means of decision lists lie by definition.
BETWEEN = dict.fromkeys(("accuracy", "order", "argmax_accuracy"), (0, 1))
BETWEEN |= {"centred_cosine": (-1, 1), "steps_to_perfect": (0,)}


def nothing() -> pd.DataFrame:
    """No claims: what is measured on a machine that this processor cannot stand in for."""
    return tidy(pd.DataFrame(columns=CLAIM), CLAIM)


def measure(step: Step) -> pd.DataFrame:
    """All claims, as the settings of a step ask for them: `CLAIM` and `VALUE_COLUMNS`."""
    settings, execution = step.settings, Execution("cpu", progress=step.progress)
    other = settings.machine.other_seeds
    parts = [
        nothing(),
        stages(settings.synthetic, settings.two_stages, other, execution),
        transformers(settings.variants, settings.transformers, other, execution),
        joint_training(settings.joint_training),
        scan(settings.scan, other, execution),
    ]
    # Last, because pretraining bars torch from all but deterministic algorithms.
    if settings.pretraining:
        # Imported where it is asked for: transformers takes seconds.
        from onelayer.stability import pretrained

        parts.append(pretrained.measure(step, execution))
    return pd.concat(parts, ignore_index=True)


def stages(
    base: SyntheticTraining, block: TwoStageSettings, other_seeds: bool, execution: Execution
) -> pd.DataFrame:
    """Topic structure, synthetic: `table_two_stage` over its seeds."""
    block = block.model_copy(update={"maps": []})
    norms = two_stages(base, block, execution, first_seed=block.seeds * other_seeds)
    table = stage_tables.tidy_stages(norms, block)
    table = table[table["seed"] == ALL].assign(claim="two stages: " + table["setting"])
    return claims_of("topic_structure", table)


def transformers(
    variants: list[Variant],
    settings: EnsembleSettings,
    other_seeds: bool = False,
    execution: Execution = Execution(),
) -> pd.DataFrame:
    """Local to Global: rows of `table_ablation`.

    Held-out sequences are drawn by the seed after the runs': those of other seeds are others, too.
    """
    first = settings.seeds * other_seeds
    curves = training.train_variants(variants, settings, execution, first_seed=first)
    table = training_tables.ablation(curves, variants, settings.training, settings.chain).table
    named = "transformers: " + table["variant"] + ", " + table["initialisation"] + " start"
    return claims_of("local_to_global", table.assign(claim=named))


def joint_training(small: Sequence[SmallStart]) -> pd.DataFrame:
    """Decision lists: means over the seeds of `table_joint_training`, small random starts.

    Steps are a mean over the seeds that came to be perfect.
    """
    table = decision_lists.joint_training(pd.DataFrame(), joint.small_runs(small)[0])
    keys = ["start", *decision_lists.SIZES, "quantity"]
    rows = []
    for (start, L, n, m, shortest, quantity), runs in table.groupby(keys, sort=False):
        claim = f"W and V together, {start}, L {L}, n {n}, m {list_length(m, shortest)}"
        estimate = mean(runs["value"].dropna(), *BETWEEN.get(quantity, ()))
        rows.append({"claim": claim, "quantity": quantity, "runs": estimate["n"]} | estimate)
    return claims_of("decision_lists", tidy(rows, ["claim"]))


def scan(
    settings: SimulationSettings, other_seeds: bool = False, execution: Execution = Execution()
) -> pd.DataFrame:
    """Scan and Snap: the claims of Fig. 4 in `table_scan_snap_claims`."""
    simulated = simulate(settings, execution, first_seed=settings.seeds * other_seeds)
    table = tabulated(scan_claims(simulated, settings.iterations))
    return claims_of("scan_snap", table)
