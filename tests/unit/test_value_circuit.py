"""Claims about value circuits: what they are made of, and what table and figure say of them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from matplotlib.colors import to_hex
from transformers import PreTrainedModel

from onelayer.evidence.figures import PALETTE
from onelayer.evidence.tables import tidy
from onelayer.papers.topic_structure.wikipedia import pretraining_figures
from onelayer.papers.topic_structure.wikipedia import value_circuit as table
from onelayer.papers.topic_structure.wikipedia.over_seeds import SEVERAL
from onelayer.papers.topic_structure.wikipedia.over_tokens import BELOW, NOT_LEARNED
from onelayer.papers.topic_structure.wikipedia.probe import value_circuit as probe
from onelayer.papers.topic_structure.wikipedia.probe.embeddings import extract_embeddings
from onelayer.papers.topic_structure.wikipedia.probe.labels import Variant
from onelayer.papers.topic_structure.wikipedia.probe.measures import permutations_of
from onelayer.papers.topic_structure.wikipedia.probe.similarity import TopicSets
from onelayer.papers.topic_structure.wikipedia.probe.vectors import (
    Embeddings,
    read_embeddings,
    write_embeddings,
)
from onelayer.settings.models import PretrainedModel, RandomModel
from onelayer.settings.probe import UncertaintySettings
from onelayer.settings.topic_structure import NamedModel
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer, piece_ids
from tests.tiny_models import WORDS, save_tiny

VARIANT = Variant("disjoint", "top 1")
FEW = UncertaintySettings(word_resamples=50, permutations=50, frequency_bins=2)

# What they are made of


def taken(family: str, folder: Path, **config: object) -> tuple[Embeddings, PreTrainedModel]:
    """What a step takes out of a checkpoint, written and read again."""
    published = family != "gpt_neox"
    checkpoint = save_tiny(family, folder / "model", published=published, **config)
    model, tokenizer = load_checkpoint(checkpoint), load_tokenizer(checkpoint)
    files = folder / "words.parquet", folder / "vectors.safetensors"
    write_embeddings(extract_embeddings(model, tokenizer, WORDS, checkpoint), *files)
    assert "transform" not in extract_embeddings(model, tokenizer, WORDS).heads
    return read_embeddings(*files), model


@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "electra", "bart", "gpt_neox"])
def test_a_checkpoint_gives_the_spaces_that_it_has(family, tmp_path) -> None:
    embeddings, _ = taken(family, tmp_path)
    found = probe.circuits_of(embeddings, embeddings.words[:3])
    spaces = {"raw", "output"}
    # Factorised embeddings have a width of their own, and few families here a head for words.
    spaces |= {"tied"} if family not in ("albert", "electra") else set()
    spaces |= {"transformed"} if family in ("bert", "roberta", "albert") else set()
    spaces |= {probe.NORMED} if family != "gpt_neox" else set()
    assert set(found.vectors) == spaces
    assert {vectors.shape for vectors in found.vectors.values()} == {(3, 16)}
    # GPT-NeoX keeps queries, keys and values in one matrix.
    assert len(found.places) == {"albert": 2, "gpt_neox": 0}.get(family, 4)


def test_factorised_embeddings_are_what_the_first_layer_reads(tmp_path) -> None:
    embeddings, model = taken("electra", tmp_path)
    found = probe.circuits_of(embeddings, embeddings.words).vectors["output"]
    pieces = piece_ids(load_tokenizer(tmp_path / "model"), embeddings.words)
    with torch.inference_mode():
        ids = torch.tensor(list(pieces.values()))[:, None]
        states = model(input_ids=ids, output_hidden_states=True).hidden_states
    np.testing.assert_allclose(found, states[0][:, 0], atol=1e-6)


def test_the_heads_transform_scores_words_as_the_head_does(tmp_path) -> None:
    """But for what is not linear: without it, bias and the norm's scale."""
    embeddings, _ = taken("bert", tmp_path)
    head = transformers.BertForPreTraining.from_pretrained(tmp_path / "model")
    words = probe.circuits_of(embeddings, embeddings.words).vectors["transformed"]
    transform, x = head.cls.predictions.transform, torch.randn(2, 16)
    with torch.inference_mode():
        inner = x @ transform.dense.weight.T * transform.LayerNorm.weight
        scores = inner @ torch.tensor(embeddings.raw).float().T
    np.testing.assert_allclose(x.numpy() @ words.T, scores, rtol=1e-4, atol=1e-5)


def planted(strength: float, seed: int = 0) -> tuple[probe.Circuits, np.ndarray]:
    """One head that writes the topic of what it reads, and one that does nothing of the kind."""
    rng = np.random.default_rng(seed)
    topics = np.repeat(np.arange(4), 6)
    vectors = 3 + np.eye(4)[topics] * 2 + rng.standard_normal((24, 4))
    copies, other = np.eye(4)[None] * strength, rng.standard_normal((1, 4, 4)) / 10
    values = np.concatenate([np.eye(4)[None], np.eye(4)[None]])
    weights = [(values, np.concatenate([copies, other]))]
    return probe.Circuits(weights, {"raw": vectors, "output": vectors}), np.eye(4, dtype=bool)[
        topics
    ]


def test_a_head_that_writes_the_topic_lies_above_its_null() -> None:
    frequencies = np.arange(24) + 1.0
    circuits, membership = planted(1.0)
    rows = probe.measure_circuits([circuits], VARIANT, membership, frequencies, FEW)
    assert set(rows["reading"]) == set(list(probe.READINGS)[:5])  # no head, and nothing tied
    heads = rows[(rows["layer"] == 1) & (rows["quantity"] == probe.GAP)].set_index("head")
    assert heads.loc[1, "value"] > 1 > heads.loc[1, "high"]
    assert abs(heads.loc[2, "value"]) < heads.loc[1, "value"] / 2
    by = rows[(rows["layer"] == 0) & (rows["reading"] == probe.FIRST)].set_index("quantity")
    gap, null, over = (by.loc[f"{probe.GAP}{s}", "value"] for s in ("", "_null", "_null_corrected"))
    assert over == pytest.approx(gap - null) and gap == pytest.approx(heads["value"].mean())
    several = probe.measure_circuits(
        [circuits, planted(-1.0)[0]], VARIANT, membership, frequencies, FEW, [probe.FIRST], (3, 5)
    )
    means = several[(several["layer"] == 0) & (several["quantity"] == probe.GAP)]
    means = means.set_index("seed")["value"]
    assert means["3"] == gap and means["5"] < 0
    assert means["all"] == pytest.approx(means[["3", "5"]].mean())
    nothing = probe.measure_circuits(
        [probe.Circuits([], circuits.vectors)], VARIANT, membership, frequencies, FEW
    )
    assert len(nothing) == 0 and list(nothing) == probe.COLUMNS


def test_the_layer_norms_gain_scales_what_a_head_writes() -> None:
    circuits, membership = planted(1.0)
    sets, frequencies = TopicSets(membership), np.ones(24)
    reading = "through the layer norm's gain"
    assert list(probe.layer_gaps(circuits, reading, sets, frequencies)) == []
    vectors = circuits.vectors | {probe.NORMED: circuits.vectors["output"]}

    def gaps(gain: np.ndarray, reading: str) -> np.ndarray:
        normed = probe.Circuits(circuits.weights, vectors, gain[None])
        [layer] = probe.layer_gaps(normed, reading, sets, frequencies)
        return layer.gaps()

    # One scale for all changes nothing, in units of the deviation; the gain of one direction does.
    np.testing.assert_allclose(gaps(np.full(4, 3.0), reading), gaps(np.ones(4), probe.FIRST))
    scale = np.array([1.0, 0, 0, 0])
    scaled = [(values, output * scale) for values, output in circuits.weights]
    direct = probe.Circuits(scaled, circuits.vectors)
    [expected] = probe.layer_gaps(direct, probe.FIRST, sets, frequencies)
    np.testing.assert_allclose(gaps(scale, reading), expected.gaps())


def test_means_and_frequency_are_taken_out_where_a_reading_says_so() -> None:
    rng, frequencies = np.random.default_rng(1), np.exp(np.arange(12.0))
    sets = TopicSets(np.eye(2, dtype=bool)[np.arange(12) % 2])
    vectors = rng.standard_normal((12, 3)) + 5 + 2 * np.log(frequencies)[:, None]
    kept, centred, without = (
        probe._taken_out(vectors, what, sets, frequencies) for what in ("", "mean", "frequency")
    )
    assert (kept == vectors).all()
    np.testing.assert_allclose(centred, vectors - vectors.mean(axis=0))
    assert np.abs(without.T @ np.log(frequencies)).max() < 1e-9 > np.abs(without.mean(0)).max()


# What is said of them

HERE = PretrainedModel(source="pretrain", family="bert", seeds=[0, 1, 2])
MODELS = [
    NamedModel(name="here", settings=HERE),
    NamedModel(name="random", settings=RandomModel(source="random", like="here", seeds=[0, 1])),
]


def circuits(value: float, seeds: tuple) -> pd.DataFrame:
    """A model's gap with an interval of .1 on either side, null .01, and two heads a seed."""
    rows = []
    for quantity, of in (("", value), ("_null", 0.01), ("_null_corrected", value - 0.01)):
        half = 0.02 if quantity == "_null" else 0.1
        rows.append((0, 0, "all", table.GAP + quantity, of, of - half, of + half))
    rows.append((0, 0, "all", f"{table.GAP}_z", 9.0, np.nan, np.nan))
    for seed in seeds:
        rows.append((1, 1, str(seed), table.GAP, value, -0.05, 0.05))
        rows.append((1, 2, str(seed), table.GAP, -0.06 * seed, -0.05, 0.05))
    columns = ["layer", "head", "seed", "quantity", "value", "low", "high"]
    of = {"reading": table.FIRST, "overlap": "disjoint", "threshold": "top 1", "n": 24}
    return pd.DataFrame(rows, columns=columns).assign(**of)


def attention(value: float) -> pd.DataFrame:
    quantities = ["attention_ratio", "attention_ratio_null_corrected"]
    of = {"seed": "all", "overlap": "disjoint", "threshold": "top 1", "n": 5}
    return pd.DataFrame({"quantity": quantities, "value": value}).assign(**of)


def snapshots(attention_z: float, gaps: dict[str, list[float]]) -> pd.DataFrame:
    """Over 100, 200, 400 and 800 tokens, attention rises at the last."""
    rows = []
    for seed, of_seed in gaps.items():
        for tokens, gap, ratio in zip((100, 200, 400, 800), of_seed, (1, 1, 1, 1.2), strict=True):
            rows += [
                (tokens, seed, f"{table.GAP}_null_corrected", gap),
                (tokens, seed, f"{table.GAP}_z", 100 * gap),
                (tokens, seed, "attention_ratio_null_corrected", ratio),
                (tokens, seed, "attention_ratio_z", attention_z * (ratio - 1)),
            ]
    found = pd.DataFrame(rows, columns=["tokens", "seed", "quantity", "value"])
    found["low"], found["high"] = found["value"] - 0.01, found["value"] + 0.01
    layer = found["quantity"].str.startswith(table.GAP).map({True: 0.0, False: np.nan})
    found = found.assign(layer=layer, head=layer)
    of = {"overlap": "disjoint", "threshold": "top 1", "n": 5}
    # Of a head in a layer nothing is followed.
    of_head = found[found["quantity"] == f"{table.GAP}_z"].assign(quantity=table.GAP)
    return pd.concat([found.assign(**of), of_head.assign(**of | {"layer": 1.0, "head": 1.0})])


GAPS = {"all": [0, 0.1, 0.2, 0.2], "0": [0, 0.2, 0.2, 0.2], "1": [0, 0, 0.2, 0.2]}
MEASURED = [circuits(0.3, (0, 1, 2)), circuits(0.0, (0, 1))]


def made(attention_z: float = 100) -> pd.DataFrame:
    followed, beside = [snapshots(attention_z, GAPS)], [attention(1.02), attention(1.0)]
    return table.value_circuit(MEASURED, beside, followed, MODELS, MODELS[:1], 200).table


def test_gaps_are_judged_from_their_null_and_random_weights_in_units_of_a_small_gap() -> None:
    rows = made()
    gaps = rows[(rows["quantity"] == table.GAP) & (rows["seed"] == "all")].set_index("model")
    assert gaps["verdict"].to_dict() == {"here": "reproduced", "random": "undecided"}
    assert gaps["kind"].to_dict() == {"here": "analogue", "random": "control"}
    here = gaps.loc["here"]
    assert here["reference"] == 0.01 and here["effect_share"] == pytest.approx(0.29)
    # The interval over the null and the null's own, as squares.
    assert here["effect_low"] == pytest.approx(0.29 - np.hypot(0.1, 0.02))
    assert gaps.loc["random", "effect"] == 0.2
    assert (rows[rows["seed"] != "all"]["verdict"] == "").all()
    heads = rows[rows["seed"] == "all"].set_index(["model", "quantity"])["value"]
    assert heads["here", "heads_above"] == 0.5
    assert heads["here", "heads_below"] == pytest.approx(2 / 6)


def test_values_of_a_model_that_has_not_learned_to_predict_words_are_not_said_to_know_nothing():
    share = pd.DataFrame({"quantity": [BELOW], "seed": "all", "tokens": 400, "value": -0.1})
    followed, beside = [pd.concat([snapshots(100, GAPS), share])], [attention(1.02)]
    one = MODELS[:1]
    for gap, verdict in ((0.0, "not reached"), (0.3, "reproduced")):
        measured = [circuits(gap, (0, 1, 2))]
        rows = table.value_circuit(measured, beside, followed, one, one, 200).table
        [at] = rows[(rows["quantity"] == table.GAP) & (rows["seed"] == "all")].to_dict("records")
        assert at["verdict"] == verdict
        assert (at["note"] == NOT_LEARNED) == (verdict == "not reached")


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(-0.1, 0.9, "negligible"), (0.2, 0.7, "negligible"), (0.5, 1.3, "reproduced")],
)
def test_an_order_within_one_step_between_snapshots_is_none(low, high, verdict) -> None:
    row = {"model": "here", "reading": table.FIRST, "seed": "all", "quantity": table.EARLIER}
    row |= {"value": (low + high) / 2, "low": low, "high": high, "n": 8}
    place = {"overlap": "disjoint", "threshold": "top 2"}
    settings = {model.name: model.settings for model in MODELS}
    assert table._judged(tidy([row | place], table.KEYS), settings)["verdict"].item() == verdict


def test_what_comes_first_is_said_of_trainings_that_came_to_both() -> None:
    rows = made().set_index(["seed", "quantity"])["value"]
    assert rows["0", f"{table.GAP}_half"] == pytest.approx(100 * 2**0.5)
    assert rows["1", f"{table.GAP}_half"] == pytest.approx(200 * 2**0.5)
    assert rows["0", "attention_ratio_half"] == pytest.approx(400 * 2**0.5)
    assert rows["0", table.EARLIER] == pytest.approx(2)
    first = made().set_index(["seed", "quantity"]).loc[("all", table.EARLIER)]
    assert first["value"] == pytest.approx(1.5) and first["n"] == first["runs"] == 2
    assert first["verdict"] == "undecided"  # two trainings
    # What has no interval covers no runs.
    half = made().set_index(["seed", "quantity"]).loc[("all", "attention_ratio_half")]
    assert half["n"] == 2 and np.isnan(half["runs"]) and half["note"] == ""
    assert rows["all", f"{table.GAP}_first"] == 200 and rows["all", "attention_ratio_first"] == 800
    none = made(attention_z=1).set_index(["seed", "quantity"])
    assert none.loc[("all", table.EARLIER), "verdict"] == "not reached"
    # The reason, of which the finding's sentence is made.
    assert none.loc[("all", table.EARLIER), "note"] == (
        "topics are found in the values of 2 of 2 trainings, in the attention of 0"
    )
    assert "2 of 2 trainings, in the attention of 2" in first["note"]
    assert set(none.loc["all"]["note"].dropna()) > {SEVERAL.format(2)}
    assert np.isnan(none.loc[("all", "attention_ratio_half"), "value"])
    shown = table.readable(made(attention_z=1).reset_index())
    assert shown["half of it"].tolist() == ["0k; –", "–; –"]
    assert shown["found from, tokens: values; attention"].tolist() == ["0k above; –", "–; –"]
    assert shown["share of heads"].tolist() == ["0.50 above, 0.33 below", "0.00 above, 0.25 below"]


def upside_down(rows: pd.DataFrame, quantity: str, nothing: float) -> pd.DataFrame:
    """A quantity on the other side of its null."""
    rows = rows.copy()
    for name, centre in ((f"{quantity}_null_corrected", nothing), (f"{quantity}_z", 0.0)):
        own = rows["quantity"] == name
        rows.loc[own, ["value", "low", "high"]] = (
            2 * centre - rows.loc[own, ["value", "high", "low"]].to_numpy()
        )
    return rows


@pytest.mark.parametrize(
    ("quantity", "nothing", "note"),
    [
        (table.GAP, 0.0, "in the values of 2 of 2 trainings (2 below the null), in the"),
        (table.ATTENTION, 1.0, "in the attention of 2 (2 below the null)"),
    ],
)
def test_what_moves_below_its_null_is_found_as_what_moves_above(quantity, nothing, note) -> None:
    above, below = (
        pd.DataFrame(table.times(rows)).set_index(["seed", "quantity"])
        for rows in (
            snapshots(100, GAPS), upside_down(snapshots(100, GAPS), quantity, nothing)
        )
    )  # fmt: skip
    side = ("all", f"{quantity}_side")
    assert (above.loc[side, "value"], below.loc[side, "value"]) == (1, -1)
    same = above.index.drop(side)
    pd.testing.assert_series_equal(above.loc[same, "value"], below.loc[same, "value"])
    assert note in below.loc[("all", table.EARLIER), "note"]
    assert "below" not in above.loc[("all", table.EARLIER), "note"]


def first_by_a_loop(z: list[float], ends: list[tuple[float, float]]) -> tuple[int | None, int]:
    """The first place from which on all lie beyond the null on the side of the last; that side."""
    side, found = (1 if z[-1] > 0 else -1), None
    for place in reversed(range(len(z))):
        low, high = ends[place]
        if not (side * z[place] > 3 and (low > 0 if side > 0 else high < 0)):
            break
        found = place
    return found, side


def test_the_first_snapshot_found_agrees_with_a_loop() -> None:
    rng, seen = np.random.default_rng(0), set()
    for _ in range(300):
        z = rng.choice([-1, 1]) * (4 + 3 * rng.standard_normal(4)) * rng.choice([-1, 1, 1], 4)
        ends = [(one - half, one + half) for one, half in zip(z, rng.uniform(0, 8, 4), strict=True)]
        of = {"seed": "all", "quantity": table.GAP, "tokens": [100, 200, 400, 800], "z": z}
        rows = pd.DataFrame(of | {"low": [e[0] for e in ends], "high": [e[1] for e in ends]})
        place, side = first_by_a_loop(z.tolist(), ends)
        first, on = table._first_found(rows, table.GAP)
        if place is None:
            assert np.isnan(first) and np.isnan(on)
        else:
            assert (first, on) == (rows["tokens"][place], side)
        seen.add((place, side if place is not None else 0))
    assert {side for _, side in seen} == {-1, 0, 1} and len(seen) > 5


def test_heads_stand_one_by_one_beside_their_own_null() -> None:
    frequencies = np.arange(24) + 1.0
    own, membership = planted(1.0)
    measured = probe.measure_circuits([own], VARIANT, membership, frequencies, FEW)
    rows = table.value_heads([measured], MODELS[:1])
    assert set(rows["layer"]) == {1} and set(rows["head"]) == {1, 2}
    by = rows.set_index(["head", "quantity"])
    sets, moved = TopicSets(membership), permutations_of(membership, frequencies, FEW)
    [layer] = probe.layer_gaps(own, probe.FIRST, sets, frequencies)
    for head in (1, 2):
        null = [layer.gaps(permutation=one)[head - 1] for one in moved]
        mean = sum(null) / len(null)
        spread = (sum((one - mean) ** 2 for one in null) / (len(null) - 1)) ** 0.5
        gap = by.loc[(head, table.GAP)]
        chance = by.loc[(head, f"{table.GAP}_null")]
        assert chance["value"] == pytest.approx(mean)
        assert min(null) <= chance["low"] < mean < chance["high"] <= max(null)
        assert by.loc[(head, f"{table.GAP}_z"), "value"] == pytest.approx(
            (gap["value"] - mean) / spread
        )
        assert np.isnan(gap["low"]) and gap["verdict"] == ""
    [shown] = table.readable_heads(rows).to_dict("records")
    assert shown["layer"] == "1" and shown["gap, head by head"].count(";") == 1


def test_the_note_says_on_how_many_articles_snapshots_are_probed() -> None:
    followed = [snapshots(100, GAPS)]
    one = MODELS[:1]
    made = table.value_circuit(MEASURED[:1], [attention(1.0)], followed, one, one, 170)
    assert "probed on at most 170 articles" in made.notes[-1]


def test_the_figure_has_a_line_for_each_layer_and_one_for_all_random_models() -> None:
    figure = pretraining_figures.value_circuits(
        MEASURED, [snapshots(100, GAPS)], MODELS, MODELS[:1]
    )
    heads, values, _ = figure.axes
    assert [label.get_text() for label in heads.get_yticklabels()] == ["here", "random weights"]
    within, beyond, *_ = (line for line in heads.lines if line.get_marker() == "o")
    assert to_hex(within.get_markerfacecolor()) == "#ffffff"
    assert (within.get_xdata() > -0.05).all() and len(beyond.get_xdata()) == 5
    assert to_hex(beyond.get_markerfacecolor()) == PALETTE[0].lower()
    assert values.lines[1].get_ydata().tolist() == GAPS["all"]
    alone = pretraining_figures.value_circuits(MEASURED[1:], [], MODELS[1:], [])
    assert len(alone.axes) == 1
