"""Write the page on which the attention of a few models on a few articles can be looked at."""

from onelayer.compute.device import resolve_device
from onelayer.papers.topic_structure.wikipedia import reading
from onelayer.papers.topic_structure.wikipedia.probe.attention import sample_articles
from onelayer.run.step import Step, program
from onelayer.settings.probe import AttentionProbeSettings as Attention
from onelayer.settings.topic_structure import ReadingSettings, ShownCheckpoint


@program(inputs="articles* kept_words models/* heads* snapshots* template", outputs="page")
def main(
    step: Step, attention: Attention, shown: ReadingSettings, by: list[ShownCheckpoint]
) -> None:
    step.device = resolve_device(attention.device)
    articles, kept = sample_articles(step.inputs.articles, attention), step.read("kept_words")
    chosen = reading.choose_articles(articles, kept, shown)
    files = step.inputs.models, step.read("heads"), step.inputs.snapshots
    models = list(reading.shown_models(by, *files, chosen, step.device))
    data = {"articles": chosen, "topics": reading.names_of_topics(kept, chosen), "models": models}
    step.write(page=reading.page(step.inputs.template.read_text("utf-8"), data))
