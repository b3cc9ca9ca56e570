"""All action probabilities are in a game file, and what cannot be such is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archives import entries_of, kept, npy, packed
from toy import HERE, LAYOUT, STARTS, agent_of, folder_of, game_of, header_of, only, view

from lanista.live.agent.journal import recovering
from lanista.live.files.game_file import GameFile, encode, read
from lanista.live.files.game_header import (
    ALL_PROBABILITIES,
    CHOSEN_ONLY,
    GameFileError,
    header_bytes,
    refuse_nonsense,
)
from lanista.nets.files.policy_format import read as read_policy
from lanista.nets.portable.runtime import PortablePolicy

CHANCES = np.array([0.1, 0.3, 0.6, 0.25, 0.75], "<f4")
"""Of the toy's five choices, three of one head and two of the other; it plays (2, 1)."""


def logged() -> GameFile:
    game = game_of(3, version=ALL_PROBABILITIES)
    return replace(
        game,
        log_probs=np.where(game.overruled, 0, np.log(0.6 * 0.75)).astype("<f4"),
        probabilities=np.tile(CHANCES, (3, 1)),
    )


def test_a_game_keeps_what_the_policy_gave_every_choice(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "policy")
    mask = np.array([1, 0, 1, 1, 1], np.bool_)
    with agent_of(tmp_path) as agent, agent.game("one") as game:
        game.act(view(0))
        game.act(view(1), mask)
        game.overrule((1, 0))
        game.act(view(2), mask)
        game.end(1.0)
    saved = only(tmp_path)
    assert saved.header.version == ALL_PROBABILITIES
    policy = PortablePolicy(read_policy(folder.path_of(folder.pointer().stable)))
    rows = np.stack([view(step) for step in range(3)])
    legal = np.stack([np.ones(5, np.bool_), mask, mask])
    expected, _ = policy.log_probs(rows, legal, np.zeros((3, 0), np.float32))
    assert saved.probabilities is not None
    assert np.allclose(saved.probabilities, np.exp(expected), atol=1e-6)
    assert np.allclose(np.add.reduceat(saved.probabilities, STARTS, 1), 1)
    assert saved.probabilities[1:, 1].tolist() == [0, 0]


def test_a_killed_game_has_them_from_its_journal(tmp_path: Path) -> None:
    folder_of(tmp_path / "policy")
    agent = agent_of(tmp_path)
    game = agent.game("one")
    game.act(view(0))
    game.act(view(1))
    agent._writer.close(60)  # As a kill would: nothing more is written, the journal stays.
    (journal,) = (tmp_path / "spool" / "open").glob("*.journal")
    with recovering(journal) as saved:
        assert saved is not None
        assert saved.probabilities is not None
        assert saved.probabilities.shape == (saved.header.steps, LAYOUT.choices)
        assert np.allclose(np.add.reduceat(saved.probabilities, STARTS, 1), 1)
    agent.close()


def test_they_come_out_as_they_went_in_and_are_part_of_the_content(tmp_path: Path) -> None:
    game = logged()
    again = read(kept(tmp_path / "one.npz", encode(game)), header_of())
    assert again.probabilities is not None
    assert again.probabilities.tobytes() == np.tile(CHANCES, (3, 1)).tobytes()
    # At the step that was overruled they contradict nothing.
    other = np.tile(CHANCES, (3, 1))
    other[1] = 0.5, 0.3, 0.2, 0.5, 0.5
    changed = replace(game, probabilities=other)
    assert read(kept(tmp_path / "two.npz", encode(changed))).content != game.content


def test_a_file_of_version_1_has_none(tmp_path: Path) -> None:
    game = read(HERE / "game_won_of_version_1.npz", header_of())
    assert (game.header.version, game.probabilities) == (CHOSEN_ONLY, None)
    assert read(kept(tmp_path / "again.npz", encode(game))).content == game.content


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([0.1, 0.3, np.nan, 0.25, 0.75], "no chances between 0 and 1"),
        ([-0.5, 0.9, 0.6, 0.25, 0.75], "no chances between 0 and 1"),
        ([0.1, 0.3, 0.6, 0.35, 0.75], "not those of its legal choices"),
        ([0.2, 0.2, 0.6, 0.75, 0.25], "contradict each other"),
    ],
)
def test_what_cannot_be_probabilities_is_refused(tmp_path: Path, row: Any, said: str) -> None:
    entries = entries_of(logged())
    wrong = np.tile(CHANCES, (3, 1))
    wrong[2] = row
    path = kept(tmp_path / "one.npz", packed(entries | {"probabilities.npy": npy(wrong)}))
    with pytest.raises(GameFileError, match=said):
        read(path)


def test_a_chance_of_what_was_forbidden_is_refused(tmp_path: Path) -> None:
    legal = np.ones((3, 5), np.bool_)
    legal[:, 0] = False
    entries = entries_of(logged()) | {"masks.npy": npy(np.packbits(legal, axis=1))}
    with pytest.raises(GameFileError, match="not those of its legal choices"):
        read(kept(tmp_path / "one.npz", packed(entries)))


def test_a_version_and_its_arrays_belong_together(tmp_path: Path) -> None:
    entries = entries_of(logged())
    without = {name: data for name, data in entries.items() if name != "probabilities.npy"}
    header = np.frombuffer(header_bytes(replace(logged().header, version=1)), np.uint8)
    for wrong in (without, entries | {"header.npy": npy(header)}):
        with pytest.raises(GameFileError, match="each once"):
            read(kept(tmp_path / "one.npz", packed(wrong)))
    with pytest.raises(GameFileError, match="no probabilities"):
        encode(replace(logged(), probabilities=None))


def test_a_layout_of_many_choices_is_kept_without_them() -> None:
    wide = replace(LAYOUT, heads=(("one", 1000), ("two", 24)))
    assert wide.newest_version == ALL_PROBABILITIES
    assert replace(wide, heads=(("one", 1000), ("two", 25))).newest_version == CHOSEN_ONLY
    header = replace(game_of().header, layout=replace(wide, heads=(("one", 1025),)), version=2)
    with pytest.raises(GameFileError, match=r"1,025 choices, and 1,024 are the most"):
        refuse_nonsense(header)
