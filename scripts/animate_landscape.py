"""Draw the loss landscape with trajectories of the gradient flow, as a picture and animated."""

from safetensors.numpy import load_file

from onelayer.evidence.animations import animate
from onelayer.evidence.figures import house_style, save
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.flow_figures import Landscape
from onelayer.papers.local_to_global.theory import shown_chains
from onelayer.run.step import Step, program
from onelayer.settings.local_to_global import ChainSettings


@program(inputs="paths", outputs="figures* animations*")
def main(step: Step, chains: list[ChainSettings], extent: float) -> None:
    shown = shown_chains([Chain.of(one) for one in chains])
    gif, png = step.outputs.animations
    with house_style():
        landscape = Landscape(load_file(step.inputs.paths), shown, extent)
        landscape.draw(landscape.frames - 1)
        save(landscape.figure, *step.outputs.figures)
        landscape.animation().save(gif, writer="pillow", fps=10, dpi=100)
    animate(gif, png)
