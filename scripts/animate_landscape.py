"""Draw the loss landscape with trajectories of the gradient flow, as a picture and animated."""

from safetensors.numpy import load_file

from onelayer.evidence.animations import animate
from onelayer.evidence.figures import house_style, save
from onelayer.papers.local_to_global.flow_figures import Landscape
from onelayer.run.step import Step, program
from onelayer.settings.local_to_global import ChainSettings


@program(inputs="paths", outputs="figures* animations*")
def main(step: Step, chains: list[ChainSettings], extent: float) -> None:
    with house_style():
        landscape = Landscape(load_file(step.inputs.paths), chains, extent)
        landscape.draw(landscape.frames - 1)
        save(landscape.figure, *step.outputs.figures)
        animate(landscape.animation(), *step.outputs.animations)
