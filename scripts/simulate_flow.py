"""Follow the gradient flow from grids, Gaussian starts, and close around critical points."""

from safetensors.numpy import save_file

from onelayer.job import job
from onelayer.local_to_global import simulation
from onelayer.settings.local_to_global import FlowSettings

with job(snakemake) as step:
    flow = FlowSettings(**snakemake.params.settings)
    save_file({"theta": simulation.basin_maps(flow, step.progress)}, step.path("maps"))
    save_file(simulation.shown_paths(flow), step.path("paths"))
    step.save(gaussian=simulation.gaussian_starts(flow), neighbours=simulation.neighbours(flow))
