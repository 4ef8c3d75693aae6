"""What figures compute for themselves, and what they mark: it is on no other page."""

import numpy as np
import pandas as pd
import pytest

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
