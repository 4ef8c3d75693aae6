"""Measure claims of the papers again, as on another machine."""

from onelayer.run.portable import describe_processor
from onelayer.run.step import Step, log, run
from onelayer.settings.stability import ClaimsAgainSettings
from onelayer.stability.machines import become, missing_instructions


def main(step: Step) -> None:
    machine = step.settings.machine
    missing = missing_instructions(machine, describe_processor())
    if not missing:
        become(machine)
    # Libraries read their switches when they are loaded, which is now.
    import pandas as pd

    from onelayer.compute.execution import Execution
    from onelayer.stability import claims

    found = [claims.nothing()]
    if missing:
        log.info("%s is left out: this processor has no %s", machine.name, ", ".join(missing))
    else:
        execution = Execution("cpu", progress=step.progress)
        found.append(claims.measure(step.settings, execution))
        # Last, because pretraining bars torch from all but deterministic algorithms.
        if step.settings.pretraining:
            from onelayer.stability import pretrained

            found.append(pretrained.measure(step, execution))
    pd.concat(found, ignore_index=True).to_parquet(step.outputs.claims, index=False)


if __name__ == "__main__":
    inputs = ["text*", "vocabulary*", "tokenizer*", "articles*", "kept_words*", "words*"]
    run(main, ClaimsAgainSettings, inputs, ["claims"])
