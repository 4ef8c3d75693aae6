"""Scan and Snap (Tian, Wang, Chen & Du 2023): training dynamics of a one-layer transformer.

Every claim in the order of the paper, and below it: modules -> steps -> targets. Modules are of
this package, or of the library where they begin with `onelayer`; a step computes, by a script and a
rule of its name; a target is a table or figure, which the function that declares it makes of them:
`snakemake --cores all <target>`.

Setting: self-attention Z and decoder Y, no positions, one sequence class per (m, n)

Only token counts matter, so that all runs of a sweep train as one ensemble.
    data, model, simulation, onelayer.compute.ensemble -> simulate_scan_snap

Scan: attention c_{l|n} of a query token m over contextual tokens l

Common tokens lose attention, distinct ones gain it.
    measures.common_mass, claims -> simulate_scan_snap -> table_scan_snap_claims
Figure 4: distinct tokens gain in the order of their frequency P(l|n); the rarest lose.
    measures.trajectories, claims, figures.scan
    -> simulate_scan_snap
    -> table_scan_snap_claims, figure_scan

Attention drops progressively, from low to high co-occurrence: how many tokens drop, and when.
    measures.drop_times, claims.drop_claims -> simulate_scan_snap -> table_scan_snap_claims
Assumptions (a) to (c), one at a time: positions, input length, a slower or faster decoder.
    simulation.simulate_changes, positions, claims
    -> simulate_scan_snap_assumptions -> table_scan_snap_claims

Snap: attention comes to rest

The phase transition is controllable by the learning rates of the two layers: its time.
    measures.transition_times, measures.transition_exponents, claims, figures.phase_transition
    -> simulate_scan_snap
    -> table_scan_snap_claims, figure_phase_transition
Beyond the paper: its exponents add up to -1 where steps are small, as time is rescaled.
    rescaling, simulation.simulate_slower, onelayer.report.exponents
    -> simulate_slow_transitions -> table_exponents, figure_exponents
Beyond the paper: is the decoder learned before attention, as in the other papers' models?
    circuits -> follow_circuits

It does not end as winner-takes-all; it slows down and stays on a combination of tokens.
    measures.trajectories, claims, figures.scan
    -> simulate_scan_snap
    -> table_scan_snap_claims, figure_scan
Beyond the paper: does it slow down because the decoder learns? Slower and frozen decoders.
    rest -> simulate_scan_snap -> table_rest, figure_rest
Figure 6: a larger lr_Y/lr_Z ends at a higher entropy of c_n, a larger lr_Z at a lower one; each
cell and all together, means of our seeds against means of the paper's ten.
    measures.entropy_by_run, entropy_sweep, claims.sweep_claims, claims.over_sizes,
    figures.entropy_sweep
    -> simulate_scan_snap
    -> table_entropy_sweep, table_scan_snap_claims, figure_entropy_sweep
Beyond the paper: the same over a fine grid of learning rates.
    measures.entropy_by_run, entropy_sweep.read_published, figures.phase_map
    -> simulate_scan_snap
    -> figure_phase_map

Real text

Figure 7: attention of a language model becomes sparse over training.
    text, language_model, text_training, figures.attention_maps
    -> fetch_corpus, parse_articles, train_text_model
    -> figure_attention_maps
Without positions, as the theory has it, beside the same training with them; several corpora.
    language_model.forward, claims -> train_text_model -> table_scan_snap_claims
Beyond the paper: the same as numbers on held-out text, and attention received by token frequency.
    text.frequency_bins, text_training.Observer, claims, figures.attention_over_time
    -> train_text_model
    -> table_scan_snap_claims, figure_attention_over_time
"""
