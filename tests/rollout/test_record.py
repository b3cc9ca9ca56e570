"""Recording: blocks on disk that read back as played, and nothing overwritten."""

import numpy as np
import pytest
from race_game import Cycling, First, Race

from lanista.data.replays import read_replays, resimulate
from lanista.errors import RefusedError
from lanista.games import make, make_bot
from lanista.rollout import Table, play, rotations
from lanista.rollout.replay_recorder import MOST_CHOICES, MOST_MATCHES, Recorder, block_size


def kuhn_block(matches=20, seed=4):
    game = make("kuhn", slots=8, seed=seed)
    players = (make_bot("kuhn", "random", game.spec, seed), First(game.spec, seed))
    results = play([Table(game, players)], rotations(2, matches), record=True)
    return game, players, results


def test_a_block_reads_back_as_it_was_played_and_plays_again(tmp_path):
    game, players, results = kuhn_block()
    path = Recorder(tmp_path, game, players).write(results)
    replays = read_replays(path)
    assert [player.digest for player in replays.header.players] == list(results.digests)
    assert [player.name for player in replays.header.players] == ["random", "first"]
    assert replays.header.seed == 4
    actions = results.actions_by_match()
    assert len(replays.records) == 20
    for row, record in enumerate(replays.records):
        assert record.match == results.schedule.match[row]
        assert record.deal == results.schedule.deal[row]
        assert record.seating == tuple(results.schedule.seating[row])
        assert np.array_equal(record.actions, actions[row])
        assert record.returns == tuple(results.returns[row])
        assert record.place == tuple(results.place[row])
        assert record.cut_off is False
    resimulate(replays)  # Refuses what does not go as recorded.


def test_a_file_is_named_after_game_seed_and_match_ids(tmp_path):
    game, players, results = kuhn_block()
    path = Recorder(tmp_path, game, players).write(results)
    assert path.name == "kuhn-seed4-000000000-000000019.jsonl.gz"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_names_of_games_cannot_lead_out_of_the_folder(tmp_path):
    class Sly(Race):
        name = "../../sly:game"

    game = Sly(slots=1)
    recorder = Recorder(tmp_path, game, [Cycling(game.spec, 0)] * 3)
    path = recorder.path_of(rotations(3, 3))
    assert path.parent == tmp_path
    assert path.name == "sly-game-seed0-000000000-000000002.jsonl.gz"


def test_an_existing_file_is_refused_and_stays_as_it_was(tmp_path):
    game, players, results = kuhn_block()
    path = Recorder(tmp_path, game, players).write(results)
    before = path.read_bytes()
    again = Recorder(tmp_path, game, players)
    with pytest.raises(RefusedError, match="not overwritten"):
        again.refuse_existing([results.schedule])
    with pytest.raises(RefusedError, match="not overwritten"):
        again.write(results)
    assert path.read_bytes() == before


def test_the_options_of_matches_are_recorded_and_played_again(tmp_path):
    game = make("beastybar", slots=4, seed=2)
    players = (First(game.spec, 0), First(game.spec, 0))
    results = play([Table(game, players)], rotations(2, 6), options={"first": 1}, record=True)
    path = Recorder(tmp_path, game, players, {"first": 1}).write(results)
    replays = read_replays(path)
    assert [dict(record.options) for record in replays.records] == [{"first": 1}] * 6
    resimulate(replays)


def test_a_caller_that_changes_its_options_afterwards_does_not_change_the_record(tmp_path):
    game = make("beastybar", slots=4, seed=2)
    players = (First(game.spec, 0), First(game.spec, 0))
    options = {"first": 1}
    recorder = Recorder(tmp_path, game, players, options)
    results = play([Table(game, players)], rotations(2, 6), options=options, record=True)
    options["first"] = 0
    replays = read_replays(recorder.write(results))
    assert [dict(record.options) for record in replays.records] == [{"first": 1}] * 6
    resimulate(replays)


def test_a_recorder_lists_the_files_that_it_has_written_in_their_order(tmp_path):
    game, players, _ = kuhn_block()
    recorder, table = Recorder(tmp_path, game, players), Table(game, players)
    assert recorder.written == []
    paths = [
        recorder.write(play([table], block, record=True)) for block in rotations(2, 30).blocks(10)
    ]
    assert recorder.written == paths
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    assert len(paths) == 3


def test_a_match_that_was_broken_off_is_recorded_so(tmp_path):
    class Breaking(Race):
        cut_deals = (3, 4, 5)

    game = Breaking(slots=4, seed=2)
    players = tuple(Cycling(game.spec, 0) for _ in range(3))
    results = play([Table(game, players)], rotations(3, 30), record=True)
    replays = read_replays(Recorder(tmp_path, game, players).write(results))
    found = [record.cut_off for record in replays.records]
    assert found == results.cut_off.tolist()
    assert {*found} == {True, False}


@pytest.mark.parametrize(("first", "fits"), [(18, False), (19, False), (20, True)])
def test_not_even_one_match_is_in_two_files(first, fits, tmp_path):
    game, players, results = kuhn_block()
    recorder = Recorder(tmp_path, game, players)
    recorder.write(results)
    after = rotations(2, 4, first_match=first)
    if fits:
        recorder.refuse_existing([after])
        return
    with pytest.raises(RefusedError, match="has matches 0 to 19"):
        recorder.refuse_existing([after])


def test_matches_that_another_file_has_are_not_recorded_again(tmp_path):
    """A recording that was cut into other blocks would be learnt from twice."""
    game, players, results = kuhn_block()
    Recorder(tmp_path, game, players).write(results)
    again = Recorder(tmp_path, game, players)
    for schedule in (results.schedule.part(0, 8), results.schedule.part(18, 20)):
        with pytest.raises(RefusedError, match=r"has matches 0 to 19 of this game and seed"):
            again.refuse_existing([schedule])
    again.refuse_existing([rotations(2, 8, first_match=20)])
    other = make("kuhn", slots=4, seed=5)
    Recorder(tmp_path, other, players).refuse_existing([results.schedule.part(0, 8)])


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    game, players, _ = kuhn_block(2)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RefusedError, match="name a folder"):
        Recorder(tmp_path / "file", game, players)
    assert (tmp_path / "file").read_text() == "mine"


def test_what_a_dead_writer_left_is_removed_at_the_start(tmp_path):
    game, players, _ = kuhn_block(2)
    # No process has this number: it is above the largest that Linux gives.
    left = tmp_path / f".tmp-{2**22 + 1}-{'0' * 16}.part"
    left.write_bytes(b"half a file")
    Recorder(tmp_path, game, players)
    assert not left.exists()


def test_blocks_of_long_matches_hold_fewer_of_them():
    assert block_size(make("kuhn").spec) == MOST_MATCHES
    arena = make("arena").spec
    rows = arena.facts.longest * arena.seats  # Both seats choose in every turn.
    assert block_size(arena) == MOST_CHOICES // (rows * len(arena.heads)) < MOST_MATCHES
