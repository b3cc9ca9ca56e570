"""The spool's folders: every game in one place at a time, and nothing lost on the way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy import LAYOUT, game_of, header_of, view

from lanista.errors import LanistaError
from lanista.live.agent.journal import EARLY, END, OVERRULED, RESULT, Journal, Rows
from lanista.live.files.game_file import encode, read
from lanista.live.files.game_header import GameHeader
from lanista.live.files.spool import REASON, Spool, plain_name

HEADER = GameHeader("a game", "0" * 16, "ab" * 32, LAYOUT, 3, 7, False)
ROWS = Rows(LAYOUT)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    made = Spool(tmp_path / "spool")
    made.create()
    return made


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_game_goes_from_new_to_work_to_the_archive(spool: Spool) -> None:
    game = game_of()
    path = spool.write(game)
    assert spool.waiting() == [path]
    (taken,) = spool.take([path])
    assert (spool.waiting(), spool.taken()) == ([], [taken])
    assert not spool.is_archived(game.content)
    kept = spool.put_away(taken, game.content)
    assert spool.is_archived(game.content)
    assert (spool.waiting(), spool.taken()) == ([], [])
    assert read(kept).content == game.content


def test_copies_under_other_names_share_one_place_in_the_archive(spool: Spool) -> None:
    game = game_of()
    first = spool.write(game)
    (spool.new / "copy.npz").write_bytes(first.read_bytes())
    assert len(spool.waiting()) == 2
    for path in spool.take(spool.waiting()):
        spool.put_away(path, read(path).content)
    assert names(spool.archive) == [f"{game.content[:2]}/{game.content}.npz"]


def test_the_same_game_written_twice_is_one_file(spool: Spool) -> None:
    assert spool.write(game_of()) == spool.write(game_of())
    assert spool.write(game_of(play="1" * 16)) != spool.write(game_of())
    assert len(spool.waiting()) == 2


def test_the_newest_come_first_so_that_old_ones_delay_nothing(spool: Spool) -> None:
    paths = [spool.write(game_of(game_id=f"game {number}")) for number in range(5)]
    for age, path in enumerate(paths):
        os.utime(path, (1000 - age, 1000 - age))
    assert spool.waiting() == paths


def test_what_is_given_back_waits_again(spool: Spool) -> None:
    path = spool.write(game_of())
    (taken,) = spool.take([path])
    assert spool.give_back(taken) == path
    assert spool.waiting() == [path]


def test_two_of_one_name_do_not_cover_each_other(spool: Spool) -> None:
    for number in range(3):
        (spool.new / "x.npz").write_bytes(b"%d" % number)
        spool.take(spool.waiting())
    held = {path.name: path.read_bytes() for path in spool.taken()}
    assert held == {"x.npz": b"0", "x.2.npz": b"1", "x.3.npz": b"2"}


def test_what_is_refused_has_its_reason_beside_it(spool: Spool) -> None:
    for number in range(2):
        (spool.new / "x.npz").write_bytes(b"nonsense %d" % number)
        bad = spool.reject(spool.new / "x.npz", f"It is nonsense {number}.")
        assert bad.read_bytes() == b"nonsense %d" % number
        assert bad.with_name(bad.name + REASON).read_text() == f"It is nonsense {number}.\n"
    assert spool.waiting() == []
    assert len(names(spool.bad)) == 4


@pytest.mark.parametrize("kind", ["link", "dangling", "folder", "pipe", "odd name"])
def test_hostile_things_are_moved_to_bad_as_they_are(spool: Spool, kind: str) -> None:
    outside = spool.folder / "outside"
    outside.write_text("precious")
    thing = spool.new / ("-\x1b[31m\n..npz" if kind == "odd name" else "thing.npz")
    {
        "link": lambda: thing.symlink_to(outside),
        "dangling": lambda: thing.symlink_to("/nowhere/at/all"),
        "folder": thing.mkdir,
        "pipe": lambda: os.mkfifo(thing),
        "odd name": lambda: thing.write_bytes(b""),
    }[kind]()
    (found,) = spool.waiting()
    with pytest.raises(LanistaError) as problem:
        read(found)
    assert str(problem.value).isprintable()
    bad = spool.reject(found, str(problem.value))
    assert bad.parent == spool.bad
    assert bad.name.isprintable()
    assert spool.waiting() == []
    assert outside.read_text() == "precious"


def test_a_move_that_fails_is_an_error(spool: Spool) -> None:
    path = spool.write(game_of())
    for call in (
        lambda: spool.give_back(spool.work / "absent.npz"),
        lambda: spool.reject(spool.new / "absent.npz", "why"),
        lambda: spool.archived("../../../etc/passwd"),
    ):
        with pytest.raises(LanistaError):
            call()
    assert spool.waiting() == [path]


def test_a_game_id_never_leads_out_of_the_folder(spool: Spool) -> None:
    for game_id in ("../../up", "/etc/passwd", "..", ".", "C:\\x", "a/b", "-rf", "日本", "x" * 200):
        path = spool.write(game_of(game_id=game_id))
        assert path.parent == spool.new
        assert path in spool.waiting()
        assert read(path).header.game_id == game_id
        assert plain_name(game_id)[0] not in "-."


def test_a_file_that_is_being_written_is_not_seen(spool: Spool) -> None:
    (spool.new / ".tmp-1-0123456789abcdef.part").write_bytes(b"half")
    assert spool.waiting() == []


def test_a_spool_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LanistaError, match="cannot be made"):
        Spool(tmp_path / "file" / "spool").create()


# Journals.


def step(number: int, reward: float, flags: int = 0) -> bytes:
    action = np.array([2, 1], "<i4").tobytes()
    mask = np.packbits(np.ones(5, np.bool_)).tobytes()
    log_prob = 0.0 if flags & OVERRULED else -1.5
    return ROWS.pack(flags, log_prob, reward, action + mask + view(number).tobytes())


def journal_of(spool: Spool, *rows: bytes) -> Path:
    journal = Journal(spool.open, "one", HEADER)
    for row in rows:
        journal.append(row)
    journal.leave()
    return journal.path


def only(spool: Spool) -> Any:
    (path,) = spool.waiting()
    return read(path, header_of())


def test_a_journal_without_an_end_is_a_game_cut_off(spool: Spool) -> None:
    rows = [ROWS.pack(EARLY, 0.0, 4.0), step(0, 1.0), step(1, 2.0, OVERRULED), step(2, 3.0)]
    journal_of(spool, *rows)
    assert spool.recover().games == 1
    game = only(spool)
    assert (game.header.cut_off, game.header.crashed, len(game.outcome)) == (True, True, 0)
    assert game.rewards.tolist() == [3.0, 0.0, 3.0]
    assert game.header.early_reward == 4.0
    assert names(spool.open) == []


@pytest.mark.parametrize("outcome", [None, -1.0, 0.0])
def test_a_journal_with_its_end_is_the_very_game_that_was_to_be_written(
    spool: Spool, outcome: float | None
) -> None:
    flags = END if outcome is None else END | RESULT
    journal_of(spool, step(0, 1.0), ROWS.pack(flags, 0.0, outcome or 0.0))
    spool.recover()
    game = only(spool)
    assert not game.header.crashed
    assert game.header.cut_off == (outcome is None)
    assert game.outcome.tolist() == ([] if outcome is None else [outcome])


def test_a_row_that_did_not_reach_the_disk_whole_ends_the_game_before_it(spool: Spool) -> None:
    whole = [step(number, 1.0) for number in range(3)]
    torn = bytearray(whole[1])
    torn[20] ^= 1
    for last, steps in (
        ([whole[2][:-1]], 2),
        ([whole[2][:5]], 2),
        ([bytes(torn), whole[2]], 2),
        ([bytes(len(whole[0]))], 2),
    ):
        journal_of(spool, *whole[:2], *last)
        spool.recover()
        game = only(spool)
        assert (game.header.steps, game.header.cut_off) == (steps, True)
        spool.waiting()[0].unlink()


def test_a_journal_that_is_being_written_is_left_alone(spool: Spool) -> None:
    journal = Journal(spool.open, "one", HEADER)
    journal.append(step(0, 1.0))
    assert spool.recover().games == 0
    assert names(spool.open) == ["one.journal"]
    journal.append(ROWS.pack(END | RESULT, 0.0, 1.0))
    journal.leave()
    assert spool.recover().games == 1
    assert only(spool).outcome.tolist() == [1.0]


def test_recovering_twice_gives_one_game(spool: Spool) -> None:
    path = journal_of(spool, step(0, 1.0))
    data = path.read_bytes()
    spool.recover()
    path.write_bytes(data)  # as if killed before the journal was gone
    spool.recover()
    assert len(spool.waiting()) == 1


def test_an_empty_journal_is_removed_and_a_damaged_one_goes_to_bad(spool: Spool) -> None:
    (spool.open / "empty.journal").write_bytes(b"")
    good = journal_of(spool, step(0, 1.0)).read_bytes()
    (spool.open / "one.journal").unlink()
    (spool.open / "damaged.journal").write_bytes(good[:10] + b"x" + good[11:])
    (spool.open / "short.journal").write_bytes(good[:30])
    (spool.open / "link.journal").symlink_to("/etc/passwd")
    forged = ROWS.pack(0, 5.0, 0.0)  # a probability above one, nothing legal
    (spool.open / "forged.journal").write_bytes(good + forged)
    found = spool.recover()
    assert (found.games, found.refused) == (0, 4)
    assert names(spool.open) == []
    reasons = sorted(name for name in names(spool.bad) if name.endswith(REASON))
    assert [name.split(".")[0] for name in reasons] == ["damaged", "forged", "link", "short"]
    assert spool.waiting() == []


def test_the_name_of_a_damaged_journal_is_escaped_once(spool: Spool) -> None:
    (spool.open / "j\x1bunk.journal").write_bytes(b"neither a journal nor empty")
    spool.recover()
    (reason,) = spool.bad.glob(f"*{REASON}")
    assert reason.read_text().startswith(r"The journal 'j\x1bunk.journal' is refused: ")


def test_a_journal_is_found_by_its_suffix_alone(spool: Spool) -> None:
    (spool.open / "notes.txt").write_text("mine")
    spool.recover()
    assert names(spool.open) == ["notes.txt"]


def test_what_dead_writers_left_half_written_is_removed(spool: Spool) -> None:
    left = spool.new / f".tmp-{2**22 + 7}-0123456789abcdef.part"
    left.write_bytes(encode(game_of())[:50])
    spool.recover()
    assert not left.exists()


def test_an_archive_that_somebody_cleared_away_is_made_again(spool: Spool) -> None:
    game = game_of()
    (taken,) = spool.take([spool.write(game)])
    spool.archive.rmdir()
    assert spool.put_away(taken, game.content).is_file()


@pytest.mark.parametrize(
    ("text", "name"),
    [("a b/c", "a_b_c"), ("..-a-..", "a"), ("...", "game"), ("", "game"), ("x" * 61, "x" * 60),
     ("Az09._-z", "Az09._-z"), ("é\n", "__")],
)  # fmt: skip
def test_a_text_as_part_of_a_file_name(text: str, name: str) -> None:
    assert plain_name(text) == name


def test_a_name_that_is_taken_gets_a_number_and_stays_short_enough(spool: Spool) -> None:
    for _ in range(3):
        (spool.new / f"{'x' * 200}.npz").write_bytes(b"x")
        spool.take(spool.waiting())
    short = "x" * 60
    assert names(spool.work) == [f"{short}.2.npz", f"{short}.3.npz", f"{'x' * 200}.npz"]


def test_what_is_refused_is_listed_without_its_reason(spool: Spool) -> None:
    (spool.new / "a.b.npz").write_bytes(b"x")
    place = spool.reject(spool.new / "a.b.npz", "It is no game.\n\n")
    assert spool.refused() == [place] == [spool.bad / "a.b.npz"]
    assert (spool.bad / "a.b.npz.reason.txt").read_text() == "It is no game.\n"


@pytest.mark.parametrize("content", ["ab" * 31, "AB" * 32, "ab" * 33, "../" + "a" * 61])
def test_only_a_digest_has_a_place_in_the_archive(spool: Spool, content: str) -> None:
    assert spool.archived("ab" * 32) == spool.archive / "ab" / f"{'ab' * 32}.npz"
    with pytest.raises(LanistaError, match="give its SHA-256"):
        spool.archived(content)
