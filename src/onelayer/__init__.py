"""onelayer: reproduces, with one command, papers on how one-layer transformers learn.

Its public functions, each loaded when it is first asked for:

    import onelayer

    onelayer.probe_topic_structure(model, tokenizer, texts, topics)    # a model of one's own
    onelayer.train(onelayer.Ensemble(...), steps=1000)                 # many small models at once
"""

from importlib import import_module

__version__ = "0.3.0"

# Where each public name is. `__init__.pyi` says the same to editors and type checkers.
_MODULES = {
    "load_checkpoint": "onelayer.text.models.checkpoints",
    "load_tokenizer": "onelayer.text.models.tokenizer",
    "probe_topic_structure": "onelayer.probe",
    **dict.fromkeys(
        ("Ensemble", "Optimizer", "RunRandom", "Trained", "train", "train_in_chunks"),
        "onelayer.ensemble",
    ),
    "OnelayerError": "onelayer.errors",
}
__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    member = getattr(import_module(_MODULES[name]), name)
    globals()[name] = member
    return member


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
