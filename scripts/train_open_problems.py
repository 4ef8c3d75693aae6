"""Train transformers on more states, on the second order and with two layers."""

from onelayer.compute.execution import execution_of
from onelayer.papers.local_to_global.open_problems import train_sources
from onelayer.run.step import Step, run
from onelayer.settings.block import Device, Threads
from onelayer.settings.local_to_global import OpenProblemsSettings


def main(step: Step, open_problems: OpenProblemsSettings, device: Device, threads: Threads) -> None:
    curves = train_sources(open_problems, execution_of(step, step.outputs.curves))
    curves.to_parquet(step.outputs.curves)


if __name__ == "__main__":
    run(main, outputs=["curves"])
