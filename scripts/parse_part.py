"""Parse one part of a corpus into articles, and count what the table of corpora shows."""

from itertools import chain

from onelayer.corpus.articles import count_articles_and_words
from onelayer.corpus.mediawiki import read_dump_slice
from onelayer.corpus.shards import read_articles_slice, read_column, write_articles_of
from onelayer.settings.corpus import PartSettings
from onelayer.step import Step, run

READERS = {"parquet": read_articles_slice, "mediawiki-xml": read_dump_slice}


def main(step: Step) -> None:
    read, articles = READERS[step.settings.format], step.outputs.articles
    slices = list(zip(step.inputs.source, step.settings.slices, strict=True))
    write_articles_of(
        lambda: step.progress(
            chain.from_iterable(read(path, (cut.start, cut.end)) for path, cut in slices),
            unit=" articles",
        ),
        None,
        articles,
        ", ".join(map(str, step.inputs.source)),
        may_be_empty=True,
    )
    counts = count_articles_and_words(
        read_column([articles], "text"), read_column([articles], "label")
    )
    counts.to_parquet(step.outputs.summary, index=False)


if __name__ == "__main__":
    run(main, settings=PartSettings, inputs=["source*"], outputs=["articles", "summary"])
