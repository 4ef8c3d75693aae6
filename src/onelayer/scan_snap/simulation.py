"""The paper's one-layer transformer (section 2) in count space, and its trainings (Figs. 4 and 6).

Attention of a sequence with query token m over its contextual tokens l is a_l ~ count_l
exp(Z[m, l]). The combined vector x = a / |a| (l2 norm) goes through the decoder: logits = Y x, and
the loss is the cross-entropy with the next token n. No residual, no positions.

Only what can matter is kept of the M x M matrices: Z for a query token and the tokens of its
classes, the columns of Y for contextual tokens. Gradients are by hand: autograd takes 1.3 to 2
times as long. Shapes: R runs, F classes, B sequences, I contextual tokens, M tokens, 20 slots of a
class; Y is kept transposed, [R, I, M].
"""

import functools
import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from onelayer.ensemble import Ensemble, Optimizer, RunRandom, train_in_chunks
from onelayer.ensemble.execution import Execution
from onelayer.scan_snap.data import COMMON, DISTINCT, SLOTS, TOKEN_CHANCES, Task, draw_counts
from onelayer.scan_snap.measures import ATTENTION, KEYS, WINDOW, fastest_decoder
from onelayer.settings.scan_snap import SimulationSettings, TransitionSettings

Parameters = dict[str, Tensor]
CHUNK = 16  # of about so many runs a core's cache holds parameters, momentum and gradients


def read_batch(task: Task, seeds: Sequence[int], step: int) -> tuple[Tensor, Tensor, Tensor]:
    """A step's counts [S, 20, B] and ascending classes [S, B] of S different seeds, and its runs.

    Runs of one seed share its batch and must be neighbours; `runs` [S] says how many each has.
    """
    different = {seed: len(list(runs)) for seed, runs in itertools.groupby(seeds)}
    counts, classes = zip(*(draw_counts(task, seed, step) for seed in different), strict=True)
    counts, classes = (torch.from_numpy(np.stack(of_seeds)) for of_seeds in (counts, classes))
    return counts.mT, classes, torch.tensor(list(different.values()))


def initial_parameters(task: Task, seeds: Sequence[int], scheme: str) -> Parameters:
    """Y and Z of every run, `zero` or `uniform`; those of equal seeds are equal.

    Returns:
        `Y` [R, I, M], transposed: entry [l, n] is what token l adds to the logit of n.
        `Z` [R, num_last, 10 + 10 next_per_last]: common tokens, then distinct ones class by class.
    """
    bound = task.vocabulary**-0.5 if scheme == "uniform" else 0.0
    width, random = COMMON + DISTINCT * task.next_per_last, RunRandom(seeds)
    Y = random.uniform(task.contextual, task.vocabulary, use=f"initial Y of {task}")
    Z = random.uniform(task.num_last, width, use=f"initial Z of {task}")
    return {"Y": Y * (2 * bound) - bound, "Z": Z * (2 * bound) - bound}


def attention_logits(task: Task, Z: Tensor) -> Tensor:
    """Z[m, l] for the 20 tokens of every class, [R, F, 20]."""
    common = Z[..., :COMMON].repeat_interleave(task.next_per_last, dim=1)
    return torch.cat([common, Z[..., COMMON:].reshape(len(Z), task.classes, DISTINCT)], dim=2)


def contextual_attention(task: Task, parameters: Parameters) -> Parameters:
    """`c`: c_{l|n} ~ P(l | n) exp(Z[m, l]) over a class's tokens, float64 [R, F, 20]."""
    z = attention_logits(task, parameters["Z"]).double()
    return {"c": torch.softmax(z + torch.from_numpy(TOKEN_CHANCES).log(), dim=2)}


def class_blocks(task: Task, classes: Tensor, runs: Tensor) -> Iterator[tuple[slice, ...]]:
    """Of each seed and class: runs, sequences, and rows of Y of the class's 10 distinct tokens."""
    # A product by classes takes 20 tokens a sequence, not all I; `bmm` skips what `@` checks.
    edges = torch.arange(task.classes + 1).expand(len(classes), -1).contiguous()
    bounds = torch.searchsorted(classes, edges).tolist()  # of the sequences of a class
    ends = runs.cumsum(0)
    for start, end, of_class in zip((ends - runs).tolist(), ends.tolist(), bounds, strict=True):
        for f, sequences in enumerate(itertools.pairwise(of_class)):
            first = COMMON + DISTINCT * f
            yield slice(start, end), slice(*sequences), slice(first, first + DISTINCT)


def loss_and_gradients(
    task: Task, parameters: Parameters, batch: tuple[Tensor, Tensor, Tensor]
) -> tuple[Tensor, Parameters]:
    """Loss of every run, [R], and the gradients of its mean over the batch."""
    Y, (counts, classes, runs) = parameters["Y"], batch
    blocks = list(class_blocks(task, classes, runs))
    log_counts = counts.to(Y.dtype).log_().repeat_interleave(runs, dim=0)  # [R, 20, B]
    classes = classes.repeat_interleave(runs, dim=0)  # [R, B]
    # Forward: attention over a class's tokens, [R, 20, B]; x = a / |a|; logits of all tokens.
    of_class = classes[:, None].expand_as(log_counts)
    z = attention_logits(task, parameters["Z"]).mT.gather(2, of_class)
    a = torch.softmax(z.add_(log_counts), dim=1)
    norm = a.square().sum(1, keepdim=True).sqrt_()
    x = a / norm
    logits = x[:, :COMMON].mT @ Y[:, :COMMON]
    for r, b, tokens in blocks:
        logits[r, b].add_(torch.bmm(x[r, COMMON:, b].mT, Y[r, tokens]))
    p = torch.softmax(logits, dim=2)  # [R, B, M]
    targets = (task.contextual + task.num_last + classes)[..., None]  # [R, B, 1]
    # Rather than by log_softmax, which takes twice as long; where p underflows, 87 nats.
    loss = -p.gather(2, targets).clamp_min_(torch.finfo(p.dtype).tiny).log_().mean(dim=(1, 2))

    # Backward through the cross-entropy, softmax - one-hot; its 1 / B goes to the smaller factor.
    grad_logits = p.scatter_add_(2, targets, p.new_full((1, 1, 1), -1).expand_as(targets))
    grad_Y, grad_x, mean = torch.empty_like(Y), torch.empty_like(x), x / task.batch
    grad_Y[:, :COMMON] = mean[:, :COMMON] @ grad_logits
    grad_x[:, :COMMON] = Y[:, :COMMON] @ grad_logits.mT
    for r, b, tokens in blocks:
        grad_Y[r, tokens] = torch.bmm(mean[r, COMMON:, b], grad_logits[r, b])
        grad_x[r, COMMON:, b] = torch.bmm(Y[r, tokens], grad_logits[r, b].mT)
    grad_x /= task.batch
    # Through x = a / |a|, then through the softmax.
    grad_a = (grad_x - x * (x * grad_x).sum(1, keepdim=True)) / norm
    grad_z = a * (grad_a - (a * grad_a).sum(1, keepdim=True))
    # Sums over the sequences of a class; for common tokens over the classes of a query token, too.
    by_class = z.new_zeros(len(z), SLOTS, task.classes).scatter_add_(2, of_class, grad_z)
    of_last = by_class.mT.unflatten(1, (task.num_last, task.next_per_last))  # [R, m, n, 20]
    grad_Z = torch.cat([of_last[..., :COMMON].sum(2), of_last[..., COMMON:].flatten(2)], dim=2)
    return loss, {"Y": grad_Y, "Z": grad_Z}


def simulate(
    settings: SimulationSettings,
    execution: Execution = Execution(),
    frozen_at: float | np.ndarray = np.inf,
) -> pd.DataFrame:
    """Train every combination of sizes, learning rates and seeds, and tabulate c.

    A seed has the same data and start under all learning rates. After iteration `frozen_at`, of
    all runs or [runs] of each number of query tokens, Y stands still.

    Returns:
        A row per run, observed iteration and class: `KEYS`; `c_00` to `c_19`, c_{l|n} of a class's
        20 tokens in the limit of long sequences; `diverged_at` (-1: the run went through).
    """
    grid = itertools.product(range(settings.seeds), settings.lr_Z, settings.lr_Y_multiplier)
    runs = pd.DataFrame(grid, columns=["seed", "lr_Z", "lr_Y_multiplier"])
    frozen_at = np.broadcast_to(frozen_at, len(runs))

    def ensemble(task: Task, part: slice) -> Ensemble:
        some, stop = runs.iloc[part], frozen_at[part]
        seeds, lr_Z = some["seed"].tolist(), torch.tensor(some["lr_Z"].to_numpy())
        lr_Y = lr_Z * torch.tensor(some["lr_Y_multiplier"].to_numpy())
        return Ensemble(
            initial_parameters(task, seeds, settings.initial),
            functools.partial(read_batch, task, seeds),
            Optimizer(
                "sgd",
                lr={"Y": lr_Y, "Z": lr_Z},
                momentum=settings.momentum,
                schedule=lambda step: np.stack([step < stop, np.ones(len(stop))]),  # of Y, of Z
            ),
            gradients=functools.partial(loss_and_gradients, task),
            labels=[f"num_last {task.num_last}, {run}" for run in some.to_dict("records")],
        )

    tables, steps = [], settings.observed[-1]
    for num_last in settings.num_last:
        task = Task(num_last, settings.next_per_last, settings.length, settings.batch)
        build, observe = (functools.partial(f, task) for f in (ensemble, contextual_attention))
        options = {"observe": observe, "observe_at": settings.observed, "loss_every": steps}
        options["execution"] = execution.part(num_last)
        trained = train_in_chunks(build, len(runs), CHUNK, steps, **options)
        axes = [trained.observed_at, runs.index, range(task.classes)]
        axes = pd.MultiIndex.from_product(axes, names=["iteration", "run", "sequence_class"])
        c = trained.observed["c"].flatten(0, 2).numpy()  # [iterations * runs * F, 20]
        trainings = runs.assign(num_last=num_last, diverged_at=trained.diverged_at.numpy())
        tables.append(pd.DataFrame(c, axes, ATTENTION).join(trainings, on="run"))
    return pd.concat(tables).reset_index()[[*KEYS, *ATTENTION, "diverged_at"]]


def simulate_frozen(
    settings: SimulationSettings, trained: pd.DataFrame, execution: Execution = Execution()
) -> pd.DataFrame:
    """The runs of the fastest decoder in `trained` anew, Y frozen when their transition is over.

    Until then a run is as it was: what differs afterwards is the decoder's doing.
    """
    rate, transition = fastest_decoder(trained, settings.iterations)
    alone = settings.model_copy(update={"lr_Y_multiplier": [rate]})
    return simulate(alone, execution, frozen_at=transition + WINDOW)


def simulate_slower(settings: TransitionSettings, execution=Execution()) -> pd.DataFrame:
    """The phase transition at ever smaller rates; as `simulate`, behind a column `slower`."""
    tables = {by: simulate(settings.at(by), execution.part(by)) for by in settings.slower}
    return pd.concat(tables, names=["slower"]).droplevel(-1).reset_index()
