"""Recorded matches played again: the same, or refused."""

from dataclasses import replace

import numpy as np
import pytest
from recording import record, watch_and_record

from lanista.data import ReplayError, expand, resimulate
from lanista.games import registry

GAMES = ["kuhn", "leduc", "liars_dice", "phantom_ttt", "beastybar", "arena"]


@pytest.mark.parametrize("slots", [1, 7, 64])
@pytest.mark.parametrize("game", GAMES)
def test_recorded_matches_play_again_with_any_number_of_slots(game, slots):
    replays, seen = watch_and_record(game, 12)
    turns = resimulate(replays, slots=slots)
    assert turns.tolist() == [one.turn[-1] + 1 for one in seen]


@pytest.mark.parametrize("slots", [1, 5, 64])
@pytest.mark.parametrize("game", GAMES)
def test_expanded_columns_equal_what_the_players_were_given_bit_for_bit(game, slots):
    replays, seen = watch_and_record(game, 12)
    columns = expand(replays, slots=slots)
    row = 0
    for match, one in enumerate(seen):
        for i in range(len(one.seat)):
            assert columns.match[row] == match
            assert columns.seat[row] == one.seat[i]
            assert columns.turn[row] == one.turn[i]
            assert columns.observation[row].tobytes() == one.observation[i]
            assert columns.mask[row].tobytes() == one.mask[i]
            assert columns.actions[row].tolist() == one.action[i]
            assert columns.returns[row] == replays.records[match].returns[one.seat[i]]
            row += 1
    assert row == len(columns)


def test_columns_are_copies_with_memory_of_their_own():
    columns = expand(record("kuhn", 20), slots=4)
    arrays = [getattr(columns, name) for name in type(columns).__dataclass_fields__]
    for array in arrays:
        assert array.flags.owndata
        assert array.flags.writeable
        others = [other for other in arrays if other is not array]
        assert not any(np.shares_memory(array, other) for other in others)
    # Observations of one match differ from turn to turn, so they are not all the last one.
    first = columns.observation[columns.match == 0]
    assert len(first) > 1
    assert len({one.tobytes() for one in first}) == len(first)


def test_rewards_of_kuhn_lie_on_the_last_action_of_each_seat():
    columns = expand(record("kuhn", 60), slots=7)
    for match in range(60):
        for seat in (0, 1):
            mine = (columns.match == match) & (columns.seat == seat)
            reward, returns = columns.reward[mine], columns.returns[mine]
            assert len(reward) >= 1
            assert reward[-1] == returns[-1]
            assert not reward[:-1].any()


PAYING = """
from lanista.games import Facts, PythonGame, Step, View

class Paying(PythonGame):
    '''Seat 0 moves, then seat 1 twice, then seat 0; each move pays by a table.'''

    name = "paying"
    facts = Facts(seats=2, longest=4)
    observation = 1
    moves = 2
    ORDER = (0, 1, 1, 0)
    PAYS = ((1, 0), (10, 100), (20, 200), (0, 0))

    def deal(self, rng):
        return [0]

    def apply(self, state, moves, rng):
        pays = self.PAYS[state[0]]
        state[0] += 1
        return Step(rewards=pays, returns=(1031, 300) if state[0] == 4 else None)

    def view(self, state, seat):
        return View([state[0]], [0, 1]) if self.ORDER[state[0]] == seat else None
"""


def test_each_reward_lies_on_the_action_that_caused_it(tmp_path):
    """Seat 0's first action earns 1, and 10 and 20 come to it before it acts again."""
    file = tmp_path / "paying.py"
    file.write_text(PAYING)
    replays = record(str(file), 3)
    columns = expand(replays, slots=2, game=str(file))
    for match in range(3):
        mine = columns.match == match
        assert columns.seat[mine].tolist() == [0, 1, 1, 0]
        # The end pays what is left of seat 0's 1031 after 31 came before it.
        assert columns.reward[mine].tolist() == [31, 100, 200, 1000]
        assert columns.returns[mine].tolist() == [1031, 300, 300, 1031]


def test_a_game_from_a_file_is_loaded_only_when_the_caller_names_it(tmp_path):
    file = tmp_path / "paying.py"
    file.write_text(PAYING)
    replays = record(str(file), 1)
    with pytest.raises(ReplayError, match="not installed"):
        resimulate(replays)
    resimulate(replays, game=str(file))


@pytest.mark.parametrize(
    "name",
    [
        "{folder}/trap.py",
        "trap.py",
        "../trap.py",
        "./trap.py:Trap",
        "trap",
        "lanista.games.small",
        "pettingzoo:trap",
        "pettingzoo:pettingzoo.classic.rps_v2",
        "openspiel:efg_game(filename=/etc/passwd)",
        "openspiel:hex(board_size=9999)",
        "openspiel:../x",
        "kuhn\n",
        "",
    ],
)
def test_no_name_in_a_header_makes_the_reader_load_code(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "trap.py").write_text("open('sprung', 'w').close()\n")
    replays = record("kuhn", 1)
    hostile = replace(replays.header, game=name.format(folder=tmp_path))
    with pytest.raises(ReplayError, match="its game"):
        resimulate(replace(replays, header=hostile))
    assert not (tmp_path / "sprung").exists()


def test_a_caller_who_names_the_wrong_game_is_told():
    with pytest.raises(ReplayError, match="'kuhn'"):
        resimulate(record("kuhn", 1), game="leduc")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rules_version": 99}, "rules version 99"),
        ({"observation_version": 99}, "observation version 99"),
        ({"simulator": "other"}, "simulator 'other'"),
        ({"simulator_version": "0"}, "simulator version '0'"),
        ({"settings": {"slots": 3}}, "no setting 'slots'"),
        ({"settings": {"name": "x"}}, "no setting 'name'"),
        ({"settings": {"deck": "x"}}, "no setting 'deck'"),
        ({"game": "kuhm"}, "is not installed; install it, or name its file with --game"),
    ],
)
def test_a_header_that_does_not_fit_the_game_is_refused(change, said):
    replays = record("kuhn", 2)
    with pytest.raises(ReplayError) as refusal:
        resimulate(replace(replays, header=replace(replays.header, **change)))
    assert said in str(refusal.value)


def test_settings_of_the_wrong_type_are_refused():
    replays = record("beastybar", 1)
    name = next(iter(registry.entry("beastybar").settings))
    wrong = {**replays.header.settings, name: [1]}
    with pytest.raises(ReplayError, match="cannot be set up"):
        resimulate(replace(replays, header=replace(replays.header, settings=wrong)))


def test_a_setting_that_the_header_leaves_out_is_refused():
    replays = record("beastybar", 1)
    some = {name: value for name, value in replays.header.settings.items() if name != "scoring"}
    with pytest.raises(ReplayError, match="setting 'scoring' None, and here it is 'points'"):
        resimulate(replace(replays, header=replace(replays.header, settings=some)))


@pytest.mark.parametrize("game", ["beastybar", "arena"])
@pytest.mark.parametrize("value", [-1, 10**18, 1e308, "x" * 200, None, True, ""])
def test_senseless_settings_are_refused_and_not_tried(game, value):
    replays = record(game, 1)
    for name, kept in replays.header.settings.items():
        if type(value) is bool and type(kept) is bool:
            continue  # A rule that a short match need not touch.
        wrong = replace(replays.header, settings={**replays.header.settings, name: value})
        with pytest.raises(ReplayError):
            resimulate(replace(replays, header=wrong))


def with_match(replays, index, **change):
    records = list(replays.records)
    records[index] = replace(records[index], **change)
    return replace(replays, records=tuple(records))


@pytest.mark.parametrize("slots", [1, 4, 64])
def test_another_outcome_than_recorded_is_refused_and_the_match_named(slots):
    replays = record("kuhn", 9)
    returns, place = replays.records[6].returns, replays.records[6].place
    for change in ({"returns": returns[::-1]}, {"place": place[::-1]}, {"cut_off": True}):
        with pytest.raises(ReplayError, match="match 6 "):
            resimulate(with_match(replays, 6, **change), slots=slots)


def test_another_seed_is_refused():
    replays = record("kuhn", 40)
    with pytest.raises(ReplayError, match="another outcome"):
        resimulate(replace(replays, header=replace(replays.header, seed=6)))


@pytest.mark.parametrize("slots", [1, 64])
def test_too_few_too_many_and_illegal_actions_are_refused(slots):
    replays = record("kuhn", 9)
    whole = replays.records[4].actions
    for actions, said in (
        (whole[:-1], "no action left"),
        (whole[:0], "no action left"),
        (np.concatenate([whole, whole[:1]]), "over before its last action"),
        (np.full_like(whole, 2), "not legal"),
        (np.full_like(whole, 2**31 - 1), "not legal"),
        (np.repeat(whole, 2, axis=1), "2 heads"),
        (np.zeros((10**6, 1), np.int32), "more than 3 turns"),
    ):
        with pytest.raises(ReplayError, match="match 4 ") as refusal:
            resimulate(with_match(replays, 4, actions=actions), slots=slots)
        assert said in str(refusal.value)


def test_a_move_that_the_mask_forbids_is_refused():
    replays = record("phantom_ttt", 3)
    actions = replays.records[1].actions.copy()
    actions[2] = actions[0]  # seat 0 again on its own mark
    with pytest.raises(ReplayError, match=r"match 1 .*not legal"):
        resimulate(with_match(replays, 1, actions=actions))


def test_wrong_seats_and_options_are_refused():
    replays = record("kuhn", 2)
    for change, said in (
        ({"seating": (0,), "returns": (0.0,), "place": (1,)}, "1 seats"),
        ({"options": {"deal": 3}}, "option 'deal'"),
        ({"options": {"opening": 3}}, "option 'opening'"),
    ):
        with pytest.raises(ReplayError, match=said):
            resimulate(with_match(replays, 1, **change))


ENDLESS = """
from lanista.games import Facts, GameError, PythonGame, View

class Endless(PythonGame):
    name = "endless"
    facts = Facts(seats=1, longest={longest})
    observation = 1
    moves = 2

    def deal(self, rng):
        return [0]

    def apply(self, state, moves, rng):
        state[0] += 1
        if moves[0] == 1 and {breaks}:
            raise KeyError("\\x1b[2J")
        return [1.0] if state[0] == 5 else None

    def view(self, state, seat):
        return View([state[0]], [0, 1])
"""


def test_a_match_longer_than_the_rules_allow_is_refused(tmp_path):
    long, short = tmp_path / "long.py", tmp_path / "short.py"
    long.write_text(ENDLESS.format(longest=5, breaks=False))
    short.write_text(ENDLESS.format(longest=3, breaks=False))
    with pytest.raises(ReplayError, match="more than 3 turns"):
        resimulate(record(str(long), 1), game=str(short))


def test_rules_that_stumble_become_a_refusal_without_raw_escapes(tmp_path):
    fine, breaks = tmp_path / "fine.py", tmp_path / "breaks.py"
    fine.write_text(ENDLESS.format(longest=5, breaks=False))
    breaks.write_text(ENDLESS.format(longest=5, breaks=True))
    with pytest.raises(ReplayError, match="endless stopped with KeyError") as refusal:
        resimulate(record(str(fine), 4), game=str(breaks))
    assert "\x1b" not in str(refusal.value)


def test_no_matches_expand_to_no_rows():
    columns = expand(replace(record("kuhn", 1), records=()))
    assert len(columns) == 0
    assert columns.observation.shape == (0, 11)
