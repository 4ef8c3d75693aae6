"""Local to Global: Learning Dynamics and Effect of Initialization (Makkuva et al. 2024).

Every claim in the order of the paper, and below it: modules -> steps -> targets. Modules are of
this package, or of the library where they begin with `onelayer`; a step computes, by a script and a
rule of its name; a target is a table or figure, which the function that declares it makes of them:
`snakemake --cores all <target>`.

Section 2: binary Markov chains

A chain has P(1 | 0) = p, P(0 | 1) = q; the unigram model's loss is H(pi), the bigram model's H_bi.
    chain, training.sequences -> train_transformers, ablate_transformers

Section 3: canonical model and its gradient flow

In closed form the loss of the canonical model (e, w) depends only on s = e^2 (1 + 2 w|w|).
    canonical -> simulate_flow, animate_landscape -> figure_landscape, animation_landscape
Theorem 1: critical points have s = s* (global minima, H_bi) or e = 0 (minima, maxima, saddle).
    canonical.hessian, theory.critical_points, simulation.neighbours, flow_tables
    -> simulate_flow -> table_critical_points
Lemma 1: the energy E is constant along the flow. Theorem 2: E and w decide where the flow ends.
    canonical.energy, basins, integrator, theory, simulation.basin_maps, flow_tables, claims
    -> simulate_flow -> table_basins, table_local_to_global_claims
Figure 1: flow along energy contours; basins I_* of global and I_min of local minima.
    flow_figures.gradient_flow, simulation.shown_paths -> simulate_flow -> figure_gradient_flow
Small Gaussian starts reach a global minimum for p + q < 1, a local one for p + q > 1.
    basins.probability_global, simulation.gaussian_starts, flow_figures.initial_scale
    -> simulate_flow -> table_basins, figure_initial_scale

Gradient flow with the attention scalar a

Theorem 3, figures 2 and 5: for p + q < 1 the local minima repel near the origin, else they attract.
    canonical.flow, simulation.shown_paths, flow_figures.attention_flow
    -> simulate_flow -> figure_attention_flow, figure_attention_flow_origin
Theorem 3: critical points with a, constant energy, and at which of them the flow ends.
    theory.critical_points_with_attention, simulation.attention_starts, flow_tables
    -> simulate_attention_flow -> table_critical_points_with_attention, table_flow_with_attention
p + q = 1, which the theorems leave out: all flows reach the one entropy.
    simulation.attention_starts, flow_tables -> simulate_attention_flow -> table_flow_with_attention

Transformers on sequences of the chain

Figure 3: from the standard initialisation all matrices become rank one.
    transformer, attention, initialisation.standard, training.top_share, training_figures, claims
    -> train_transformers
    -> table_rank_one, figure_weights_standard, figure_rank_one, table_local_to_global_claims
Figure 4: the standard start ends at H(pi), the paper's start at H_bi.
    initialisation.paper, schedule, training, training_tables, training_figures.loss_curves
    -> train_transformers -> table_initialisation, figure_loss_curves
Figure 6: from a rank-one start W_1 and W_V stay rank one.
    initialisation.rank_one, training.top_share, training_figures.weights_rank_one
    -> train_transformers -> table_rank_one, figure_weights_rank_one
Do both hold when training goes on?
    training, training_tables.ablation, training_figures.longer_training
    -> ablate_transformers -> table_ablation, figure_longer_training
Open problems: more states, higher order, two layers, from the standard start (analogues).
    chain.MarkovSource, open_problems, open_problem_tables, training_figures.way_closed
    -> train_open_problems -> table_open_problems, figure_open_problems
Beyond the paper: is the unigram model a minimum of the whole transformer where p + q > 1?
    trap, trap_tables, training_figures.trap_figure
    -> train_trapped -> table_trap, figure_trap
Beyond the paper: which changes of the training let a start leave the unigram model.
    training, training_tables.ablation -> ablate_transformers -> table_ablation
Beyond the paper: are values learned before attention, as in the other papers' models?
    circuits -> follow_circuits

All of it

What needs more than one row of the other tables: the worst of all chains, points and matrices.
    onelayer.evidence.claims, claims -> table_local_to_global_claims
"""
