# Makkuva et al. (2024), Local to Global: gradient flow, and transformers on Markov chains.
local_to_global = settings.local_to_global
flow, transformer = local_to_global.flow, local_to_global.transformer
step(
    "simulate_flow",
    (900, 10),
    below(
        "results/local_to_global",
        maps="maps.safetensors",
        gaussian="gaussian_starts.parquet",
        neighbours="neighbours.parquet",
        paths="paths.safetensors",
    ),
    flow,
)
step(
    "simulate_attention_flow",
    (900, 10),
    alike("results/local_to_global/attention_*.parquet", "ends", "neighbours"),
    **{name: getattr(flow, name) for name in IntegrationSettings.model_fields},
    starts=local_to_global.attention_flow,
)
step(
    "animate_landscape",
    (700, 10),
    {
        f"{kind}s": declared(
            kind, "local_to_global/landscape", "Gradient flow", f"{kind}: loss landscape"
        )
        for kind in ("figure", "animation")
    },
    reads={"paths": "results/local_to_global/paths.safetensors"},
    chains=flow.chains,
    extent=flow.extent,
)
step(
    "train_transformers",
    (1500, 60),
    below("results/local_to_global", curves="curves.parquet", weights="weights.safetensors"),
    transformer,
)
step(
    "ablate_transformers",
    (1500, 60),
    {"curves": "results/local_to_global/ablation.parquet"},
    local_to_global.ablated,
    priority=1,
    variants=local_to_global.ablation.variants,
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
