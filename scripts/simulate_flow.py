"""Follow the gradient flow from a grid, from Gaussian starts and from beside critical points."""

from safetensors.numpy import save_file

from onelayer.compute.execution import execution_of
from onelayer.papers.local_to_global import simulation
from onelayer.run.step import Step, program
from onelayer.settings.local_to_global import FlowSettings


@program(settings=FlowSettings, outputs="maps gaussian neighbours paths")
def main(step: Step) -> None:
    how = step.settings, execution_of(step)
    save_file(simulation.basin_maps(*how), step.outputs.maps)
    step.write(gaussian=simulation.gaussian_starts(*how), neighbours=simulation.neighbours(*how))
    save_file(simulation.shown_paths(*how), step.outputs.paths)
