"""Probe a model's checkpoints: attention of pairs of words over the articles, and embeddings."""

import pandas as pd

from onelayer.job import job
from onelayer.settings.probe import AttentionProbeSettings
from onelayer.settings.topics import AmbiguitySettings
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer, piece_ids
from onelayer.topic_structure.wikipedia.probe import (
    check_length,
    embed,
    encode_texts,
    probe,
    sample_articles,
)
from onelayer.topic_structure.wikipedia.ratio import topic_bits
from onelayer.topic_structure.wikipedia.words import keep_words, label_words

with job(snakemake) as step:
    settings, given = AttentionProbeSettings(**snakemake.params.settings), snakemake.input
    folders, vocabulary = snakemake.params.folders, pd.read_parquet(given.vocabulary)
    tokenizer, kept = load_tokenizer(folders[0]), pd.read_parquet(given.kept_words)
    authors = AmbiguitySettings(**snakemake.params.authors)
    theirs = keep_words(given.authors_topics, vocabulary, authors)
    pieces = piece_ids(tokenizer, pd.concat([kept, theirs])["word"].unique())
    labels = label_words(kept, vocabulary, pieces)
    words, bits = labels.words, topic_bits(labels.topics[0])
    articles = sample_articles(given.articles, settings)
    texts = encode_texts(tokenizer, articles["text"], words, settings.max_tokens)
    pairs, heads, embeddings = None, [], []
    for place, folder in enumerate(folders):
        model = load_checkpoint(folder, step.device)
        check_length(model, settings.max_tokens)
        of = articles["id"], words, bits, settings.reference_length
        rows, of_heads = probe(model, texts, *of, progress=step.progress)
        pairs = rows.drop(columns="mean") if pairs is None else pairs
        pairs[f"weight {place}"] = rows["mean"]
        heads.append(of_heads.assign(checkpoint=place))
        embeddings.append(embed(model, tokenizer, words).assign(checkpoint=place))
    heads, embeddings = (pd.concat(one, ignore_index=True) for one in (heads, embeddings))
    step.save(pairs=pairs, heads=heads, embeddings=embeddings)
