"""Provable Gradient-Descent-Based Learning of Decision Lists by Transformers (anonymous).

Every claim in the order of the paper, and below it: modules -> steps -> targets. Modules are of
this package, or of the library where they begin with `onelayer`; a step computes, by a script and a
rule of its name; a target is a table or figure, which the function that declares it makes of them:
`snakemake --cores all <target>`. The paper has no figures and no numbers but its bounds: all
figures are ours.

Section I.A: f_{W,V}(X) = softmax(V X softmax(X^T W X)) and its loss (eq. 1, 2)

Loss, gradients and strict accuracy, in closed form.
    model -> train_decision_list_attention, train_decision_list_value, train_decision_list_joint
W_K and W_Q apart, as in the section's first equation, beside W = W_K^T W_Q.
    full.FactoredTraining, attention, tables.attention_training, claims
    -> train_decision_list_attention -> table_attention_training, table_decision_lists_claims
All claims of the paper, read from its other tables: what a theorem says of all is decided by the
worst size, margin or run.
    claims -> table_decision_lists_claims

Section I.B: lists L_a = (a_1, ..., a_m = a), permutation pi, label-determining tokens

Lists of equal length, or of unequal length m <= M; sequences of n distinct tokens, all of them or
fresh ones for every step.
    data, full.Sampler
    -> train_decision_list_attention, train_decision_list_value, train_decision_list_joint

Section I.C.1: training only W, with V = cP (Theorem 1)

Gradient flow from W = 0 classifies perfectly within time 4 M / (log(L) gamma); beyond the paper,
exponents of the time are in the table of exponents.
    constants.theorem_1_bound, reduced, tables.theorem_1, figures.time_to_perfect
    -> solve_decision_lists -> table_theorem_1, figure_time_to_perfect
The lists and distributions nearest to the bound, with M not much less than L.
    worst_case -> search_worst_case -> table_worst_case, figure_worst_case
The full matrix W does as the reduced flow says; so does SGD on fresh sequences.
    full, attention, tables.attention_training, figures.accuracy_over_time
    -> solve_decision_lists, train_decision_list_attention
    -> table_attention_training, figure_accuracy_over_time
W orders every list, its first token highest; the own token is learned first.
    model.Columns, reduced.trajectories, figures.attention_order
    -> solve_decision_lists, train_decision_list_attention -> figure_attention_order

Section I.C.2: training W and V (Theorem 2)

Near V = cP, within a window of steps, gradient descent classifies perfectly: the slowest seed.
    constants.theorem_2, joint.near_runs, tables.theorem_2 -> train_decision_list_joint
    -> table_theorem_2
The same against the noise epsilon on V = cP, seed by seed.
    joint.near_runs, tables.joint_training, value_figures.joint_training
    -> train_decision_list_joint -> table_joint_training, figure_joint_training

Section II: conclusion

Uniform attention (W = 0) is sufficient to push V in the direction of P.
    joint.value_runs, tables.value_from_uniform_attention, value_figures
    -> train_decision_list_value
    -> table_value_from_uniform_attention, figure_value_from_uniform_attention
Left open by the authors: W and V from small random starts.
    joint.small_runs, tables.joint_training, value_figures.joint_training
    -> train_decision_list_joint -> table_joint_training, figure_joint_training
Beyond the paper: is V learned before W, as in the other papers' models?
    circuits -> follow_circuits
"""
