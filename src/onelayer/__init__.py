"""onelayer: reproduces, with one command, papers on how one-layer transformers learn.

Its public functions, each loaded when it is first asked for:

    onelayer.probe_topic_structure(model, tokenizer, texts, topics)    # a model of one's own
    onelayer.train(onelayer.Ensemble(...), steps=1000)                 # many small models at once
"""

from importlib import import_module

__version__ = "1.0.0"

# Where each public name is. `__init__.pyi` says the same to editors and type checkers.
_MODULES = {
    "load_checkpoint": "text.models.checkpoints",
    "load_tokenizer": "text.models.tokenizer",
    "probe_topic_structure": "probe",
    "OnelayerError": "errors",
}
_ENSEMBLE = ["Ensemble", "Optimizer", "RunRandom", "Trained", "train", "train_in_chunks"]
_MODULES |= dict.fromkeys(_ENSEMBLE, "ensemble")
__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"onelayer.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
