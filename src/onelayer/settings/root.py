"""The whole of `config.yaml` as one typed model, and readable errors for what does not fit."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pydantic
import yaml
from pydantic import Field

from onelayer.checkout import REPOSITORY
from onelayer.errors import OnelayerError
from onelayer.settings.block import Block, Computing, Name, check_plain, describe, nearest, shown
from onelayer.settings.calibration import CalibrationSettings
from onelayer.settings.circuits import CircuitSettings
from onelayer.settings.corpus import CorpusSettings
from onelayer.settings.decision_lists import DecisionListSettings
from onelayer.settings.local_to_global import LocalToGlobalSettings
from onelayer.settings.models import LocalModel, ModelSettings, RandomModel, SeriesModel
from onelayer.settings.pretraining import (
    PretrainedModel,
    PretrainingSettings,
    PretrainModelSettings,
)
from onelayer.settings.probe import ProbeSettings
from onelayer.settings.scan_snap import ScanSnapSettings
from onelayer.settings.stability import ClaimsAgainSettings, Machine, StabilitySettings
from onelayer.settings.topic_structure import TopicStructureSettings
from onelayer.settings.topics import TopicSettings

DEFAULT = REPOSITORY / "config.yaml"
MOST_PROBLEMS = 5  # named at once
# libyaml's, where PyYAML was built with it, is ten times as fast.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Settings(Block):
    """Everything that `config.yaml` and its overlays may say."""

    portable: bool
    """The same bytes on every x86-64 processor that has AVX2: docs/bytes.md."""
    corpora: dict[Name, CorpusSettings] = Field(min_length=1)
    """Corpora by name."""
    models: dict[Name, ModelSettings] = Field(min_length=1)
    """Models by name."""
    topics: TopicSettings
    """From articles to topics."""
    pretraining: PretrainingSettings
    """How models of source `pretrain` are made."""
    probe: ProbeSettings
    """What is measured on each model."""
    topic_structure: TopicStructureSettings
    """Li, Li & Risteski (2023)."""
    decision_lists: DecisionListSettings
    """Decision lists with one-layer transformers (anonymous authors)."""
    scan_snap: ScanSnapSettings
    """Tian, Wang, Chen & Du (2023)."""
    local_to_global: LocalToGlobalSettings
    """Makkuva et al. (2024)."""
    value_before_attention: CircuitSettings
    """Whether values learn before attention, in the models of all four."""
    stability: StabilitySettings
    """Claims of all four again, as on other machines and from other seeds."""
    calibration: CalibrationSettings
    """Whether intervals and verdicts are right, measured where the truth is known."""

    def seeds(self, model: str) -> list[int]:
        """Seeds of a model that is made here; none of one that comes from elsewhere."""
        return getattr(self.models[model], "seeds", [])

    def checkpoints(self, model: str) -> list[str]:
        """Names of the checkpoints behind a model: one, one per seed, or those of a series."""
        source = self.models[model]
        numbers = source.tokens if isinstance(source, SeriesModel) else self.seeds(model)
        return [f"{model}-{number}" for number in numbers] or [model]

    def named_like_a_checkpoint_of(self, name: str) -> str | None:
        """The model that is made here whose checkpoints have such names, by whatever seed."""
        model, _, number = name.rpartition("-")
        made_here = model in self.models and self.seeds(model)
        return model if made_here and re.fullmatch("[0-9]+", number) else None

    def calibrated_models(self) -> list[str]:
        """The first model from elsewhere and the first pretrained here, as the tables show them.

        Where neither is shown, the first of all.
        """
        shown = self.topic_structure.wikipedia.models
        pretrained = [name for name in shown if isinstance(self.models[name], PretrainedModel)]
        others = [
            name
            for name in shown
            if name not in pretrained and not isinstance(self.models[name], RandomModel)
        ]
        return [*others[:1], *pretrained[:1]] or shown[:1]

    def new_folders(self, copied: Path) -> dict[str, str]:
        """Folders of checkpoints that are probed and lie on this machine, by key of the settings.

        Those that have been `copied` to that folder have been checked, and are left out.
        """
        wikipedia, robustness = self.topic_structure.wikipedia, self.topic_structure.robustness
        named = {*wikipedia.models, *robustness.models, *self.topic_structure.choices.models}
        named |= {*self.topics.words.single_piece_in}
        named |= {getattr(self.models[name], "like", name) for name in named}
        for name in {*wikipedia.over_tokens.series, *named}:
            named |= {*self.checkpoints(name)}
        keys = {n: f"models.{n}.local.path" for n in named}
        for name, model in self.models.items():
            if isinstance(model, SeriesModel):
                keys |= {f"{name}-{t}": f"models.{name}.folders.{t}" for t in model.folders}
        return {
            keys[name]: model.local.path
            for name, model in self.models.items()
            if isinstance(model, LocalModel)
            and name in named
            and not (copied / name / "config.json").exists()
        }

    def pretraining_of(self, model: str, seed: int) -> PretrainModelSettings:
        """What one training of a model of source `pretrain` needs to know."""
        source = self.models[model]
        return self.pretraining.of(source.family, seed, source)

    def claims_of(self, machine: Machine) -> ClaimsAgainSettings:
        """What is measured again on one machine: the papers' own settings, on the CPU."""
        again, synthetic = self.stability, self.topic_structure.synthetic
        return ClaimsAgainSettings(
            machine=machine,
            synthetic=synthetic.in_common.model_copy(update=machine.computes),
            two_stages=again.two_stages.of(synthetic.two_stages),
            transformers=again.transformers.of(self.local_to_global, machine),
            variants=again.transformers.chosen(self.local_to_global),
            joint_training=again.joint_training.of(self.decision_lists.joint, machine),
            scan=again.scan.of(self.scan_snap.scan, machine),
            pretraining=again.pretraining.of(self.pretraining, machine),
            probe=again.pretraining.probe_of(self.probe, machine),
        )


@cache
def default_settings() -> Settings:
    """What `config.yaml` says without an overlay."""
    return with_overlays([])


def with_overlays(overlays: Iterable[Path]) -> Settings:
    """What `config.yaml` says with overlays on top, later ones above earlier ones.

    Raises:
        OnelayerError: one of them is no overlay, or as `load_settings`.
    """
    config = _read(DEFAULT)
    for overlay in overlays:
        config = _laid_over(config, _read(overlay))
    return load_settings(config)


def _read(path: Path) -> dict:
    try:
        read = yaml.load(path.read_text(encoding="utf-8"), _LOADER)  # noqa: S506, both are safe
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = str(error).partition("\n")[0]
        raise OnelayerError(f"{path}: not an overlay of the settings ({reason})") from None
    if not isinstance(read, dict):
        raise OnelayerError(f"{path}: not an overlay of the settings")
    return read


def _laid_over(below: Mapping, above: Mapping) -> dict:
    """As Snakemake lays one configuration over another: blocks key by key, all else replaced."""
    both = {
        key: _laid_over(below[key], value)
        if isinstance(value, Mapping) and isinstance(below.get(key), Mapping)
        else value
        for key, value in above.items()
    }
    return {**below, **both}


def load_settings(config: Mapping) -> Settings:
    """Validate a merged configuration.

    Raises:
        OnelayerError: one line per problem, each with the key path, the value found, what is
            allowed and, for an unknown key or name, the nearest known one.
    """
    try:
        check_plain(config)
        settings = Settings.model_validate(dict(config))
    except pydantic.ValidationError as error:
        problems = ["config: " + describe(problem, config) for problem in error.errors()]
        if more := len(problems[MOST_PROBLEMS:]):
            problems[MOST_PROBLEMS:] = [f"and {more} problems more"]
        raise OnelayerError("; ".join(problems)) from None
    except ValueError as error:
        raise OnelayerError(f"config: {error}") from None
    settings = settings.model_copy(update={"models": _with_series(settings.models)})
    _check_references(settings)
    _check_together(settings)
    return settings


def _with_series(models: Mapping[str, ModelSettings]) -> dict[str, ModelSettings]:
    """The models, and behind them every checkpoint of a series as a model of its own."""
    checkpoints = {
        f"{name}-{tokens}": model.checkpoint(tokens)
        for name, model in models.items()
        if isinstance(model, SeriesModel)
        for tokens in model.tokens
    }
    if taken := sorted({*checkpoints} & {*models}):
        raise OnelayerError(f"config: models.{taken[0]}: a checkpoint of a series has this name")
    return {**models, **checkpoints}


def _check_references(settings: Settings) -> None:
    """Refuse the name of a corpus, model or training that there is not."""
    corpora, models, again = settings.corpora, settings.models, settings.stability
    topics, text = settings.topic_structure, settings.scan_snap.language_model
    wikipedia, synthetic = topics.wikipedia, topics.synthetic
    series = [name for name, model in models.items() if isinstance(model, SeriesModel)]
    single = [name for name in models if name not in series]
    originals = [name for name, model in models.items() if not isinstance(model, RandomModel)]
    stages = [one.name for one in synthetic.two_stages.settings]
    variants = [variant.name for variant in settings.local_to_global.ablation.variants]
    small = [size.label for size in settings.decision_lists.joint.small]
    again_small = [size.label for size in again.joint_training.sizes]
    inputs, gradients = wikipedia.topics_per_input, synthetic.stage_gradients
    named = [
        ("topic_structure.wikipedia.corpus", [wikipedia.corpus], corpora),
        ("scan_snap.language_model.corpus", [text.corpus], corpora),
        ("scan_snap.language_model.trainings: corpus", text.corpora, corpora),
        ("topic_structure.wikipedia.over_tokens.series", wikipedia.over_tokens.series, series),
        ("topic_structure.wikipedia.models", wikipedia.models, single),
        ("topic_structure.wikipedia.reading.models", wikipedia.reading.models, single),
        ("topic_structure.wikipedia.topics_per_input.models", inputs.models, _pretrained(settings)),
        ("topic_structure.robustness.models", topics.robustness.models, single),
        ("topic_structure.choices.models", topics.choices.models, single),
        ("topics.words.single_piece_in", settings.topics.words.single_piece_in, models),
        ("pretraining.corpus", settings.pretraining.corpora, corpora),
        *((f"models.{n}.like", [models[n].like], originals) for n in models if n not in originals),
        ("topic_structure.robustness.corpus", [topics.robustness_corpus], corpora),
        ("topic_structure.synthetic.stage_gradients.settings", gradients.settings, stages),
        ("stability.two_stages.settings", again.two_stages.settings, stages),
        ("stability.transformers.variants", again.transformers.variants, variants),
        ("stability.joint_training.sizes", again_small, dict.fromkeys(small)),
    ]
    for key, values, names in named:
        for value in values:
            if value not in names:
                raise OnelayerError(
                    f"config: {key}: unknown name {shown(value)}{nearest(value, names)}; "
                    f"known: {', '.join(sorted(names))}"
                )


def _pretrained(settings: Settings) -> list[str]:
    return [n for n, model in settings.models.items() if isinstance(model, PretrainedModel)]


def _check_together(settings: Settings) -> None:
    """Refuse names and values of several blocks that do not go together."""
    for name in sorted(settings.models):
        if made_here := settings.named_like_a_checkpoint_of(name):
            raise OnelayerError(
                f"config: models.{name}: {made_here}-NUMBER is the name of a checkpoint of "
                f"{made_here}; choose another"
            )
    heads = settings.pretraining.size.heads
    for name in _pretrained(settings):
        if (width := settings.models[name].width) and width % heads:
            raise OnelayerError(
                f"config: models.{name}.width: {width}; pretraining.size.heads, {heads}, must "
                "divide it"
            )
    if settings.portable and (on_gpu := next(_on_gpu(settings), None)):
        raise OnelayerError(
            f"config: {on_gpu}: cuda; a portable run computes on the CPU (device: cpu or auto)"
        )
    longest, most = settings.pretraining.size.longest, settings.probe.attention.max_tokens
    shown_models, pretrained = settings.topic_structure.wikipedia.models, _pretrained(settings)
    made_here = [name for name in shown_models if name in pretrained]
    if made_here and most > longest:
        raise OnelayerError(
            f"config: probe.attention.max_tokens: {most}; {made_here[0]} reads at most "
            f"pretraining.size.longest tokens, {longest}"
        )
    _check_parts(settings)


def _on_gpu(part: object, *path: str) -> Iterator[str]:
    """Keys of all devices in settings that are `cuda`."""
    if isinstance(part, Computing) and part.device == "cuda":
        yield ".".join([*path, "device"])
    if isinstance(part, Block | dict):
        for key, inside in dict(part).items():
            yield from _on_gpu(inside, *path, str(key))


def _check_parts(settings: Settings) -> None:
    """A corpus in parts is for those steps that can stream it."""
    topics, text = settings.topic_structure, settings.scan_snap.language_model
    compared, backends = topics.robustness_corpus, topics.robustness.backends
    shown, backend = topics.wikipedia.corpus, settings.topics.lda.backend
    reads_whole = [
        ("topic_structure.robustness.backends: tomotopy", compared, "tomotopy" in backends),
        ("topics.lda.backend: tomotopy", shown, backend == "tomotopy"),
        *(("scan_snap.language_model", corpus, True) for corpus in text.corpora),
        *(("pretraining", corpus, True) for corpus in settings.pretraining.corpora),
    ]
    for what, corpus, it_does in reads_whole:
        if it_does and settings.corpora[corpus].parts > 1:
            raise OnelayerError(
                f"config: corpora.{corpus}.parts: {settings.corpora[corpus].parts}; {what} needs a "
                "corpus in one piece (parts: 1)"
            )
