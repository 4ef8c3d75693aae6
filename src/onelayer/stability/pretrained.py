"""Claims of models pretrained here measured again: their losses, and their ratios when probed."""

from collections.abc import Mapping, Sequence

import pandas as pd

from onelayer.compute.execution import Execution
from onelayer.evidence.tables import ALL
from onelayer.papers.topic_structure.wikipedia import losses
from onelayer.papers.topic_structure.wikipedia.probe.attention import sample_articles
from onelayer.papers.topic_structure.wikipedia.probe.repeated import measure_snapshots
from onelayer.run.step import Step, scratch_folder
from onelayer.settings.pretraining import PretrainModelSettings
from onelayer.stability.rows import claims_of
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.pretraining.storage import read_snapshots, read_task, save_model, save_snapshots
from onelayer.text.pretraining.training import Training, train

RATIOS = ("attention_ratio", "attention_ratio_z", "embedding_cosine_ratio")
LOSSES = ("words_loss", "sentence_order_loss", "replaced_tokens_loss")


def measure(step: Step, execution: Execution) -> pd.DataFrame:
    """Claims of every family: losses, and ratios where the settings have a probe.

    The step has the settings `ClaimsAgainSettings`, and all inputs of `measure_claims_again`.
    """
    families: dict[str, list[tuple[PretrainModelSettings, Training]]] = {}
    for settings in step.settings.pretraining:
        task = read_task(step.inputs.text[0], step.inputs.vocabulary[0], settings)
        trained = train(*task, settings, execution)
        families.setdefault(settings.family, []).append((settings, trained))
    parts = []
    for family, trained in families.items():
        claim = f"{family}, {trained[0][0].tokens:,} tokens"
        parts.append(_losses(claim, trained))
        if step.settings.probe:
            runs = {settings.seed: training for settings, training in trained}
            parts.append(_ratios(claim, runs, step))
    return pd.concat(parts, ignore_index=True)


def _losses(claim: str, trained: Sequence[tuple[PretrainModelSettings, Training]]) -> pd.DataFrame:
    """Held-out losses at the end, means over seeds of `table_pretraining_losses`."""
    histories = {(claim, s.seed): losses.named(run.history_table()) for s, run in trained}
    table = losses.assemble(histories)
    rows = table[table["quantity"].isin(LOSSES) & (table["seed"] == ALL)]
    return claims_of("topic_structure", rows.assign(claim=f"pretraining: {claim}", note=""))


def _ratios(claim: str, trained: Mapping[int, Training], step: Step) -> pd.DataFrame:
    """Ratios of the finished models, as `table_topic_structure_over_tokens` has them."""
    inputs, probe = step.inputs, step.settings.probe
    with scratch_folder(step.outputs.claims) as folder:
        seeds = {}
        for seed, run in trained.items():
            end = max(run.snapshots)
            save_model(run.objective, folder)
            save_snapshots({end: run.snapshots[end]}, folder / f"{seed}.safetensors")
            seeds[seed] = list(read_snapshots(folder, folder / f"{seed}.safetensors"))
    table = measure_snapshots(
        seeds,
        load_tokenizer(inputs.tokenizer[0]),
        sample_articles(inputs.articles, probe.attention),
        step.read("kept_words")[0],
        step.read("words")[0],
        probe,
        step.progress,
    )
    rows = table[table["quantity"].isin(RATIOS) & (table["seed"] == ALL)]
    return claims_of("topic_structure", rows.assign(claim=f"ratios: {claim}"))
