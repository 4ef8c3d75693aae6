"""The curvature at the unigram model beside a dense model by loops, and the table of it."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import torch

from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.schedule import one_cycle
from onelayer.papers.local_to_global.training_tables import escape
from onelayer.papers.local_to_global.trap import curvature, train_trap
from onelayer.papers.local_to_global.trap_tables import (
    beside_next_lower,
    crossing,
    learning_times,
    median_time,
    trap,
)
from onelayer.settings.local_to_global import PAPERS_START as PAPER
from onelayer.settings.local_to_global import STANDARD_START as START
from onelayer.settings.local_to_global import Variant
from onelayer.settings.root import default_settings

LTG = default_settings().local_to_global
CHAIN = Chain(0.5, 0.8)
T, D = 4, 3


def weights(seed: int, scale: float) -> dict[str, torch.Tensor]:
    """Two runs of a tiny transformer."""
    draw = torch.Generator().manual_seed(seed)
    shapes = {"e": (D,), "wpe": (T, D), "W_1": (4 * D, D), "W_2": (D, 4 * D), "b": ()}
    shapes |= dict.fromkeys(("W_Q", "W_K", "W_V", "W_O"), (D, D))
    return {
        name: scale * torch.randn(2, *shape, generator=draw, dtype=torch.float64)
        for name, shape in shapes.items()
    }


def every_sequence() -> torch.Tensor:
    """Every sequence once: each place has its symbols' right shares, as in the population."""
    return torch.tensor(list(itertools.product([False, True], repeat=T)))


def dense_loss(own: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """The population loss of one run, position by position."""
    surprise, weight = {0: [], 1: []}, {0: CHAIN.pi0, 1: CHAIN.pi1}
    for row in x:
        z = [own["wpe"][t] + float(row[t]) * own["e"] for t in range(T)]
        for t in range(T):
            scores = torch.stack([(own["W_K"] @ z[s]) @ (own["W_Q"] @ z[t]) for s in range(t + 1)])
            share = torch.softmax(scores / math.sqrt(D), dim=0)
            mixed = sum(share[s] * (own["W_V"] @ z[s]) for s in range(t + 1))
            y = z[t] + own["W_O"] @ mixed
            y = y + own["W_2"] @ torch.relu(own["W_1"] @ y)
            logit = own["e"] @ y + own["b"]
            symbol = int(row[t])
            one = 1 - CHAIN.q if symbol else CHAIN.p
            loss = -one * torch.nn.functional.logsigmoid(logit)
            surprise[symbol].append(loss - (1 - one) * torch.nn.functional.logsigmoid(-logit))
    return sum(weight[symbol] * torch.stack(surprise[symbol]).mean() for symbol in (0, 1))


@pytest.mark.parametrize("scale", [0.02, 0.7])
def test_the_curvature_is_that_of_the_dense_hessian_in_all_parameters(scale):
    """The least curvature in e, all other parameters moving with it as is best."""
    parameters, x = weights(1, scale), every_sequence()
    found = curvature(parameters, x.expand(2, -1, -1), CHAIN)
    unit = 2 * CHAIN.p * CHAIN.q * (CHAIN.p + CHAIN.q - 1) / (CHAIN.p + CHAIN.q) ** 2
    for run in range(2):
        own = {name: value[run] for name, value in parameters.items()}
        best = torch.tensor(math.log(CHAIN.p / CHAIN.q), dtype=torch.float64)
        own |= {"e": torch.zeros(D, dtype=torch.float64), "b": best}
        flat = torch.cat([value.flatten() for value in own.values()])

        def loss(flat: torch.Tensor, own=own) -> torch.Tensor:
            parts = flat.split([value.numel() for value in own.values()])
            pairs = zip(own.items(), parts, strict=True)
            return dense_loss({name: part.view_as(value) for (name, value), part in pairs}, x)

        slope = torch.autograd.functional.jacobian(loss, flat)
        assert slope.abs().max() < 1e-12, "the unigram model is critical"
        hessian = torch.autograd.functional.hessian(loss, flat, vectorize=True)
        rest = torch.ones(len(flat), dtype=torch.bool)
        rest[:D] = False  # e stands first
        H_ee, H_er, H_rr = hessian[:D, :D], hessian[:D, rest], hessian[rest][:, rest]
        least = torch.linalg.eigvalsh(H_ee - H_er @ torch.linalg.pinv(H_rr) @ H_er.T)[0] / unit
        assert float(found[run]) == pytest.approx(float(least), rel=1e-7)


def test_without_weights_it_is_what_the_theorem_gives():
    zero = {name: torch.zeros_like(value) for name, value in weights(0, 1).items()}
    x = torch.rand(1, 64, T, generator=torch.Generator().manual_seed(0)) < CHAIN.pi1
    found = curvature(zero, x.expand(2, -1, -1), CHAIN)
    assert found.tolist() == pytest.approx([1, 1], abs=1e-12)
    below = curvature(zero, x.expand(2, -1, -1), Chain(0.2, 0.3))
    assert below.tolist() == pytest.approx([-1, -1], abs=1e-12)


def test_runs_have_losses_and_curvatures_on_every_chain():
    settings = LTG.trap.but(
        chains=[{"p": 0.9, "q": 0.9}, {"p": 0.5, "q": 0.8}],
        training=LTG.trap.training.but(sequence_length=8, batch=4, iterations=20),
        seeds=2,
        evaluate_on=4,
        everywhere=[{"name": "fast", "lr": 0.008}],
        variants=[{"name": "2 sequences", "batch": 2}],
    )
    curves = train_trap(settings)
    counts = curves.groupby(["p", "variant"])["seed"].nunique().to_dict()
    assert counts == {
        (0.9, START): 2, (0.9, PAPER): 2, (0.9, "fast"): 2, (0.9, "2 sequences"): 2,
        (0.5, START): 2, (0.5, PAPER): 2, (0.5, "fast"): 2,
    }  # fmt: skip
    first = curves[(curves["iteration"] == 0) & (curves["variant"] == START)]
    assert first["curvature"].between(0.9, 1.1).all() and np.isfinite(curves["loss"]).all()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"chains": [{"p": 0.2, "q": 0.3}]}, r"p = 0.2, q = 0.3: p \+ q must exceed 1"),
        ({"variants": [{"name": "rows", "embedding_rows": 2}]}, "rows: embedding_rows must be 1"),
        (
            {"training": LTG.trap.training.model_copy(update={"embedding_rows": 2}).model_dump()},
            "training: embedding_rows must be 1, found 2",
        ),
        ({"everywhere": [{"name": PAPER}]}, "everywhere: paper's start: every chain has this row"),
        (
            {"everywhere": [{"name": "fast"}], "variants": [{"name": "fast"}]},
            "variants: fast: every chain has this row already",
        ),
    ],
)
def test_what_has_no_trap_is_refused(given, said):
    with pytest.raises(ValueError, match=said):
        LTG.trap.but(**({"chains": [{"p": 0.5, "q": 0.8}]} | given))


def runs(**by_variant: list[tuple[float, float]]) -> pd.DataFrame:
    """Seeds by their loss and curvature in the end, the halves of both before."""
    rows = []
    for variant, seeds in by_variant.items():
        for seed, (loss, curve) in enumerate(seeds):
            for iteration, part in ((0, 0.0), (20, 0.5), (40, 1.0)):
                at = CHAIN.unigram_entropy + part * (loss - CHAIN.unigram_entropy)
                bent = 1 + part * (curve - 1)
                rows.append((0.5, 0.8, variant, seed, iteration, at, bent))
    columns = ["p", "q", "variant", "seed", "iteration", "loss", "curvature"]
    return pd.DataFrame(rows, columns=columns)


def test_the_table_tells_those_that_stay_from_those_that_leave():
    high, low = CHAIN.unigram_entropy, CHAIN.bigram_entropy
    curves = runs(
        **{
            START: [(high, 0.8), (high, 0.9), (high, 0.85)],
            "fast": [(low, -1.0), (low, -1.2), (low, -1.1)],
            PAPER: [(low, 1.0), (low, 1.0), (low + 1e-4, 1.0)],
        }
    )
    table = trap(curves, LTG.transformer.training, [Variant(name="fast", lr=0.008)], []).table
    rows = table.set_index(["variant", "quantity"])
    assert rows.loc[(START, "trapped_share"), "value"] == 1
    assert rows.loc[(START, "escape_share"), "value"] == 0
    assert rows.loc[(START, "curvature_where_trapped"), "verdict"] == "reproduced"
    assert rows.loc[(START, "curvature_before_escape"), "verdict"] == "not reached"
    assert rows.loc[(START, "escape_iteration"), "verdict"] == "not reached"
    # The escape is at iteration 20, and the run was last at the unigram model at the start.
    assert rows.loc[("fast", "escape_iteration"), "value"] == 20
    assert rows.loc[("fast", "escape_inputs"), "value"] == 20 * 16 * 256
    assert rows.loc[("fast", "earlier_by_rate"), "value"] == 1
    # From a hundredth of the way to a half of it in 20 iterations, at a tenth of it after 11.77.
    at = 20 * math.log(10) / math.log(50)
    rates = [0.008 * one_cycle(500, 0.02)(step) for step in range(12)]
    done = sum(rates[:11]) + (at - 11) * rates[11]
    assert rows.loc[("fast", "escape_time"), "value"] == pytest.approx(done)
    assert rows.loc[("fast", "curvature_before_escape"), "value"] == 1
    assert (PAPER, "curvature_where_trapped") not in rows.index
    assert rows.loc[(PAPER, "way_closed"), "verdict"] == "reproduced"
    assert rows.loc[(START, "way_closed"), "verdict"] == ""


def test_what_is_said_of_other_chains_is_decided_by_the_worst_of_them():
    parts = []
    for p, q, share in ((0.9, 0.9, 0.9), (0.5, 0.8, 0.0), (0.7, 0.6, 0.1), (0.8, 0.4, 0.7)):
        chain = Chain(p, q)
        end = chain.unigram_entropy - share * (chain.unigram_entropy - chain.bigram_entropy)
        one = runs(**{START: [(end, 0.8)] * 3, PAPER: [(end, 0.8), (end, 0.8), (end + 1e-5, 0.8)]})
        parts.append(one.assign(p=p, q=q))
    table = trap(pd.concat(parts), LTG.transformer.training, [], []).table
    worst = table[table["quantity"] == "least_way_closed"]
    assert worst[["p", "q", "variant", "verdict"]].values.tolist() == [
        [0.7, 0.6, PAPER, "opposite"]
    ]
    assert worst["value"].item() == pytest.approx(0.1, abs=1e-3)
    assert worst["note"].item() == "the least of 3 chains"


def test_where_a_run_has_not_come_to_the_unigram_model_nothing_is_said_of_how_far_it_goes():
    parts = []
    for p, q, above in ((0.5, 0.8, 0.0), (0.9, 0.9, 0.09), (0.7, 0.6, 0.2)):
        chain = Chain(p, q)
        way = chain.unigram_entropy - chain.bigram_entropy
        ends = [chain.unigram_entropy] * 2 + [chain.unigram_entropy + above * way]
        one = runs(**{START: [(end, 0.8) for end in ends], PAPER: [(end, 0.8) for end in ends]})
        parts.append(one.assign(p=p, q=q))
    table = trap(pd.concat(parts), LTG.transformer.training, [], []).table
    rows = table[table["variant"] == PAPER].set_index(["quantity", "p"])
    assert rows.loc["way_closed", "verdict"].tolist() == ["opposite", "opposite", "not reached"]
    said = "1 of 3 seeds end above the unigram entropy, on their way down"
    assert rows.loc["way_closed", "note"].tolist() == ["", "", said]
    worst = rows.loc[("least_way_closed", 0.7)]
    assert worst["verdict"] == "not reached" and worst["note"] == f"the least of 2 chains; {said}"


def test_where_a_run_diverged_nothing_is_said_of_how_far_its_chain_goes():
    parts = []
    for p, q in ((0.5, 0.8), (0.9, 0.9), (0.7, 0.6), (0.8, 0.4)):
        loss = Chain(p, q).unigram_entropy
        one = runs(**{START: [(loss, 0.8)] * 3, PAPER: [(loss, 0.8)] * 3})
        parts.append(one.assign(p=p, q=q))
    curves = pd.concat(parts, ignore_index=True)
    last = (curves["p"] == 0.7) & (curves["seed"] == 1)
    curves.loc[last & (curves["iteration"] == curves["iteration"].max()), "loss"] = np.nan
    table = trap(curves, LTG.transformer.training, [], []).table
    rows = table[table["variant"] == PAPER].set_index(["quantity", "p"])
    for quantity in ("way_closed", "least_way_closed"):
        row = rows.loc[(quantity, 0.7)]
        assert row["verdict"] == "not reached"
        assert row["note"].endswith(
            "1 of 3 seeds end above the unigram entropy, on their way down or diverged"
        )


def test_runs_from_the_papers_start_have_no_curvature_whatever_changes():
    low, high = CHAIN.bigram_entropy, CHAIN.unigram_entropy
    curves = runs(**{START: [(high, 0.8)] * 3, "paper, fast": [(low, 1.0)] * 3})
    fast = Variant(name="paper, fast", initialisation="paper", lr=0.008)
    table = trap(curves, LTG.transformer.training, [], [fast]).table
    rows = table.set_index(["variant", "quantity"])
    assert ("paper, fast", "curvature_where_trapped") not in rows.index
    assert rows.loc[("paper, fast", "way_closed"), "verdict"] == "reproduced"


def test_the_last_look_at_the_unigram_model_counts_not_the_lowest():
    curves = runs(**{START: [(CHAIN.bigram_entropy, 1.0)] * 3})
    curves["loss"] = np.where(curves["iteration"] < 40, CHAIN.unigram_entropy, CHAIN.bigram_entropy)
    curves["curvature"] = curves["iteration"].map({0: -2.0, 20: -0.5, 40: 3.0})
    rows = trap(curves, LTG.transformer.training, [], []).table.set_index(["variant", "quantity"])
    assert rows.loc[(START, "curvature_before_escape"), "value"] == -0.5


def test_what_was_never_at_the_unigram_model_has_no_last_look_there():
    curves = runs(**{START: [(CHAIN.bigram_entropy, -1.0)] * 3})
    curves.loc[curves["iteration"] < 20, "loss"] += 1
    rows = trap(curves, LTG.transformer.training, [], []).table.set_index(["variant", "quantity"])
    assert rows.loc[(START, "curvature_before_escape"), "verdict"] == "not reached"


def test_an_escape_lasts_to_the_end():
    run = runs(**{START: [(CHAIN.bigram_entropy, 0.0)]})
    assert escape(run, CHAIN) == 20
    run.loc[run["iteration"] == 40, "loss"] = CHAIN.unigram_entropy
    assert escape(run, CHAIN) == np.inf


def test_the_median_counts_those_that_stay_as_last():
    assert median_time(np.array([np.inf, 30, 10, 20, np.inf]))["value"] == 30
    assert median_time(np.array([np.inf, np.inf, 10.0]))["verdict"] == "not reached"
    six = median_time(np.array([1.0, 2, 3, 4, 5, 6]))
    assert (six["value"], six["low"], six["high"]) == (3.5, 1, 6)
    assert np.isnan(median_time(np.array([1.0, 2, 3, 4, 5, np.inf]))["high"])


@pytest.mark.parametrize("steepness", [0.1, 0.2, 0.4])
def test_between_two_looks_the_escape_is_where_an_exponential_crosses(steepness):
    """By looks at every iteration, of runs that leave exponentially and come to rest below."""
    way, every = CHAIN.unigram_entropy - CHAIN.bigram_entropy, np.arange(201)
    errors = []
    for leaves in np.arange(100, 120, 0.5):
        loss = CHAIN.unigram_entropy - way / (1 + 9 * np.exp(-steepness * (every - leaves)))
        run = pd.DataFrame({"iteration": every, "loss": loss})
        assert crossing(run, CHAIN) == pytest.approx(leaves, abs=0.05)
        errors.append(crossing(run[::20], CHAIN) - leaves)
    assert abs(np.mean(errors)) < 1 and np.max(np.abs(errors)) < 5
    level = CHAIN.unigram_entropy - 0.1 * way
    assert crossing(run.assign(loss=level + 0.01), CHAIN) == math.inf
    assert crossing(run.assign(loss=level - 0.01), CHAIN) == 0


def test_learning_time_adds_up_the_rates_one_by_one():
    training = LTG.transformer.training.but(iterations=30, warm_up=0.2, lr=0.01)
    rate = one_cycle(30, 0.2)
    found = learning_times(np.array([0.0, 7.25, 30.0, np.inf]), training)
    seven = sum(0.01 * rate(step) for step in range(7)) + 0.25 * 0.01 * rate(7)
    every = sum(0.01 * rate(step) for step in range(30))
    assert found.tolist() == pytest.approx([0, seven, every, math.inf])


def test_rates_batches_and_inputs_are_compared_with_the_next_lower_seed_by_seed():
    base = LTG.transformer.training.but(iterations=100, batch=16, lr=0.002)
    trainings = {
        "slow": base,
        "fast": base.model_copy(update={"lr": 0.008}),
        "faster": base.model_copy(update={"lr": 0.032}),
        "few": base.model_copy(update={"lr": 0.008, "batch": 4}),
        "short": base.model_copy(update={"lr": 0.008, "sequence_length": 64}),
    }
    inf = math.inf
    times = {
        "slow": [inf, inf, 90], "fast": [40, 50, 60], "faster": [10, 20, 5],
        "few": [60, 50, 20], "short": [1, 1, 1],
    }  # fmt: skip
    times = {name: np.array(values, dtype=float) for name, values in times.items()}
    rows = {(row["variant"], row["quantity"]): row for row in beside_next_lower(times, trainings)}
    assert {key: row["note"] for key, row in rows.items()} == {
        ("fast", "earlier_by_rate"): "beside: slow",
        ("fast", "time_by_rate"): "beside: slow",
        ("faster", "earlier_by_rate"): "beside: fast",
        ("faster", "time_by_rate"): "beside: fast",
        ("fast", "earlier_by_batch"): "beside: few",
        ("fast", "earlier_by_inputs"): "beside: short",
    }
    assert rows["fast", "earlier_by_rate"]["value"] == 1
    assert (rows["fast", "time_by_rate"]["verdict"], rows["fast", "time_by_rate"]["n"]) == (
        "not reached", 1,
    )  # fmt: skip
    assert rows["fast", "earlier_by_batch"]["value"] == pytest.approx(1 / 3)
    assert rows["fast", "earlier_by_inputs"]["value"] == 0
    product = 1.0
    for seed in range(3):
        sums = []
        for name in ("faster", "fast"):
            rate, steps = one_cycle(100, 0.02), int(times[name][seed])
            sums.append(sum(trainings[name].lr * rate(step) for step in range(steps)))
        product *= sums[0] / sums[1]
    ratio = rows["faster", "time_by_rate"]
    assert ratio["value"] == pytest.approx(product ** (1 / 3)) and ratio["n"] == 3
    assert ratio["low"] < ratio["value"] < ratio["high"] and ratio["verdict"] == ""
    one = beside_next_lower({name: found[2:] for name, found in times.items()}, trainings)
    assert {row["verdict"] for row in one if row["quantity"] == "time_by_rate"} == {"undecided"}


def test_where_no_seed_leaves_at_either_nothing_is_earlier():
    base = LTG.transformer.training
    trainings = {"slow": base, "fast": base.model_copy(update={"lr": 0.008})}
    stay = dict.fromkeys(trainings, np.array([math.inf, math.inf]))
    earlier, ratio = beside_next_lower(stay, trainings)
    assert (earlier["verdict"], earlier["n"]) == ("not reached", 0)
    assert (ratio["verdict"], ratio["n"]) == ("not reached", 0)
