"""Settings of stability: which claims are measured again, on what in place of another machine."""

from typing import Annotated, Literal

import pydantic
from pydantic import Field

from onelayer.settings.block import Block, Name, Threads, each_once
from onelayer.settings.decision_lists import JointSettings, Size, SmallStart, size_of
from onelayer.settings.local_to_global import EnsembleSettings, LocalToGlobalSettings, Variant
from onelayer.settings.pretraining import FamilyName, PretrainingSettings, PretrainModelSettings
from onelayer.settings.probe import ProbeSettings
from onelayer.settings.scan_snap import SimulationSettings
from onelayer.settings.topic_structure_synthetic import SyntheticTraining, TwoStageSettings

# Variables by which numerical libraries are told to leave instructions of the processor alone.
Switch = Literal[
    "ATEN_CPU_CAPABILITY",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "NPY_DISABLE_CPU_FEATURES",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
]
Seeds = Annotated[int, Field(ge=2, le=1000)]


class Machine(Block):
    """What stands in for another machine: this one, told to compute as another one would."""

    name: Name
    """What the table calls it."""
    environment: dict[Switch, str] = {}
    """Environment variables, set before the libraries are loaded."""
    requires: list[str] = []
    """Instruction sets without which this machine is left out, as /proc/cpuinfo calls them."""
    threads: Threads = 1
    """torch and BLAS threads."""
    other_seeds: bool = False
    """As many other seeds, those that follow, in place of another machine."""

    @property
    def computes(self) -> dict[str, object]:
        """Where every training computes: never on a GPU, which knows none of these switches."""
        return {"device": "cpu", "threads": self.threads}

    def seeds(self, count: int) -> list[int]:
        """So many seeds: the first ones, or those that follow."""
        first = count * self.other_seeds
        return list(range(first, first + count))


class StagesAgain(Block):
    """Two-stage dynamics of the topic-structure paper."""

    settings: list[str] = Field(min_length=1)
    """Names under `topic_structure.synthetic.two_stages.settings`."""
    seeds: Seeds
    """Runs of each (seeds)."""

    def of(self, stages: TwoStageSettings) -> TwoStageSettings:
        """The trainings, the same on every machine."""
        chosen = [
            one.model_copy(update={"seeds": None})
            for one in stages.settings
            if one.name in self.settings
        ]
        return stages.model_copy(update={"settings": chosen, "seeds": self.seeds})


class TransformersAgain(Block):
    """Transformers on Markov chains of Local to Global."""

    variants: list[str] = Field(min_length=1)
    """Names under `local_to_global.ablation.variants`."""
    seeds: Seeds
    """Runs of each (seeds)."""

    def of(self, paper: LocalToGlobalSettings, machine: Machine) -> EnsembleSettings:
        """The trainings on one machine, but for what variants change."""
        return paper.ablated.model_copy(update={"seeds": self.seeds} | machine.computes)

    def chosen(self, paper: LocalToGlobalSettings) -> list[Variant]:
        """What they change."""
        return [one for one in paper.ablation.variants if one.name in self.variants]


class JointAgain(Block):
    """W and V trained together on decision lists, from small random starts."""

    sizes: list[Size] = Field(min_length=1)
    """All small starts of these sizes under `decision_lists.joint.small`."""
    seeds: Seeds
    """Runs of each (seeds)."""

    def of(self, joint: JointSettings, machine: Machine) -> list[SmallStart]:
        """The trainings on one machine."""
        sizes = {size_of(size) for size in self.sizes}
        again = {"seeds": machine.seeds(self.seeds)}
        return [s.model_copy(update=again) for s in joint.small if size_of(s) in sizes]


class ScanAgain(Block):
    """Scan and Snap on synthetic sequences, `scan_snap.scan`."""

    seeds: Seeds
    """Runs (seeds)."""

    def of(self, scan: SimulationSettings, machine: Machine) -> SimulationSettings:
        """The trainings on one machine, as long as the paper's figure."""
        return scan.model_copy(update={"seeds": self.seeds, "longer": 1} | machine.computes)


class PretrainingAgain(Block):
    """Small models, pretrained as `pretraining` says."""

    families: list[FamilyName]
    """Architectures; none are pretrained again where there is none."""
    tokens: int = Field(ge=1)
    """Budget of each (tokens seen)."""
    seeds: Seeds
    """Models of each (seeds)."""
    probed: bool
    """Measure the ratios of the finished models too, on the articles of `probe`."""

    def of(self, common: PretrainingSettings, machine: Machine) -> list[PretrainModelSettings]:
        """The trainings on one machine, family by family."""
        computes = machine.computes | {"tokens": self.tokens}
        return [
            common.of(family, seed).model_copy(update=computes)
            for family in self.families
            for seed in machine.seeds(self.seeds)
        ]

    def probe_of(self, probe: ProbeSettings, machine: Machine) -> ProbeSettings | None:
        """How finished models are probed on one machine; None where they are not."""
        if not (self.probed and self.families):
            return None
        attention = probe.attention.model_copy(update=machine.computes)
        uncertainty = probe.uncertainty.model_copy(update={"threads": machine.threads})
        return probe.model_copy(update={"attention": attention, "uncertainty": uncertainty})


class StabilitySettings(Block):
    """Claims of the papers again, as on other machines and from other seeds."""

    machines: Annotated[list[Machine], each_once("name")] = Field(min_length=2)
    """The first is what the others are compared with."""
    two_stages: StagesAgain
    """Topic structure, synthetic."""
    transformers: TransformersAgain
    """Local to Global."""
    joint_training: JointAgain
    """Decision lists."""
    scan: ScanAgain
    """Scan and Snap."""
    pretraining: PretrainingAgain
    """Topic structure, models pretrained here."""

    @pydantic.model_validator(mode="after")
    def _machines_differ(self) -> "StabilitySettings":
        first = self.machines[0]
        if first.requires or first.other_seeds:
            raise ValueError(
                f"machines: {first.name} comes first and must be there for the others to be "
                "compared with: no requires, no other_seeds"
            )
        return self


class ClaimsAgainSettings(Block):
    """What is measured again on one machine (assembled from other blocks)."""

    machine: Machine
    """On which."""
    synthetic: SyntheticTraining
    """Topic structure: what its trainings have in common."""
    two_stages: TwoStageSettings
    """Topic structure: two stages; maps are left out."""
    transformers: EnsembleSettings
    """Local to Global: what every variant changes."""
    variants: list[Variant]
    """Local to Global."""
    joint_training: list[SmallStart]
    """Decision lists."""
    scan: SimulationSettings
    """Scan and Snap."""
    pretraining: list[PretrainModelSettings]
    """Topic structure: models pretrained here."""
    probe: ProbeSettings | None
    """How they are probed; null: they are not."""
