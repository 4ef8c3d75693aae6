# Makkuva et al. (2024), Local to Global: gradient flow, and transformers on Markov chains.
local_to_global = settings.local_to_global
ablated = local_to_global.transformer.training.model_copy(
    update={"iterations": local_to_global.ablation.iterations}
)
ablation_settings = dict(
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
flow_shown = dict(
    chains=local_to_global.flow.chains,
    extent=local_to_global.flow.extent,
    points=local_to_global.flow.points,
    sigmas=local_to_global.flow.sigmas,
    wide=local_to_global.flow.wide,
    near=local_to_global.flow.near,
)
attention_flow = dict(
    chains=local_to_global.flow.chains,
    tolerance=local_to_global.flow.tolerance,
    at_rest=local_to_global.flow.at_rest,
    seed=local_to_global.flow.seed,
    device=local_to_global.flow.device,
    threads=local_to_global.flow.threads,
)
start_shown = dict(
    chain=local_to_global.transformer.chain,
    training=local_to_global.transformer.training,
    snapshots=local_to_global.transformer.snapshots,
)
ablation_shown = dict(
    chain=local_to_global.transformer.chain,
    training=ablated,
    variants=local_to_global.ablation.variants,
)
open_problems_shown = dict(
    sources=local_to_global.open_problems.sources,
    sequence_length=local_to_global.open_problems.sequence_length,
    batch=local_to_global.open_problems.batch,
    iterations=local_to_global.open_problems.iterations,
)
claims_shown = dict(
    chain=local_to_global.transformer.chain,
    training=local_to_global.transformer.training,
    extent=local_to_global.flow.extent,
    sigmas=local_to_global.attention_flow.sigmas,
    tolerance=local_to_global.flow.tolerance,
    at_rest=local_to_global.flow.at_rest,
)
published_shares = f"{reference}/local_to_global_rank_one.csv"


use rule step as simulate_flow with:
    output:
        maps="results/local_to_global/maps.safetensors",
        gaussian="results/local_to_global/gaussian_starts.parquet",
        neighbours="results/local_to_global/neighbours.parquet",
        paths="results/local_to_global/paths.safetensors",
        record=record,
    pathvars:
        step="simulate_flow",
    threads: local_to_global.flow.threads
    resources:
        **asks(900, minutes=10, device=local_to_global.flow.device),
    params:
        **script("simulate_flow", local_to_global.flow),


use rule step as tabulate_flow with:
    input:
        maps=rules.simulate_flow.output.maps,
        gaussian=rules.simulate_flow.output.gaussian,
        neighbours=rules.simulate_flow.output.neighbours,
    output:
        tables=[
            *table("local_to_global/critical_points", "Gradient flow", "table: critical points"),
            *table("local_to_global/basins", "Gradient flow", "table: basins"),
        ],
        record=record,
    pathvars:
        step="tabulate_flow",
    localrule: True
    resources:
        **asks(600, minutes=5),
    params:
        **script("tabulate_flow", **flow_shown),


use rule step as simulate_attention_flow with:
    output:
        ends="results/local_to_global/attention_ends.parquet",
        neighbours="results/local_to_global/attention_neighbours.parquet",
        record=record,
    pathvars:
        step="simulate_attention_flow",
    threads: local_to_global.flow.threads
    resources:
        **asks(900, minutes=10, device=local_to_global.flow.device),
    params:
        **script("simulate_attention_flow", local_to_global.attention_flow, **attention_flow),


use rule step as tabulate_attention_flow with:
    input:
        ends=rules.simulate_attention_flow.output.ends,
        neighbours=rules.simulate_attention_flow.output.neighbours,
    output:
        tables=[
            *table(
                "local_to_global/critical_points_with_attention",
                "Gradient flow",
                "table: critical points with attention",
            ),
            *table(
                "local_to_global/flow_with_attention",
                "Gradient flow",
                "table: ends of the flow with attention, and p + q = 1",
            ),
        ],
        record=record,
    pathvars:
        step="tabulate_attention_flow",
    localrule: True
    resources:
        **asks(600, minutes=5),
    params:
        **script("tabulate_attention_flow", chains=local_to_global.flow.chains),


use rule step as plot_flow with:
    input:
        gaussian=rules.simulate_flow.output.gaussian,
        paths=rules.simulate_flow.output.paths,
    output:
        figures=[
            *figure(
                "local_to_global/gradient_flow",
                "Gradient flow",
                "figure 1: gradient flow and basins",
            ),
            *figure(
                "local_to_global/attention_flow", "Gradient flow", "figure 2: flow with attention"
            ),
            *figure(
                "local_to_global/attention_flow_origin",
                "Gradient flow",
                "figure 5: the same near the origin",
            ),
            *figure(
                "local_to_global/initial_scale", "Gradient flow", "figure: scale of the start"
            ),
        ],
        record=record,
    pathvars:
        step="plot_flow",
    localrule: True
    resources:
        **asks(600, minutes=5),
    params:
        **script("plot_flow", **flow_shown),


use rule step as animate_landscape with:
    input:
        paths=rules.simulate_flow.output.paths,
    output:
        figures=figure("local_to_global/landscape", "Gradient flow", "figure: loss landscape"),
        animations=animation(
            "local_to_global/landscape", "Gradient flow", "animation: loss landscape"
        ),
        record=record,
    pathvars:
        step="animate_landscape",
    resources:
        **asks(700, minutes=10),
    params:
        **script("animate_landscape", **flow_shown),


use rule step as train_transformers with:
    output:
        curves="results/local_to_global/curves.parquet",
        weights="results/local_to_global/weights.safetensors",
        record=record,
    pathvars:
        step="train_transformers",
    threads: local_to_global.transformer.threads
    resources:
        **asks(1500, minutes=60, device=local_to_global.transformer.device),
    params:
        **script("train_transformers", local_to_global.transformer),


use rule step as tabulate_initialisation with:
    input:
        curves=rules.train_transformers.output.curves,
        published=published_shares,
    output:
        tables=[
            *table("local_to_global/initialisation", "Transformers", "table: initialisation"),
            *table("local_to_global/rank_one", "Transformers", "table: rank one"),
        ],
        record=record,
    pathvars:
        step="tabulate_initialisation",
    localrule: True
    resources:
        **asks(600, minutes=5),
    params:
        **script("tabulate_initialisation", **start_shown),


use rule step as plot_transformers with:
    input:
        curves=rules.train_transformers.output.curves,
        weights=rules.train_transformers.output.weights,
        published=published_shares,
    output:
        figures=[
            *figure("local_to_global/loss_curves", "Transformers", "figure 4: loss curves"),
            *figure(
                "local_to_global/weights_standard",
                "Transformers",
                "figure 3: weights, standard start",
            ),
            *figure(
                "local_to_global/weights_rank_one",
                "Transformers",
                "figure 6: weights, rank-one start",
            ),
        ],
        record=record,
    pathvars:
        step="plot_transformers",
    localrule: True
    resources:
        **asks(600, minutes=5),
    params:
        **script("plot_transformers", **start_shown),


use rule step as plot_rank_one with:
    input:
        curves=rules.train_transformers.output.curves,
        published=published_shares,
    output:
        figures=figure(
            "local_to_global/rank_one", "Transformers", "figure: rank one of all matrices"
        ),
        record=record,
    pathvars:
        step="plot_rank_one",
    localrule: True
    resources:
        **asks(600, minutes=5),
    params:
        **script("plot_rank_one"),


use rule step as ablate_transformers with:
    output:
        curves="results/local_to_global/ablation.parquet",
        record=record,
    pathvars:
        step="ablate_transformers",
    priority: 1
    threads: local_to_global.transformer.threads
    resources:
        **asks(1500, minutes=60, device=local_to_global.transformer.device),
    params:
        **script("ablate_transformers", **ablation_settings),


use rule step as tabulate_ablation with:
    input:
        curves=rules.ablate_transformers.output.curves,
    output:
        tables=table("local_to_global/ablation", "Transformers", "table: ablation"),
        record=record,
    pathvars:
        step="tabulate_ablation",
    localrule: True
    resources:
        **asks(600, minutes=5),
    params:
        **script("tabulate_ablation", **ablation_shown),


use rule step as plot_ablation with:
    input:
        curves=rules.ablate_transformers.output.curves,
    output:
        figures=figure(
            "local_to_global/longer_training", "Transformers", "figure: longer trainings"
        ),
        record=record,
    pathvars:
        step="plot_ablation",
    localrule: True
    resources:
        **asks(600, minutes=5),
    params:
        **script("plot_ablation", **ablation_shown),


use rule step as train_open_problems with:
    output:
        curves="results/local_to_global/open_problems.parquet",
        record=record,
    pathvars:
        step="train_open_problems",
    threads: local_to_global.transformer.threads
    resources:
        **asks(1200, minutes=30, device=local_to_global.transformer.device),
    params:
        **script(
            "train_open_problems",
            local_to_global.open_problems,
            device=local_to_global.transformer.device,
            threads=local_to_global.transformer.threads,
        ),


use rule step as tabulate_open_problems with:
    input:
        curves=rules.train_open_problems.output.curves,
    output:
        tables=table("local_to_global/open_problems", "Transformers", "table: open problems"),
        record=record,
    pathvars:
        step="tabulate_open_problems",
    localrule: True
    resources:
        **asks(600, minutes=5),
    params:
        **script("tabulate_open_problems", **open_problems_shown),


use rule step as plot_open_problems with:
    input:
        curves=rules.train_open_problems.output.curves,
    output:
        figures=figure("local_to_global/open_problems", "Transformers", "figure: open problems"),
        record=record,
    pathvars:
        step="plot_open_problems",
    localrule: True
    resources:
        **asks(600, minutes=5),
    params:
        **script("plot_open_problems", **open_problems_shown),


use rule step as tabulate_local_to_global_claims with:
    input:
        measured=expand(
            "results/tables/local_to_global/{name}.csv",
            name=[
                "critical_points",
                "basins",
                "critical_points_with_attention",
                "flow_with_attention",
                "initialisation",
                "rank_one",
            ],
        ),
        published=published_shares,
    output:
        tables=table(
            "local_to_global/claims",
            "Claims",
            "table: claims",
            target="table_local_to_global_claims",
        ),
        record=record,
    pathvars:
        step="tabulate_local_to_global_claims",
    localrule: True
    resources:
        **asks(600, minutes=5),
    params:
        **script("tabulate_local_to_global_claims", **claims_shown),
