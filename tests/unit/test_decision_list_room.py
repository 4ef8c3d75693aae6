"""What the decision-list room promises around its mathematics: runs, tables."""

import numpy as np
import pandas as pd
import pytest

from onelayer.compute.checkpoint import Checkpoint
from onelayer.compute.execution import Execution
from onelayer.errors import OnelayerError
from onelayer.evidence.findings import Finding
from onelayer.evidence.sentences import chosen, primary_row, say
from onelayer.papers.decision_lists import (
    attention,
    claims,
    constants,
    data,
    joint,
    reduced,
    tables,
)
from onelayer.papers.decision_lists.findings import FINDINGS
from onelayer.papers.decision_lists.full import Sampler
from onelayer.settings.decision_lists import (
    AttentionSettings,
    EnumeratedSize,
    FullRun,
    NearStart,
    Size,
    SmallStart,
    Theorem1Settings,
)

# Runs


def reduced_flow(*grids, shown):
    return reduced.solve_grids(
        Theorem1Settings.model_validate({"grids": grids, "max_steps": 10_000}),
        [Size.model_validate(shown)],
    )


def test_a_setting_that_two_grids_name_is_solved_once():
    both = {"L": [12], "n": [4], "m": [2, 3]}
    one = {"L": [12], "n": [4], "m": [2], "step": 0.5}
    solved = reduced_flow(both, one, shown={"L": 12, "n": 4, "m": 3})
    assert solved["m"].tolist() == [2, 3]
    assert [len(times) for times in solved["separation"]] == [2, 3]
    assert [max(times) for times in solved["separation"]] == solved["t_star"].tolist()


def test_lists_of_unequal_length_take_as_long_as_the_slowest_length():
    """The reduced flow's row beside the full flow on all sequences, and gamma's own definition."""
    grid = {"L": [12], "n": [4], "m": [3], "shortest": 1}
    solved = reduced_flow(grid, shown={"L": 12, "n": 4, "m": 3})
    row = solved.set_index("shortest").loc[1]
    block = FullRun(L=12, n=4, m=3, shortest=1, method="full")
    run = attention.AttentionRun(block, seed=5)
    assert sorted((run.lists.lists >= 0).sum(axis=1).tolist()) == [1] * 4 + [2] * 4 + [3] * 4
    flow = attention.train(run)
    assert row["t_star"] == pytest.approx(flow.t_star, rel=1e-9)
    assert row["order"] == 1.0
    assert row["gamma"] == pytest.approx(constants.gamma(run.lists, 4), rel=1e-12)
    assert row["bound"] == pytest.approx(constants.theorem_1_bound(12, 3, row["gamma"]))
    summary = attention.summary(run, flow)
    assert summary["exact_t_star"] == pytest.approx(flow.t_star, rel=1e-9)
    assert summary["exact_median_time"] == pytest.approx(np.median(flow.column_times), rel=1e-9)
    assert summary["exact_median_time"] < 0.99 * summary["exact_t_star"]
    table = tables.attention_training(pd.DataFrame([summary]))
    assert table[tables.SIZES].drop_duplicates().to_numpy().tolist() == [[12, 4, 3, 1]]
    assert tables.readable_attention_training(table)["m"].tolist() == ["1 to 3"]


@pytest.mark.parametrize(
    ("shown", "line"),
    [
        ({"L": 16, "n": 4, "m": 2}, "L=16, n=4, m=2.*not perfect within 5 steps"),
        ({"L": 12, "n": 4, "m": 4}, "L=12, n=4, m=4.*perfect from the first step on"),
    ],
)
def test_a_setting_that_is_shown_and_has_no_curve_is_named(shown, line):
    with pytest.raises(OnelayerError, match=f"decision_lists.shown: .*{line}"):
        reduced.follow([Size.model_validate(shown)], max_steps=5)


METHODS = {
    "full": {"step": 0.1},
    "sampled": {"step": 0.1, "batch": 64, "chunks": 2},
    "descent": {"eta": 0.02, "batch": 64},
    "factored": {"step": 0.2, "deviation": 0.1},
}


def attention_settings(method, seeds):
    run = {"L": 12, "n": 3, "m": 2, "method": method, "seeds": seeds, "record_every": 4}
    return AttentionSettings.model_validate({"runs": [run | METHODS[method]]})


class Progress:
    """Counts runs and where each began, and dies at a step of one of them."""

    def __init__(self, dies_in=None, at=7):
        self.dies_in, self.at, self.begun = dies_in, at, []

    def __call__(self, steps, **_):
        self.begun.append(steps[0])
        for step in steps:
            if len(self.begun) - 1 == self.dies_in and step == self.at:
                raise KeyboardInterrupt
            yield step


@pytest.mark.parametrize("method", METHODS)
def test_a_killed_run_goes_on_to_the_same_numbers(method, tmp_path):
    (block,) = attention_settings(method, [3]).runs
    run = attention.AttentionRun(block, 3)
    whole = attention.train(run)
    kept = Checkpoint(tmp_path / "state.safetensors", "code", seconds=0.0)  # at every step
    with pytest.raises(KeyboardInterrupt):
        attention.train(run, Execution(checkpoint=kept, progress=Progress(dies_in=0)))
    state, steps = kept.read()
    assert steps == 7
    assert 0 < np.abs(state["W"].numpy()).max() < np.abs(whole.W).max()
    for begins in (7, whole.steps):
        rest = Progress()
        again = attention.train(run, Execution(checkpoint=kept, progress=rest))
        assert rest.begun == [begins]
        np.testing.assert_array_equal(again.W, whole.W)
        np.testing.assert_array_equal(again.column_times, whole.column_times)
        pd.testing.assert_frame_equal(again.history, whole.history)


@pytest.mark.parametrize("method", METHODS)
def test_a_run_that_gives_up_is_recorded_at_its_end(method):
    (block,) = attention_settings(method, [3]).runs
    block = block.model_copy(update={"max_steps": 6})  # of which the fourth is recorded
    flow = attention.train(attention.AttentionRun(block, 3))
    assert np.isnan(flow.t_star) and flow.steps == 6
    times = flow.history["time"].to_numpy()
    np.testing.assert_allclose(times / times[1], [0, 1, 1.5])


def test_a_killed_run_of_other_code_counts_as_nothing(tmp_path):
    (block,) = attention_settings("full", [3]).runs
    run, file = attention.AttentionRun(block, 3), tmp_path / "state.safetensors"
    kept = Checkpoint(file, "code", seconds=0.0)
    with pytest.raises(KeyboardInterrupt):
        attention.train(run, Execution(checkpoint=kept, progress=Progress(dies_in=0)))
    afresh = Progress()
    attention.train(run, Execution(checkpoint=Checkpoint(file, "other code"), progress=afresh))
    assert afresh.begun == [0]


def test_a_step_that_was_killed_goes_on_in_the_run_that_was_under_way(tmp_path):
    settings = attention_settings("sampled", [3, 4, 5])
    kept = Checkpoint(tmp_path / "state.safetensors", "code", seconds=0.0)
    with pytest.raises(KeyboardInterrupt):
        attention.train_runs(settings, Execution(checkpoint=kept, progress=Progress(dies_in=1)))
    rest, afresh = Progress(), Progress()
    again = attention.train_runs(settings, Execution(checkpoint=kept, progress=rest))
    assert rest.begun[0] > 7 and rest.begun[1:] == [7, 0]
    expected = attention.train_runs(settings, Execution(progress=afresh))
    assert afresh.begun == [0, 0, 0]
    for table, whole in zip(again, expected, strict=True):
        pd.testing.assert_frame_equal(table, whole)


def test_sequences_drawn_again_after_a_repeat_are_uniform():
    L, n, count = 9, 3, 60_000
    lists = data.random_lists(np.random.default_rng(0), L, 2)
    tokens = Sampler(np.random.default_rng(1), lists, n, count).tokens().numpy()
    every = data.enumerate_sequences(L, n)
    code = {tuple(row): index for index, row in enumerate(every.tokens.tolist())}
    drawn = np.bincount([code[tuple(sorted(row))] for row in tokens.tolist()], minlength=84)
    expected = count / 84
    assert np.abs(drawn - expected).max() < 5 * np.sqrt(expected)


def test_no_v_beats_the_ceiling_of_uniform_attention():
    problem = joint.Problem(EnumeratedSize(L=6, n=3, m=2), seed=1)
    lists, right = problem.lists, 0.0
    for sequence in data.enumerate_sequences(6, 3).tokens.tolist():
        labels = []
        for a in sequence:
            first = next(b for b in lists.lists[a].tolist() if b in sequence)
            labels.append(int(lists.permutation[first]))
        right += max(labels.count(label) for label in labels) / 3
    ceiling = joint.uniform_attention_ceiling(problem)
    assert ceiling == pytest.approx(right / 20, rel=1e-12)
    last = joint.train_value(lists, problem.rows(), 10.0, 300, 300)[1].iloc[-1]
    assert 0.5 * ceiling < last["task_accuracy"] <= ceiling + 1e-12


def test_v_is_drawn_so_that_p_is_the_diagonal():
    problem = joint.Problem(EnumeratedSize(L=6, n=3, m=2), seed=1)
    drawn = joint.value_in_label_order(problem, problem.lists.matrix)
    assert (drawn["value"] == (drawn["row"] == drawn["column"])).all()


def test_theorem_2_holds_where_its_hypotheses_do():
    start = NearStart(L=20, n=19, m=1, epsilon=[3.108], seeds=[0, 1], steps=50)
    near = joint.near_runs([start])
    assert near["holds"].all()
    table = tables.theorem_2(near).set_index("quantity")
    assert table.loc["latest_step", "verdict"] == "reproduced"
    assert table.loc["latest_step", "value"] < table.loc["window_first_step", "value"]
    assert table.loc["window_first_step", "value"] < table.loc["window_last_step", "value"]


def test_perfect_on_drawn_sequences_means_on_fresh_ones_too():
    how = {"scale": "theorem_1", "seeds": [0], "sequences": 5, "steps": 30}
    fresh = joint.near_runs([NearStart(L=16, n=4, m=3, epsilon=[1.0], **how)])
    assert np.isnan(fresh["first_perfect"].iloc[0])  # 5 sequences teach nobody the rest
    assert fresh["accuracy"].iloc[0] == pytest.approx(1.0)
    assert fresh["trained_on"].tolist() == ["5"]


def test_small_starts_are_perfect_and_v_finds_the_permutation():
    start = SmallStart(L=12, n=4, m=2, optimiser="adam", eta=0.1, seeds=[0, 1], steps=100)
    small, history = joint.small_runs([start])
    assert (small["first_perfect"] <= 100).all()
    assert (small["argmax_accuracy"] == 1.0).all()
    ends = history.groupby("seed")["step"].max()
    assert ends.tolist() == small["first_perfect"].tolist()


# Tables

SIZE = {"L": 12, "n": 4, "m": 2, "shortest": 2}


def solved(**changes):
    row = {"L": 16, "n": 4, "m": 3, "delta": 1.0, "t_star": 1.8, "gamma": 0.01, "bound": 404.0}
    row |= {"t_star_to_bound_ratio": 0.004, "t_star_gamma_log_l": 0.05, "order": 1.0}
    row |= {"shortest": changes.get("m", 3)}
    return pd.DataFrame([row | changes])


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "reproduced"),
        ({"t_star": 0.0, "t_star_to_bound_ratio": 0.0}, "reproduced"),  # perfect at once
        ({"t_star": 500.0}, "opposite"),
        ({"t_star": 500.0, "delta": 20.0}, ""),  # no probability mass: nothing to judge
        ({"t_star": np.nan, "t_star_to_bound_ratio": np.nan}, "not reached"),
    ],
)
def test_a_time_is_judged_against_the_bound_and_nothing_else(changes, verdict):
    table = tables.theorem_1(solved(**changes)).set_index("quantity")
    assert table.loc["t_star", "verdict"] == verdict
    assert table.loc["t_star", "kind"] == ("bound" if verdict else "")
    assert table.loc["gamma", "verdict"] == ""
    assert (table.loc["t_star", "published"] == 404.0) == (verdict != "")
    shown = tables.readable_theorem_1(tables.theorem_1(solved(**changes)))
    assert shown.loc[0, "verdict"] == (verdict or "–")


def near(holds, steps, steps_run=100, trained_on="all"):
    seeds = np.arange(len(steps))
    rows = {"L": 31, "n": 29, "m": 2, "shortest": 2, "delta": 1.0, "epsilon": 5.4}
    rows |= {"trained_on": trained_on, "scale": "theorem_2", "c": 1.0, "starting_loss": 3.4}
    rows |= {"largest_a": 2.2, "least_a": 2.1, "lambda_max": 9.0, "holds": holds}
    rows |= {"first_step": 10.0 + seeds, "last_step": 20.0, "steps": steps_run}
    return pd.DataFrame(rows | {"seed": seeds, "first_perfect": steps})


@pytest.mark.parametrize(
    ("holds", "steps", "verdict", "note"),
    [
        (True, [1.0, 10.0], "reproduced", ""),
        (True, [1.0, 11.0], "opposite", ""),  # the mean is 6; the windows begin at 10.5 on average
        (True, [1.0, np.nan], "opposite", "1 of 2 seeds"),
        (False, [1.0, 99.0], "", "nothing is promised"),
    ],
)
def test_the_slowest_seed_must_be_perfect_when_the_window_begins(holds, steps, verdict, note):
    table = tables.theorem_2(near(holds, steps)).set_index("quantity")
    row = table.loc["latest_step"]
    assert row["verdict"] == verdict
    assert row["value"] == np.nanmax([*steps, 100.0 if np.isnan(steps).any() else 0.0])
    assert note in row["note"]
    assert np.isnan(row["published"]) == (not holds)
    assert table.loc["observed_step", "verdict"] == ""


def test_runs_that_miss_the_hypotheses_are_promised_nothing():
    """Of two runs the noise lets one meet them; the other is not perfect until step 90."""
    one_of_two = near([True, False], [1.0, 90.0])
    table = tables.theorem_2(one_of_two)
    by = table.set_index("quantity")
    assert by.loc["hypotheses_hold", ["value", "n"]].tolist() == [0.5, 2]
    assert by.loc["latest_step", ["value", "n", "verdict"]].tolist() == [1.0, 1, "reproduced"]
    assert by.loc["window_first_step", "value"] == 10.0
    shown = tables.readable_theorem_2(table)
    assert shown["hypotheses"].tolist() == ["hold in 50% of 2 runs"]
    found = assembled(theorem_2=table).set_index("quantity")
    worst = found.loc["largest_step_to_window_ratio"]
    assert worst[["value", "n", "verdict"]].tolist() == [0.1, 1, "reproduced"]


def test_sequences_drawn_once_are_an_analogue_of_the_population_loss():
    table = tables.theorem_2(near(True, [1.0, 2.0], trained_on="200")).set_index("quantity")
    assert table.loc["latest_step", ["verdict", "kind"]].tolist() == ["reproduced", "analogue"]


@pytest.mark.parametrize(
    ("steps", "verdict"), [([1.0, np.nan], "not reached"), ([11.0, np.nan], "opposite")]
)
def test_steps_that_end_before_the_window_begins_decide_nothing(steps, verdict):
    row = tables.theorem_2(near(True, steps, steps_run=10)).set_index("quantity")
    assert row.loc["latest_step", ["verdict", "kind"]].tolist() == [verdict, "bound"]


def test_every_row_of_a_table_has_its_own_key():
    run = SIZE | {"first_perfect": 3.0, "accuracy": 1.0}
    near_run = run | {"scale": "theorem_2", "epsilon": 1.0, "delta": 1.0, "trained_on": "all"}
    near_run |= {"holds": True}
    changed = [("scale", "theorem_1"), ("epsilon", 2.0), ("epsilon", 1.0000001), ("delta", 0.5)]
    changed += [("delta", 0.5000001), ("trained_on", "200")]
    starts_of = [near_run, *(near_run | {name: value} for name, value in changed)]
    small_run = run | {"optimiser": "gd", "eta": 1.0, "deviation": 0.01}
    changed = [("optimiser", "adam"), ("eta", 2.0), ("eta", 2.0000001), ("deviation", 0.1)]
    starts_of += [small_run, *(small_run | {name: value} for name, value in changed)]
    assert len({tables.start_of(start)["start"] for start in starts_of}) == len(starts_of)


def summary(**changes):
    row = SIZE | {"delta": 1.0, "zipf": 0.0, "method": "full", "seed": 0, "deviation": 0.0}
    row |= {"t_star": 2.0, "median_column_time": 1.5, "exact_t_star": 2.0}
    row |= {"exact_median_time": 1.6}
    row |= {"gamma": 0.01, "bound": 100.0, "steps": 9}
    return row | {"accuracy": 1.0, "order": 1.0, "certified": 1.0} | changes


@pytest.mark.parametrize(
    ("method", "kind"), [("full", "bound"), ("sampled", "analogue"), ("factored", "analogue")]
)
def test_the_theorem_speaks_of_the_population_flow_alone(method, kind):
    table = tables.attention_training(pd.DataFrame([summary(method=method)]))
    row = table.set_index("quantity").loc["t_star"]
    assert (row["verdict"], row["kind"]) == ("reproduced", kind)


@pytest.mark.parametrize(("method", "ratio"), [("full", 1.0), ("sampled", 1.5 / 1.6)])
def test_a_median_over_tokens_is_compared_with_a_median(method, ratio):
    table = tables.attention_training(pd.DataFrame([summary(method=method)]))
    found = table.set_index("quantity").loc["time_to_exact_ratio", "value"]
    assert found == pytest.approx(ratio)


def value_alone(**worse):
    """Five seeds at two sizes; numbers of the second, where it is given others."""
    rows = []
    for length, changes in ((2, {}), (3, worse)):
        sizes = dict(zip(tables.SIZES, (12, 4, length, length), strict=True))
        numbers = {"argmax_accuracy": 0.9, "centred_cosine": 0.8, "task_accuracy_ceiling": 0.5}
        rows += [
            sizes | {"seed": seed, "quantity": quantity, "value": value + 0.01 * seed}
            for quantity, value in (numbers | changes).items()
            for seed in range(5)
        ]
    return tables.tidy(rows, tables.VALUE_KEYS)


def assembled(**tables_of):
    """The claims of tables that hold little, or of those given."""
    small = SIZE | {"optimiser": "gd", "eta": 1.0, "deviation": 0.01, "accuracy": 1.0}
    small |= {"order": 1.0, "argmax_accuracy": 1.0, "centred_cosine": 1.0}
    starts_of = pd.DataFrame([small | {"seed": s, "first_perfect": 9.0} for s in range(3)])
    run = SIZE | {"accuracy": 1.0, "scale": "theorem_2", "delta": 1.0, "trained_on": "all"}
    both = [
        run | {"seed": seed, "first_perfect": perfect, "epsilon": epsilon, "holds": epsilon == 5}
        for seed, perfect, epsilon in [(0, 2.0, 1.0), (1, 7.0, 1.0), (0, np.nan, 2.0), (0, 1.0, 5)]
    ]
    found = claims.decision_list_claims(
        **{
            "theorem_1": tables.theorem_1(solved()),
            "attention_training": tables.attention_training(pd.DataFrame([summary()])),
            "theorem_2": tables.theorem_2(near(True, [1.0, 2.0])),
            "value_from_uniform_attention": value_alone(),
            "joint_training": tables.joint_training(pd.DataFrame(both), starts_of),
        }
        | tables_of
    )
    assert not found.duplicated(["claim", "setting", "quantity"]).any()
    return found


def test_theorem_1_is_decided_by_the_slowest_of_all_sizes_and_margins():
    flows = [solved(), solved(L=20, m=2, t_star_to_bound_ratio=0.5), solved(delta=20.0)]
    found = assembled(theorem_1=tables.theorem_1(pd.concat(flows))).set_index("quantity")
    worst = found.loc["largest_time_to_bound_ratio"]
    assert (worst["value"], worst["n"], worst["verdict"]) == (0.5, 2, "reproduced")  # no delta 20
    assert found.loc["time_to_bound_ratio"].iloc[:2]["value"].tolist() == [0.004, 0.5]
    assert found.loc["least_list_order", ["verdict", "kind"]].tolist() == ["reproduced", "theory"]


def test_one_list_out_of_order_is_not_what_the_theorem_says():
    flows = pd.concat([solved(), solved(L=20, order=0.99)])
    found = assembled(theorem_1=tables.theorem_1(flows)).set_index("quantity")
    assert found.loc["least_list_order", "verdict"] == "smaller"


def test_runs_of_a_method_are_decided_by_the_slowest_of_all_starts():
    factored = {"method": "factored", "exact_t_star": 2.0}
    runs = [
        summary(),
        summary(seed=1, t_star=150.0),
        summary(seed=2, delta=2.0, t_star=900.0),
        *(summary(seed=s, t_star=8.0 + s, deviation=0.1, **factored) for s in range(3)),
        summary(t_star=20.0, deviation=0.01, certified=0.9, **factored),
        summary(t_star=70.0, deviation=0.1, shortest=1, **factored),
        summary(t_star=60.0, deviation=0.0100000001, **factored),
    ]
    table = tables.attention_training(pd.DataFrame(runs))
    found = assembled(attention_training=table).set_index("quantity")
    full = found.loc["time_to_bound_ratio_full"]
    assert (full["value"], full["n"], full["verdict"]) == (1.5, 2, "opposite")  # without delta 2
    apart = found.loc["time_to_bound_ratio_factored"]
    assert (apart["value"], apart["n"], apart["kind"]) == (0.6, 5, "analogue")
    unequal = found.loc["time_to_bound_ratio_factored_unequal_lists"]
    assert (unequal["value"], unequal["n"]) == (0.7, 1)
    assert found.loc["certified_factored", "verdict"] == "smaller"
    assert found.loc["time_of_factors", "value"].tolist() == [4.5, 10.0, 35.0, 30.0]


def test_times_of_factors_at_other_margins_are_no_further_seeds():
    factored = {"method": "factored", "exact_t_star": 2.0, "deviation": 0.1}
    times = {1.0: 8.0, 0.5: 20.0, 2.0: 90.0}
    runs = [summary(delta=delta, t_star=time, **factored) for delta, time in times.items()]
    table = tables.attention_training(pd.DataFrame(runs))
    found = assembled(attention_training=table).set_index("quantity").loc["time_of_factors"]
    assert found["value"].tolist() == [4.0, 10.0]  # δ of 2 is no probability mass
    assert found["n"].tolist() == [1, 1]


def test_starts_of_theorem_2_that_differ_in_their_margin_are_two():
    starts_of = [near(True, [2.1]).assign(delta=delta) for delta in (1.0, 0.5, 2.0)]
    found = assembled(theorem_2=tables.theorem_2(pd.concat(starts_of))).set_index("quantity")
    assert found.loc["largest_step_to_window_ratio", "n"] == 2
    settings = found.loc["latest_perfect_step", "setting"].tolist()
    assert settings[1] == f"{settings[0]}, δ 0.5" and len(settings) == 2


@pytest.mark.parametrize(("above", "verdict"), [(20.0, "not reached"), (150.0, "opposite")])
def test_a_run_out_of_steps_leaves_a_claim_open_unless_another_breaks_the_bound(above, verdict):
    runs = [summary(t_star=above), summary(seed=1, t_star=np.nan, certified=0.5)]
    found = assembled(attention_training=tables.attention_training(pd.DataFrame(runs)))
    by = found.set_index("quantity")["verdict"]
    assert by["time_to_bound_ratio_full"] == verdict
    assert by["certified_full"] == "not reached"


def test_theorem_2_is_decided_by_the_slowest_run_of_all_starts():
    starts_of = [near(True, [1.0, 4.2]), near(True, [3.0, 1.0]).assign(epsilon=6.0)]
    starts_of += [near(True, [8.4, 1.0], trained_on="200"), near(False, [90.0]).assign(epsilon=1.0)]
    found = assembled(theorem_2=tables.theorem_2(pd.concat(starts_of))).set_index("quantity")
    worst = found.loc["largest_step_to_window_ratio"]
    assert worst["value"] == pytest.approx(0.4)
    assert (worst["n"], worst["verdict"], worst["kind"]) == (4, "reproduced", "bound")
    drawn = found.loc["largest_step_to_window_ratio_drawn_sequences"]
    assert drawn["value"] == pytest.approx(0.8) and drawn["kind"] == "analogue"
    assert len(found.loc[["latest_perfect_step"]]) == 3


def test_v_alone_is_decided_at_the_worst_size():
    found = assembled(
        value_from_uniform_attention=value_alone(centred_cosine=0.03, task_accuracy_ceiling=0.95)
    ).set_index("quantity")
    cosine = found.loc["least_centred_cosine"]
    assert cosine["value"] == pytest.approx(0.05)
    assert cosine["verdict"] == "negligible"  # all within a tenth of 0
    assert found.loc["largest_task_accuracy_ceiling", "verdict"] == "negligible"
    by = assembled().set_index("quantity")
    assert by.loc["least_centred_cosine", "verdict"] == "reproduced"
    assert by.loc["largest_task_accuracy_ceiling", "verdict"] == "reproduced"


def test_starts_of_which_no_theorem_speaks_are_described_and_not_judged():
    found = assembled()
    shares = found[found["quantity"] == "share_perfect"].set_index("place")
    assert set(shares["verdict"]) == {""}
    near_cp = shares.loc["section I.C.2"]  # without the start that meets the hypotheses
    assert (near_cp["value"], near_cp["n"]) == (pytest.approx(2 / 3), 3)
    assert np.isnan(near_cp["low"])
    assert shares.loc["section II, open", "low"] == pytest.approx(0.292, abs=1e-3)


def test_starts_near_cp_of_other_margins_or_sequences_are_not_pooled():
    run = SIZE | {"accuracy": 1.0, "scale": "theorem_1", "epsilon": 1.0, "seed": 0, "holds": False}
    kinds = [(1.0, "all", 2.0), (0.5, "all", np.nan), (1.0, "200", np.nan)]
    near_cp = pd.DataFrame(
        [run | {"delta": d, "trained_on": t, "first_perfect": step} for d, t, step in kinds]
    )
    small = SIZE | {"optimiser": "gd", "eta": 1.0, "deviation": 0.01, "accuracy": 1.0, "seed": 0}
    small |= {"order": 1.0, "argmax_accuracy": 1.0, "centred_cosine": 1.0, "first_perfect": 9.0}
    found = assembled(joint_training=tables.joint_training(near_cp, pd.DataFrame([small])))
    near_cp = found[(found["quantity"] == "share_perfect") & (found["place"] == "section I.C.2")]
    assert near_cp["value"].tolist() == [1.0, 0.0, 0.0]
    first = near_cp["setting"].iloc[0]
    assert near_cp["setting"].tolist() == [first, f"{first}, δ 0.5", f"{first}, 200 sequences"]


def test_every_claim_of_the_paper_has_its_row():
    """All but those on SGD, unequal lists and drawn sequences, and those of other tables."""
    found = {"decision_lists/claims": assembled()}
    own = [finding for finding in FINDINGS if isinstance(finding, Finding)]
    others = {"decision_lists/worst_case", "all_papers/exponents"}
    own = [finding for finding in own if finding.table not in others]
    without = [finding.name for finding in own if primary_row(finding, found) is None]
    assert without == ["unequal_lists", "factors", "fresh_sequences", "theorem_2_drawn_sequences"]


@pytest.mark.parametrize("name", ["theorem_1", "theorem_2", "certified_perfect"])
def test_sentences_on_a_theorem_follow_the_verdict(name):
    [finding] = [one for one in FINDINGS if one.name == name]
    table = assembled()
    row = chosen(table, finding.primary).index
    right = say(finding, {finding.table: table})
    assert right.verdict == "reproduced" and finding.does in right.sentence
    verdict = "smaller" if name == "certified_perfect" else "opposite"
    wrong = say(finding, {finding.table: table.assign(
        verdict=table["verdict"].where(~table.index.isin(row), verdict)
    )})  # fmt: skip
    assert finding.does_not in wrong.sentence
