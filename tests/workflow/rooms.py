"""What every paper's room promises: its tables with their key columns, figures, and steps."""

# Table -> key columns, under the paper's name.
TABLES = {
    "topic_structure": {
        "corpora": ["corpus"],
        "topic_model_robustness": ["model", "backend", "topics", "seed"],
        "topic_quality": ["corpus"],
        "topics": ["corpus", "topic", "rank", "word"],
        "wikipedia_claims": ["claim", "overlap", "model", "threshold"],
        "wikipedia_disjoint": ["overlap", "model", "threshold"],
        "wikipedia_overlapping": ["overlap", "model", "threshold"],
    },
}
FIGURES = {
    "topic_structure": [
        "attention_heads",
        "topic_model_robustness",
        "topics",
        "wikipedia_ratios",
        "word_groups",
    ],
}
# Where the report shows them: the menu entries of each paper.
SECTIONS = {
    "Topic structure": ["Wikipedia: results", "Wikipedia: data and topics"],
}

# The steps behind each named target, under the paper's target.
_WORDS = {"fetch_corpus", "parse_articles", "fetch_model", "count_words"}
_TOPICS = _WORDS | {"fit_lda", "measure_topics"}
_CHECKPOINTS = _WORDS | {"fit_lda", "filter_ambiguous_words", "init_random_model"}
_ATTENTION = _CHECKPOINTS | {"probe_attention", "measure_attention"}
_EMBEDDINGS = _CHECKPOINTS | {"extract_embeddings", "measure_embeddings"}
_ROBUSTNESS = _WORDS | {"fit_topic_models", "probe_topic_models"}
NEEDS = {
    "topic_structure": {
        "table_corpora": {"fetch_corpus", "parse_articles", "tabulate_corpora"},
        "table_topic_model_robustness": _ROBUSTNESS | {"tabulate_topic_model_robustness"},
        "figure_topic_model_robustness": _ROBUSTNESS | {"plot_topic_model_robustness"},
        "table_topics": _TOPICS | {"tabulate_topics"},
        "table_topic_quality": _TOPICS | {"tabulate_topic_quality"},
        "table_wikipedia_claims": _ATTENTION | {"tabulate_wikipedia_claims"},
        "table_wikipedia_disjoint": _ATTENTION | _EMBEDDINGS | {"tabulate_wikipedia"},
        "table_wikipedia_overlapping": _ATTENTION | _EMBEDDINGS | {"tabulate_wikipedia"},
        "figure_topics": _TOPICS | {"plot_topics"},
        "figure_word_groups": _CHECKPOINTS | {"extract_embeddings", "plot_word_groups"},
        "figure_attention_heads": _ATTENTION | {"plot_attention_heads"},
        "figure_wikipedia_ratios": _ATTENTION | _EMBEDDINGS | {"plot_wikipedia_ratios"},
    },
}

# Steps that do not depend on the words that a threshold keeps.
BEFORE_THRESHOLDS = _TOPICS | {"fit_topic_models", "probe_topic_models"}
