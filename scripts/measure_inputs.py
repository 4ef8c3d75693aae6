"""Measure a pretrained model's attention ratios on inputs like those that it was trained on."""

from onelayer.compute.device import resolve_device
from onelayer.compute.execution import Execution
from onelayer.papers.topic_structure.wikipedia.probe.packed import measure_inputs
from onelayer.run.step import Step, program
from onelayer.settings.block import Seed
from onelayer.settings.probe import ProbeSettings
from onelayer.text.corpus.storage import open_rows
from onelayer.text.pretraining.inputs import input_sample


@program(settings=ProbeSettings, inputs="models/* mixed kept_words vocabulary", outputs="measures")
def main(step: Step, checkpoint_seeds: list[Seed], longest: int) -> None:
    drawn = step.settings.attention
    step.device = resolve_device(drawn.device)
    texts = input_sample(open_rows(step.inputs.mixed), longest, drawn.documents, drawn.seed)
    tables = map(step.read, ("kept_words", "vocabulary"))
    given = texts, *tables, step.settings, Execution(step.device, progress=step.progress)
    step.write(measures=measure_inputs(step.inputs.models, checkpoint_seeds, *given))
