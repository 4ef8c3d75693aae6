"""Measure a pretrained model's attention ratios on inputs like those that it was trained on."""

from onelayer.compute.execution import execution_on
from onelayer.papers.topic_structure.wikipedia.probe.packed import measure_inputs
from onelayer.run.step import Step, program
from onelayer.settings.block import Seed
from onelayer.settings.probe import ProbeSettings
from onelayer.text.corpus.storage import open_rows
from onelayer.text.pretraining.inputs import input_sample


@program(settings=ProbeSettings, inputs="models/* mixed kept_words vocabulary", outputs="measures")
def main(step: Step, checkpoint_seeds: list[Seed], longest: int) -> None:
    drawn = step.settings.attention
    texts = input_sample(open_rows(step.inputs.mixed), longest, drawn.documents, drawn.seed)
    tables = map(step.read, ("kept_words", "vocabulary"))
    given = texts, *tables, step.settings, execution_on(drawn.device, step)
    step.write(measures=measure_inputs(step.inputs.models, checkpoint_seeds, *given))
