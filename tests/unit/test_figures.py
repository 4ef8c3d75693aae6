"""What figures compute for themselves, and what they mark: it is on no other page."""

import numpy as np
import pandas as pd
import pytest

from onelayer.papers.decision_lists import value_figures
from onelayer.papers.local_to_global import flow_figures, training_figures


def test_path_is_cut_where_any_coordinate_leaves_the_picture() -> None:
    path = np.array([[0.0, 0.5, 0.9, 1.2, 0.8], [0.0, 0.1, 0.2, 0.3, 0.4]])
    assert flow_figures.first_inside(path, 1.0) == 3
    assert flow_figures.first_inside(path[::-1], 1.0) == 3
    assert flow_figures.first_inside(path, 2.0) == 5


def test_largest_entry_is_that_of_each_iteration_and_seed() -> None:
    matrices = np.zeros((2, 3, 4, 5))
    matrices[1, 2, 0, 3] = -0.7
    assert training_figures.largest_entries(matrices).tolist() == [[0, 0, 0], [0, 0, 0.7]]


def test_distance_from_rank_one_is_that_of_the_worst_matrix_seed_and_iteration() -> None:
    curves = pd.DataFrame({"W_1_share": [1.0, 0.999], "W_V_share": [0.98, 1.0]})
    assert training_figures.furthest_from_rank_one(curves) == pytest.approx(0.02)


def test_accuracy_of_v_stands_beside_the_ceiling_of_its_own_problem() -> None:
    keys = {"L": 12, "n": 4, "m": 2}
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
