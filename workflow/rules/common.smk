# What rules share: the validated settings, the files of a table and of a figure.
import os
import shlex
import sys
from pathlib import Path

from onelayer import code as sources
from onelayer.portable import SWITCHES
from onelayer.settings.root import load

# Snakemake 9.27 puts this path into commands as it is: in a folder with a space nothing would start.
sys.executable = shlex.quote(sys.executable)

settings = load(config)
config["portable"] = settings.portable  # `--config portable=false` arrives as a text
wikipedia = settings.topic_structure.wikipedia
# The files of a checkpoint.
TOKENIZER = ["tokenizer.json", "tokenizer_config.json"]
CHECKPOINT = ["config.json", "model.safetensors", *TOKENIZER]
# A relative path in a function would be taken from the file that calls it.
CAPTION = workflow.source_path("../report/caption.rst")
# Scripts inherit the switches; a cluster's jobs read this file again.
if settings.portable:
    os.environ.update(SWITCHES)


def dump(block, **more):
    """Settings as plain values: Snakemake compares params by `repr` and ignores other objects."""
    return block.model_dump(mode="json") | more


def code(script):
    """What a script's numbers depend on beside inputs and settings: its code, its libraries."""
    return sources.code(script, settings.portable)


def repository_file(name):
    """A file below workflow/ as text for `params`; as an input its path would differ by clone."""
    text = Path(workflow.basedir, "workflow", name).read_text(encoding="utf-8")
    # A closing tag would end the script in which Snakemake's report holds all params; a plain text
    # would have its braces taken for wildcards.
    return lambda wildcards: text.replace("</", "<\\/")


def gpus(block):
    """GPUs to reserve. `auto` takes one that it finds, and never waits for one."""
    return int(block.device == "cuda")


TABLES, FIGURES = [], []  # all that rules name, in the order of the workflow


def table(name):
    """The files of a table: CSV for machines, Markdown and LaTeX for readers."""
    TABLES.append(f"results/tables/{name}.csv")
    return multiext(f"results/tables/{name}", ".csv", ".md", ".tex")


def figure(name):
    """The files of a figure; the PNG stands in Snakemake's report."""
    FIGURES.append(f"results/figures/{name}.png")
    folder, _, last = name.partition("/")
    shown = report(FIGURES[-1], CAPTION, category=folder, labels={"figure": last})
    return [f"results/figures/{name}.pdf", shown]


def checkpoints_of(model):
    """Names of the checkpoints behind a model: one, or one for each of its seeds."""
    return settings.models[model].checkpoints(model)


def checkpoint_files(*names):
    """The files of checkpoints."""
    return expand("results/models/{name}/{file}", name=names, file=CHECKPOINT)


def measured(pattern, models):
    """A file of each model on the tables' corpus."""
    return expand(pattern, corpus=wikipedia.corpus, model=models)


def histories(model):
    """Loss histories of a model that is pretrained here."""
    if settings.models[model].source != "pretrain":
        return []
    return [f"results/pretraining/{name}/history.parquet" for name in checkpoints_of(model)]


def mixed_inputs(model):
    """What a model was trained on, or, if that was article by article, the first that was not."""
    mixed = [name for name in wikipedia.inputs.models if settings.models[name].inputs]
    return f"results/pretraining/inputs/{model if model in mixed else mixed[0]}.arrow"
