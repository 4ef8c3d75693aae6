"""Pretrained checkpoints from a folder: safetensors, no remote code, eager attention."""

import math
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from transformers import AutoModel, PreTrainedConfig, PreTrainedModel

from onelayer.compute.seeds import stable_seed
from onelayer.errors import OnelayerError
from onelayer.fetching.unpacking import check_growth
from onelayer.settings.models import TOKENIZER_FILES
from onelayer.text.models.architecture import (
    LOADED,
    attention_weights,
    embedding_output,
    quiet,
    read_config,
    readable,
    without_memory,
)
from onelayer.text.models.tokenizer import existing_folder

# Softmax in float32 over a few hundred keys; dropout left on would show rows from .95 to 1.11.
ROW_SUM_TOLERANCE = 1e-4
# A pooler reads the last layer: published checkpoints may lack it, nothing that is probed needs it.
NEVER_PROBED = "pooler."
SPARE_WEIGHTS = 10**8  # so many more than a file holds do no harm
WORDS_AT_ONCE = 256  # texts of one word; all layers' states of them are held


def load_checkpoint(
    folder: str | Path, device: str = "cpu", source: object = None
) -> PreTrainedModel:
    """Load a checkpoint for probing: float32, `eval()`, attention weights computed explicitly.

    Heads that a checkpoint was published with (masked words, a discriminator, ...) are left out.
    Errors name its `source`, or the folder.

    Raises:
        OnelayerError: no such folder, no safetensors, a request for remote code, an unknown
            architecture, a model that transformers cannot build with eager attention, or weights
            that are missing, of another shape than the configuration says, or not finite.
    """
    folder = existing_folder(folder)
    config = read_config(folder, source)
    source = source or folder
    if not list(folder.glob("*.safetensors")):
        others = ", ".join(sorted(path.name for path in folder.glob("*.bin")))
        reason = f"found {others}, which is pickle and refused" if others else "none found"
        raise OnelayerError(f"{folder}: no weights as .safetensors: {reason}")
    _check_size(config, folder, source)
    with quiet(), readable(source):
        # What is missing or of another shape is refused below, by name.
        eager = {"attn_implementation": "eager", "ignore_mismatched_sizes": True, **LOADED}
        model, report = AutoModel.from_pretrained(folder, trust_remote_code=False, **eager)
    _check_complete(report, source)
    for name, parameter in model.named_parameters():
        if bad := int((~torch.isfinite(parameter)).sum()):
            raise OnelayerError(
                f"{source}: weights of {name}: {bad} of {parameter.numel()} are NaN or infinite; "
                "all must be finite"
            )
    return model.eval().to(device)


def convert_weights(pickled: Path, target: Path, source: object) -> None:
    """Write the tensors of a `pytorch_model.bin` as safetensors.

    PyTorch's reader of weights builds tensors and plain containers, and refuses whatever else a
    pickle can ask for before it is done. Errors name the `source`.

    Raises:
        OnelayerError: it holds, or asks for, anything but tensors by name, or is not whole.
    """
    name = f"{pickled.name} of {source}"
    if zipfile.is_zipfile(pickled):
        with zipfile.ZipFile(pickled) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        check_growth(name, pickled.stat().st_size, unpacked)
    try:
        tensors = torch.load(pickled, map_location="cpu", weights_only=True)
    except Exception as error:  # whatever its bytes make the reader raise
        reason = str(error).strip().partition("\n")[0][:200]
        raise OnelayerError(
            f"{name} is refused: it is not whole, or asks for more than tensors "
            f"({type(error).__name__}: {reason})"
        ) from None
    if not isinstance(tensors, dict) or not tensors:
        raise OnelayerError(f"{name} is refused: it holds no tensors by name")
    for key, value in tensors.items():
        if not isinstance(key, str) or not isinstance(value, torch.Tensor) or value.is_sparse:
            raise OnelayerError(
                f"{name} is refused: {str(key)[:80]!r} is {type(value).__name__}, not a tensor"
            )
    # Tied weights share memory, which safetensors does not.
    tensors = {
        key: value.clone(memory_format=torch.contiguous_format) for key, value in tensors.items()
    }
    save_file(tensors, target, metadata={"format": "pt"})


def save_random_checkpoint(source: Path, target: Path, seed: int) -> None:
    """Initialise a model at random with another's configuration and tokenizer, and save it.

    The weights are those of transformers' own initialisation under `seed`.
    """
    config = read_config(source)
    torch.manual_seed(stable_seed("random checkpoint", seed))
    with quiet():
        with readable(source):
            model = AutoModel.from_config(config, trust_remote_code=False)
        model.save_pretrained(target)
    for name in TOKENIZER_FILES:
        shutil.copyfile(source / name, target / name)


def forward(model: PreTrainedModel, ids: list[int]) -> torch.Tensor:
    """Attention weights of one text, [layers, heads, queries, keys], float32.

    Raises:
        OnelayerError: as `attention_weights`; or rows do not sum to 1.
    """
    with torch.inference_mode():
        weights = attention_weights(model, input_ids=torch.tensor([ids], device=model.device))
    stacked = torch.stack([layer[0] for layer in weights])
    check_row_sums(model, (stacked.sum(dim=-1) - 1).abs().max().item())
    return stacked


def check_row_sums(model: PreTrainedModel, error: float) -> None:
    """Refuse attention whose rows sum to 1 within `error` alone, if that is more than rounding."""
    if not error <= ROW_SUM_TOLERANCE:
        raise OnelayerError(
            f"{type(model).__name__}: attention rows sum to 1 within {error:.2g}; at most "
            f"{ROW_SUM_TOLERANCE:g} allowed (is the model in eval mode?)"
        )


def is_causal(model: PreTrainedModel, ids: list[int]) -> bool:
    """Whether no token of a text, of two at least, attends to a later one in any layer."""
    return not forward(model, ids).triu(1).any()


def word_embeddings(model: PreTrainedModel, ids: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Raw word embeddings, and the embedding layer's output for each word alone at position 0.

    The output adds what the architecture adds before its first layer. In an encoder that is
    position 0 and LayerNorm, without which the mean cosine of random embeddings is about 0 and
    their ratio meaningless; in GPT-2 position 0 alone; where attention itself knows the positions
    (GPT-NeoX, Llama, ModernBERT) no position.

    Returns:
        Two float64 tensors on the CPU, [ids, embedding width]; a factorised family (ALBERT,
        ELECTRA) has embeddings of a width of their own.

    Raises:
        OnelayerError: see `embedding_output`; or its output depends on the words around.
    """
    batch = torch.tensor(ids, dtype=torch.long, device=model.device)
    with torch.inference_mode():
        _check_no_context(model, batch)
        raw = model.get_input_embeddings().weight[batch]
        # Layers cannot read no text: of no words, one is read and dropped.
        texts = batch[:, None] if ids else batch.new_zeros(1, 1)
        parts = [embedding_output(model, part) for part in texts.split(WORDS_AT_ONCE)]
    return raw.double().cpu(), torch.cat(parts)[: len(ids), 0].double().cpu()


def _check_no_context(model: PreTrainedModel, ids: torch.Tensor) -> None:
    """Refuse hidden states that begin behind a layer, which mixes the words.

    Of two texts that differ in the first word, the second word has one embedding; of two that
    differ in the second word the first one has (a causal layer mixes forward alone).
    """
    if len(ids) < 2:
        return
    one, other = ids[0], ids[-1]
    texts = torch.stack([one, one, one, other, other, one]).view(3, 2)
    same, ends, begins = embedding_output(model, texts)
    if not (torch.equal(same[0], ends[0]) and torch.equal(same[1], begins[1])):
        raise OnelayerError(
            f"{type(model).__name__}: its first hidden state depends on the words around; the "
            "probe needs the embedding layer's output"
        )


def _check_size(config: PreTrainedConfig, folder: Path, source: object) -> None:
    """Refuse a configuration of a model far larger than the weights that come with it.

    transformers would make memory for all of it before anything is compared.
    """
    model, held = without_memory(config, source), 0
    described = sum(p.numel() for p in model.parameters())
    with readable(source):
        for path in folder.glob("*.safetensors"):
            with safe_open(path, framework="numpy") as file:
                shapes = [file.get_slice(name).get_shape() for name in list(file.keys())]
                held += sum(map(math.prod, shapes))
    if described > 2 * held + SPARE_WEIGHTS:
        raise OnelayerError(
            f"{source}: config.json describes a model of {described} weights, and the files of "
            f"weights hold {held}"
        )


def _check_complete(report: Mapping, source: object) -> None:
    """Refuse what transformers would quietly initialise at random."""
    missing = sorted(n for n in report["missing_keys"] if not n.startswith(NEVER_PROBED))
    if missing:
        raise OnelayerError(
            f"{source}: {len(missing)} weights are missing ({', '.join(missing[:3])}, ...); all "
            "must be there but those of the pooler"
        )
    for name, shape, expected in report["mismatched_keys"]:
        raise OnelayerError(
            f"{source}: weights of {name}: shape {list(shape)}; the configuration says "
            f"{list(expected)}"
        )
