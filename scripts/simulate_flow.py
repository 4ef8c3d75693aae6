"""Follow the gradient flow from a grid, from Gaussian starts and from beside critical points."""

from safetensors.numpy import save_file

from onelayer.compute.execution import execution_of
from onelayer.papers.local_to_global import simulation
from onelayer.papers.local_to_global.chain import Chain
from onelayer.run.step import Step, program
from onelayer.settings.local_to_global import FlowSettings


@program(settings=FlowSettings, outputs="maps gaussian neighbours paths")
def main(step: Step) -> None:
    settings, chains = step.settings, [Chain.of(one) for one in step.settings.chains]
    execution = execution_of(step, step.outputs.maps)
    save_file(simulation.basin_maps(chains, settings, execution), step.outputs.maps)
    gaussian = simulation.gaussian_starts(chains, settings, execution)
    neighbours = simulation.neighbours(chains, settings.tolerance, settings.at_rest, execution)
    step.write(gaussian=gaussian, neighbours=neighbours)
    save_file(simulation.shown_paths(chains, settings, execution), step.outputs.paths)
