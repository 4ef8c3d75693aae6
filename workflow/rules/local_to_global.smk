# Makkuva et al. (2024), Local to Global: gradient flow, and transformers on Markov chains.
local_to_global = settings.local_to_global
flow, transformer = local_to_global.flow, local_to_global.transformer
step(
    "simulate_flow",
    (900, 10),
    {
        "maps": "results/local_to_global/maps.safetensors",
        "gaussian": "results/local_to_global/gaussian_starts.parquet",
        "neighbours": "results/local_to_global/neighbours.parquet",
        "paths": "results/local_to_global/paths.safetensors",
    },
    flow,
)
step(
    "simulate_attention_flow",
    (900, 10),
    {
        "ends": "results/local_to_global/attention_ends.parquet",
        "neighbours": "results/local_to_global/attention_neighbours.parquet",
    },
    **{name: getattr(flow, name) for name in IntegrationSettings.model_fields},
    starts=local_to_global.attention_flow,
)
step(
    "animate_landscape",
    (700, 10),
    {
        "figures": figure("local_to_global/landscape", "Gradient flow", "figure: loss landscape"),
        "animations": animation(
            "local_to_global/landscape", "Gradient flow", "animation: loss landscape"
        ),
    },
    reads={"paths": "results/local_to_global/paths.safetensors"},
    chains=flow.chains,
    extent=flow.extent,
)
step(
    "train_transformers",
    (1500, 60),
    {
        "curves": "results/local_to_global/curves.parquet",
        "weights": "results/local_to_global/weights.safetensors",
    },
    transformer,
)
step(
    "ablate_transformers",
    (1500, 60),
    {"curves": "results/local_to_global/ablation.parquet"},
    local_to_global.ablated,
    priority=1,
)
step(
    "train_open_problems",
    (1200, 30),
    {"curves": "results/local_to_global/open_problems.parquet"},
    open_problems=local_to_global.open_problems,
    device=transformer.device,
    threads=transformer.threads,
)
step(
    "train_trapped",
    (1200, 60),
    {"curves": "results/local_to_global/trap.parquet"},
    local_to_global.trap,
)
