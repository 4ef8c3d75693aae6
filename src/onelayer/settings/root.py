"""The whole of `config.yaml` as one typed model, and one line for each fault in it."""

import sys
from collections.abc import Mapping
from typing import Self

import pydantic
from pydantic import Field

from onelayer.settings.block import Block, Name, describe, nearest, shown
from onelayer.settings.corpus import CorpusSettings
from onelayer.settings.decision_lists import DecisionListSettings
from onelayer.settings.local_to_global import LocalToGlobalSettings
from onelayer.settings.models import Models, PretrainingSettings
from onelayer.settings.probe import ProbeSettings
from onelayer.settings.scan_snap import ScanSnapSettings
from onelayer.settings.topic_structure import TopicStructureSettings
from onelayer.settings.topics import TopicSettings


class Settings(Block):
    """Everything that `config.yaml` and its overlays may say."""

    portable: bool  # the same bytes on every x86-64 processor that has AVX2
    corpora: dict[Name, CorpusSettings] = Field(min_length=1)
    models: Models
    topics: TopicSettings
    pretraining: PretrainingSettings
    probe: ProbeSettings
    topic_structure: TopicStructureSettings  # Li, Li & Risteski (2023)
    scan_snap: ScanSnapSettings  # Tian, Wang, Chen & Du (2023)
    decision_lists: DecisionListSettings  # anonymous authors
    local_to_global: LocalToGlobalSettings  # Makkuva et al. (2024)

    @property
    def texts(self) -> dict[str, list[str]]:
        """Names of the corpora that are read, by the key that names them."""
        of, text = self.topic_structure, self.scan_snap.language_model
        return {
            "topic_structure.wikipedia.corpus": [of.wikipedia.corpus],
            "topic_structure.sensitivity.corpus": [of.sensitivity.corpus or of.wikipedia.corpus],
            "scan_snap.language_model.corpus": [text.corpus],
            "scan_snap.language_model.trainings": [t.corpus or text.corpus for t in text.trainings],
            "pretraining.corpus": [self.pretraining.corpus],
        }

    @pydantic.model_validator(mode="after")
    def _parts_fit(self) -> Self:
        of = self.topic_structure
        pretrained = {name for name, model in self.models.items() if model.source == "pretrain"}
        named = {key: (names, self.corpora) for key, names in self.texts.items()} | {
            "topic_structure.wikipedia.models": (of.wikipedia.models, self.models),
            "topic_structure.wikipedia.reading.models": (of.wikipedia.reading.models, self.models),
            "topic_structure.wikipedia.inputs.models": (of.wikipedia.inputs.models, pretrained),
            "topic_structure.sensitivity.models": (of.sensitivity.models, self.models),
            "topics.words.single_piece_in": (self.topics.words.single_piece_in, self.models),
        }
        for key, (names, known) in named.items():
            for name in names:
                if name not in known:
                    hint, all_known = nearest(name, known), ", ".join(sorted(known))
                    raise ValueError(f"{key}: unknown name {shown(name)}{hint}; known: {all_known}")
        wikipedia, arms = of.wikipedia, of.wikipedia.inputs.models
        if arms and not any(self.models[name].inputs for name in arms):
            found = f"at least one must have `inputs`, found {', '.join(arms)}"
            raise ValueError(f"topic_structure.wikipedia.inputs.models: {found}")
        longest, most = self.pretraining.size.longest, self.probe.attention.max_tokens
        for name in [*wikipedia.models, *arms, *of.sensitivity.models]:
            if self.models[name].source == "pretrain" and most > longest:
                limit = f"reads at most pretraining.size.longest tokens, {longest}"
                raise ValueError(f"probe.attention.max_tokens: {most}; {name} {limit}")
        return self


def load(config: Mapping) -> Settings:
    """The settings, or one line for each of the first five faults and exit code 1."""
    try:
        return Settings.model_validate(dict(config))
    except pydantic.ValidationError as error:
        lines = [f"config: {describe(problem, config)}" for problem in error.errors()]
    sys.exit("\n".join([*lines[:5], *([f"config: and {len(lines) - 5} more"] * (len(lines) > 5))]))
