"""What is timed: computations of the library beside other ways to the same numbers."""

import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse
import torch
import transformers
import yaml
from scipy.integrate import solve_ivp
from sklearn.decomposition import LatentDirichletAllocation
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from bench import Way, descend, floor
from onelayer.decision_lists import attention as lists
from onelayer.ensemble import RunRandom
from onelayer.local_to_global import canonical, initialisation, integrator, simulation, training
from onelayer.local_to_global.chain import Chain
from onelayer.scan_snap import data, language_model, measures, model, text, text_training
from onelayer.scan_snap import simulation as sweeps
from onelayer.settings.decision_lists import Run
from onelayer.settings.local_to_global import Variant
from onelayer.settings.root import Settings
from onelayer.text.pretraining import objectives
from onelayer.text.pretraining import text as segments
from onelayer.text.pretraining import training as pretrain
from onelayer.text.topics import bag, lda
from onelayer.topic_structure.synthetic import data as documents
from onelayer.topic_structure.synthetic import train
from onelayer.topic_structure.wikipedia import probe as probes
from onelayer.topic_structure.wikipedia.words import topic_bits
from tests.oracle.scan_snap import full_matrices
from tests.oracle.topic_structure_synthetic import BertStyle

SETTINGS = Settings.model_validate(yaml.safe_load(Path("config.yaml").read_text("utf-8")))
IGNORED = -100  # a label that cross_entropy leaves out, by default


def decision_lists(share: float) -> list[Way]:
    """Theorem 1's flow on all of W: all sequences of 4 of 16 tokens, lists of 3."""
    L, n, steps = 16, 4, max(2, round(60 * share))
    run = Run(L=L, n=n, m=3, method="full", max_steps=steps)

    def flow(logits: Callable | None = None) -> np.ndarray:
        problem = lists.OnW(run, 0)
        tokens = problem.batch.pairs[:, 0] // L
        target = tokens.gather(1, problem.batch.target[..., 0]).flatten()

        def slope(W: Tensor) -> Tensor:
            W = W.detach().requires_grad_()
            loss = functional.cross_entropy(problem.c * logits(W, tokens).flatten(0, 1), target)
            return torch.autograd.grad(loss, W)[0]

        problem.gradient = slope if logits else problem.gradient
        lists.train(problem, steps, record_every=steps)
        return problem.W.numpy()

    def one_hot(W: Tensor, tokens: Tensor) -> Tensor:
        X = functional.one_hot(tokens, L).to(W.dtype)
        return torch.einsum("sqk,skl->sql", torch.einsum("skl,lm,sqm->sqk", X, W, X).softmax(2), X)

    def gathered(W: Tensor, tokens: Tensor) -> Tensor:
        keys = tokens[:, None].expand(-1, n, -1)
        p = W[keys, tokens[:, :, None]].softmax(2)
        return torch.zeros(len(tokens), n, L, dtype=W.dtype).scatter(2, keys, p)

    return [
        Way("ours", flow),
        Way("authors (no code): eq. (1) on one-hot tokens", partial(flow, one_hot)),
        Way("obvious: scores gathered, autograd", partial(flow, gathered)),
        floor(steps * 2 * 20 * 1820 * n**2, torch.float64),  # 1,820 sequences
    ]


def local_to_global(share: float) -> list[Way]:
    """Fifteen transformers that read 256 tokens."""
    T, d, batch, runs, steps, chain = 256, 8, 16, 15, max(2, round(8 * share)), Chain(0.9, 0.9)
    block = SETTINGS.local_to_global.transformer
    changed = {"sequence_length": T, "iterations": steps, "batch": batch, "d": d}
    own = block.training.model_copy(update=changed)
    changed = {"training": own, "seeds": runs, "evaluate_every": steps, "evaluate_on": 4}
    block, random = block.model_copy(update=changed), RunRandom(range(runs))
    start, group = initialisation.standard(random, T, d), [Variant(name="standard")]

    def loss(p: dict[str, Tensor], x: Tensor) -> Tensor:
        z = x[:, :-1, None].float() * p["e"] + p["wpe"]
        q, k, v = (z @ p[name].mT for name in ("W_Q", "W_K", "W_V"))
        z = z + functional.scaled_dot_product_attention(q, k, v, is_causal=True) @ p["W_O"].mT
        z = z + functional.relu(z @ p["W_1"].mT) @ p["W_2"].mT
        return functional.binary_cross_entropy_with_logits(z @ p["e"] + p["b"], x[:, 1:].float())

    def one_run(p: dict[str, Tensor], step: int) -> Tensor:
        u = RunRandom([0]).uniform(batch, T + 1, use="sequences", step=step)[0].T
        x = [u[0] < chain.pi1]
        for now in u[1:]:  # from 0 to 1 with chance p, from 1 to 0 with chance q
            x.append((now < 1 - chain.q) | ((now >= 2 - chain.p - chain.q) & ~x[-1]))
        return loss(p, torch.stack(x, dim=1))

    def all_runs(p: dict[str, Tensor], step: int) -> Tensor:
        u = random.uniform(batch, T + 1, use="sequences", step=step)
        return torch.func.vmap(loss)(p, training.sequences(u, chain)).sum()

    def trained(of: Callable, which: object) -> np.ndarray:
        p = {name: value[which].clone().requires_grad_() for name, value in start.items()}
        adamw = torch.optim.AdamW(p.values(), betas=training.BETAS, weight_decay=own.weight_decay)
        rates = training.one_cycle(steps, own.warm_up)
        return descend(adamw, (of(p, s) for s in range(steps)), lambda s: own.lr * rates(s))

    one, everyone = partial(trained, one_run, 0), partial(trained, all_runs, slice(None))
    return [
        Way("ours", lambda: training.train_group(group, block, chain).losses.numpy()),
        Way("authors: one model, symbol by symbol", one, 1 / runs, lambda ours: ours[:, 0]),
        Way("obvious: torch.func.vmap", everyone, of=lambda ours: ours.sum(1)),
        floor(runs * steps * batch * (72 * d**2 * T + 6 * T**2 * d)),
    ]


def basins(share: float) -> list[Way]:
    """A basin map of the canonical model."""
    points, flow = max(4, round(60 * share**0.5)), partial(canonical.flow, chain=Chain(0.9, 0.9))
    start, drawn = simulation.grid(3.0, points), np.random.default_rng(0)
    places = drawn.permutation(points**2)[: max(4, round(40 * share))]

    def ours() -> integrator.Trajectories:
        return integrator.integrate(flow, start, tolerance=1e-8, stop_below=1e-7)

    def scipys(theta: np.ndarray, until: float) -> np.ndarray:
        def rate(_: float, flat: np.ndarray) -> np.ndarray:
            return flow(flat.reshape(2, -1)).ravel()

        found = solve_ivp(rate, (0, until), theta.ravel(), rtol=1e-8, atol=1e-14)
        return found.y[:, -1].reshape(2, -1)

    def one_by_one() -> np.ndarray:
        return np.hstack([scipys(start[:, place], ends.time[place]) for place in places])

    ends, name = ours(), "authors (no code): solve_ivp, one start"
    tried, whole = float(ends.steps.sum()), partial(scipys, start, ends.time.max())
    return [
        Way("ours", lambda: ours().theta),
        Way(name, one_by_one, ends.steps[places].sum() / tried, lambda ours: ours[:, places], 1e-5),
        Way("obvious: solve_ivp, one state", whole, tolerance=1e-5),
        floor(tried * (6 * 30 + 2 * 2 * 27), torch.float64),
    ]


def scan_snap(share: float) -> list[Way]:
    """The entropy sweep: 640 runs, a quarter of each size."""
    steps, rates, sizes = max(2, round(25 * share)), [1.0, 2.0, 5.0, 10.0], [1, 3, 5, 10]
    changed = {"num_last": sizes, "next_per_last": 2, "lr_Z": rates, "lr_Y_multiplier": rates}
    changed |= {"initial": "uniform", "seeds": 10, "iterations": steps, "every": None, "longer": 1}
    sweep = SETTINGS.scan_snap.entropy_sweep.model_copy(update=changed)
    tasks = [data.Task(size, 2, sweep.length, sweep.batch) for size in sizes]

    def ours(_: None) -> np.ndarray:
        first = sweeps.simulate(sweep).query("seed == 0 and lr_Z == 1 and lr_Y_multiplier == 1")
        return first[measures.ATTENTION].to_numpy()

    def token(slots: Tensor, classes: Tensor) -> Tensor:
        return torch.where(slots < 10, slots, slots + 10 * classes[:, None])

    def loss(Y: Tensor, Z: Tensor, task: data.Task, one_hot: bool, step: int) -> Tensor:
        drawn, bounds = map(torch.from_numpy, data.draw_counts(task, 0, step))
        classes = torch.arange(task.classes).repeat_interleave(bounds.diff())
        slots = torch.arange(20).repeat(task.batch).repeat_interleave(drawn.flatten())
        tokens, query = token(slots.view(task.batch, -1), classes), task.contextual + classes // 2
        if one_hot:
            X, asked = (functional.one_hot(ids, len(Y)).float() for ids in (tokens, query))
            attention = torch.einsum("btl,ml,bm->bt", X, Z, asked).softmax(1)
            mixed = torch.einsum("bt,btl->bl", attention, X)
        else:
            attention = Z[query].gather(1, tokens).softmax(1)
            mixed = torch.zeros(task.batch, len(Y)).scatter_add(1, tokens, attention)
        following = task.contextual + task.num_last + classes
        return functional.cross_entropy(functional.normalize(mixed, dim=1) @ Y.T, following)

    def one_run(task: data.Task, one_hot: bool) -> np.ndarray:
        start = model.initial_parameters(task, [0], "uniform")
        Y, Z = (p.requires_grad_() for p in full_matrices(task, start["Y"][0], start["Z"][0]))
        sgd = torch.optim.SGD([Y, Z], lr=1.0, momentum=sweep.momentum)
        descend(sgd, (loss(Y, Z, task, one_hot, step) for step in range(steps)))
        f, chances = torch.arange(task.classes), torch.from_numpy(data.TOKEN_CHANCES).log()
        z = Z.detach()[task.contextual + f[:, None] // 2, token(torch.arange(20), f)]
        return torch.softmax(z.double() + chances, 1).numpy()

    def each(one_hot: bool, _: None) -> np.ndarray:
        return np.concatenate([one_run(task, one_hot) for task in tasks])

    forget = {"prepare": lambda: (data.draw_counts.cache_clear(),)}  # draws are part of the work
    return [
        Way("ours", ours, **forget),
        Way("authors: one run, one-hot tokens", partial(each, True), 1 / 160, **forget),
        Way("obvious: one run, tokens gathered", partial(each, False), 1 / 160, **forget),
        floor(160 * steps * sum(6 * task.batch * 20 * task.vocabulary for task in tasks)),
    ]


def topic_structure(share: float) -> list[Way]:
    """Twenty trainings of the authors' model on 2,000 documents."""
    steps, base = max(1, round(4 * share)) * 10 + 1, SETTINGS.topic_structure.synthetic.in_common
    base = base.model_copy(update={"batch": 40, "chunk": 20})
    rng, words = np.random.default_rng(0), documents.Vocabulary(10, 10)
    weights = rng.dirichlet(np.full(10, 0.1), 2000)
    tokens = documents.draw_documents(rng, words, weights, (100, 150), framed=True)
    shown, selected = documents.mask_documents(rng, words, tokens, base.model)
    rows = documents.count_rows(words, tokens, shown, selected, masked_attended=False)
    labels = np.where(selected, tokens, IGNORED)
    start = train.initial_parameters(RunRandom([0]), "layer_norm", D := words.size)

    def ours() -> np.ndarray:
        runs = [train.Run(seed, "adam", 0.003) for seed in range(20)]
        how = "layer_norm", "cross_entropy", steps, dict.copy
        return train.train_runs(base, rows, runs, *how).losses.numpy()

    def losses(bert: BertStyle, decoder: nn.Linear):
        order = train.Batches(rows, [0], 40)
        drawn = np.concatenate([order.drawn(0, step) for step in range(11)])
        read = TensorDataset(*(torch.from_numpy(ids[drawn]) for ids in (shown, labels)))
        for ids, wanted in DataLoader(read, 40):
            f = decoder(bert(ids, (ids != documents.PAD) & (wanted == IGNORED)))
            yield functional.cross_entropy(f.flatten(0, 1), wanted.flatten())

    def one() -> np.ndarray:
        bert, decoder = BertStyle({name: p[0] for name, p in start.items()}), nn.Linear(D, D)
        nn.init.eye_(decoder.requires_grad_(False).weight), nn.init.zeros_(decoder.bias)
        bert.embeddings.word_embeddings.requires_grad_(False)
        bert.embeddings.position_embeddings.requires_grad_(False)
        adam = torch.optim.Adam([p for p in bert.parameters() if p.requires_grad], 0.003)
        return descend(adam, losses(bert, decoder))[::10]

    return [
        Way("ours", ours),
        Way("authors: one model, BERT's layers", one, 11 / steps / 20, lambda ours: ours[:2, 0]),
        floor(20 * steps * (6 * D**3 + 6 * len(rows.query) / 50 * D**2)),
    ]


def text_model(share: float) -> list[Way]:
    """The language model of Fig. 7, three seeds; dropout is drawn anew, so not compared."""
    steps, block = max(2, round(15 * share)), SETTINGS.scan_snap.language_model.of("gentle")
    block = block.model_copy(update={"iterations": steps, "measure_every": steps, "maps_at": [0]})
    V, d, h, T = block.vocabulary, block.width, block.hidden, block.length
    drawn, names = np.random.default_rng(0).integers(V, size=40_000), [str(k) for k in range(V)]
    read = text.Text(names, drawn, drawn[: 2 * T + 2].reshape(2, -1))

    def one() -> None:
        embedding, decoder, dropout = nn.Embedding(V, d), nn.Linear(d, V), nn.Dropout(block.dropout)
        layer = nn.TransformerEncoderLayer(d, 1, h, block.dropout, batch_first=True)
        mask, places = nn.Transformer.generate_square_subsequent_mask(T), language_model.positions
        reader = language_model.Reader(drawn, [0], block.batch, T)

        def loss(step: int) -> Tensor:
            tokens = reader(step)[0][0]
            x = dropout(embedding(tokens[:, :-1]) * d**0.5 + places(T, d))
            logits = decoder(layer(x, src_mask=mask, is_causal=True))
            return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

        weights = nn.ModuleList([embedding, decoder, layer]).parameters()
        descend(torch.optim.Adam(weights), map(loss, range(steps)), clip=block.clip)

    each = 6 * (4 * d * d + 2 * d * h + d * V) + 12 * T * d
    return [
        Way("ours", lambda: text_training.train_language_model(read, block).losses.numpy()),
        Way("authors: one seed, torch's TransformerEncoderLayer", one, 1 / 3),
        floor(3 * steps * block.batch * T * each),
    ]


def probe(share: float, T: int = 128) -> list[Way]:
    """Articles of T tokens, a third of them words of topics; a model of MiniLM's shape."""
    articles, C, W, rng = max(1, round(1280 * share / T)), T // 3, 400, np.random.default_rng(0)
    shape = {"hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536}
    config = transformers.BertConfig(**shape, attn_implementation="eager")
    bert, topic, texts = transformers.BertModel(config).eval(), rng.integers(20, size=W), []
    words = [str(word) for word in range(W)], topic_bits(topic[:, None] == np.arange(20))
    for _ in range(articles):
        places, ids = np.sort(rng.permutation(T)[:C]), rng.integers(1000, 30_000, T).tolist()
        texts.append(probes.Text(ids, places, rng.integers(W, size=C), np.zeros(C, np.int64)))

    @torch.no_grad()
    def ratios(add: Callable) -> np.ndarray:
        sums, pairs = np.zeros((2, 6, 12)), np.zeros((2, 1, 1))
        for read in texts:
            weights = bert(torch.tensor([read.ids]), output_attentions=True).attentions
            add(torch.cat(weights).double().numpy(), read.places, read.words, sums, pairs)
        return np.divide(*(sums / pairs)).ravel()

    def loops(weights: np.ndarray, places: np.ndarray, words: np.ndarray, sums, pairs) -> None:
        of, known = topic.tolist(), list(zip(places.tolist(), words.tolist(), strict=True))
        for layer, head in np.ndindex(6, 12):
            found, rows = ([], []), weights[layer, head].tolist()
            for i, first in known:
                for j, second in known:
                    if first != second:
                        found[of[first] != of[second]].append(rows[i][j])
            sums[:, layer, head] += list(map(sum, found))
        pairs[:, 0, 0] += list(map(len, found))

    def masks(weights: np.ndarray, places: np.ndarray, words: np.ndarray, sums, pairs) -> None:
        chosen, same = weights[:, :, places[:, None], places], topic[words][:, None] == topic[words]
        for kind, mask in enumerate((same & (words[:, None] != words), ~same)):
            sums[kind] += chosen[:, :, mask].sum(axis=2)
            pairs[kind] += mask.sum()

    each = 6 * (2 * T * (4 * 384**2 + 2 * 384 * 1536) + 4 * T**2 * 384)
    return [
        Way("ours", lambda: probes.probe(bert, texts, range(articles), *words, 100)[1]["ratio"]),
        Way("authors: a loop over heads and pairs of words", partial(ratios, loops)),
        Way("obvious: NumPy masks", partial(ratios, masks)),
        floor(articles * each),
    ]


def topic_model(share: float) -> list[Way]:
    """One pass of LDA over 2,000 documents of 300 words; ours, as the authors', is gensim's."""
    size, W, rng = max(100, round(2000 * share)), 10_000, np.random.default_rng(0)
    topics = rng.gamma(0.3, size=(50, W)) / np.arange(1, W + 1)
    mixtures = rng.dirichlet(np.full(50, 0.05), size) @ (topics / topics.sum(1, keepdims=True))
    counted = scipy.sparse.csr_matrix(np.array([rng.multinomial(300, p) for p in mixtures], "i4"))
    words = bag.Bag(pd.DataFrame({"word": [str(k) for k in range(W)]}), counted)
    settings = SETTINGS.topics.lda.model_copy(update={"passes": 1})

    def sklearns() -> None:
        how = {"batch_size": settings.chunksize, "max_doc_update_iter": settings.iterations}
        how |= {"learning_decay": settings.decay, "learning_offset": settings.offset, "max_iter": 1}
        LatentDirichletAllocation(settings.topics, learning_method="online", **how).fit(counted)

    return [
        Way("ours", lambda: lda.fit_topics(words, settings).dirichlet),
        Way("obvious: scikit-learn, online", sklearns),
        floor(4 * settings.topics * counted.nnz, torch.float64),  # one iteration a document
    ]


def pretraining(share: float) -> list[Way]:
    """BERT on 8,000 tokens; the other ways find masks and batches made."""
    tokens, pieces, rng = max(2000, round(8000 * share)), 11_000, np.random.default_rng(0)
    few, adamw = {"held_out_tokens": 16}, SETTINGS.pretraining.optimizer
    settings = SETTINGS.pretraining.training("bert", 0, tokens).model_copy(update=few)
    lengths = rng.integers(40, 121, tokens // 80 + 10)
    written = rng.integers(5, pieces, lengths.sum()), np.cumsum([0, *lengths]), lengths // 2
    read, unseen = (segments.Segments(name, *written) for name in ("training", "held-out"))
    plan = segments.plan_batches(read, tokens, settings.batch_tokens, 2, 0)

    def fresh() -> tuple:
        words = np.arange(pieces) >= 100, np.ones(pieces, dtype=int)
        objective = objectives.new_objective(settings, *words)
        arrays = [objective.inputs(read, batch) for batch in plan]
        return objective, [{k: torch.from_numpy(v) for k, v in x.items()} for x in arrays]

    def ours(objective: objectives.Objective, _: list) -> np.ndarray:
        history = pretrain.train(objective, read, unseen, settings)
        return history.query("split == 'training' and quantity == 'loss'")["value"].to_numpy()

    def plain(objective: objectives.Objective, batches: list[dict]) -> np.ndarray:
        def loss(x: dict) -> Tensor:
            hidden = bert.bert(input_ids=x["ids"])[0].flatten(0, 1)[x["positions"]]
            return functional.cross_entropy(bert.cls(hidden), x["labels"])

        bert, betas = objective.saved, (adamw.beta_1, adamw.beta_2)
        optimizer = torch.optim.AdamW(bert.parameters(), betas=betas, weight_decay=0.01, fused=True)
        rates = [pretrain.learning_rate(batch.before, tokens, adamw) for batch in plan]
        return descend(optimizer, map(loss, batches), rates.__getitem__, adamw.most_norm)

    def trainers(objective: objectives.Objective, batches: list[dict]) -> None:
        rows = []
        for x in batches:
            labels = torch.full_like(x["ids"], IGNORED).flatten()
            labels[x["positions"]] = x["labels"]
            rows.append({"input_ids": x["ids"], "labels": labels.view_as(x["ids"])})
        how = {"save_strategy": "no", "logging_strategy": "no", "report_to": "none"}
        how |= {"disable_tqdm": True, "remove_unused_columns": False, "use_cpu": True}
        how |= {"per_device_train_batch_size": 1, "max_steps": len(rows)}
        read = {"train_dataset": rows, "data_collator": lambda batch: batch[0]}
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(None):
            how = transformers.TrainingArguments(folder, **how)
            transformers.Trainer(objective.saved, how, **read).train()

    predicted, d = sum(len(x["labels"]) for x in fresh()[1]), settings.size.width
    weights = tokens * settings.size.layers * 12 * d**2 + predicted * (d * pieces + d**2)
    return [
        Way("ours", ours, prepare=fresh),
        Way("authors: transformers' Trainer", trainers, prepare=fresh),
        Way("obvious: a plain loop, fused AdamW", plain, tolerance=1e-3, prepare=fresh),
        floor(6 * weights),
    ]


_FIRST = decision_lists, local_to_global, basins, scan_snap, topic_structure, text_model, probe
CASES = {case.__name__: case for case in _FIRST} | {"probe_512": partial(probe, T=512)}
# Pretraining is last: it makes torch's algorithms deterministic for good.
CASES |= {"topic_model": topic_model, "pretraining": pretraining}
