"""Measure claims of the papers again, as on another machine."""

from onelayer.run.step import Step, program
from onelayer.settings.stability import ClaimsAgainSettings
from onelayer.stability.machines import stand_in


@program(
    settings=ClaimsAgainSettings,
    inputs="text* vocabulary* tokenizer/* articles* kept_words* words*",
    outputs="claims",
)
def main(step: Step) -> None:
    is_there = stand_in(step.settings.machine)
    # Libraries read their switches when they are loaded, which is now.
    from onelayer.stability import claims

    step.write(claims=claims.measure(step) if is_there else claims.nothing())
