"""Train the one-layer causal transformer on articles, and measure its attention on the way."""

from onelayer.compute.execution import execution_of
from onelayer.papers.scan_snap import text, text_training
from onelayer.run.step import Step, program
from onelayer.settings.scan_snap import LanguageModelSettings
from onelayer.text.corpus.storage import read_articles, subset


@program(settings=LanguageModelSettings, inputs="articles", outputs="measures maps")
def main(step: Step) -> None:
    settings, execution = step.settings, execution_of(step)
    articles = subset(read_articles([step.inputs.articles]), settings.max_articles)
    encoded = text.encode(articles.to_pandas(), settings)
    trained = text_training.train_language_model(encoded, settings, execution)
    step.write(measures=text_training.tabulate_measures(trained))
    text_training.write_maps(trained, encoded, settings.maps_at, step.outputs.maps)
