"""OpenSpiel's games through our contract, beside pyspiel played directly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from lanista.games import GameError, Stream, check_game, make, make_bot
from lanista.games.check import GameCheckError
from lanista.games.contract import Game

pyspiel = pytest.importorskip("pyspiel")

SEED = 5
PLAYED = [
    "kuhn_poker",
    "leduc_poker",
    "tic_tac_toe",
    "goofspiel(num_cards=5)",
    "matrix_rps",
    "liars_dice(numdice=2)",
    "connect_four",
    "backgammon",
    "coop_box_pushing(horizon=12)",  # Outcomes that are not equally likely, and pay on the way.
]


def tensor(state: Any, seat: int) -> list[float]:
    if state.get_game().get_type().provides_information_state_tensor:
        return state.information_state_tensor(seat)  # type: ignore[no-any-return]
    return state.observation_tensor(seat)  # type: ignore[no-any-return]


def seen_by(state: Any, seat: int) -> list[float]:
    """Return OpenSpiel's tensor, and the seat where that does not say whose it is."""
    game = state.get_game()
    named = game.get_type().provides_information_state_tensor or game.num_players() == 1
    flags = [] if named else [float(seat == other) for other in range(game.num_players())]
    return [*tensor(state, seat), *flags]


def test_seats_of_a_game_that_shows_all_of_them_the_same_are_told_apart() -> None:
    game = make("openspiel:connect_four", slots=2)
    game.start([0, 1], [0, 1])
    first = game.decisions().observation[0].copy()
    game.act([0, 1], [[3], [3]])
    second = game.decisions().observation[0]
    assert first[-2:].tolist() == [1, 0]
    assert second[-2:].tolist() == [0, 1]
    assert game.spec.facts.observation_version == 2


def draw_chance(state: Any, stream: Stream) -> None:
    """Inverse of the cumulative distribution, one number of the stream a node."""
    while state.is_chance_node():
        actions, chances = zip(*state.chance_outcomes(), strict=True)
        edges = np.cumsum(chances)
        state.apply_action(actions[int(np.searchsorted(edges, stream.uniform() * edges[-1]))])


def deciding(state: Any) -> list[int]:
    if state.is_simultaneous_node():
        return [seat for seat in range(state.num_players()) if state.legal_actions(seat)]
    return [state.current_player()]


def played(game: Game, matches: int) -> Iterator[tuple[Any, ...]]:
    """Play matches at random in all slots and yield every decision, then every end."""
    bot = make_bot(game.spec.name, "random", game.spec, 1)
    waiting = list(range(matches))
    live: dict[int, int] = {}
    while waiting or live:
        for slot in range(game.slots):
            if slot not in live and waiting:
                live[slot] = waiting.pop(0)
                game.start([slot], [live[slot]])
        decisions = game.decisions()
        rows = np.arange(len(decisions))
        actions = bot.act(decisions, rows)
        for row in rows:
            where = decisions.match[row], decisions.turn[row], decisions.seat[row]
            seen = decisions.observation[row].tobytes(), decisions.mask[row].tobytes()
            yield *map(int, where), *seen, int(actions[row, 0])
        for slot in game.act(rows, actions).tolist():
            yield live.pop(slot), -1, -1, game.returns[slot].tobytes(), b"", -1


@pytest.mark.parametrize("name", PLAYED)
def test_a_match_is_what_pyspiel_plays_under_the_same_chance_and_moves(name: str) -> None:
    game = make(f"openspiel:{name}", seed=SEED)
    bot = make_bot(game.spec.name, "random", game.spec, 2)
    for match in range(6):
        chance = Stream.keyed(SEED, match, 0, "chance")
        state = pyspiel.load_game(name).new_initial_state()
        draw_chance(state, chance)
        game.start([0], [match])
        earned = np.zeros(game.spec.seats)
        while not state.is_terminal():
            decisions = game.decisions()
            assert decisions.seat.tolist() == deciding(state)
            for row, seat in enumerate(decisions.seat.tolist()):
                np.testing.assert_array_equal(
                    decisions.observation[row], np.float32(seen_by(state, seat))
                )
                legal = np.flatnonzero(decisions.mask[row]).tolist()
                assert legal == sorted(state.legal_actions(seat))
            rows = np.arange(len(decisions))
            actions = bot.act(decisions, rows)
            earned -= game.reward[0]
            earned[decisions.seat] += game.reward[0, decisions.seat]
            ended = game.act(rows, actions)
            earned += game.reward[0]
            if state.is_simultaneous_node():
                state.apply_actions(actions[:, 0].tolist())
            else:
                state.apply_action(int(actions[0, 0]))
            draw_chance(state, chance)
        assert ended.tolist() == [0]
        assert not game.cut_off.any()
        np.testing.assert_array_equal(game.returns[0], np.float32(state.returns()))
        np.testing.assert_allclose(earned, state.returns(), atol=1e-4)


@pytest.mark.parametrize("name", [*PLAYED, "negotiation"])
def test_one_slot_and_five_play_the_same_matches(name: str) -> None:
    one = sorted(played(make(f"openspiel:{name}", slots=1, seed=SEED), 12))
    five = sorted(played(make(f"openspiel:{name}", slots=5, seed=SEED), 12))
    assert one == five
    assert len(one) > 12


def test_cards_are_dealt_evenly() -> None:
    game = make("openspiel:kuhn_poker", slots=600, seed=3)
    game.start(range(600), range(600))
    both = game.decisions(), game.privileged()
    own, other = both[1][:, 2:5].argmax(1), both[1][:, 13:16].argmax(1)
    counts = np.bincount(own * 3 + other, minlength=9)
    assert counts[[0, 4, 8]].tolist() == [0, 0, 0]
    # Six equally likely deals: 100 each, with a standard deviation of 9.
    assert all(60 < count < 140 for count in counts[[1, 2, 3, 5, 6, 7]])


def test_the_privileged_view_is_the_own_tensor_and_then_the_others() -> None:
    game = make("openspiel:leduc_poker", seed=SEED)
    game.start([0], [0])
    decisions, whole = game.decisions(), game.privileged()
    size = game.spec.observation.length
    np.testing.assert_array_equal(whole[0, :size], decisions.observation[0])
    assert whole[0, size : size + 2].tolist() == [0, 1]  # The other seat's own number.


def test_facts_come_from_the_type() -> None:
    poker = make("openspiel:leduc_poker").spec
    assert (poker.facts.hidden, poker.facts.chance, poker.facts.zero_sum) == (True, True, True)
    assert (poker.seats, poker.facts.longest, poker.facts.simultaneous) == (2, 8, False)
    assert poker.heads[0].labels == ("Fold", "Call", "Raise")
    assert poker.abilities.simulator == "open_spiel"
    rps = make("openspiel:matrix_rps").spec.facts
    assert (rps.simultaneous, rps.hidden, rps.chance, rps.longest) == (True, False, False, 1)
    assert not make("openspiel:matrix_pd").spec.facts.zero_sum
    assert make("openspiel:liars_dice(numdice=2)").spec.name == "openspiel:liars_dice(numdice=2)"
    assert make("openspiel:kuhn_poker(players=4)").spec.seats == 4


def test_rewards_on_the_way_lie_on_the_action_that_caused_them() -> None:
    game = make("openspiel:cliff_walking", seed=SEED)
    game.start([0], [0])
    state = pyspiel.load_game("cliff_walking").new_initial_state()
    bot = make_bot(game.spec.name, "random", game.spec, 0)
    total = 0.0
    while not state.is_terminal():
        action = bot.act(game.decisions(), np.arange(1))
        game.act([0], action)
        state.apply_action(int(action[0, 0]))
        assert game.reward[0, 0] == state.rewards()[0]
        total += float(game.reward[0, 0])
    assert total == game.returns[0, 0] == state.returns()[0]


def test_a_game_with_dice_of_its_own_takes_them_from_seed_and_match() -> None:
    def first_view(seed: int, match: int) -> bytes:
        game = make("openspiel:negotiation", seed=seed)
        game.start([0], [match])
        return game.decisions().observation.tobytes()

    assert first_view(1, 4) == first_view(1, 4)
    assert len({first_view(seed, match) for seed in (1, 2) for match in range(4)}) > 4


def test_redrawing_changes_what_the_seat_cannot_see_and_nothing_else() -> None:
    game = make("openspiel:leduc_poker", seed=SEED)
    game.start([0], [0])
    before = game.decisions().observation.copy()
    stream = Stream.keyed(0, 0, 0, "resample")
    others = set()
    for _ in range(30):
        game.resample_hidden(0, 0, stream)
        np.testing.assert_array_equal(game.decisions().observation, before)
        others.add(game.privileged()[0, game.spec.observation.length :].tobytes())
    assert len(others) == 5  # Six cards in the pack, one of them in the own hand.


def test_a_game_that_openspiel_cannot_redraw_says_so_and_fails_its_check() -> None:
    game = make("openspiel:liars_dice")
    game.start([0], [0])
    with pytest.raises(GameError, match="openspiel:liars_dice does not say how to redraw"):
        game.resample_hidden(0, 0, Stream.keyed(0, 0, 0, "resample"))
    with pytest.raises(GameCheckError, match="hidden"):
        check_game("openspiel:liars_dice", matches=2, effort=200)


@pytest.mark.parametrize("name", ["tic_tac_toe", "leduc_poker", "goofspiel(num_cards=4)", "catch"])
def test_the_checker_accepts_what_can_be_played(name: str) -> None:
    check_game(f"openspiel:{name}", matches=6, effort=600)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("coin_game", "neither an information-state tensor nor an observation tensor"),
        ("mfg_crowd_modelling", "mean-field"),
        ("crossword", "actions are structures"),
        ("kuhn_pokr", "did you mean 'kuhn_poker'"),
        ("liars_dice(dices=2)", "Unknown parameter 'dices'"),
        ("misere", "cannot load 'misere'"),
        ("negotiation(rng_seed=3)", "leave it out of the name"),
    ],
)
def test_what_cannot_be_played_is_refused_by_name(name: str, reason: str) -> None:
    with pytest.raises(GameError, match=reason) as refusal:
        make(f"openspiel:{name}")
    assert name.partition("(")[0] in str(refusal.value)


@pytest.mark.slow
def test_every_game_of_openspiel_is_played_or_refused_with_a_sentence() -> None:
    refused, ended = {}, 0
    # Talking needs a language model, and does not know its number of actions beforehand.
    for name in set(pyspiel.registered_names()) - {"chat_game"}:
        try:
            game = make(f"openspiel:{name}", seed=1)
        except GameError as error:
            refused[name] = str(error)
            continue
        assert list(played(game, 1))
        assert not game.cut_off.any()
        ended += 1
    assert all(name in reason for name, reason in refused.items())
    assert ended > 80
