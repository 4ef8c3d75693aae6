"""Write the page on which the attention of a few models on a few articles can be looked at."""

import pandas as pd

from onelayer.compute.device import resolve_device
from onelayer.papers.topic_structure.wikipedia import reading
from onelayer.papers.topic_structure.wikipedia.probe.attention import sample_articles
from onelayer.run.step import Step, program
from onelayer.settings.probe import AttentionProbeSettings as Attention
from onelayer.settings.topic_structure import ReadingSettings, ShownCheckpoint


@program(inputs="articles* kept_words models* heads* snapshots* template", outputs="page")
def main(
    step: Step, attention: Attention, shown: ReadingSettings, by: list[ShownCheckpoint]
) -> None:
    inputs, kept = step.inputs, pd.read_parquet(step.inputs.kept_words)
    step.device = resolve_device(attention.device)
    articles = reading.choose_articles(sample_articles(inputs.articles, attention), kept, shown)
    folders, files = dict.fromkeys(path.parent for path in inputs.models), iter(inputs.snapshots)
    models = []
    for one, folder, heads in zip(by, folders, inputs.heads, strict=True):
        ratios = reading.head_ratios(pd.read_parquet(heads), one.seed)
        way = next(files) if one.snapshots else None
        models.append(reading.shown_model(one.name, folder, way, ratios, articles, step.device))
    data = {"articles": articles, "topics": reading.names_of_topics(kept, articles)}
    text = reading.page(inputs.template.read_text("utf-8"), data | {"models": models})
    step.outputs.page.write_text(text, encoding="utf-8")
