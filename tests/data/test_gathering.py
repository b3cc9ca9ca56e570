"""Demonstrations of a folder of replays are those of its files, one after another."""

import numpy as np

from lanista.cli.main import main
from lanista.data.demonstrations import joined
from lanista.data.gathering import gather


def test_a_folder_is_gathered_as_its_files_joined_in_order(tmp_path):
    # Players come in another order in every file, so that their numbers differ.
    for seed, seats in ((1, "heuristic,random"), (2, "random,skunk"), (3, "outcome,heuristic")):
        words = ["play", "beastybar", "--seats", seats, "--matches", "10", "--seed", str(seed)]
        assert main([*words, "--record", str(tmp_path / "all")]) == 0
        assert main([*words, "--record", str(tmp_path / str(seed))]) == 0
    whole, _ = gather(tmp_path / "all")
    first, *others = [gather(tmp_path / str(seed))[0] for seed in (1, 2, 3)]
    for other in others:
        first = joined(first, other)
    assert whole.matches == 30
    assert len(whole.teachers) == len(set(whole.teachers)) == 4
    assert whole.teachers == first.teachers
    assert (whole.seeds, whole.sources) == (first.seeds, first.sources)
    for name, column in whole.columns().items():
        np.testing.assert_array_equal(column, first.columns()[name], err_msg=name)
