"""Extract a checkpoint's embeddings of the kept words: raw, and the embedding layer's output."""

from onelayer.papers.topic_structure.wikipedia.probe.embeddings import extract_embeddings
from onelayer.papers.topic_structure.wikipedia.probe.vectors import write_embeddings
from onelayer.run.step import Step, program
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer


@program(inputs="kept_words model/", outputs="words vectors")
def main(step: Step, words: list[str]) -> None:
    words = sorted({*step.read("kept_words")["word"], *words})
    model, tokenizer = load_checkpoint(step.inputs.model), load_tokenizer(step.inputs.model)
    vectors = extract_embeddings(model, tokenizer, words, step.inputs.model)
    write_embeddings(vectors, **vars(step.outputs))
