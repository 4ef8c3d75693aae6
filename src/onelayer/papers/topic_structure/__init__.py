"""Li, Li & Risteski (2023): How Do Transformers Learn Topic Structure.

Every claim in the order of the paper, and below it: modules -> steps -> targets. Modules are of
this package, or of the library where they begin with `onelayer`; a step computes, by a script and a
rule of its name; a target is a table or figure, which the function that declares it makes of them:
`snakemake --cores all <target>`. Theory on documents of a topic model is in `synthetic`, the probe
of trained transformers on Wikipedia in `wikipedia`.

Data, masked language modeling, single-layer transformer

T disjoint topics of v words, masking by p_m, p_c, p_r; f(Z) = W_pred (W_V Z) Attn(Z) + b_pred.
    synthetic.data, synthetic.model, synthetic.training, onelayer.compute.ensemble
    -> train_uniform_attention, train_two_stages, train_topic_attention, optimise_topic_attention

Embeddings encode topic structure

Theorem: under uniform attention E = W_E^T W_E is block-wise, its gap 1 / (v (1 - (1 - p_c) p_m)).
    synthetic.closed_form.theory_gap, synthetic.closed_form.ridge_embedding, synthetic.gaps,
    synthetic.tables.theory_gap
    -> train_uniform_attention
    -> table_theory_gap
The same over v, T, p_m, p_c, tau, and for embeddings of d < D dimensions.
    synthetic.gap_grid, synthetic.closed_form, synthetic.figures.gap_grid
    -> solve_gap_grid
    -> figure_gap_grid
Figure: dot products of the embeddings of nine words of three topics, in trained models.
    wikipedia.figures.word_groups -> probe_attention -> figure_word_groups
Figure: the same blocks on synthetic data; losses and optimisers make them more or less clean.
    synthetic.gaps, synthetic.figures.blocks -> train_uniform_attention -> figure_topic_blocks

Two-stage optimisation

First |W_V| grows while W_K and W_Q stay near 0, then these grow while W_V stays flat.
    synthetic.norms, synthetic.stages, synthetic.stage_tables, synthetic.stage_figures
    -> train_two_stages
    -> table_two_stage, figure_two_stage_norms
Sensitive to hyperparameters: common ones show no two stages.
    synthetic.norms, synthetic.stages, synthetic.stage_figures.two_stage_map
    -> train_two_stages
    -> figure_two_stage_map
The gradient of W_K contains W_Q, so that W_K stays near 0.
    synthetic.norms, synthetic.stage_figures.stage_gradients
    -> measure_stage_gradients
    -> figure_stage_gradients
Beyond the paper: are values learned before attention, here and in the other papers' models?
    onelayer.compute.circuits, synthetic.circuits, onelayer.report.value_before_attention
    -> follow_circuits
    -> table_value_before_attention, figure_value_before_attention

Stage 1: W_V encodes topic structure

Theorem: with one-hot embedding and uniform attention W_V is block-wise, with the same gap.
    synthetic.closed_form.ridge_value, synthetic.gaps, synthetic.tables, synthetic.figures.blocks
    -> train_uniform_attention
    -> table_theory_gap, figure_topic_blocks
Weight decay makes the optimum unique.
    synthetic.gaps, synthetic.figures.gap_against_decay
    -> train_uniform_attention
    -> figure_gap_against_decay
Stage 1 is convex: descent converges, from all starts to one matrix with weight decay.
    synthetic.descent -> descend_stage_one

Stage 2: attention encodes topic structure

Theorem: with W_V at its optimum (v-1)/v alpha + beta/v lies in (lambda_1 tau, lambda_2 T).
    synthetic.tied, synthetic.stage_two, synthetic.stage_tables, synthetic.stage_figures
    -> optimise_topic_attention
    -> table_stage_two_ratio, figure_stage_two_ratio
The same over T too; beyond the paper, its exponent in tau is in the table of exponents.
    synthetic.stage_two.ratio_over_topics, synthetic.stage_figures.ratio_over_topics
    -> optimise_attention_over_T
    -> figure_ratio_over_topics
Table: average attention between same words, words of one topic and of two, by optimiser and rate.
    synthetic.attention, synthetic.trained_attention, synthetic.tables.attention_by_optimizer
    -> train_topic_attention
    -> table_attention_by_optimizer
The same against steps, far beyond those of the table, with the loss on documents not trained on.
    synthetic.trained_attention, synthetic.tables.at_budgets, synthetic.figures.attention_over_steps
    -> train_attention_over_steps
    -> figure_attention_over_steps, table_attention_by_optimizer
The matrices behind it: W_K^T W_Q, and attention on one document.
    synthetic.trained_attention, synthetic.figures.attention_heatmaps
    -> train_topic_attention
    -> figure_attention_heatmaps

Experiment setting on Wikipedia

Articles, of files or of a split of a dataset, or part by part.
    onelayer.fetching.fetch, onelayer.fetching.hub, onelayer.text.corpus, wikipedia.topic_tables
    -> fetch_corpus, fetch_dataset, parse_articles, parse_part
    -> table_corpora
Topic model: online LDA for 6 passes.
    onelayer.text.topics.bag_of_words, onelayer.text.topics.lda,
    onelayer.text.topics.quality, onelayer.text.topics.variation, wikipedia.topic_tables,
    wikipedia.topic_figures.topics
    -> count_words, list_part_words, merge_words, count_part_words, fit_lda, measure_topics,
    measure_held_out_topics
    -> table_topics, table_topic_quality, table_topic_settings, figure_topics
Ambiguity filter: each topic keeps its most representative words; topics disjoint or overlapping.
    onelayer.text.topics.ambiguity -> filter_ambiguous_words
Models: BERT, ALBERT, BART, ELECTRA, RoBERTa, and randomly initialised ones.
    onelayer.text.models.folder, onelayer.text.models.architecture,
    onelayer.text.models.checkpoints, onelayer.text.models.families
    -> fetch_model, fetch_hub_model, copy_local_model, init_random_model
Ours beside them: small models of these families, pretrained here.
    onelayer.text.pretraining.text, onelayer.text.pretraining.objectives,
    onelayer.text.pretraining.training, wikipedia.losses,
    wikipedia.pretraining_figures
    -> encode_articles, pretrain_model
    -> table_pretraining_losses, figure_pretraining_losses

Experiment result on Wikipedia

Embeddings of one topic are more alike: cosine similarity and dot product, same over different.
    wikipedia.probe.embeddings, wikipedia.probe.vectors, wikipedia.probe.similarity,
    wikipedia.probe.measures, wikipedia.probe.uncertainty, onelayer.evidence.intervals.over_seeds,
    wikipedia.over_seeds, wikipedia.tables, wikipedia.figures
    -> probe_attention, extract_embeddings, measure_embeddings
    -> table_wikipedia_disjoint, table_wikipedia_overlapping, figure_wikipedia_ratios
Words of one topic attend more to each other; a random model shows no topic structure.
    wikipedia.probe.labels, wikipedia.probe.attention, wikipedia.probe.batches,
    wikipedia.probe.pairs, wikipedia.probe.sums, wikipedia.probe.measures,
    wikipedia.probe.uncertainty, wikipedia.tables, wikipedia.figures
    -> probe_attention, probe_attention_part, merge_attention, measure_attention
    -> table_wikipedia_disjoint, table_wikipedia_overlapping, figure_wikipedia_ratios,
    figure_attention_heads
Attention ratios are larger at tighter thresholds, and for disjoint topics.
    wikipedia.tables.wikipedia_claims -> measure_attention -> table_wikipedia_claims
Each ratio beside its own null, with the paper's checkpoints, analogues and controls apart.
    wikipedia.probe.uncertainty, wikipedia.tables.beside_null, wikipedia.tables.judged
    -> table_wikipedia_disjoint, table_wikipedia_overlapping

Interesting future directions

Interaction of components that are trained jointly: which has topic structure first?
    synthetic.components, synthetic.figures.components_over_steps
    -> train_all_components
    -> figure_components_over_steps
Syntax: the Dyck grammar through the same stages.
    synthetic.dyck -> train_on_brackets

All claims

Each with its number, its interval over seeds and a verdict: those that no other table has.
    synthetic.claims, onelayer.evidence.claims -> table_topic_structure_claims

Beyond the paper

When topic structure appears: the ratios of the models pretrained here, or of series of
checkpoints from elsewhere, against tokens seen.
    wikipedia.probe.repeated, wikipedia.over_tokens,
    wikipedia.pretraining_figures
    -> measure_snapshots, gather_series
    -> table_topic_structure_over_tokens, figure_topic_structure_over_tokens
Whether values know the topics, the theorem's first stage on text, and before attention does.
    wikipedia.probe.value_circuit, wikipedia.value_circuit, onelayer.text.models.architecture
    -> measure_embeddings, measure_snapshots
    -> table_value_circuit, table_value_heads, figure_value_circuit
Whether attention shows topics where inputs have several, as the stage-2 theorem has it: models
pretrained on inputs of several articles, on bags of their words, and on words drawn from topics.
    onelayer.text.pretraining.inputs, wikipedia.probe.packed, wikipedia.topics_per_input
    -> mix_articles, measure_inputs
    -> table_topics_per_input, figure_topics_per_input
Whether models need the heads that attend within topics: loss on words without them.
    wikipedia.head_removal, wikipedia.figures, wikipedia.probe.head_removal,
    wikipedia.probe.removals, onelayer.text.models.head_switch, onelayer.text.models.word_heads,
    onelayer.text.models.folder
    -> measure_head_removal
    -> table_head_removal, figure_head_removal
Attention on a text, to be looked at: results/reading.html.
    wikipedia.reading
    -> read_attention
Causal models beside encoders: pairs, nulls and equal distances in the lower triangle alone.
    wikipedia.probe.pairs.PairCounter, onelayer.text.models.checkpoints.is_causal
    -> probe_attention
    -> table_wikipedia_disjoint, table_wikipedia_overlapping
Whether verdicts on the ratios are right: permuted topics, and articles of shuffled words.
    wikipedia.probe.calibration -> calibrate_probe
Whether the ratios depend on the topic model: its backend, size and seed; a mean over them whose
interval covers their seeds, topics and articles.
    onelayer.text.topics.variation, wikipedia.probe.repeated,
    wikipedia.robustness.over_topic_models, wikipedia.topic_figures
    -> fit_topic_models, probe_topic_models
    -> table_topic_model_robustness, figure_topic_model_robustness
Whether what the probe finds depends on how it is done: the authors' code to the letter, and every
other combination of topics, words, heads and lengths.
    onelayer.text.topics.bags.TfIdf, wikipedia.probe.choices, wikipedia.choices
    -> fit_topic_models, probe_choices
    -> table_probe_choices, figure_probe_choices
"""
