# Makkuva et al. (2024), Local to Global: gradient flow, and transformers on Markov chains.
local_to_global = settings.local_to_global


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
        **script(
            "simulate_attention_flow",
            starts=local_to_global.attention_flow,
            chains=local_to_global.flow.chains,
            tolerance=local_to_global.flow.tolerance,
            at_rest=local_to_global.flow.at_rest,
            seed=local_to_global.flow.seed,
            device=local_to_global.flow.device,
            threads=local_to_global.flow.threads,
        ),


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
        **script(
            "animate_landscape",
            chains=local_to_global.flow.chains,
            extent=local_to_global.flow.extent,
        ),


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
        **script("ablate_transformers", local_to_global.ablated),


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
            open_problems=local_to_global.open_problems,
            device=local_to_global.transformer.device,
            threads=local_to_global.transformer.threads,
        ),
