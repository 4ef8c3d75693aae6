"""Probe a model's checkpoints: ratios of attention and of embeddings, the authors' way and ours."""

import pandas as pd

from onelayer.job import job
from onelayer.settings.probe import AttentionProbeSettings, UncertaintySettings
from onelayer.settings.topics import AmbiguitySettings
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer, piece_ids
from onelayer.topic_structure.wikipedia.measure import as_it_is, measure_attention
from onelayer.topic_structure.wikipedia.probe import embed, encode_texts, probe, sample_articles
from onelayer.topic_structure.wikipedia.published import WORDS
from onelayer.topic_structure.wikipedia.ratio import keep_words, label_words, topic_bits
from onelayer.topic_structure.wikipedia.similarity import measure_embeddings

with job(snakemake) as step:
    given, params = snakemake.input, snakemake.params
    settings = AttentionProbeSettings(**params.settings)
    uncertainty = UncertaintySettings(**params.uncertainty)
    vocabulary, ours = map(pd.read_parquet, (given.vocabulary, given.kept_words))
    authors = AmbiguitySettings(**params.authors)
    theirs = keep_words(given.authors_topics, vocabulary, authors)
    tokenizer = load_tokenizer(params.folders[0])
    pieces = piece_ids(tokenizer, pd.concat([ours, theirs])["word"].unique())
    ours, theirs = (label_words(kept, vocabulary, pieces) for kept in (ours, theirs))
    words, bits = ours.words, topic_bits(ours.topics[0])
    articles = sample_articles(given.articles, settings)
    texts = encode_texts(tokenizer, articles["text"], words, settings.max_tokens)
    nine, shown = [word for group in WORDS.values() for word in group], None
    weights, heads, vectors = [], [], []
    for place, folder in enumerate(params.folders):
        model = load_checkpoint(folder, step.device)
        of = articles["id"], words, bits, settings.reference_length
        pairs, of_heads = probe(model, texts, *of, progress=step.progress)
        weights.append(pairs["mean"].to_numpy())
        heads.append(of_heads.assign(checkpoint=place))
        vectors.append(embed(model, tokenizer, words))
        shown = embed(model, tokenizer, nine) if shown is None else shown
        del model  # before the next one
    as_they_are = [as_it_is(pairs, one, settings.reference_length) for one in weights]
    # The authors' thousands of words are in several topics each: embeddings at the tightest alone.
    of, tight = (uncertainty, params.seeds), theirs.only_first()
    measured = [
        measure_attention(pairs, as_they_are, theirs, *of, vary_topics=True).assign(way="authors"),
        measure_embeddings(vectors, tight, *of).assign(way="authors"),
        measure_attention(pairs, weights, ours, *of).assign(way="ours"),
        measure_embeddings(vectors, ours, *of).assign(way="ours"),
    ]
    step.save(
        measures=pd.concat(measured, ignore_index=True),
        heads=pd.concat(heads, ignore_index=True),
        embeddings=shown.drop(columns="output"),
    )
