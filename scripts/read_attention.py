"""Write the page on which the attention of a few models on a few articles can be looked at."""

import pandas as pd

from onelayer.job import job
from onelayer.settings.probe import AttentionProbeSettings
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.topic_structure.wikipedia.probe import sample_articles
from onelayer.topic_structure.wikipedia.reading import choose_articles, page, shown_model

with job(snakemake) as step:
    given, shown = dict(snakemake.params.settings), snakemake.params.shown
    kept = pd.read_parquet(snakemake.input.kept_words)
    articles = sample_articles(snakemake.input.articles, AttentionProbeSettings(**given))
    chosen = choose_articles(articles, kept, shown["articles"], shown["words"])
    models = []
    files = zip(snakemake.params.models, snakemake.input.heads, strict=True)
    for (name, folder), path in files:
        model, tokenizer = load_checkpoint(folder, step.device), load_tokenizer(folder)
        heads = pd.read_parquet(path).query("checkpoint == 0")
        models.append(shown_model(name, model, tokenizer, heads, chosen))
    template = step.given("template").read()
    step.save_text(page=page(template, chosen, kept, models))
