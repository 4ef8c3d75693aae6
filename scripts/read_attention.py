"""Write the page on which the attention of a few models on a few articles can be looked at."""

import pandas as pd

from onelayer.compute.device import resolve_device
from onelayer.papers.topic_structure.wikipedia import reading
from onelayer.papers.topic_structure.wikipedia.probe.attention import sample_articles
from onelayer.run.step import Step, program
from onelayer.settings.probe import AttentionProbeSettings
from onelayer.settings.topic_structure import ReadingSettings
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.pretraining.storage import read_snapshots


@program(inputs="articles* kept_words models* heads* snapshots* template", outputs="page")
def main(
    step: Step,
    attention: AttentionProbeSettings,
    shown: ReadingSettings,
    models: list[str],
    seeds: list[str],
    snapshots: list[str],
) -> None:
    """`seeds`: the first of each model; `snapshots`: models that have them."""
    inputs = step.inputs
    step.device = resolve_device(attention.device)
    kept = pd.read_parquet(inputs.kept_words)
    articles = reading.choose_articles(sample_articles(inputs.articles, attention), kept, shown)
    folders = dict.fromkeys(path.parent for path in inputs.models)
    on_the_way = dict(zip(snapshots, inputs.snapshots, strict=True))
    found = []
    for name, seed, folder, heads in zip(models, seeds, folders, inputs.heads, strict=True):
        if name in on_the_way:
            states = read_snapshots(folder, on_the_way[name], step.device)
        else:
            states = [(None, load_checkpoint(folder, step.device))]
        own = reading.states_of(states, load_tokenizer(folder), articles)
        ratios = reading.head_ratios(pd.read_parquet(heads), seed)
        found.append({"name": name, "ratios": ratios, **own})
    data = {"articles": articles, "topics": reading.names_of_topics(kept, articles)}
    text = reading.page(inputs.template.read_text("utf-8"), data | {"models": found})
    step.outputs.page.write_text(text, encoding="utf-8")
