"""Probe a checkpoint: attention sums by pair class over the articles, embeddings of the words."""

from onelayer.papers.topic_structure.wikipedia.probe.attention import opened, probe_articles
from onelayer.papers.topic_structure.wikipedia.probe.embeddings import extract_embeddings
from onelayer.papers.topic_structure.wikipedia.probe.sums import write_attention_sums
from onelayer.papers.topic_structure.wikipedia.probe.vectors import write_embeddings
from onelayer.run.step import Step, program
from onelayer.settings.probe import AttentionProbeSettings


@program(inputs="articles* kept_words model/", outputs="by_head by_distance by_words words vectors")
def main(step: Step, attention: AttentionProbeSettings, words: list[str]) -> None:
    outputs, kept = step.outputs, step.read("kept_words")
    model, tokenizer, articles = opened(step)
    sums = probe_articles(model, tokenizer, articles, kept, attention, step.progress)
    write_attention_sums(sums, outputs.by_head, outputs.by_distance, outputs.by_words)
    words = sorted({*kept["word"], *words})
    vectors = extract_embeddings(model, tokenizer, words, step.inputs.model)
    write_embeddings(vectors, outputs.words, outputs.vectors)
