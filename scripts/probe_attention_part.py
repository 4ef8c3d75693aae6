"""Probe a checkpoint's attention on one part of the articles drawn: see `probe_attention`."""

from onelayer.device import resolve_device
from onelayer.papers.topic_structure.probe.attention import probe_checkpoint
from onelayer.papers.topic_structure.probe.sums import write_attention_sums
from onelayer.settings.probe import AttentionPartSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    settings, part = step.settings.attention, step.settings.part
    step.device = resolve_device(settings.device)
    sums = probe_checkpoint(settings, step.device, part, step.progress, **vars(step.inputs))
    write_attention_sums(sums, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=AttentionPartSettings,
        inputs=["articles*", "kept_words", "model/"],
        outputs=["by_head", "by_distance", "by_words"],
    )
