"""From files to a training and back: what it reads, the model and the snapshots it leaves."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor
from transformers import AutoConfig, AutoModel, PreTrainedModel

from onelayer.settings.models import TOKENIZER_FILES
from onelayer.settings.pretraining import PretrainModelSettings
from onelayer.text.corpus.storage import open_rows
from onelayer.text.models.architecture import quiet
from onelayer.text.pretraining.objectives import Objective, Words, new_objective
from onelayer.text.pretraining.text import Segments, encoded_articles, segment
from onelayer.text.pretraining.vocabulary import predictable_pieces


def read_task(
    text: Path, vocabulary: Path, settings: PretrainModelSettings
) -> tuple[Objective, Segments, Segments]:
    """A freshly initialised objective, its training text and its held-out text.

    `text` has the rows of `encode_articles`, `vocabulary` those of `build_vocabulary`.
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
    return objective, training, held_out


def save_model(objective: Objective, folder: Path, tokenizer: Path | None = None) -> None:
    """Write `config.json` and `model.safetensors`, as `from_pretrained` reads them.

    Where there is a folder of its `tokenizer`, this is copied beside them.
    """
    with quiet():
        objective.saved.cpu().save_pretrained(folder)
    for name in TOKENIZER_FILES if tokenizer else ():
        shutil.copyfile(tokenizer / name, folder / name)


def save_snapshots(snapshots: Mapping[int, Mapping[str, Tensor]], path: Path) -> None:
    """Write all snapshots into one `.safetensors`, names led by the tokens seen."""
    save_file(
        {f"{t}/{name}": w for t, weights in snapshots.items() for name, w in weights.items()}, path
    )


def read_snapshots(
    folder: Path, path: Path, device: str = "cpu"
) -> Iterator[tuple[int, PreTrainedModel]]:
    """The bare model at each snapshot, for probing, in the order of tokens seen.

    The same model object is yielded again and again, with other weights. `folder` has the
    finished model's `config.json`, `path` is what `save_snapshots` wrote.
    """
    settings = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    model = AutoModel.from_config(settings, attn_implementation="eager").eval().to(device)
    with safe_open(path, framework="pt") as file:
        names = [name.partition("/") for name in file.keys()]  # noqa: SIM118
        for tokens in sorted({int(tokens) for tokens, *_ in names}):
            with torch.no_grad():
                for seen, _, name in names:
                    if int(seen) == tokens:
                        model.get_parameter(name).copy_(file.get_tensor(f"{seen}/{name}"))
            yield tokens, model
