"""Speed beside the authors' way, the obvious code and a floor, in one run: `make bench`.

Authors': one model or start after another. Obvious: what a user would vectorise. Floor: the matrix
products alone, counted by hand. All must compute the same numbers.
`--scale`: time and memory of a corpus's steps at 10, 20 and 40 thousand documents.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before numpy is loaded: its BLAS reads these once

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

ROUNDS = 5  # torch and the library are loaded where they are used: memory of steps is measured


@dataclass(frozen=True, eq=False)
class Way:
    """One way to compute a case."""

    name: str
    run: Callable  # returns numbers to compare with ours, or None
    share: float = 1.0  # how much of our work it does
    of: Callable = lambda ours: ours  # those of our numbers that it computes
    tolerance: float = 1e-4  # largest difference from ours, beside their largest


def floor(flops: float, double: bool = False) -> Way:
    """So many additions and multiplications, in products of large matrices."""
    import torch

    a, each = torch.randn(512, 512).to(torch.float64 if double else torch.float32), 2 * 512**3
    times = int(np.clip(flops / each, 1, 100))
    name = f"floor: {flops / 1e9:.3g} Gflop of matrix products"
    return Way(name, lambda: [a @ a for _ in range(times)] and None, times * each / flops)


def descend(optimizer, losses: Iterable) -> np.ndarray:
    """The plain training loop of one model; `losses` yields a tensor an update, kept as numbers."""
    seen = []
    for loss in losses:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    return np.array(seen)


def measure(name: str, ways: list[Way]) -> pd.DataFrame:
    """A row per way; all run once, so that numbers are compared, then by turns."""
    times, expected = np.empty((ROUNDS, len(ways))), ways[0].run()
    for way in ways[1:]:
        if (numbers := way.run()) is not None:
            most, wanted = way.tolerance * np.abs(expected).max(), way.of(expected)
            np.testing.assert_allclose(numbers, wanted, rtol=0, atol=most, err_msg=way.name)
    for turn, place in np.ndindex(times.shape):
        start = process_time()
        ways[place].run()
        times[turn, place] = (process_time() - start) / ways[place].share
    table = pd.DataFrame({"case": name, "way": [way.name for way in ways]})
    ratios, table["milliseconds"] = times / times[:, :1], 1e3 * np.median(times, axis=0)
    table["times_ours"], table["low"] = np.median(ratios, axis=0), ratios.min(axis=0)
    return table.assign(high=ratios.max(axis=0))


def settings():
    """The default settings."""
    import yaml

    from onelayer.settings.root import Settings

    return Settings.model_validate(yaml.safe_load(Path("config.yaml").read_text("utf-8")))


def scan_snap(share: float) -> list[Way]:
    """The entropy sweep: 640 runs, a quarter of each size."""
    import torch
    from torch.nn import functional

    from onelayer.scan_snap import data, measures, simulation
    from tests.oracle.scan_snap import full_matrices

    steps, rates, sizes = max(2, round(25 * share)), [1.0, 2.0, 5.0, 10.0], [1, 3, 5, 10]
    changed = {"num_last": sizes, "next_per_last": 2, "lr_Z": rates, "lr_Y_multiplier": rates}
    changed |= {"initial": "uniform", "seeds": 10, "iterations": steps, "every": None, "longer": 1}
    sweep = settings().scan_snap.entropy_sweep.model_copy(update=changed)
    tasks = [data.Task(size, 2, sweep.length, sweep.batch) for size in sizes]

    def ours() -> np.ndarray:
        data.draw_counts.cache_clear()  # draws are part of the work
        first = simulation.simulate(sweep).query("seed == 0 and lr_Z == 1 and lr_Y_multiplier == 1")
        return first[measures.ATTENTION].to_numpy()

    def token(slots, classes):
        return torch.where(slots < 10, slots, slots + 10 * classes[:, None])

    def loss(Y, Z, task, step: int):
        drawn, classes = map(torch.from_numpy, data.draw_counts(task, 0, step))
        slots = torch.arange(20).repeat(task.batch).repeat_interleave(drawn.flatten())
        tokens, query = token(slots.view(task.batch, -1), classes), task.contextual + classes // 2
        X, query_token = (functional.one_hot(ids, len(Y)).float() for ids in (tokens, query))
        attention = torch.einsum("btl,ml,bm->bt", X, Z, query_token).softmax(1)
        mixed = torch.einsum("bt,btl->bl", attention, X)
        following = task.contextual + task.num_last + classes
        return functional.cross_entropy(functional.normalize(mixed, dim=1) @ Y.T, following)

    def authors() -> np.ndarray:
        attention = []
        data.draw_counts.cache_clear()
        for task in tasks:
            start = simulation.initial_parameters(task, [0], "uniform")
            Y, Z = (p.requires_grad_() for p in full_matrices(task, start["Y"][0], start["Z"][0]))
            sgd = torch.optim.SGD([Y, Z], lr=1.0, momentum=sweep.momentum)
            descend(sgd, (loss(Y, Z, task, step) for step in range(steps)))
            f, chances = torch.arange(task.classes), torch.from_numpy(data.TOKEN_CHANCES).log()
            z = Z.detach()[task.contextual + f[:, None] // 2, token(torch.arange(20), f)]
            attention.append(torch.softmax(z.double() + chances, 1).numpy())
        return np.concatenate(attention)

    return [
        Way("ours", ours),
        Way("authors: one run, one-hot tokens", authors, 1 / 160),
        floor(160 * steps * sum(6 * task.batch * 20 * task.vocabulary for task in tasks)),
    ]


def topic_structure(share: float) -> list[Way]:
    """Twenty trainings of the authors' model on 2,000 documents."""
    import torch
    from torch import nn
    from torch.nn import functional
    from torch.utils.data import DataLoader, TensorDataset

    from onelayer.ensemble import RunRandom
    from onelayer.topic_structure.synthetic import data, train
    from tests.oracle.topic_structure_synthetic import BertStyle

    base = settings().topic_structure.synthetic
    base, steps = base.model_copy(update={"batch": 40, "chunk": 20}), max(1, round(4 * share)) * 10
    rng, D = np.random.default_rng(0), data.SPECIAL + base.model.T * base.model.v
    weights = rng.dirichlet(np.full(base.model.T, 0.1), 2000)
    tokens = data.draw_documents(rng, base.model.v, weights, (100, 150), framed=True)
    shown, selected = data.mask_documents(rng, tokens, base.model)
    rows = data.count_rows(D, tokens, shown, selected, attended=False)
    labels = np.where(selected, tokens, -100)  # which cross_entropy leaves out
    start = {n: p[0] for n, p in train.initial_parameters(RunRandom([0]), "layer_norm", D).items()}
    runs = [train.Run(seed, "adam", 0.003) for seed in range(20)]
    how = base, rows, runs, "layer_norm", "cross_entropy", steps + 1, dict.copy

    def one() -> np.ndarray:
        bert, decoder = BertStyle(start), nn.Linear(D, D)
        nn.init.eye_(decoder.requires_grad_(False).weight), nn.init.zeros_(decoder.bias)
        bert.embeddings.word_embeddings.requires_grad_(False)
        bert.embeddings.position_embeddings.requires_grad_(False)

        def loss(ids, wanted):
            f = decoder(bert(ids, (ids != data.PAD) & (wanted == -100)))
            return functional.cross_entropy(f.flatten(0, 1), wanted.flatten())

        order = train.Batches(rows, [0], 40)
        drawn = np.concatenate([order.drawn(0, step) for step in range(11)])
        batches = TensorDataset(*(torch.from_numpy(x[drawn]) for x in (shown, labels)))
        adam = torch.optim.Adam([p for p in bert.parameters() if p.requires_grad], 0.003)
        return descend(adam, (loss(*batch) for batch in DataLoader(batches, 40)))[::10]

    return [
        Way("ours", lambda: train.train_runs(*how).losses.numpy()),
        Way("authors: one model, BERT's layers", one, 11 / (steps + 1) / 20, lambda x: x[:2, 0]),
        floor(20 * steps * (6 * D**3 + 6 * len(rows.query) / 50 * D**2)),
    ]


def basins(share: float) -> list[Way]:
    """A basin map of the canonical model, 200 by 200 starts as by default."""
    from scipy.integrate import solve_ivp

    from onelayer.local_to_global import canonical, integrator, simulation
    from onelayer.settings.local_to_global import Chain

    points, flow = max(4, round(200 * share**0.5)), partial(canonical.flow, chain=Chain(0.9, 0.9))
    start = simulation.grid(3.0, points)
    places = np.random.default_rng(0).permutation(points**2)[: max(4, round(40 * share))]
    ours = partial(integrator.integrate, flow, start, stop_below=1e-7)

    def rate(_: float, flat: np.ndarray) -> np.ndarray:
        return flow(flat.reshape(2, -1)).ravel()

    def scipys(state: np.ndarray) -> np.ndarray:
        until, theta = ends.time[state].max(), start[:, state].ravel()
        return solve_ivp(rate, (0, until), theta, rtol=1e-8, atol=1e-14).y[:, -1].reshape(2, -1)

    def way(name: str, states: np.ndarray) -> Way:
        """Some of our starts; those in a row of `states` are followed as one state."""
        share, followed = ends.steps[states].sum() / tried, states.ravel()
        compared = {"of": lambda x: x[:, followed], "tolerance": 1e-5}
        return Way(name, lambda: np.hstack([scipys(each) for each in states]), share, **compared)

    ends = ours()
    tried = float(ends.steps.sum())
    return [
        Way("ours", lambda: ours().theta),
        way("authors (no code): solve_ivp, one start", places[:, None]),
        way("obvious: solve_ivp, an eleventh as one state", np.arange(0, points**2, 11)[None]),
        floor(tried * (6 * 30 + 2 * 2 * 27), double=True),
    ]


def local_to_global(share: float) -> list[Way]:
    """Fifteen transformers that read 256 tokens."""
    import torch
    from torch.nn import functional

    from onelayer.ensemble import RunRandom
    from onelayer.local_to_global import initialisation, training
    from onelayer.settings.local_to_global import Chain, Variant

    T, d, batch, runs, steps, chain = 256, 8, 16, 15, max(2, round(8 * share)), Chain(0.9, 0.9)
    block = settings().local_to_global.transformer
    changed = {"sequence_length": T, "iterations": steps, "batch": batch, "d": d}
    how = block.training.model_copy(update=changed)
    changed = {"training": how, "seeds": runs, "evaluate_every": steps, "evaluate_on": 4}
    block, random = block.model_copy(update=changed), RunRandom(range(runs))
    start, group = initialisation.standard(random, T, d), [Variant(name="standard")]

    def loss(p: dict, x):
        z = x[:, :-1, None].float() * p["e"] + p["wpe"]
        q, k, v = (z @ p[name].mT for name in ("W_Q", "W_K", "W_V"))
        z = z + functional.scaled_dot_product_attention(q, k, v, is_causal=True) @ p["W_O"].mT
        z = z + functional.relu(z @ p["W_1"].mT) @ p["W_2"].mT
        return functional.binary_cross_entropy_with_logits(z @ p["e"] + p["b"], x[:, 1:].float())

    def one_run(p: dict, step: int):
        u = RunRandom([0]).uniform(batch, T + 1, use="sequences", step=step)[0].T
        x = [u[0] < chain.pi1]
        for now in u[1:]:  # from 0 to 1 with chance p, from 1 to 0 with chance q
            x.append((now < 1 - chain.q) | ((now >= 2 - chain.p - chain.q) & ~x[-1]))
        return loss(p, torch.stack(x, dim=1))

    def all_runs(p: dict, step: int):
        u = random.uniform(batch, T + 1, use="sequences", step=step)
        return torch.func.vmap(loss)(p, training.sequences(u, chain)).sum()

    def trained(of: Callable, which: object) -> np.ndarray:
        p = {name: value[which].clone().requires_grad_() for name, value in start.items()}
        adamw = torch.optim.AdamW(p.values(), betas=training.BETAS, weight_decay=how.weight_decay)

        def losses() -> Iterator:
            for step in range(steps):
                adamw.param_groups[0]["lr"] = how.lr * training.one_cycle(steps, how.warm_up)(step)
                yield of(p, step)

        return descend(adamw, losses())

    one, everyone = partial(trained, one_run, 0), partial(trained, all_runs, slice(None))
    return [
        Way("ours", lambda: training.train_group(group, block, chain).losses.numpy()),
        Way("authors: one model, symbol by symbol", one, 1 / runs, lambda ours: ours[:, 0]),
        Way("obvious: torch.func.vmap", everyone, of=lambda ours: ours.sum(1)),
        floor(runs * steps * batch * (72 * d**2 * T + 6 * T**2 * d)),
    ]


CASES = {case.__name__: case for case in (scan_snap, topic_structure, basins, local_to_global)}


def scale(results: Path, share: float) -> pd.DataFrame:
    """A row per step and size: CPU seconds and peak memory, and their slopes (log over log)."""
    articles = pd.read_parquet(results / "corpora/vital-articles/articles.parquet")
    rows = []
    for size in (round(share * size) for size in (10_000, 20_000, 40_000)):
        with tempfile.TemporaryDirectory() as folder:
            repeated = articles.iloc[np.arange(size) % len(articles)].assign(id=np.arange(size))
            repeated.to_json(Path(folder, "source.json"), orient="records", lines=True)
            # Words must be in so many more articles: the same vocabulary at every size.
            more = str(max(1.0, size / len(articles)))
            for name in STEPS:
                command = [sys.executable, "-m", "bench", "--step", name, folder, results, more]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                rows.append({"step": name, "documents": size} | json.loads(done.stdout))
                print(rows[-1], file=sys.stderr, flush=True)
    table = pd.DataFrame(rows)
    for name, of_step in np.log(table.set_index("step")).groupby("step"):
        for column in ("seconds", "peak_mb"):
            slope = np.polyfit(of_step["documents"], of_step[column], 1)[0]
            table.loc[table["step"] == name, f"{column}_slope"] = slope
    return table.sort_values(["step", "documents"])


# Of a step: what its script loads, then, from `yield` on, what is measured.
def parse(here: Path, _model: Path, _more: float) -> Iterator[None]:
    """JSON lines to articles."""
    from onelayer.settings.corpus import ParseSettings
    from onelayer.text.corpus import articles, formats

    yield
    source = here / "source.json"
    read = formats.read_corpus([source], ParseSettings(format="json"))
    articles.write_articles(read, here / "articles.parquet", str(source))


def count(here: Path, model: Path, more: float) -> Iterator[None]:
    """Articles to a bag of words."""
    from gensim.parsing.preprocessing import STOPWORDS  # noqa: F401  # what takes long to load

    from onelayer.text.corpus.articles import read_column
    from onelayer.text.models.tokenizer import load_tokenizer, piece_ids
    from onelayer.text.topics import bag

    tokenizer, words = load_tokenizer(model), settings().topics.words
    words = words.model_copy(update={"min_documents": round(more * words.min_documents)})
    yield
    texts = partial(read_column, here / "articles.parquet")
    counted = bag.count_words(texts, words, lambda word: piece_ids(tokenizer, [word]))
    bag.write_bag(counted, here / "vocabulary.parquet", here / "counts.npz")


def topic_model(here: Path, _model: Path, _more: float) -> Iterator[None]:
    """A bag of words to topics, in one pass."""
    from gensim.models import LdaModel  # noqa: F401  # what takes long to load

    from onelayer.text.topics import bag, lda

    once = settings().topics.lda.model_copy(update={"passes": 1})
    yield
    counted = bag.read_bag(here / "vocabulary.parquet", here / "counts.npz")
    lda.write_topics(lda.fit_topics(counted, once), here / "lda.safetensors")


def probe(here: Path, folder: Path, _more: float, documents: int = 1000) -> Iterator[None]:
    """So many articles, as a job reads them, through MiniLM: draw, encode, read, sum pairs."""
    from onelayer.settings.probe import AttentionProbeSettings
    from onelayer.text.models.checkpoints import load_checkpoint
    from onelayer.text.models.tokenizer import load_tokenizer, piece_ids
    from onelayer.text.topics import lda
    from onelayer.topic_structure.wikipedia import probe, ratio

    vocabulary = pd.read_parquet(here / "vocabulary.parquet")
    likely = lda.read_topics(here / "lda.safetensors").word_probability
    top = settings().topics.ambiguity.model_copy(update={"overlaps": ["overlapping"]})
    kept = lda.filter_ambiguous_words(likely, vocabulary["word"].tolist(), top)
    model, tokenizer = load_checkpoint(folder, "cpu"), load_tokenizer(folder)
    labels = ratio.label_words(kept, vocabulary, piece_ids(tokenizer, kept["word"].unique()))
    yield
    how = AttentionProbeSettings(documents=documents, max_tokens=128, seed=0)
    drawn = probe.sample_articles(here / "articles.parquet", how)
    texts = probe.encode_texts(tokenizer, drawn["text"], labels.words, 128)
    probe.pair_attention(model, texts, ratio.topic_bits(labels.topics[0]))


STEPS = {"parse": parse, "count": count, "topic model": topic_model, "probe": probe}
STEPS["probe of all"] = partial(probe, documents=1_000_000)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--share", type=float, default=1.0, help="of steps, or of documents")
    parser.add_argument("--scale", action="store_true", help="time and memory by documents")
    parser.add_argument("--results", type=Path, default=Path("results"), help="inputs and tables")
    parser.add_argument("--step", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:  # of `scale`: in this process, its CPU seconds and peak memory
        name, folder, results, more = given.step
        step = STEPS[name](Path(folder), Path(results, "models/minilm"), float(more))
        next(step)
        start = process_time()
        next(step, None)
        seconds = round(process_time() - start, 3)
        # Not `ru_maxrss`, which begins at the memory of the process that started this one.
        peak = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text("ascii"))[1]
        print(json.dumps({"seconds": seconds, "peak_mb": round(int(peak) / 1024)}))
        return
    if given.scale:
        table, name = scale(given.results, given.share), "bench_scale.csv"
    else:
        cases = {name: CASES[name](given.share) for name in given.names or CASES}
        table, name = pd.concat([measure(*case) for case in cases.items()]), "bench.csv"
        print("CPU time of one thread; median, lowest and highest ratio of alternating repetitions")
    print(table.to_string(index=False, float_format="{:,.3g}".format))
    Path("results").mkdir(exist_ok=True)
    table.to_csv(Path("results", name), index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
