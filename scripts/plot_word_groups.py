"""Plot the dot products of the embeddings of a few words of a few topics, per model."""

from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.topic_structure import figures
from onelayer.papers.topic_structure.probe.vectors import read_embeddings
from onelayer.settings.topic_structure import WordGroupSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    groups = {group.topic: group.words for group in step.settings.word_groups}
    words = [word for group in groups.values() for word in group]
    files = zip(step.settings.models, step.inputs.words, step.inputs.vectors, strict=True)
    dots = {}
    for model, *paths in files:
        embeddings = read_embeddings(*paths)
        dots[model] = figures.dot_products(words, embeddings.words, embeddings.raw)
    return figures.word_groups(dots, groups)


if __name__ == "__main__":
    draw(main, settings=WordGroupSettings, inputs=["words*", "vectors*"])
