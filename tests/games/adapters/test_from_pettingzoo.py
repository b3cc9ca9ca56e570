"""PettingZoo environments as games: rewards, ends, spaces and seeds."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanista.games import Field, GameError, Stream, check_game, make, make_bot
from lanista.games.adapters.from_pettingzoo import FromPettingZoo, _own_modules
from lanista.games.check import GameCheckError

pytest.importorskip("pettingzoo")
from tiny_environments import Beat, Pennies, Scripted

TWICE_IN_A_ROW = [
    Beat(0, (1, 0)),
    Beat(1, (0, 2)),
    Beat(1, (0.5, -1)),
    Beat(0, (3, 4), ended=(0, 1)),
]


def scripted(script: list[Beat], **facts: Any) -> FromPettingZoo:
    game = FromPettingZoo(lambda: Scripted(script), **facts)
    game.start([0], [0])
    return game


def step(game: FromPettingZoo) -> tuple[int, list[float]]:
    """Play the only legal move; return who moved and what all seats hold then."""
    decisions = game.decisions()
    assert len(decisions) == 1
    seat = int(decisions.seat[0])
    game.act([0], [int(np.flatnonzero(decisions.mask[0])[0])])
    return seat, game.reward[0].tolist()


def test_rewards_since_the_last_own_decision_are_added_up_when_another_moves_twice() -> None:
    game = scripted(TWICE_IN_A_ROW)
    assert step(game)[0] == 0
    assert step(game) == (1, [0, 2])  # The next to move, seat 1, has earned 2 by its first move.
    assert step(game) == (1, [1.5, 0])  # Seat 0: 1 by its own move and 0.5 by the other's.
    assert step(game) == (0, [3, 3])  # Seat 1: -1 by its own move and 4 at the end.
    assert game.returns[0].tolist() == [4.5, 5]
    assert game.place[0].tolist() == [2, 1]
    assert game.done[0].all()
    assert not game.cut_off.any()


def test_the_mask_is_read_from_the_observation_or_from_the_info() -> None:
    for mask_in_info in (False, True):
        game = FromPettingZoo(
            lambda mask_in_info=mask_in_info: Scripted(TWICE_IN_A_ROW, mask_in_info)
        )
        game.start([0], [0])
        for turn in range(4):
            decisions = game.decisions()
            assert decisions.mask[0].tolist() == [turn % 2 == 0, turn % 2 == 1]
            assert decisions.observation.dtype == np.int8
            assert decisions.observation[0].tolist() == [turn, int(decisions.seat[0])]
            with pytest.raises(GameError, match="not legal"):
                game.act([0], [1 - turn % 2])
            game.act([0], [turn % 2])


def test_an_agent_that_is_out_is_done_while_the_match_goes_on() -> None:
    script = [
        Beat(0, (0, 0, 0)),
        Beat(1, (0, 0, -1), ended=(2,)),
        Beat(0, (2, -1, 9), ended=(0, 1)),
    ]
    game = scripted(script)
    step(game)
    assert game.done[0].tolist() == [False, False, False]
    step(game)
    assert game.done[0].tolist() == [False, False, True]
    assert game.reward[0, 2] == -1
    step(game)
    assert game.returns[0].tolist() == [2, -1, -1]
    assert not game.cut_off.any()


def test_a_truncated_match_is_cut_off() -> None:
    game = scripted([Beat(0, (1, 0)), Beat(1, (0, 1), cut=(0, 1))])
    step(game)
    assert not game.cut_off.any()
    step(game)
    assert game.cut_off[0].all()
    assert game.returns[0].tolist() == [1, 1]


def test_the_turn_limit_cuts_off_and_pays_what_was_earned() -> None:
    game = scripted([Beat(0, (1, 0)), Beat(1, (0.25, 3)), Beat(0, (0, 0))] * 9, longest=4)
    for _ in range(4):
        step(game)
    assert game.cut_off[0].all()
    assert game.returns[0].tolist() == [2.25, 3]
    assert game.reward[0].tolist() == [1, 3]


def pennies(slots: int, seed: int) -> FromPettingZoo:
    return FromPettingZoo(Pennies, slots, seed, hidden=False, zero_sum=True, longest=3)


def test_a_parallel_environment_asks_all_and_adds_up() -> None:
    game = pennies(1, 0)
    game.start([0], [0])
    total = np.zeros(2)
    for turn in range(3):
        decisions = game.decisions()
        assert decisions.seat.tolist() == [0, 1]
        assert decisions.mask[0].tolist() == [True, True, True, turn > 0]
        game.act([0, 1], [[1, 0], [1, 0]] if turn != 1 else [[0, 1], [1, 0]])
        total += game.reward[0]
    assert total.tolist() == game.returns[0].tolist() == [1 - 1 + 1, -1 + 1 - 1]
    assert game.spec.facts.simultaneous
    assert not game.cut_off.any()


def test_spaces_become_fields_and_heads() -> None:
    spec = pennies(1, 0).spec
    assert [head.size for head in spec.heads] == [2, 2]
    assert spec.observation.dtype == "float32"
    assert set(spec.observation.fields) == {Field("round", classes=5), Field("bonus", 2)}
    game = pennies(1, 0)
    game.start([0], [0])
    here = spec.observation.slice_of("round")
    assert game.decisions().observation[0, here].tolist() == [0]  # Discrete counted from 1.


def test_the_seed_of_an_environment_comes_from_seed_and_deal() -> None:
    def views(slots: int, seed: int) -> dict[int, bytes]:
        game = pennies(slots, seed)
        seen = {}
        for first in range(0, 10, slots):
            game.start(range(slots), range(first, first + slots))
            decisions = game.decisions()
            seen |= {
                int(m): decisions.observation[i].tobytes() for i, m in enumerate(decisions.match)
            }
        return seen

    assert views(1, 7) == views(5, 7)
    assert len(set(views(1, 7).values())) == 10
    assert not set(views(1, 7).values()) & set(views(1, 8).values())


def test_the_checker_accepts_a_seeded_environment() -> None:
    check_game(pennies, matches=8, effort=400)


def test_hidden_parts_are_assumed_and_cannot_be_redrawn() -> None:
    game = scripted(TWICE_IN_A_ROW)
    assert game.spec.facts.hidden
    with pytest.raises(GameError, match="hidden=False"):
        game.resample_hidden(0, 0, Stream.keyed(0, 0, 0, "resample"))
    with pytest.raises(GameCheckError, match="hidden"):
        check_game(lambda slots, seed: FromPettingZoo(Pennies, slots, seed, longest=3), matches=2)


def test_matches_without_a_seed_are_not_saved() -> None:
    game = scripted(TWICE_IN_A_ROW, seedable=False)
    assert not game.spec.abilities.restorable
    with pytest.raises(GameError, match="takes no seed"):
        game.save([0])


def test_a_saved_match_goes_on_in_another_game() -> None:
    game, other = pennies(1, 3), pennies(2, 3)
    game.start([0], [6])
    game.act([0, 1], game.decisions().mask[:, :2] * 0)
    other.load([1], game.save([0]))
    np.testing.assert_array_equal(game.decisions().observation, other.decisions().observation)


def test_a_copied_match_goes_on_in_an_environment_of_its_own() -> None:
    game = pennies(2, 3)
    game.start([0], [6])
    game.act([0, 1], game.decisions().mask[:, :2] * 0)
    game.copy_matches([0], [1])
    decisions = game.decisions()
    assert decisions.slot.tolist() == [0, 0, 1, 1]
    np.testing.assert_array_equal(decisions.observation[:2], decisions.observation[2:])
    game.act([2, 3], decisions.mask[2:, :2] * 0)
    assert (game.decisions().slot == 0).sum() == 2


@pytest.fixture
def declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package that declares the environments of this folder, as an installer does."""
    info = tmp_path / "tiny-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[lanista.pettingzoo]\ntiny = tiny_environments\nmisfits = tiny_environments:misfits\n"
        "nowhere = nowhere_v0\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("declared")
def test_a_declared_module_and_its_arguments_name_a_game() -> None:
    game = make("pettingzoo:tiny(rounds=2, cut=True)", longest=9, hidden=False)
    assert game.spec.name == "pettingzoo:tiny(rounds=2, cut=True)"
    assert game.spec.facts.longest == game.spec.settings["longest"] == 9
    bot = make_bot(game.spec.name, "random", game.spec, 0)
    game.start([0], [0])
    for ended in ([], [0]):
        decisions = game.decisions()
        assert game.act([0, 1], bot.act(decisions, np.arange(2))).tolist() == ended
    assert game.cut_off.all()
    named = make("pettingzoo:tiny:parallel_env")
    assert named.spec.seats == 2
    game.close()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nowhere", "'nowhere' cannot be imported"),
        ("tiny:missing", "has no environment 'missing'"),
        ("tiny(3)", "cannot be read"),
        ("tiny(rounds=", "cannot be read"),
        ("misfits(what='continuous action')", "action space Box"),
        ("misfits(what='text')", "observation space Text"),
        ("misfits(what='uneven')", "gives agent_1 other spaces than agent_0"),
    ],
)
@pytest.mark.usefixtures("declared")
def test_what_cannot_be_played_is_refused_by_name(name: str, reason: str) -> None:
    with pytest.raises(GameError, match=reason) as refusal:
        make(f"pettingzoo:{name}")
    assert name.partition("(")[0].partition(":")[0] in str(refusal.value)


@pytest.mark.parametrize(
    "name",
    [
        "os:system(command='touch ran')",
        "subprocess:run(args=['touch', 'ran'])",
        "tiny_environments",
        "trap",
        "trap:env",
        "pettingzoo.trap",
        "pettingzoo.utils.conversions:aec_to_parallel(aec_env=1)",
        "pettingzoo.classic.rps_v2:__import__(name='trap')",
        "pettingzoo.classic.rps_v2.rps",
        "pettingzoo.classic..rps_v2",
        "pettingzoo.../trap_v1",
    ],
)
def test_only_environments_that_declare_themselves_are_imported_and_called(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    trap = "open('ran', 'w').close()\ndef env(**_): open('ran', 'w').close()\n"
    (tmp_path / "trap.py").write_text(trap)
    with pytest.raises(GameError, match=r"entry-point group lanista\.pettingzoo|no environment"):
        make(f"pettingzoo:{name}")
    assert not (tmp_path / "ran").exists()


def test_something_else_than_an_environment_is_refused() -> None:
    with pytest.raises(GameError, match="neither a PettingZoo AECEnv nor a ParallelEnv"):
        FromPettingZoo(object)


def test_a_bare_name_finds_pettingzoos_module() -> None:
    game = make("pettingzoo:connect_four_v3")
    assert game.spec.name == "pettingzoo:connect_four_v3"
    assert (
        game.spec.observation
        == make("pettingzoo:pettingzoo.classic.connect_four_v3").spec.observation
    )
    with pytest.raises(GameError, match="did you mean 'connect_four_v3'"):
        make("pettingzoo:connect_four_v2")


def test_every_classic_environment_can_be_imported_with_the_extra() -> None:
    classic = {name: word for name, word in _own_modules().items() if ".classic." in word}
    assert {"connect_four_v3", "chess_v6", "go_v5", "texas_holdem_v4", "hanabi_v5"} <= {*classic}
    for word in classic.values():
        importlib.import_module(word)


@pytest.mark.parametrize("name", ["tictactoe_v3", "connect_four_v3"])
def test_pettingzoos_own_board_games_end_with_a_winner_or_a_draw(name: str) -> None:
    game = make(f"pettingzoo:{name}", slots=4, hidden=False, longest=60)
    bot = make_bot(game.spec.name, "random", game.spec, 0)
    game.start(range(4), range(4))
    ended: list[int] = []
    while len(ended) < 4:
        decisions = game.decisions()
        rows = np.arange(len(decisions))
        ended += game.act(rows, bot.act(decisions, rows)).tolist()
    assert not game.cut_off.any()
    assert {tuple(row) for row in game.returns.tolist()} <= {(1, -1), (-1, 1), (0, 0)}
