"""What every paper's room promises: its tables with their key columns, figures, and steps."""

_SIZES = ["vocabulary", "sequence_length", "list_length"]
# Table -> key columns, under the paper's name.
TABLES = {
    "topic_structure": {
        "attention_by_optimizer": ["variant", "accounting", "optimizer", "learning_rate"],
        "corpora": ["corpus"],
        "pretraining_losses": ["model", "seed"],
        "stage_two_ratio": ["documents", "method", "tau"],
        "theory_gap": ["parameter", "masked", "loss", "optimizer", "weight_decay"],
        "topic_model_robustness": ["model", "backend", "topics", "seed"],
        "topic_quality": ["corpus"],
        "topic_structure_over_tokens": ["model", "tokens_seen", "overlap", "threshold"],
        "topics": ["corpus", "topic", "rank", "word"],
        "two_stage": ["setting", "seed"],
        "wikipedia_claims": ["claim", "overlap", "model", "threshold"],
        "wikipedia_disjoint": ["overlap", "model", "threshold"],
        "wikipedia_overlapping": ["overlap", "model", "threshold"],
    },
    "decision_lists": {
        "theorem_1": [*_SIZES, "delta"],
        "attention_training": [*_SIZES, "delta", "zipf", "method", "seed"],
        "theorem_2": [*_SIZES, "delta", "epsilon", "trained_on"],
        "value_from_uniform_attention": [*_SIZES, "seed"],
        "joint_training": ["start", *_SIZES, "seed"],
    },
    "scan_snap": {
        "claims": ["claim", "setting"],
        "entropy_sweep": ["num_last", "lr_Z", "lr_Y_multiplier"],
    },
    "local_to_global": {
        "ablation": ["variant", "initialisation"],
        "basins": ["p", "q", "start"],
        "critical_points": ["p", "q", "point"],
        "initialisation": ["initialisation", "seed"],
        "rank_one": ["initialisation", "matrix", "iteration"],
    },
}
FIGURES = {
    "topic_structure": [
        "attention_heads",
        "attention_heatmaps",
        "gap_against_decay",
        "pretraining_losses",
        "stage_two_ratio",
        "topic_blocks",
        "topic_model_robustness",
        "topic_structure_over_tokens",
        "topics",
        "two_stage_map",
        "two_stage_norms",
        "wikipedia_ratios",
        "word_groups",
    ],
    "decision_lists": [
        "accuracy_over_time",
        "attention_order",
        "joint_training",
        "time_to_perfect",
        "value_from_uniform_attention",
    ],
    "scan_snap": [
        "attention_maps",
        "attention_over_time",
        "entropy_sweep",
        "phase_map",
        "scan",
    ],
    "local_to_global": [
        "attention_flow",
        "attention_flow_origin",
        "gradient_flow",
        "initial_scale",
        "landscape",
        "loss_curves",
        "weights_rank_one",
        "weights_standard",
    ],
}
ANIMATIONS = {"local_to_global": ["landscape"]}
# Where the report shows them: the menu entries of each paper.
SECTIONS = {
    "Topic structure": [
        "Wikipedia: results",
        "Wikipedia: pretraining",
        "Wikipedia: data and topics",
        "Synthetic: tables",
        "Synthetic: figures",
    ],
    "Decision lists": ["W alone (Theorem 1)", "V, and W and V together"],
    "Scan and Snap": ["Synthetic", "Real text", "Claims"],
    "Local to Global": ["Gradient flow", "Transformers"],
}

# The steps behind each named target, under the target of the paper or of its part.
_WORDS = {"fetch_corpus", "parse_articles", "fetch_model", "count_words"}
_TOPICS = _WORDS | {"fit_lda", "measure_topics"}
_PRETRAINING = {"fetch_corpus", "parse_articles", "encode_articles", "pretrain_model"}
_LABELS = _WORDS | {"fit_lda", "filter_ambiguous_words"}
_CHECKPOINTS = _LABELS | _PRETRAINING | {"init_random_model"}
_SNAPSHOTS = _LABELS | _PRETRAINING | {"measure_snapshots"}
_ATTENTION = _CHECKPOINTS | {"probe_attention", "measure_attention"}
_EMBEDDINGS = _CHECKPOINTS | {"extract_embeddings", "measure_embeddings"}
_ROBUSTNESS = _WORDS | {"fit_topic_models", "probe_topic_models"}
_SIMULATION = {"simulate_scan_snap"}
_TEXT_MODEL = {"fetch_corpus", "parse_articles", "train_text_model"}
NEEDS = {
    "topic_structure_wikipedia": {
        "table_corpora": {"fetch_corpus", "parse_articles", "tabulate_corpora"},
        "table_pretraining_losses": _PRETRAINING | {"tabulate_pretraining_losses"},
        "figure_pretraining_losses": _PRETRAINING | {"plot_pretraining_losses"},
        "table_topic_structure_over_tokens": _SNAPSHOTS | {"tabulate_topic_structure_over_tokens"},
        "figure_topic_structure_over_tokens": _SNAPSHOTS | {"plot_topic_structure_over_tokens"},
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
    "topic_structure_synthetic": {
        "table_theory_gap": {"train_uniform_attention", "tabulate_theory_gap"},
        "table_attention_by_optimizer": {
            "train_topic_attention",
            "tabulate_attention_by_optimizer",
        },
        "table_two_stage": {"train_two_stages", "tabulate_two_stage"},
        "table_stage_two_ratio": {"optimise_topic_attention", "tabulate_stage_two_ratio"},
        "figure_topic_blocks": {"train_uniform_attention", "plot_theory_gap"},
        "figure_gap_against_decay": {"train_uniform_attention", "plot_theory_gap"},
        "figure_attention_heatmaps": {"train_topic_attention", "plot_attention_heatmaps"},
        "figure_two_stage_norms": {"train_two_stages", "plot_two_stages"},
        "figure_two_stage_map": {"train_two_stages", "plot_two_stages"},
        "figure_stage_two_ratio": {"optimise_topic_attention", "plot_stage_two_ratio"},
    },
    "decision_lists": {
        "table_theorem_1": {"solve_decision_lists", "tabulate_theorem_1"},
        "table_attention_training": {
            "train_decision_list_attention",
            "tabulate_attention_training",
        },
        "table_theorem_2": {"train_decision_list_joint", "tabulate_theorem_2"},
        "table_value_from_uniform_attention": {
            "train_decision_list_value",
            "tabulate_value_training",
        },
        "table_joint_training": {"train_decision_list_joint", "tabulate_joint_training"},
        "figure_accuracy_over_time": {
            "solve_decision_lists",
            "train_decision_list_attention",
            "plot_accuracy_over_time",
        },
        "figure_time_to_perfect": {"solve_decision_lists", "plot_time_to_perfect"},
        "figure_attention_order": {
            "solve_decision_lists",
            "train_decision_list_attention",
            "plot_attention_order",
        },
        "figure_value_from_uniform_attention": {
            "train_decision_list_value",
            "plot_value_training",
        },
        "figure_joint_training": {"train_decision_list_joint", "plot_joint_training"},
    },
    "scan_snap": {
        "table_entropy_sweep": _SIMULATION | {"tabulate_entropy_sweep"},
        "table_scan_snap_claims": _SIMULATION | _TEXT_MODEL | {"tabulate_scan_snap_claims"},
        "figure_scan": _SIMULATION | {"plot_scan"},
        "figure_entropy_sweep": _SIMULATION | {"plot_entropy_sweep"},
        "figure_phase_map": _SIMULATION | {"plot_phase_map"},
        "figure_attention_maps": _TEXT_MODEL | {"plot_attention_maps"},
        "figure_attention_over_time": _TEXT_MODEL | {"plot_attention_over_time"},
    },
    "local_to_global": {
        "table_critical_points": {"simulate_flow", "tabulate_flow"},
        "table_basins": {"simulate_flow", "tabulate_flow"},
        "table_initialisation": {"train_transformers", "tabulate_initialisation"},
        "table_rank_one": {"train_transformers", "tabulate_initialisation"},
        "table_ablation": {"ablate_transformers", "tabulate_ablation"},
        "figure_gradient_flow": {"simulate_flow", "plot_flow"},
        "figure_attention_flow": {"simulate_flow", "plot_flow"},
        "figure_attention_flow_origin": {"simulate_flow", "plot_flow"},
        "figure_initial_scale": {"simulate_flow", "plot_flow"},
        "figure_landscape": {"simulate_flow", "animate_landscape"},
        "figure_loss_curves": {"train_transformers", "plot_transformers"},
        "figure_weights_standard": {"train_transformers", "plot_transformers"},
        "figure_weights_rank_one": {"train_transformers", "plot_transformers"},
    },
}
# Targets that are nothing but other targets together.
TOGETHER = {"topic_structure": ["topic_structure_wikipedia", "topic_structure_synthetic"]}

# Steps that do not depend on the words that a threshold keeps.
BEFORE_THRESHOLDS = _TOPICS | _PRETRAINING | {"fit_topic_models", "probe_topic_models"}
