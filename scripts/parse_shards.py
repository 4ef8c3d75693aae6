"""Parse the Parquet files of a corpus into articles: id, title, text, human topic."""

from onelayer.corpus.shards import READERS, write_articles_of
from onelayer.settings.corpus import ParseSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    read = READERS[step.settings.format]
    paths = step.inputs.source
    write_articles_of(
        lambda: step.progress(read(paths), unit=" articles"),
        step.settings.max_articles,
        step.outputs.articles,
        ", ".join(map(str, paths)),
    )


if __name__ == "__main__":
    run(main, settings=ParseSettings, inputs=["source*"], outputs=["articles"])
