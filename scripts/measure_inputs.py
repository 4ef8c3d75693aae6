"""Measure a pretrained model's attention ratios on inputs like those that it was trained on."""

import numpy as np
import pandas as pd

from onelayer.compute.device import resolve_device
from onelayer.papers.topic_structure.wikipedia.probe.labels import (
    frequencies_of,
    labels_of,
    tightest_variant,
    variants_of,
)
from onelayer.papers.topic_structure.wikipedia.probe.measures import measure_attention
from onelayer.papers.topic_structure.wikipedia.probe.packed import probe_inputs
from onelayer.run.step import Step, program
from onelayer.settings.block import Seed
from onelayer.settings.probe import ProbeSettings
from onelayer.text.corpus.storage import open_rows
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer, piece_ids
from onelayer.text.pretraining.inputs import input_sample


@program(settings=ProbeSettings, inputs="models* mixed kept_words vocabulary", outputs="measures")
def main(step: Step, checkpoint_seeds: list[Seed], longest: int) -> None:
    inputs, probe = step.inputs, step.settings
    step.device = resolve_device(probe.attention.device)
    folders = list(dict.fromkeys(path.parent for path in inputs.models))
    kept = tightest_variant(pd.read_parquet(inputs.kept_words))
    pieces = piece_ids(load_tokenizer(folders[0]), kept["word"].unique())
    labels = labels_of(kept, [pieces])
    texts = input_sample(
        open_rows(inputs.mixed), longest, probe.attention.documents, probe.attention.seed
    )
    label_of = np.full(max(int(ids.max()) for ids, _ in texts) + 1, -1)
    for place, word in enumerate(labels.words):
        if pieces[word] < len(label_of):
            label_of[pieces[word]] = place
    how = labels, variants_of(kept), label_of, probe.attention.reference_length
    models = (load_checkpoint(folder, step.device) for folder in step.progress(folders))
    sums = [probe_inputs(model, texts, *how) for model in models]
    frequencies = frequencies_of(labels, pd.read_parquet(inputs.vocabulary))
    given = labels, frequencies, probe.uncertainty, checkpoint_seeds
    tables = [
        measure_attention([one[pairs] for one in sums], *given).assign(pairs=pairs)
        for pairs in sums[0]
    ]
    step.write(measures=pd.concat(tables, ignore_index=True))
