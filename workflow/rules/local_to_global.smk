# Makkuva et al. (2024), Local to Global: gradient flow, and transformers on Markov chains.
local_to_global = settings.local_to_global
ablated = local_to_global.transformer.training.model_copy(
    update={"iterations": local_to_global.ablation.iterations}
)
flow_settings = settings_json(local_to_global.flow)
start_settings = settings_json(local_to_global.transformer)
ablation_settings = settings_json(
    chain=local_to_global.transformer.chain,
    training=ablated,
    seeds=local_to_global.ablation.seeds,
    evaluate_every=local_to_global.transformer.evaluate_every,
    evaluate_on=local_to_global.transformer.evaluate_on,
    device=local_to_global.transformer.device,
    threads=local_to_global.transformer.threads,
    variants=local_to_global.ablation.variants,
)
# Tables and figures compute nothing: no device, no threads.
flow_shown = settings_json(
    chains=local_to_global.flow.chains,
    extent=local_to_global.flow.extent,
    points=local_to_global.flow.points,
    sigmas=local_to_global.flow.sigmas,
    wide=local_to_global.flow.wide,
    near=local_to_global.flow.near,
)
start_shown = settings_json(
    chain=local_to_global.transformer.chain,
    training=local_to_global.transformer.training,
    snapshots=local_to_global.transformer.snapshots,
)
ablation_shown = settings_json(
    chain=local_to_global.transformer.chain,
    training=ablated,
    variants=local_to_global.ablation.variants,
)
published_shares = "workflow/reference/local_to_global_rank_one.csv"


rule simulate_flow:
    input:
        code=code_closure("simulate_flow"),
    output:
        maps="results/local_to_global/maps.safetensors",
        gaussian="results/local_to_global/gaussian_starts.parquet",
        neighbours="results/local_to_global/neighbours.parquet",
        paths="results/local_to_global/paths.safetensors",
        record="results/records/simulate_flow.json",
    log:
        "results/logs/simulate_flow.log",
    benchmark:
        "results/benchmarks/simulate_flow.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: local_to_global.flow.threads
    resources:
        mem_mb=growing(900),
        runtime=growing(10),
        gpu=gpus(local_to_global.flow.device),
    params:
        settings=flow_settings,
        libraries=library_versions("simulate_flow"),
    message:
        "Follow the gradient flow of the canonical model"
    shell:
        "python scripts/simulate_flow.py"
        " --maps {output.maps} --gaussian {output.gaussian}"
        " --neighbours {output.neighbours} --paths {output.paths}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule tabulate_flow:
    input:
        maps=rules.simulate_flow.output.maps,
        gaussian=rules.simulate_flow.output.gaussian,
        neighbours=rules.simulate_flow.output.neighbours,
        code=code_closure("tabulate_flow"),
    output:
        critical_points_csv="results/tables/local_to_global/critical_points.csv",
        critical_points_md="results/tables/local_to_global/critical_points.md",
        critical_points_tex="results/tables/local_to_global/critical_points.tex",
        critical_points_html=report(
            "results/tables/local_to_global/critical_points.html",
            caption="../report/critical_points.rst",
            category="Local to Global",
            subcategory="Gradient flow",
            labels={"result": "table: critical points"},
        ),
        basins_csv="results/tables/local_to_global/basins.csv",
        basins_md="results/tables/local_to_global/basins.md",
        basins_tex="results/tables/local_to_global/basins.tex",
        basins_html=report(
            "results/tables/local_to_global/basins.html",
            caption="../report/basins.rst",
            category="Local to Global",
            subcategory="Gradient flow",
            labels={"result": "table: basins"},
        ),
        record="results/records/tabulate_flow.json",
    log:
        "results/logs/tabulate_flow.log",
    benchmark:
        "results/benchmarks/tabulate_flow.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(600),
        runtime=growing(5),
    params:
        settings=flow_shown,
        libraries=library_versions("tabulate_flow"),
    message:
        "Tabulate critical points and basins"
    shell:
        "python scripts/tabulate_flow.py"
        " --maps {input.maps} --gaussian {input.gaussian}"
        " --neighbours {input.neighbours}"
        " --critical-points-csv {output.critical_points_csv}"
        " --critical-points-md {output.critical_points_md}"
        " --critical-points-tex {output.critical_points_tex}"
        " --critical-points-html {output.critical_points_html}"
        " --basins-csv {output.basins_csv} --basins-md {output.basins_md}"
        " --basins-tex {output.basins_tex} --basins-html {output.basins_html}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_flow:
    input:
        gaussian=rules.simulate_flow.output.gaussian,
        paths=rules.simulate_flow.output.paths,
        code=code_closure("plot_flow"),
    output:
        gradient_flow_pdf="results/figures/local_to_global/gradient_flow.pdf",
        gradient_flow_png=report(
            "results/figures/local_to_global/gradient_flow.png",
            caption="../report/gradient_flow.rst",
            category="Local to Global",
            subcategory="Gradient flow",
            labels={"result": "figure 1: gradient flow and basins"},
        ),
        attention_flow_pdf="results/figures/local_to_global/attention_flow.pdf",
        attention_flow_png=report(
            "results/figures/local_to_global/attention_flow.png",
            caption="../report/attention_flow.rst",
            category="Local to Global",
            subcategory="Gradient flow",
            labels={"result": "figure 2: flow with attention"},
        ),
        attention_flow_origin_pdf="results/figures/local_to_global/attention_flow_origin.pdf",
        attention_flow_origin_png=report(
            "results/figures/local_to_global/attention_flow_origin.png",
            caption="../report/attention_flow_origin.rst",
            category="Local to Global",
            subcategory="Gradient flow",
            labels={"result": "figure 5: the same near the origin"},
        ),
        initial_scale_pdf="results/figures/local_to_global/initial_scale.pdf",
        initial_scale_png=report(
            "results/figures/local_to_global/initial_scale.png",
            caption="../report/initial_scale.rst",
            category="Local to Global",
            subcategory="Gradient flow",
            labels={"result": "figure: scale of the start"},
        ),
        record="results/records/plot_flow.json",
    log:
        "results/logs/plot_flow.log",
    benchmark:
        "results/benchmarks/plot_flow.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(600),
        runtime=growing(5),
    params:
        settings=flow_shown,
        libraries=library_versions("plot_flow"),
    message:
        "Plot the gradient flow"
    shell:
        "python scripts/plot_flow.py"
        " --gaussian {input.gaussian} --paths {input.paths}"
        " --gradient-flow-pdf {output.gradient_flow_pdf}"
        " --gradient-flow-png {output.gradient_flow_png}"
        " --attention-flow-pdf {output.attention_flow_pdf}"
        " --attention-flow-png {output.attention_flow_png}"
        " --attention-flow-origin-pdf {output.attention_flow_origin_pdf}"
        " --attention-flow-origin-png {output.attention_flow_origin_png}"
        " --initial-scale-pdf {output.initial_scale_pdf}"
        " --initial-scale-png {output.initial_scale_png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule animate_landscape:
    input:
        paths=rules.simulate_flow.output.paths,
        code=code_closure("animate_landscape"),
    output:
        pdf="results/figures/local_to_global/landscape.pdf",
        png=report(
            "results/figures/local_to_global/landscape.png",
            caption="../report/landscape.rst",
            category="Local to Global",
            subcategory="Gradient flow",
            labels={"result": "figure: loss landscape"},
        ),
        gif=report(
            "results/animations/local_to_global/landscape.gif",
            caption="../report/landscape_animation.rst",
            category="Local to Global",
            subcategory="Gradient flow",
            labels={"result": "animation: loss landscape"},
        ),
        record="results/records/animate_landscape.json",
    log:
        "results/logs/animate_landscape.log",
    benchmark:
        "results/benchmarks/animate_landscape.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(700),
        runtime=growing(10),
    params:
        settings=flow_shown,
        libraries=library_versions("animate_landscape"),
    message:
        "Animate the gradient flow"
    shell:
        "python scripts/animate_landscape.py"
        " --paths {input.paths} --pdf {output.pdf} --png {output.png} --gif {output.gif}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule train_transformers:
    input:
        code=code_closure("train_transformers"),
    output:
        curves="results/local_to_global/curves.parquet",
        weights="results/local_to_global/weights.safetensors",
        record="results/records/train_transformers.json",
    log:
        "results/logs/train_transformers.log",
    benchmark:
        "results/benchmarks/train_transformers.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: local_to_global.transformer.threads
    resources:
        mem_mb=growing(1500),
        runtime=growing(60),
        gpu=gpus(local_to_global.transformer.device),
    params:
        settings=start_settings,
        libraries=library_versions("train_transformers"),
    message:
        "Train transformers from three initialisations"
    shell:
        "python scripts/train_transformers.py"
        " --curves {output.curves} --weights {output.weights}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule tabulate_initialisation:
    input:
        curves=rules.train_transformers.output.curves,
        published=published_shares,
        code=code_closure("tabulate_initialisation"),
    output:
        initialisation_csv="results/tables/local_to_global/initialisation.csv",
        initialisation_md="results/tables/local_to_global/initialisation.md",
        initialisation_tex="results/tables/local_to_global/initialisation.tex",
        initialisation_html=report(
            "results/tables/local_to_global/initialisation.html",
            caption="../report/initialisation.rst",
            category="Local to Global",
            subcategory="Transformers",
            labels={"result": "table: initialisation"},
        ),
        rank_one_csv="results/tables/local_to_global/rank_one.csv",
        rank_one_md="results/tables/local_to_global/rank_one.md",
        rank_one_tex="results/tables/local_to_global/rank_one.tex",
        rank_one_html=report(
            "results/tables/local_to_global/rank_one.html",
            caption="../report/rank_one.rst",
            category="Local to Global",
            subcategory="Transformers",
            labels={"result": "table: rank one"},
        ),
        record="results/records/tabulate_initialisation.json",
    log:
        "results/logs/tabulate_initialisation.log",
    benchmark:
        "results/benchmarks/tabulate_initialisation.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(600),
        runtime=growing(5),
    params:
        settings=start_shown,
        libraries=library_versions("tabulate_initialisation"),
    message:
        "Tabulate what three initialisations learn"
    shell:
        "python scripts/tabulate_initialisation.py"
        " --curves {input.curves} --published {input.published}"
        " --initialisation-csv {output.initialisation_csv}"
        " --initialisation-md {output.initialisation_md}"
        " --initialisation-tex {output.initialisation_tex}"
        " --initialisation-html {output.initialisation_html}"
        " --rank-one-csv {output.rank_one_csv} --rank-one-md {output.rank_one_md}"
        " --rank-one-tex {output.rank_one_tex} --rank-one-html {output.rank_one_html}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule plot_transformers:
    input:
        curves=rules.train_transformers.output.curves,
        weights=rules.train_transformers.output.weights,
        published=published_shares,
        code=code_closure("plot_transformers"),
    output:
        loss_curves_pdf="results/figures/local_to_global/loss_curves.pdf",
        loss_curves_png=report(
            "results/figures/local_to_global/loss_curves.png",
            caption="../report/loss_curves.rst",
            category="Local to Global",
            subcategory="Transformers",
            labels={"result": "figure 4: loss curves"},
        ),
        weights_standard_pdf="results/figures/local_to_global/weights_standard.pdf",
        weights_standard_png=report(
            "results/figures/local_to_global/weights_standard.png",
            caption="../report/weights_standard.rst",
            category="Local to Global",
            subcategory="Transformers",
            labels={"result": "figure 3: weights, standard start"},
        ),
        weights_rank_one_pdf="results/figures/local_to_global/weights_rank_one.pdf",
        weights_rank_one_png=report(
            "results/figures/local_to_global/weights_rank_one.png",
            caption="../report/weights_rank_one.rst",
            category="Local to Global",
            subcategory="Transformers",
            labels={"result": "figure 6: weights, rank-one start"},
        ),
        record="results/records/plot_transformers.json",
    log:
        "results/logs/plot_transformers.log",
    benchmark:
        "results/benchmarks/plot_transformers.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(600),
        runtime=growing(5),
    params:
        settings=start_shown,
        libraries=library_versions("plot_transformers"),
    message:
        "Plot the trained transformers"
    shell:
        "python scripts/plot_transformers.py"
        " --curves {input.curves} --weights {input.weights}"
        " --published {input.published} --loss-curves-pdf {output.loss_curves_pdf}"
        " --loss-curves-png {output.loss_curves_png}"
        " --weights-standard-pdf {output.weights_standard_pdf}"
        " --weights-standard-png {output.weights_standard_png}"
        " --weights-rank-one-pdf {output.weights_rank_one_pdf}"
        " --weights-rank-one-png {output.weights_rank_one_png}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule ablate_transformers:
    input:
        code=code_closure("ablate_transformers"),
    output:
        curves="results/local_to_global/ablation.parquet",
        record="results/records/ablate_transformers.json",
    log:
        "results/logs/ablate_transformers.log",
    benchmark:
        "results/benchmarks/ablate_transformers.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: local_to_global.transformer.threads
    resources:
        mem_mb=growing(1500),
        runtime=growing(60),
        gpu=gpus(local_to_global.transformer.device),
    params:
        settings=ablation_settings,
        libraries=library_versions("ablate_transformers"),
    message:
        "Train transformers with one change at a time"
    shell:
        "python scripts/ablate_transformers.py"
        " --curves {output.curves}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule tabulate_ablation:
    input:
        curves=rules.ablate_transformers.output.curves,
        code=code_closure("tabulate_ablation"),
    output:
        csv="results/tables/local_to_global/ablation.csv",
        md="results/tables/local_to_global/ablation.md",
        tex="results/tables/local_to_global/ablation.tex",
        html=report(
            "results/tables/local_to_global/ablation.html",
            caption="../report/ablation.rst",
            category="Local to Global",
            subcategory="Transformers",
            labels={"result": "table: ablation"},
        ),
        record="results/records/tabulate_ablation.json",
    log:
        "results/logs/tabulate_ablation.log",
    benchmark:
        "results/benchmarks/tabulate_ablation.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(600),
        runtime=growing(5),
    params:
        settings=ablation_shown,
        libraries=library_versions("tabulate_ablation"),
    message:
        "Tabulate what lets a start escape"
    shell:
        "python scripts/tabulate_ablation.py"
        " --curves {input.curves} --csv {output.csv} --md {output.md} --tex {output.tex}"
        " --html {output.html}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


tables |= {
    "results/tables/local_to_global/critical_points": "critical_points",
    "results/tables/local_to_global/basins": "basins",
    "results/tables/local_to_global/initialisation": "initialisation",
    "results/tables/local_to_global/rank_one": "rank_one",
    "results/tables/local_to_global/ablation": "ablation",
}
figures |= {
    "results/figures/local_to_global/gradient_flow": "gradient_flow",
    "results/figures/local_to_global/attention_flow": "attention_flow",
    "results/figures/local_to_global/attention_flow_origin": "attention_flow_origin",
    "results/figures/local_to_global/initial_scale": "initial_scale",
    "results/figures/local_to_global/landscape": "landscape",
    "results/figures/local_to_global/loss_curves": "loss_curves",
    "results/figures/local_to_global/weights_standard": "weights_standard",
    "results/figures/local_to_global/weights_rank_one": "weights_rank_one",
}
animations |= {"results/animations/local_to_global/landscape": "landscape_animation"}
records += [
    rules.simulate_flow.output.record,
    rules.tabulate_flow.output.record,
    rules.plot_flow.output.record,
    rules.animate_landscape.output.record,
    rules.train_transformers.output.record,
    rules.tabulate_initialisation.output.record,
    rules.plot_transformers.output.record,
    rules.ablate_transformers.output.record,
    rules.tabulate_ablation.output.record,
]


rule table_critical_points:
    input:
        multiext("results/tables/local_to_global/critical_points", ".csv", ".md", ".tex", ".html"),


rule table_basins:
    input:
        multiext("results/tables/local_to_global/basins", ".csv", ".md", ".tex", ".html"),


rule table_initialisation:
    input:
        multiext("results/tables/local_to_global/initialisation", ".csv", ".md", ".tex", ".html"),


rule table_rank_one:
    input:
        multiext("results/tables/local_to_global/rank_one", ".csv", ".md", ".tex", ".html"),


rule table_ablation:
    input:
        multiext("results/tables/local_to_global/ablation", ".csv", ".md", ".tex", ".html"),


rule figure_gradient_flow:
    input:
        multiext("results/figures/local_to_global/gradient_flow", ".pdf", ".png"),


rule figure_attention_flow:
    input:
        multiext("results/figures/local_to_global/attention_flow", ".pdf", ".png"),


rule figure_attention_flow_origin:
    input:
        multiext("results/figures/local_to_global/attention_flow_origin", ".pdf", ".png"),


rule figure_initial_scale:
    input:
        multiext("results/figures/local_to_global/initial_scale", ".pdf", ".png"),


rule figure_landscape:
    input:
        multiext("results/figures/local_to_global/landscape", ".pdf", ".png"),
        rules.animate_landscape.output.gif,


rule figure_loss_curves:
    input:
        multiext("results/figures/local_to_global/loss_curves", ".pdf", ".png"),


rule figure_weights_standard:
    input:
        multiext("results/figures/local_to_global/weights_standard", ".pdf", ".png"),


rule figure_weights_rank_one:
    input:
        multiext("results/figures/local_to_global/weights_rank_one", ".pdf", ".png"),


rule local_to_global:
    input:
        rules.table_critical_points.input,
        rules.table_basins.input,
        rules.table_initialisation.input,
        rules.table_rank_one.input,
        rules.table_ablation.input,
        rules.figure_gradient_flow.input,
        rules.figure_attention_flow.input,
        rules.figure_attention_flow_origin.input,
        rules.figure_initial_scale.input,
        rules.figure_landscape.input,
        rules.figure_loss_curves.input,
        rules.figure_weights_standard.input,
        rules.figure_weights_rank_one.input,


localrules:
    table_critical_points,
    table_basins,
    table_initialisation,
    table_rank_one,
    table_ablation,
    figure_gradient_flow,
    figure_attention_flow,
    figure_attention_flow_origin,
    figure_initial_scale,
    figure_landscape,
    figure_loss_curves,
    figure_weights_standard,
    figure_weights_rank_one,
    local_to_global,
