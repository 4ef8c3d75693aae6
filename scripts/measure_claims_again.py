"""Measure claims of the papers again, as on another machine."""

from onelayer.run.portable import describe_processor
from onelayer.run.step import Step, log, program
from onelayer.settings.stability import ClaimsAgainSettings
from onelayer.stability.machines import become, missing_instructions


@program(
    settings=ClaimsAgainSettings,
    inputs="text* vocabulary* tokenizer* articles* kept_words* words*",
    outputs="claims",
)
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
    step.write(claims=pd.concat(found, ignore_index=True))
