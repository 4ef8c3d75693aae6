"""`make bench-scale`: time and memory of each step of the Wikipedia room against documents.

Runs the scripts themselves, one after the other, on corpora in parts of equal length, and fits
the slope of CPU seconds against documents on logarithmic axes (1 is linear). What every job needs
to start, mostly imports, is measured by itself and left out of the slope. Documents are real lead
sections of one human topic, drawn with replacement until they are as long as an article.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from statistics import median

import numpy as np
import yaml

# This process stays small: what it holds counts as the memory of what it starts.
ROOT = Path(__file__).resolve().parents[1]
SEED = 0
# wikimedia/wikipedia of 1 November 2023: 20.2 GB of text in 6.4 million articles.
MEAN_LENGTH = 3150  # characters
PROBED = 0.01  # share of the documents
LEADS = "results/corpus/vital-articles/articles.arrow"
MODEL = "results/models/minilm"
LDA = {"topics": 20, "passes": 1, "chunksize": 2000, "alpha": 0.02, "eta": 0.02}
PROBE = {"max_tokens": 64}


def write_corpus(folder: Path, documents: int, size: int) -> None:
    """Files of `size` documents each; a smaller corpus is the beginning of a larger one."""
    import pandas as pd

    from onelayer.text.corpus.storage import read_articles

    leads = read_articles([ROOT / LEADS]).to_pandas().dropna(subset="label")
    topics = [group["text"].tolist() for _, group in leads.groupby("label")]
    random = np.random.default_rng(SEED)
    for first in range(0, documents, size):
        texts = []
        for _ in range(size):
            topic = topics[random.integers(len(topics))]
            length, wanted, text = 0, random.exponential(MEAN_LENGTH), []
            while length < wanted or not text:
                text.append(topic[random.integers(len(topic))])
                length += len(text[-1])
            texts.append("\n".join(text))
        ids = [str(first + place) for place in range(size)]
        table = pd.DataFrame({"id": ids, "title": ids, "text": texts})
        table.to_parquet(folder / f"{first // size}.parquet", index=False, row_group_size=1000)


def run_step(step: str, settings: dict, **files: object) -> tuple[float, float]:
    """CPU seconds and peak memory (MB) of one script."""
    words = ["--settings", json.dumps(settings)]
    for name, value in files.items():
        values = value if isinstance(value, list) else [value]
        words += [f"--{name.replace('_', '-')}", *map(str, values)]
    return run_script(step, *words)


def run_script(step: str, *words: str, **options: object) -> tuple[float, float]:
    """CPU seconds and peak memory (MB) of one script with these arguments."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, f"scripts/{step}.py", *words]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, **options)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{step} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


@cache
def starting_seconds(step: str) -> float:
    """CPU seconds of a script that only says how to use it, the median of three."""
    return median(run_script(step, "--help", stdout=subprocess.DEVNULL)[0] for _ in range(3))


def measure(source: Path, folder: Path, documents: int, size: int) -> list[dict]:
    """One run over the first documents: CPU seconds and peak memory of every step."""
    parts = documents // size
    words = {"min_documents": 20, "max_document_share": 0.1}
    attention = PROBE | {"documents": round(PROBED * documents), "parts": parts, "device": "cpu"}
    # After a single pass over few documents disjoint topics may keep no word.
    ambiguity = {"overlaps": ["overlapping"], "thresholds": [{"count": 50}]}
    used: dict[str, list[tuple[float, float]]] = defaultdict(list)

    def run(step: str, settings: dict, **files: object) -> None:
        used[step].append(run_step(step, settings, **files))

    def files(name: str, kind: str = "parquet") -> list[Path]:
        return [folder / f"{name}-{part}.{kind}" for part in range(parts)]

    articles, counts = files("articles", "arrow"), files("counts", "safetensors")
    listed = files("words")
    sums = {name: files(name) for name in ("by_head", "by_distance", "by_words")}
    vocabulary, topics, kept = folder / "vocabulary", folder / "lda", folder / "kept"
    for part in range(parts):
        settings = {"format": "parquet", "part": part, "parts": parts, "files": parts}
        run(
            "parse_part",
            {"part": settings},
            source=source / f"{part}.parquet",
            articles=articles[part],
            summary=folder / "summary",
        )
        run("list_part_words", {"min_letters": 3}, articles=articles[part], words=listed[part])
    tokenizer = f"{MODEL}/tokenizer.json"
    run("merge_words", {"words": words}, words=listed, tokenizers=tokenizer, vocabulary=vocabulary)
    for part in range(parts):
        run(
            "count_part_words",
            {},
            articles=articles[part],
            vocabulary=vocabulary,
            counts=counts[part],
        )
    run("fit_lda", {"lda": LDA}, vocabulary=vocabulary, counts=counts, topics=topics)
    run(
        "measure_topics",
        {"lda": LDA, "top_words": 10},
        articles=articles,
        vocabulary=vocabulary,
        counts=counts,
        topics=topics,
        quality=folder / "quality",
        words=folder / "top_words",
        shares=folder / "shares",
    )
    run(
        "filter_ambiguous_words",
        {"ambiguity": ambiguity},
        vocabulary=vocabulary,
        topics=topics,
        kept_words=kept,
    )
    for part in range(parts):
        run(
            "probe_attention_part",
            {"attention": attention, "part": part},
            articles=articles,
            kept_words=kept,
            model=MODEL,
            **{name: paths[part] for name, paths in sums.items()},
        )
    run("merge_attention", {}, **sums, **{f"merged_{name}": folder / name for name in sums})
    rows = [
        {
            "step": step,
            "documents": documents,
            "jobs": len(runs),
            "cpu_seconds": round(sum(seconds for seconds, _ in runs), 2),
            "starting_seconds": round(len(runs) * starting_seconds(step), 2),
            "peak_mb": round(max(memory for _, memory in runs)),
        }
        for step, runs in used.items()
    ]
    summed = ("jobs", "cpu_seconds", "starting_seconds")
    everything = {name: round(sum(row[name] for row in rows), 2) for name in summed}
    everything |= {"documents": documents, "peak_mb": max(row["peak_mb"] for row in rows)}
    disk = sum(path.stat().st_size for path in folder.iterdir()) / 2**20
    return [*rows, {"step": "all steps", "disk_mb": round(disk), **everything}]


def report(rows: list[dict], folder: Path) -> None:
    """Table with slopes, and a figure of time and memory against documents."""
    import pandas as pd
    from matplotlib.figure import Figure

    from onelayer.evidence.figures import MARKERS, PALETTE, WIDTH, house_style, save

    table = pd.DataFrame(rows)
    table.to_csv(folder / "scale.csv", index=False)
    with house_style():
        figure = Figure(figsize=(WIDTH, 3.4))
        time, memory = figure.subplots(1, 2)
        for place, (step, own) in enumerate(table.groupby("step", sort=False)):
            slope = np.nan
            working = own["cpu_seconds"] - own["starting_seconds"]
            if len(own) > 1 and (working > 0).all():
                slope = np.polyfit(np.log(own["documents"]), np.log(working), 1)[0]
            seconds, peaks = own["cpu_seconds"].tolist(), own["peak_mb"].tolist()
            print(f"{step:24} slope {slope:5.2f}  CPU s {seconds}  peak MB {peaks}")
            style = {
                "color": PALETTE[place % len(PALETTE)],
                "marker": MARKERS[place % len(MARKERS)],
                "linestyle": "-" if place < len(PALETTE) else "--",
                "label": step if np.isnan(slope) else f"{step} ({slope:.2f})",
            }
            time.loglog(own["documents"], own["cpu_seconds"], **style)
            memory.semilogx(own["documents"], own["peak_mb"], **style)
        time.set(xlabel="documents", ylabel="CPU time, all parts (s)")
        memory.set(xlabel="documents", ylabel="peak memory of a job (MB)", ylim=(0, None))
        sizes = sorted(set(table["documents"]))
        for axes in (time, memory):
            axes.set_xticks(sizes, [f"{size // 1000}k" for size in sizes])
            axes.minorticks_off()
        handles, labels = time.get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside right upper", title="step (slope without starting)"
        )
        save(figure, folder / "scale.pdf", folder / "scale.png")


def main() -> None:
    """Run every size and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 20_000, 40_000, 80_000])
    parser.add_argument("--part", type=int, default=10_000, help="documents of a part")
    parser.add_argument("--folder", type=Path, default=Path("results/scale"))
    arguments = parser.parse_args()
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    model = [f"{MODEL}/{name}" for name in config["models"]["minilm"]["wheel"]["files"]]
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--quiet", "--"]
    subprocess.run([*command, LEADS, *model], cwd=ROOT, check=True)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    folder = arguments.folder.resolve()
    source = folder / "source"
    source.mkdir(parents=True, exist_ok=True)
    writer = multiprocessing.get_context("spawn").Process(
        target=write_corpus, args=(source, max(arguments.sizes), arguments.part)
    )
    writer.start()
    writer.join()
    rows = []
    for documents in arguments.sizes:
        own = folder / str(documents)
        own.mkdir(exist_ok=True)
        rows += measure(source, own, documents, arguments.part)
        print(rows[-1], flush=True)
    report(rows, folder)


if __name__ == "__main__":
    main()
