"""What figures compute for themselves, and what they mark: it is on no other page."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.animation import FuncAnimation
from PIL import Image, ImageSequence

from onelayer.evidence.animations import animate
from onelayer.evidence.figures import house_style, save
from onelayer.evidence.tables import ALL, read_csv
from onelayer.papers.decision_lists import value_figures
from onelayer.papers.local_to_global import flow_figures, training_figures
from onelayer.papers.scan_snap.figures import numbered_words
from onelayer.papers.topic_structure.synthetic import figures, stage_figures
from onelayer.papers.topic_structure.synthetic.data import SPECIAL, START
from onelayer.papers.topic_structure.wikipedia import figures as wikipedia_figures
from onelayer.papers.topic_structure.wikipedia import pretraining_figures
from onelayer.report.comparison import REFERENCE
from onelayer.settings.root import default_settings


def test_path_is_cut_where_any_coordinate_leaves_the_picture() -> None:
    path = np.array([[0.0, 0.5, 0.9, 1.2, 0.8], [0.0, 0.1, 0.2, 0.3, 0.4]])
    assert flow_figures.first_inside(path, 1.0) == 3
    assert flow_figures.first_inside(path[::-1], 1.0) == 3
    assert flow_figures.first_inside(path, 2.0) == 5


def test_figure_of_rank_one_weights_tells_the_largest_entry_and_the_worst_share() -> None:
    curves = pd.DataFrame({"variant": "rank_one", "seed": [0, 1]})
    curves = curves.assign(W_1_share=[1.0, 0.999], W_V_share=[0.98, 1.0])
    weights = {f"rank_one/{name}": np.full((2, 3, 4, 4), 0.1) for name in ("W_1", "W_V")}
    weights["rank_one/W_V"][1, 2, 0, 3] = -0.7
    axes = training_figures.weights_rank_one(curves, weights, [1, 9]).axes
    [axis] = [axis for axis in axes if axis.lines]
    means = [line.get_ydata().tolist() for line in axis.lines]
    assert means == [pytest.approx([0.1, 0.1]), pytest.approx([0.1, 0.3])]
    assert "at most 2e-02" in axis.get_title()


def test_accuracy_of_v_stands_beside_the_ceiling_of_its_own_problem() -> None:
    keys = {"L": 12, "n": 4, "m": 2, "shortest": 2}
    history = pd.DataFrame(
        [
            {**keys, "seed": seed, "step": step, "task_accuracy": accuracy}
            for seed, step, accuracy in ((1, 0, 0.0), (1, 9, 0.5), (0, 0, 0.0), (0, 9, 0.4))
        ]
    )
    ceilings = pd.DataFrame(
        [{**keys, "seed": seed, "task_accuracy_ceiling": c} for seed, c in ((0, 0.4), (1, 0.5))]
    )
    found = value_figures.solved_share(history, ceilings)
    assert found["seed"].tolist() == [1, 0]
    assert found["task_accuracy"].tolist() == [0.5, 0.4]
    # A mean over seeds, .45, would lie below what the first of them reaches.
    assert (found["task_accuracy"] <= found["task_accuracy_ceiling"]).all()


def test_runs_that_were_never_perfect_are_counted_by_epsilon() -> None:
    runs = pd.DataFrame({"epsilon": [1.0, 1.0, 5.0, 5.0], "first_perfect": [3.0, 4.0, np.nan, 9.0]})
    found = value_figures.unfinished(runs)
    assert found["missed"].to_dict() == {1.0: 0, 5.0: 1}
    assert found["runs"].to_dict() == {1.0: 2, 5.0: 2}


def test_small_starts_of_other_deviations_are_drawn_apart() -> None:
    keys = {"L": 12, "n": 4, "m": 2, "shortest": 2, "seed": 0}
    near = {"scale": "theorem_2", "epsilon": 1.0, "first_perfect": 3.0, "steps": 9}
    small = keys | {"optimiser": "gd", "eta": 1.0, "first_perfect": 1.0}
    small = pd.DataFrame([small | {"deviation": width} for width in (0.01, 0.1)])
    history = pd.concat([small.assign(step=step, accuracy=step) for step in (0.0, 1.0)])
    drawn = value_figures.joint_training(pd.DataFrame([keys | near]), small, history)
    right = drawn.axes[1]
    texts = [text.get_text() for text in right.get_legend().get_texts()]
    assert [("σ 0.01:" in text, "σ 0.1:" in text) for text in texts] == [(1, 0), (0, 1)]
    assert "N(0, σ²)" in right.get_title()
    plt.close(drawn)


def optima(**ratios: float) -> pd.DataFrame:
    """Optimal ratios of short documents by tau, `tau_2=7.0`."""
    rows = [{"tau": int(name.removeprefix("tau_")), "ratio": one} for name, one in ratios.items()]
    return pd.DataFrame(rows).assign(method="optimum", documents="short", diverged_at=-1, seed=0)


def test_band_of_the_theorem_holds_all_optima_those_of_one_topic_too() -> None:
    ratios = optima(tau_1=1.0, tau_2=7.0, tau_5=10.0, tau_7=13.0)
    lowest, highest = stage_figures.theorems_band(ratios)
    assert (lowest, highest) == (1, 13)
    several = ratios[ratios["tau"] > 1]
    assert stage_figures.theorems_band(several)[0] == pytest.approx(13 / 7)


def cell(*runs: tuple[float, float, int]) -> pd.DataFrame:
    return pd.DataFrame(runs, columns=["t_V", "t_KQ", "diverged_at"])


def test_cell_of_the_map_says_how_many_runs_its_times_are_of() -> None:
    assert stage_figures.cell_text(cell((200, 300, -1), (220, 500, -1))) == "210\n400"
    lost, rest = (np.nan, np.nan, 40), (100, np.nan, -1)
    assert stage_figures.cell_text(cell((200, 300, -1), lost)) == "200\n300\n(1 of 2)"
    assert stage_figures.cell_text(cell(lost, lost)) == "diverged"
    assert "rest" in stage_figures.cell_text(cell(rest, rest))
    assert "large" in stage_figures.cell_text(cell((0, 3, -1)))


def test_long_names_of_settings_keep_to_their_panels() -> None:
    name = "mean squared, Adam .003, noise .001, masked words hidden"
    norms = [
        pd.DataFrame({"kind": "setting", "name": given, "seed": 0, "step": range(4)})
        for given in (f"{name} 1", f"{name} 2")
    ]
    norms = pd.concat(norms).assign(learning_rate=0.003, noise=0.001, diverged_at=-1)
    norms = norms.assign(W_V=[1.0, 2, 2, 2] * 2, W_K=1.0, W_Q=1.0)
    with house_style():
        drawn = stage_figures.two_stage_norms(norms)
        drawn.canvas.draw()
        left, right = (axis.title.get_window_extent() for axis in drawn.axes[:2])
        assert left.x1 < right.x0
        assert right.x1 <= drawn.bbox.x1
        plt.close(drawn)


def test_words_below_the_maps_have_their_places_and_stay_with_them() -> None:
    text = numbered_words(["the", "energy", "of"], width=14)
    assert text == "1\u00a0the\n2\u00a0energy\n3\u00a0of"


def test_attention_on_a_document_is_over_uniform_and_sorted_by_word() -> None:
    word = SPECIAL
    document = np.array([word + 2, START, word, word + 1])
    alike = figures.document_shares(np.zeros((SPECIAL + 3, SPECIAL + 3)), document)
    np.testing.assert_allclose(alike, np.ones((3, 3)))
    S = np.zeros((SPECIAL + 3, SPECIAL + 3))
    S[word, word + 1] = np.log(5)  # one query looks at one key five times as much as at others
    shares = figures.document_shares(S, document)
    np.testing.assert_allclose(shares[0], [0.5, 2.5, 0.5])
    np.testing.assert_allclose(shares[1:], 1)


def test_colours_end_where_entries_beside_the_diagonal_do() -> None:
    matrix = np.full((50, 50), -2.0) + np.diag(np.full(50, 100.0))
    assert figures.colour_bound(matrix) == 2.0
    assert figures.colour_bound(np.eye(3)) == 1.0


def test_heads_are_those_of_every_seed_and_not_means_of_ranks() -> None:
    key = {"overlap": "disjoint", "threshold": "top 20", "layer": 1, "head": 1}
    heads = pd.DataFrame(
        [
            {"seed": seed, "ratio": ratio, **key}
            for seed, ratio in (("all", 2.0), ("0", 1), ("1", 3))
        ]
    )
    assert wikipedia_figures.own_heads(heads, "disjoint", "top 20")["ratio"].tolist() == [1, 3]
    assert wikipedia_figures.own_heads(heads[:1], "disjoint", "top 20")["ratio"].tolist() == [2]
    assert wikipedia_figures.own_heads(heads, "overlapping", "top 20").empty


def test_line_of_all_heads_is_the_tables_ratio_and_not_the_mean_of_ratios() -> None:
    key = {"seed": "all", "overlap": "disjoint", "threshold": "top 20"}
    measures = pd.DataFrame(
        [
            {**key, "quantity": "attention_ratio", "value": 1.503},
            {**key, "quantity": "attention_ratio_null", "value": 1.012},
            {**key, "seed": "0", "quantity": "attention_ratio", "value": 1.9},
            {**key, "overlap": "overlapping", "quantity": "attention_ratio", "value": 1.3},
        ]
    )
    assert wikipedia_figures.table_ratio(measures, "disjoint", "top 20")["value"] == 1.503


def test_dot_products_keep_their_sign_and_colours_end_beside_the_diagonal() -> None:
    dots = {"one": np.array([[4.0, -2.0], [-2.0, np.nan]]), "other": np.array([[8.0, 2], [2, 8]])}
    scaled, bound = wikipedia_figures.scaled_dots(dots)
    assert scaled["one"][0].tolist() == [1.0, -0.5]
    assert scaled["other"][0].tolist() == [1.0, 0.25]
    assert bound == 0.5


@pytest.mark.parametrize(
    ("measured", "why"),
    [
        (["below_frequencies", "topics_below_frequencies", "topic_information"], ""),
        (["below_frequencies", "topics_below_frequencies"], "no share: topics tell"),
        (["below_frequencies"], "not in its objective"),  # BART
        (["attention_ratio"], "no share: its losses"),  # checkpoints from elsewhere
    ],
)
def test_a_panel_without_a_share_says_why(measured: list[str], why: str) -> None:
    assert pretraining_figures.why_no_share(measured).split("\n")[0] == why


def test_attention_stands_against_what_was_learned() -> None:
    """The last panel of figure_topic_structure_over_tokens: a dot per snapshot, of the means."""
    table = read_csv(REFERENCE / "tables/topic_structure/topic_structure_over_tokens.csv")
    table = table[table["model"] == "roberta-here"]
    own = {"roberta-here": default_settings().models["roberta-here"]}
    drawn = pretraining_figures.drawn_over_tokens(table, own)
    assert [axes.get_title() for axes in drawn.axes[-2:]] == [
        *("topic information (share)", "attention against it")
    ]
    of = {
        quantity: rows.set_index("tokens_seen")["value"]
        for quantity, rows in table[table["seed"] == ALL].groupby("quantity")
    }
    share, ratio = of["topic_information"], of["attention_ratio_null_corrected"]
    line = drawn.axes[-1].lines[0]
    assert line.get_ydata().tolist() == ratio.sort_index().tolist()
    shown = share.sort_index().where(lambda shares: shares >= pretraining_figures.LEAST_LEARNED)
    assert np.array_equal(line.get_xdata(), shown, equal_nan=True)
    assert shown.isna().sum() == len(drawn.axes[-1].lines[-2].get_xdata()), "at the edge"


def test_a_model_that_knows_none_of_the_words_bounds_no_colours() -> None:
    none, other = np.full((2, 2), np.nan), np.array([[8.0, 2], [2, 8]])
    scaled, bound = wikipedia_figures.scaled_dots({"none": none, "other": other})
    assert np.isnan(scaled["none"]).all() and bound == 0.25
    assert wikipedia_figures.scaled_dots({"none": none})[1] == 1.0


def test_ratio_counts_as_found_only_with_its_whole_interval_above_one() -> None:
    ratios = pd.DataFrame({"low": [0.99, 1.01, 1.01]}, index=[10, 20, 30])
    z = pd.Series([9.0, 2.9, 3.1], index=[10, 20, 30])
    assert pretraining_figures.clearly_above(ratios, z).tolist() == [False, False, True]


def test_a_users_own_style_reaches_no_byte_of_a_figure(tmp_path) -> None:
    def drawn(name: str) -> list[bytes]:
        files = [tmp_path / f"{name}.{form}" for form in ("pdf", "png")]
        with house_style():
            figure, axes = plt.subplots()
            axes.plot([1, 3, 2], label="a")
            axes.imshow([[1, 2], [3, 4]])
            axes.legend()
            save(figure, *files)
        plt.close(figure)
        return [file.read_bytes() for file in files]

    expected = drawn("ours")
    theirs = {"axes.grid": True, "axes.facecolor": "yellow", "image.cmap": "jet"}
    more = {"lines.linestyle": "--", "savefig.bbox": "tight", "pdf.compression": 0}
    with matplotlib.rc_context(theirs | more):
        assert drawn("theirs") == expected


def _differences(picture: Image.Image, truth: Image.Image) -> np.ndarray:
    """By how much the farther of three colours is off, of 255, pixel by pixel."""
    one, other = (np.asarray(p.convert("RGBA").convert("RGB"), int) for p in (picture, truth))
    return np.abs(one - other).max(axis=-1)


def test_a_figure_in_few_colours_looks_like_one_in_all_colours(tmp_path) -> None:
    with house_style():
        figure, axes = plt.subplots()
        axes.plot([1, 3, 2], label="a")
        axes.imshow(np.arange(100).reshape(10, 10), cmap="viridis")
        axes.set_title("What stands here is edged with shades of its own\n" * 8)
        axes.legend(title="What the lines are")
        save(figure, tmp_path / "few.pdf", tmp_path / "few.png")
        figure.savefig(tmp_path / "all.png")
    plt.close(figure)
    with Image.open(tmp_path / "few.png") as few, Image.open(tmp_path / "all.png") as truth:
        off = _differences(few, truth)
        assert few.info["dpi"] == truth.info["dpi"]
    assert (off > 30).mean() < 1e-4
    assert off.mean() < 0.3
    assert (tmp_path / "few.png").stat().st_size < (tmp_path / "all.png").stat().st_size * 0.6


def test_frames_that_hold_only_what_moved_look_like_whole_ones(tmp_path) -> None:
    with house_style():
        figure, axes = plt.subplots(figsize=(2, 2))
        figure.set_layout_engine("none")
        axes.imshow(np.random.default_rng(0).random((50, 50)), extent=(-1, 8, -1, 8), cmap="Greys")
        (dots,) = axes.plot([0, 7], [0, 7], "o")
        moves = FuncAnimation(figure, lambda n: dots.set_data([n, 7 - n], [n, 7 - n]), frames=4)
        animate(moves, tmp_path / "moves.gif", tmp_path / "moves.png")
        moves.save(tmp_path / "all.png", writer="pillow", fps=10, dpi=100)
    plt.close(figure)
    for name in ("moves.gif", "moves.png"):
        with Image.open(tmp_path / name) as few, Image.open(tmp_path / "all.png") as truth:
            assert few.n_frames == truth.n_frames == 4
            pairs = zip(ImageSequence.Iterator(few), ImageSequence.Iterator(truth), strict=True)
            # Each is composed when it is asked for.
            assert max(_differences(*pair).max() for pair in pairs) < 60, name
            assert few.info["duration"] == 100
    assert (tmp_path / "moves.png").stat().st_size < (tmp_path / "all.png").stat().st_size * 0.6
