"""A folder of replays: counted by hand on small cases, duplicates found by content."""

import json
from dataclasses import replace

import numpy as np
import pytest
from recording import record, watch_and_record

from lanista.data import PlayerInfo, Record, Replays, write_replays
from lanista.data.datasets import DatasetError, check_dataset
from lanista.games import make

PASS, BET = 0, 1


def kuhn(moves_of_matches, seed=0, **header_change) -> Replays:
    """Return Kuhn matches with the given moves between players a and b, seats swapped on odd."""
    game = make("kuhn", seed=seed)
    base = record("kuhn", 1, seed=seed).header
    header = replace(base, players=(PlayerInfo("a", "da"), PlayerInfo("b", "db")), **header_change)
    records = []
    for match, moves in enumerate(moves_of_matches):
        game.start([0], [match])
        for move in moves:
            game.decisions()
            game.act([0], [[move]])
        records.append(
            Record(
                match=match,
                deal=match,
                options={},
                seating=(0, 1) if match % 2 == 0 else (1, 0),
                actions=np.array(moves, np.int32)[:, None],
                returns=tuple(game.returns[0].tolist()),
                place=tuple(game.place[0].tolist()),
            )
        )
    return Replays(header, tuple(records))


def write(path, replays):
    write_replays(path, replays.header, replays.records)


def test_outcomes_lengths_and_choices_are_those_counted_by_hand(tmp_path):
    # A bet that is not called is won by who bet: no card matters.
    moves = [(BET, PASS), (BET, PASS), (PASS, BET, PASS), (BET, PASS)]
    write(tmp_path / "one.jsonl.gz", kuhn(moves))
    summary = check_dataset(tmp_path)
    assert (summary.files, summary.matches, summary.decisions) == (1, 4, 9)
    (tally,) = summary.games.values()
    wins = [(seat.wins, seat.draws, seat.losses) for seat in tally.seats]
    assert wins == [(3, 0, 1), (1, 0, 3)]
    players = {player.name: (o.wins, o.losses) for player, o in tally.players.items()}
    # a sits on seat 0 in matches 0 and 2, and wins 0 only; b wins the rest but none on seat 1.
    assert players == {"a": (1, 3), "b": (3, 1)}
    assert tally.turns.as_json() == {"min": 2, "median": 2, "mean": 2.25, "max": 3}
    assert tally.chosen[0].tolist() == [5, 4]
    assert tally.forced == [0]


def test_drawn_matches_are_counted_as_draws_for_both_seats(tmp_path):
    replays = record("phantom_ttt", 200)
    drawn = sum(one.returns == (0.0, 0.0) for one in replays.records)
    write(tmp_path / "one.jsonl.gz", replays)
    (tally,) = check_dataset(tmp_path).games.values()
    assert [seat.draws for seat in tally.seats] == [drawn, drawn]
    assert drawn > 0
    (player,) = tally.players.values()
    assert player.draws == 2 * drawn
    assert player.wins == player.losses == 200 - drawn


@pytest.mark.parametrize("game", ["beastybar", "arena", "leduc"])
def test_choices_are_counted_only_where_there_was_a_choice(tmp_path, game):
    replays, seen = watch_and_record(game, 6)
    write(tmp_path / "one.jsonl.gz", replays)
    (tally,) = check_dataset(tmp_path).games.values()
    heads = make(game).spec.heads
    chosen = [np.zeros(head.size, int) for head in heads]
    forced = [0] * len(heads)
    for one in seen:
        for mask, action in zip(one.mask, one.action, strict=True):
            flags, start = np.frombuffer(mask, np.bool_), 0
            for number, head in enumerate(heads):
                if flags[start : start + head.size].sum() > 1:
                    chosen[number][action[number]] += 1
                else:
                    forced[number] += 1
                start += head.size
    assert [counts.tolist() for counts in tally.chosen] == [one.tolist() for one in chosen]
    assert tally.forced == forced
    assert tally.decisions == sum(len(one.seat) for one in seen)


def test_matches_split_over_parts_and_files_add_up(tmp_path, monkeypatch):
    from lanista.data import datasets

    for number in range(3):
        folder = tmp_path / "deep" / str(number)
        write(folder / "one.jsonl.gz", record("kuhn", 20, first=20 * number))
    whole = check_dataset(tmp_path).as_json()
    monkeypatch.setattr(datasets, "_PART_MATCHES", 3)
    parts = check_dataset(tmp_path, slots=2).as_json()
    assert whole == parts
    assert whole["matches"] == 60
    assert whole["duplicates"] == 0


def test_games_and_settings_are_told_apart(tmp_path):
    write(tmp_path / "a.jsonl.gz", record("kuhn", 2))
    write(tmp_path / "b.jsonl.gz", record("leduc", 3))
    write(tmp_path / "c.jsonl.gz", record("beastybar", 1, seats=2))
    write(tmp_path / "d.jsonl.gz", record("beastybar", 1, seats=3))
    summary = check_dataset(tmp_path)
    counted = [(tally.game, len(tally.seats), tally.matches) for tally in summary.games.values()]
    assert counted == [("kuhn", 2, 2), ("leduc", 2, 3), ("beastybar", 2, 1), ("beastybar", 3, 1)]


def test_duplicates_are_found_by_content_across_files(tmp_path):
    replays = record("kuhn", 10)
    write(tmp_path / "a.jsonl.gz", replays)
    renumbered = tuple(replace(one, match=one.match + 100) for one in replays.records[:4])
    write(tmp_path / "b.jsonl.gz", replace(replays, records=renumbered))
    summary = check_dataset(tmp_path)
    assert summary.repeats == 4
    first = summary.repeat_examples[0]
    assert (str(first.file), first.match) == ("b.jsonl.gz", 100)
    assert (str(first.first_file), first.first_match) == ("a.jsonl.gz", 0)


def test_matches_that_differ_in_anything_but_the_id_are_no_duplicates(tmp_path):
    base = kuhn([(BET, PASS)])
    write(tmp_path / "a.jsonl.gz", base)
    write(tmp_path / "other_seed.jsonl.gz", kuhn([(BET, PASS)], seed=1))
    other = replace(base.header, players=(PlayerInfo("a", "new"), PlayerInfo("b", "db")))
    write(tmp_path / "other_player.jsonl.gz", replace(base, header=other))
    swapped = (replace(base.records[0], seating=(1, 0)),)
    write(tmp_path / "other_seats.jsonl.gz", replace(base, records=swapped))
    deal = (replace(base.records[0], deal=9),)
    write(tmp_path / "other_deal.jsonl.gz", replace(base, records=deal))
    write(tmp_path / "other_moves.jsonl.gz", kuhn([(PASS, BET, PASS)]))
    summary = check_dataset(tmp_path)
    assert not summary.broken
    assert summary.matches == 6
    assert summary.repeats == 0


def test_a_name_is_no_content_but_a_digest_is(tmp_path):
    base = kuhn([(BET, PASS)])
    write(tmp_path / "a.jsonl.gz", base)
    renamed = replace(base.header, players=(PlayerInfo("z", "da"), PlayerInfo("y", "db")))
    write(tmp_path / "b.jsonl.gz", replace(base, header=renamed))
    assert check_dataset(tmp_path).repeats == 1


def test_a_match_that_is_there_three_times_is_two_repeats(tmp_path):
    for name in "abc":
        write(tmp_path / f"{name}.jsonl.gz", record("kuhn", 1))
    assert check_dataset(tmp_path).repeats == 2


def test_a_file_that_breaks_in_its_middle_counts_for_nothing(tmp_path, monkeypatch):
    from lanista.data import datasets

    monkeypatch.setattr(datasets, "_PART_MATCHES", 2)
    replays = record("kuhn", 9)
    wrong = replace(replays.records[7], returns=replays.records[7].returns[::-1])
    broken = (*replays.records[:7], wrong, replays.records[8])
    write(tmp_path / "a.jsonl.gz", replace(replays, records=broken))
    write(tmp_path / "b.jsonl.gz", record("kuhn", 5, first=50))
    summary = check_dataset(tmp_path)
    assert summary.files == 2
    assert summary.matches == 5
    assert [str(one.file) for one in summary.broken] == ["a.jsonl.gz"]
    assert "match 7 ends with another outcome" in summary.broken[0].reason


def test_progress_counts_files(tmp_path):
    for number in range(3):
        write(tmp_path / f"{number}.jsonl.gz", record("kuhn", 1))
    seen = []
    check_dataset(tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_the_summary_is_plain_json(tmp_path):
    write(tmp_path / "a.jsonl.gz", record("beastybar", 2))
    (tmp_path / "b.jsonl.gz").write_bytes(b"x")
    said = json.loads(json.dumps(check_dataset(tmp_path).as_json(), allow_nan=False))
    assert said["matches"] == 2
    assert said["broken"][0]["file"] == "b.jsonl.gz"
    assert sum(said["games"][0]["heads"][0]["counts"]) > 0


def test_a_file_without_matches_has_no_lengths(tmp_path):
    write(tmp_path / "a.jsonl.gz", replace(record("kuhn", 1), records=()))
    said = check_dataset(tmp_path).as_json()
    assert said["games"][0]["turns"] == {"min": None, "median": None, "mean": None, "max": None}


def test_a_folder_without_replays_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing here")
    with pytest.raises(DatasetError, match="no replays"):
        check_dataset(tmp_path)
    with pytest.raises(DatasetError, match="does not exist"):
        check_dataset(tmp_path / "missing")
    with pytest.raises(DatasetError, match="not a folder"):
        check_dataset(tmp_path / "notes.txt")
