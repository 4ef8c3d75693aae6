"""Architecture families: what only the five of the paper have, beside what any model has.

`AutoModel` of transformers finds the class that a configuration's `model_type` names, and
`onelayer.text.models.architecture` what the probe needs of it. How a tokenizer marks words is no
part of it: a checkpoint of any family may carry any tokenizer, which says so itself
(`onelayer.text.models.tokenizer`).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """One architecture family.

    Attributes:
        projection: the module of the bare model that takes factorised embeddings to the hidden
            width; empty: embeddings have it.
        transform: the linear layer and the LayerNorm, as checkpoints name them, between the last
            layer and the word embeddings that predict words; empty: there is none.
    """

    projection: str = ""
    transform: tuple[str, ...] = ()


FAMILIES: dict[str, Family] = {
    # Devlin et al. (2019)
    "bert": Family(
        transform=("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm")
    ),
    # Liu et al. (2019)
    "roberta": Family(transform=("lm_head.dense", "lm_head.layer_norm")),
    # Lan et al. (2020); embeddings factorised, layers share their weights
    "albert": Family(
        "encoder.embedding_hidden_mapping_in", ("predictions.dense", "predictions.LayerNorm")
    ),
    # Clark et al. (2020); the discriminator is probed; embeddings may be factorised
    "electra": Family("embeddings_project"),
    # Lewis et al. (2020); the encoder is probed
    "bart": Family(),
}
