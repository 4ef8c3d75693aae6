"""Pretrained checkpoints from a folder: safetensors only, no remote code, eager attention."""

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
import transformers
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModel, PreTrainedModel

from onelayer.errors import OnelayerError
from onelayer.models.families import Family, family_of, read_config
from onelayer.seeds import stable_seed
from onelayer.settings.models import TOKENIZER_FILES

# Softmax in float32 over a few hundred keys; dropout left on would show rows from .95 to 1.11.
ROW_SUM_TOLERANCE = 1e-4


def load_checkpoint(folder: Path, device: str = "cpu") -> PreTrainedModel:
    """Load a checkpoint for probing: float32, `eval()`, attention weights computed explicitly.

    Heads that a checkpoint was published with (masked words, a discriminator, ...) are left out.

    Raises:
        OnelayerError: no safetensors, a request for remote code, an unknown family, a model that
            transformers cannot build with eager attention, or weights that are missing, of another
            shape than the configuration says, or not finite.
    """
    config = read_config(folder)
    _check_weights_are_safe(folder)
    with quiet(), _readable(folder):
        model, report = AutoModel.from_pretrained(
            folder,
            attn_implementation="eager",
            dtype=torch.float32,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            # Both are reported and refused below, by name.
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
    _check_complete(folder, report, family_of(config["model_type"], folder).never_probed)
    for name, parameter in model.named_parameters():
        if bad := int((~torch.isfinite(parameter)).sum()):
            raise OnelayerError(
                f"{folder}: weights of {name}: {bad} of {parameter.numel()} are NaN or infinite; "
                "all must be finite"
            )
    return model.eval().to(device)


def save_random_checkpoint(source: Path, target: Path, seed: int) -> None:
    """Initialise a model at random with another's configuration and tokenizer, and save it.

    The weights are those of transformers' own initialisation under `seed`.
    """
    read_config(source)
    with quiet():
        model = _random_model(source, seed)
        model.save_pretrained(target)
    for name in TOKENIZER_FILES:
        shutil.copyfile(source / name, target / name)


def _random_model(source: Path, seed: int) -> PreTrainedModel:
    with _readable(source):
        config = AutoConfig.from_pretrained(source, local_files_only=True, trust_remote_code=False)
        torch.manual_seed(stable_seed("random checkpoint", seed))
        return AutoModel.from_config(config, trust_remote_code=False)


def forward(model: PreTrainedModel, ids: list[int]) -> torch.Tensor:
    """Attention weights of one text, [layers, heads, queries, keys], float32.

    Raises:
        OnelayerError: the model returns no attention weights for some layer (anything but
            eager attention returns none), or rows that do not sum to 1.
    """
    batch = torch.tensor([ids], device=model.device)
    reader = _family(model).reader(model)
    with torch.inference_mode():
        weights = reader(input_ids=batch, output_attentions=True).get("attentions") or ()
    layers = model.config.num_hidden_layers
    if len(weights) != layers or any(layer is None for layer in weights):
        raise OnelayerError(
            f"{type(model).__name__} returned attention weights for {len(weights)} of {layers} "
            f"layers (attn_implementation {model.config._attn_implementation!r}); the probe "
            "needs a model with eager attention"
        )
    stacked = torch.stack([layer[0] for layer in weights])
    error = (stacked.sum(dim=-1) - 1).abs().max().item()
    if not error <= ROW_SUM_TOLERANCE:
        raise OnelayerError(
            f"{type(model).__name__}: attention rows sum to 1 within {error:.2g}; at most "
            f"{ROW_SUM_TOLERANCE:g} allowed (is the model in eval mode?)"
        )
    return stacked


def word_embeddings(model: PreTrainedModel, ids: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Raw word embeddings, and the embedding layer's output for each word alone at position 0.

    The output adds position 0 and LayerNorm; without it the mean cosine of random embeddings is
    about 0 and their ratio meaningless.

    Returns:
        Two float64 tensors on the CPU, [ids, embedding width]; a factorised family (ALBERT,
        ELECTRA) has embeddings of a width of their own.
    """
    batch = torch.tensor(ids, dtype=torch.long, device=model.device)
    with torch.inference_mode():
        raw = model.get_input_embeddings().weight[batch]
        output = _family(model).embed(model, batch[:, None])[:, 0]
    return raw.double().cpu(), output.double().cpu()


def _family(model: PreTrainedModel) -> Family:
    return family_of(model.config.model_type, type(model).__name__)


def _check_weights_are_safe(folder: Path) -> None:
    if not list(folder.glob("*.safetensors")):
        others = sorted(path.name for path in folder.glob("*.bin"))
        found = (
            f"found {', '.join(others)}, which is pickle and refused" if others else "none found"
        )
        raise OnelayerError(f"{folder}: no weights as .safetensors: {found}")


def _check_complete(folder: Path, report: Mapping, never_probed: tuple[str, ...]) -> None:
    """Refuse what transformers would quietly initialise at random."""
    missing = sorted(n for n in report["missing_keys"] if not n.startswith(never_probed))
    if missing:
        raise OnelayerError(
            f"{folder}: {len(missing)} weights are missing ({', '.join(missing[:3])}, ...); all "
            f"must be there{' but those of the ' + never_probed[0][:-1] if never_probed else ''}"
        )
    for name, found, expected in report["mismatched_keys"]:
        raise OnelayerError(
            f"{folder}: weights of {name}: shape {list(found)}; the configuration says "
            f"{list(expected)}"
        )


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers' own progress bars and load reports."""
    verbosity = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers.logging.set_verbosity(verbosity)


@contextlib.contextmanager
def _readable(folder: Path) -> Iterator[None]:
    """Turn transformers' long errors about a checkpoint into one line."""
    try:
        yield
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split())
        raise OnelayerError(f"{folder}: transformers cannot load this model: {reason}") from error
