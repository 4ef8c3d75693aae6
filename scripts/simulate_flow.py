"""Follow the gradient flow from a grid, from Gaussian starts and from beside critical points."""

from safetensors.numpy import save_file

from onelayer.execution import execution_of
from onelayer.papers.local_to_global import simulation
from onelayer.papers.local_to_global.flow_tables import chains_of
from onelayer.settings.local_to_global import FlowSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    settings, chains = step.settings, chains_of(step.settings)
    execution = execution_of(step, step.outputs.maps)
    save_file(simulation.basin_maps(chains, settings, execution), step.outputs.maps)
    starts = simulation.gaussian_starts(chains, settings, execution)
    starts.to_parquet(step.outputs.gaussian)
    simulation.neighbours(chains, settings, execution).to_parquet(step.outputs.neighbours)
    save_file(simulation.shown_paths(chains, settings, execution), step.outputs.paths)


if __name__ == "__main__":
    run(main, settings=FlowSettings, outputs=["maps", "gaussian", "neighbours", "paths"])
