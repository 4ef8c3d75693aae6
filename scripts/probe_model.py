"""Probe a model's checkpoints: ratios of attention and of embeddings, the authors' way and ours."""

import numpy as np
import pandas as pd

from onelayer.job import job
from onelayer.settings.probe import AttentionProbeSettings, UncertaintySettings
from onelayer.settings.topic_structure import AUTHORS_WORDS
from onelayer.settings.topics import AmbiguitySettings
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer, piece_ids
from onelayer.topic_structure.wikipedia import probe
from onelayer.topic_structure.wikipedia.measure import AUTHORS, OURS, measure_model
from onelayer.topic_structure.wikipedia.published import WORDS
from onelayer.topic_structure.wikipedia.ratio import keep_words, label_words, topic_bits

with job(snakemake) as step:
    given, params = snakemake.input, snakemake.params
    settings = AttentionProbeSettings(**params.settings)
    vocabulary, ours = map(pd.read_parquet, (given.vocabulary, given.kept_words))
    ambiguity = AmbiguitySettings(overlaps=params.overlaps, thresholds=AUTHORS_WORDS)
    kept = {AUTHORS: keep_words(given.authors_topics, vocabulary, ambiguity), OURS: ours}
    tokenizer = load_tokenizer(params.folders[0])
    pieces = piece_ids(tokenizer, pd.concat([ours, kept[AUTHORS]])["word"].unique())
    labels = {way: label_words(words, vocabulary, pieces) for way, words in kept.items()}
    words, bits = labels[OURS].words, topic_bits(labels[OURS].topics[0])
    articles = probe.sample_articles(given.articles, settings)
    texts = probe.encode_texts(tokenizer, articles["text"], words, settings.max_tokens)
    weights, heads, vectors, nine = [], [], [], None
    for place, folder in enumerate(params.folders):
        model = load_checkpoint(folder, step.device)
        pairs, by_head = probe.pair_attention(model, texts, bits, progress=step.progress)
        weights.append(pairs.weights)
        heads.append(by_head.assign(checkpoint=place))
        vectors.append(probe.embed(model, tokenizer, words))
        if nine is None:
            nine = probe.embed(model, tokenizer, [w for group in WORDS.values() for w in group])
        del model  # before the next one
    pairs = pairs._replace(weights=np.concatenate(weights))
    uncertainty = UncertaintySettings(**params.uncertainty)
    step.save(
        measures=measure_model(pairs, vectors, labels, uncertainty, params.seeds),
        heads=pd.concat(heads, ignore_index=True),
        embeddings=nine.drop(columns="output"),
    )
