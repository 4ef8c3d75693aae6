"""From files to a training and back: what it reads, the model and the snapshots it leaves."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor
from transformers import AutoConfig, AutoModel, PreTrainedModel

from onelayer.settings.pretraining import PretrainModelSettings
from onelayer.text.corpus.storage import open_rows
from onelayer.text.models.architecture import quiet
from onelayer.text.pretraining.objectives import Objective, Text, Words, new_objective
from onelayer.text.pretraining.text import encoded_articles, segment
from onelayer.text.pretraining.vocabulary import predictable_pieces


def read_task(
    text: Path, vocabulary: Path, settings: PretrainModelSettings
) -> tuple[Objective, Text, Text]:
    """A freshly initialised objective, its training text and its held-out text.

    Args:
        text: the rows of `encode_articles`, an Arrow dataset.
        vocabulary: `build_vocabulary` as Parquet.
        settings: of one training.
    """
    pieces = pd.read_parquet(vocabulary)
    encoded = encoded_articles(open_rows(text), pieces["piece"])
    predictable = predictable_pieces(pieces, settings.objective.predictable_document_share)
    trained = ~np.repeat(encoded.held_out, np.diff(encoded.starts))
    words = Words(predictable, np.bincount(encoded.ids[trained], minlength=len(pieces)))
    objective = new_objective(
        settings.family, settings.size, words, settings.objective, settings.seed
    )
    longest = settings.size.longest - objective.special
    training, held_out = (segment(encoded, part, longest) for part in (False, True))
    return objective, Text("training", training), Text("held-out", held_out)


def save_model(objective: Objective, folder: Path) -> None:
    """Write `config.json` and `model.safetensors`, as `from_pretrained` reads them."""
    with quiet():
        objective.saved.cpu().save_pretrained(folder)


def save_snapshots(snapshots: Mapping[int, Mapping[str, Tensor]], path: Path) -> None:
    """Write all snapshots into one `.safetensors`, names led by the tokens seen."""
    save_file(
        {f"{t}/{name}": w for t, weights in snapshots.items() for name, w in weights.items()}, path
    )


def read_snapshots(
    folder: Path, path: Path, device: str = "cpu"
) -> Iterator[tuple[int, PreTrainedModel]]:
    """The bare model at each snapshot, for probing, in the order of tokens seen.

    The same model object is yielded again and again, with other weights.

    Args:
        folder: of the finished model, with its `config.json`.
        path: what `save_snapshots` wrote.
        device: where the model is.
    """
    settings = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    model = AutoModel.from_config(settings, attn_implementation="eager").eval().to(device)
    with safe_open(path, framework="pt") as file:
        names = [name.partition("/") for name in file.keys()]  # noqa: SIM118
        for tokens in sorted({int(tokens) for tokens, *_ in names}):
            weights = {
                name: file.get_tensor(f"{tokens}/{name}")
                for seen, _, name in names
                if int(seen) == tokens
            }
            with torch.no_grad():
                for name, weight in weights.items():
                    model.get_parameter(name).copy_(weight)
            yield tokens, model
