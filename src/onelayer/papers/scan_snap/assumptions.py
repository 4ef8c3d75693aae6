"""Fig. 4 again with the paper's assumptions changed one at a time.

The abstract assumes (a) no positional encoding, (b) a long input and (c) a decoder that learns
faster than self-attention. All else is as in Fig. 4.
"""

import pandas as pd
import torch

from onelayer.compute.ensemble import train
from onelayer.compute.execution import Execution
from onelayer.papers.scan_snap import model, positions
from onelayer.papers.scan_snap.data import Task
from onelayer.papers.scan_snap.simulation import simulate, tabulate
from onelayer.settings.scan_snap import AssumptionSettings, SimulationSettings

KEYS = ["assumption", "changed"]


def simulate_changes(
    scan: SimulationSettings, changes: AssumptionSettings, execution: Execution = Execution()
) -> pd.DataFrame:
    """Train every change.

    Args:
        scan: what is changed, with the seeds and iterations of every change.
        changes: lengths and decoder speeds.
        execution: where; the state of each change is kept in turn.

    Returns:
        `assumption` (`positions`, `length` or `decoder`) and `changed`, to what (`learned`, tokens,
        lr_Y / lr_Z), as texts; then as `simulation.simulate`.
    """
    changed = {("length", f"{length}"): {"length": length} for length in changes.lengths} | {
        ("decoder", f"{rate:.15g}"): {"lr_Y_multiplier": [rate]} for rate in changes.lr_Y_multiplier
    }
    tables = {
        key: simulate(scan.model_copy(update=update), execution.part(place, key))
        for place, (key, update) in enumerate(changed.items())
    }
    alone = execution.part("positions")
    tables["positions", "learned"] = simulate_with_positions(scan, alone)
    found = pd.concat(tables, names=KEYS).reset_index(KEYS)
    return found.reset_index(drop=True)


def simulate_with_positions(
    settings: SimulationSettings,
    execution: Execution = Execution(),
    dtype: torch.dtype = torch.float32,
) -> pd.DataFrame:
    """As `simulation.simulate` at one size and one pair of rates, with positions."""
    task = Task(settings.num_last[0], settings.next_per_last, settings.length, settings.batch)
    (lr_Z,), (multiplier,) = settings.rates("lr_Z"), settings.rates("lr_Y_multiplier")
    ensemble = positions.ensemble_of(
        task,
        list(range(settings.seeds)),
        lr_Z * multiplier,
        lr_Z,
        settings.momentum,
        settings.initial,
        execution.device,
        dtype,
    )
    trained = train(
        ensemble,
        settings.observed[-1],
        observe=lambda parameters: {"c": model.contextual_attention(task, parameters["Z"])},
        observe_at=settings.observed,
        loss_every=settings.observed[-1],
        execution=execution,
    )
    return tabulate(settings, task, trained)
