"""How rows become a game: what is a step, what was the policy's, where rewards lie."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy import CHOICES, LAYOUT, view

from lanista.live.agent.journal import EARLY, END, OVERRULED, RESULT, Rows, abandoned, recovering
from lanista.live.files.game_header import GameFileError, GameHeader, header_bytes

HEADER = GameHeader("a game", "0" * 16, "ab" * 32, LAYOUT, 3, 1, False, 0)


def told(*rows: tuple[int, float, float]) -> Any:
    """Return the game that rows of (flags, log-probability, reward) tell."""
    layout = Rows(LAYOUT)
    data = b""
    for step, (flags, log_prob, reward) in enumerate(rows):
        action = np.array([step % 3, step % 2], "<i4").tobytes()
        mask = np.packbits(np.ones(CHOICES, np.bool_)).tobytes()
        rest = b"" if flags & (EARLY | END) else action + mask + view(step).tobytes()
        data += layout.pack(flags, log_prob, reward, rest)
    return layout.game(HEADER, layout.unpack(data))


def test_rows_are_folded_into_the_policys_own_decisions() -> None:
    game = told(
        (EARLY, 0.0, 0.25),
        (OVERRULED, -9.0, 1.0),
        (0, -0.5, 2.0),
        (OVERRULED, -9.0, 4.0),
        (OVERRULED, -9.0, 8.0),
        (0, -0.75, 16.0),
        (END | RESULT, 0.0, -3.0),
    )
    assert game.rewards.tolist() == [0.0, 14.0, 0.0, 0.0, 16.0]
    assert game.header.early_reward == 1.25
    assert game.log_probs.tolist() == [0.0, -0.5, 0.0, 0.0, -0.75]
    assert game.overruled.tolist() == [True, False, True, True, False]
    assert game.actions.tolist() == [[1, 1], [2, 0], [0, 1], [1, 0], [2, 1]]
    assert game.outcome.tolist() == [-3.0]
    assert (game.header.steps, game.header.cut_off, game.header.crashed) == (5, False, False)


@pytest.mark.parametrize(
    ("last", "cut_off", "crashed", "outcome"),
    [
        ([(END | RESULT, 0.0, 0.0)], False, False, [0.0]),
        ([(END, 0.0, 0.0)], True, False, []),
        ([], True, True, []),
    ],
)
def test_the_last_row_says_how_a_game_ended(
    last: list[tuple[int, float, float]], cut_off: bool, crashed: bool, outcome: list[float]
) -> None:
    game = told((0, -0.5, 1.0), *last)
    assert (game.header.cut_off, game.header.crashed) == (cut_off, crashed)
    assert game.outcome.tolist() == outcome
    assert game.header.steps == 1


def test_rows_after_one_that_is_damaged_are_not_believed() -> None:
    layout = Rows(LAYOUT)
    row = layout.pack(0, -0.5, 1.0, b"\0" * len(layout._blank))
    broken = bytearray(row)
    broken[3] ^= 1
    assert len(layout.unpack(row + row)) == 2
    assert len(layout.unpack(row + bytes(broken) + row)) == 1
    assert len(layout.unpack(row + row[:-1])) == 1
    assert len(layout.unpack(b"head" + row, start=4)) == 1


def test_a_journal_without_a_word_may_be_one_that_is_being_begun(tmp_path: Path) -> None:
    path = tmp_path / "game.journal"
    path.touch()
    assert not abandoned(path)
    path.write_bytes(b"something")
    assert abandoned(path)
    assert not abandoned(tmp_path / "gone.journal")


@pytest.mark.parametrize(
    ("length", "why"),
    [(1 << 18, "is not written as lanista writes it"), ((1 << 18) + 1, "has no header")],
)
def test_a_journals_header_of_more_than_a_quarter_of_a_mebibyte_is_not_parsed(
    tmp_path: Path, length: int, why: str
) -> None:
    header = header_bytes(HEADER).ljust(length)
    start = struct.pack("<16sLL", b"lanista-journal\x01", length, zlib.crc32(header))
    path = tmp_path / "game.journal"
    path.write_bytes(start + header)
    with pytest.raises(GameFileError, match=why), recovering(path):
        pass
