"""Probe a checkpoint's attention: one forward pass per article, sums by pair class."""

from onelayer.device import resolve_device
from onelayer.papers.topic_structure.probe.attention import probe_checkpoint
from onelayer.papers.topic_structure.probe.sums import write_attention_sums
from onelayer.settings.probe import AttentionProbeSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    step.device = resolve_device(step.settings.device)
    sums = probe_checkpoint(step.settings, step.device, progress=step.progress, **vars(step.inputs))
    write_attention_sums(sums, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=AttentionProbeSettings,
        inputs=["articles*", "kept_words", "model/"],
        outputs=["by_head", "by_distance", "by_words"],
    )
