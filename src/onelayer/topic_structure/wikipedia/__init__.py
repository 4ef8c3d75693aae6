"""Topic structure in trained transformers on Wikipedia (Li, Li & Risteski 2023, section 6).

scripts/probe_model.py goes through the steps: 1 `probe.pair_attention` (one forward pass a text:
attention of pairs of words) and `probe.embed`, 2 `ratio.plain` (one topic over two; of embeddings
`similarity.pair_means`), 3 `measure.measure_model` (the rows of a model with intervals and
nulls). scripts/show_wikipedia.py is 4: `published.model_rows` sets them beside the paper's numbers.
"""
