"""Take a context-free language, well-nested brackets, through the three stages of topics."""

from onelayer.execution import execution_of
from onelayer.papers.topic_structure.synthetic.dyck import dyck
from onelayer.settings.topic_structure_synthetic import DyckRun
from onelayer.step import Step, run


def main(step: Step) -> None:
    found, norms = dyck(step.settings, execution_of(step, step.outputs.found))
    found.to_parquet(step.outputs.found, index=False)
    norms.to_parquet(step.outputs.norms, index=False)


if __name__ == "__main__":
    run(main, settings=DyckRun, outputs=["found", "norms"])
