"""Probe a checkpoint: attention of pairs of words over the articles, embeddings of the words."""

import pandas as pd

from onelayer.job import job
from onelayer.settings.probe import AttentionProbeSettings
from onelayer.text.corpus.articles import read_articles
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer, piece_ids
from onelayer.topic_structure.wikipedia.probe import (
    check_length,
    embed,
    encode_texts,
    probe,
    sample_articles,
)
from onelayer.topic_structure.wikipedia.words import label_words, topic_bits

with job(snakemake) as step:
    settings = AttentionProbeSettings(**snakemake.params.settings)
    folder = snakemake.params.folder
    model, tokenizer = load_checkpoint(folder, step.device), load_tokenizer(folder)
    check_length(model, settings.max_tokens)
    kept = pd.read_parquet(snakemake.input.kept_words)
    pieces = piece_ids(tokenizer, kept["word"].unique())
    labels = label_words(kept, pd.read_parquet(snakemake.input.vocabulary), pieces)
    articles = sample_articles(read_articles(snakemake.input.articles), settings)
    pairs, heads = probe(
        model,
        encode_texts(tokenizer, articles["text"], labels.words, settings.max_tokens),
        articles["id"],
        labels.words,
        topic_bits(labels.topics[0]),
        settings.reference_length,
        progress=step.progress,
    )
    words = sorted({*labels.words, *snakemake.params.words})
    step.save(pairs=pairs, heads=heads, embeddings=embed(model, tokenizer, words))
