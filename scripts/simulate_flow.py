"""Follow the gradient flow from a grid, from Gaussian starts and from beside critical points."""

from safetensors.numpy import save_file

from onelayer.device import resolve_device
from onelayer.papers.local_to_global import simulation
from onelayer.papers.local_to_global.flow_tables import chains_of
from onelayer.settings.local_to_global import FlowSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    settings, chains = step.settings, chains_of(step.settings)
    step.device = resolve_device(settings.device)
    maps = simulation.basin_maps(chains, settings, step.device, step.progress)
    save_file(maps, step.outputs.maps)
    starts = simulation.gaussian_starts(chains, settings, step.device)
    starts.to_parquet(step.outputs.gaussian)
    simulation.neighbours(chains, settings, step.device).to_parquet(step.outputs.neighbours)
    save_file(simulation.shown_paths(chains, settings, step.device), step.outputs.paths)


if __name__ == "__main__":
    run(main, settings=FlowSettings, outputs=["maps", "gaussian", "neighbours", "paths"])
