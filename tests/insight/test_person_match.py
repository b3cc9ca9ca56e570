"""A person's match: who is asked when, moves taken back, and what is recorded of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from insight_takes import RECURRENT, policy_of

from lanista.data import read_replays, resimulate
from lanista.errors import LanistaError
from lanista.evaluation.lineup import Lineup, lineup
from lanista.games import registry
from lanista.insight.opponents import HUMAN, Handicapped, seat_everybody
from lanista.insight.person_match import PersonMatch

GAMES = (
    "beastybar", "kuhn", "leduc", "liars_dice", "phantom_ttt", "openspiel:tic_tac_toe",
    "openspiel:oshi_zumo(horizon=6)", "openspiel:pig(winscore=20)",
)  # fmt: skip


def seated(game: str, *words: str, seed: int = 5, handicap: float = 0.0) -> PersonMatch:
    made = lineup(game, words, (), seats=len(words), seed=seed)
    return person_match(made, handicap)


def person_match(made: Lineup, handicap: float = 0.0) -> PersonMatch:
    game = registry.make(made.game, seed=made.seed, **made.settings)
    return PersonMatch(game, seat_everybody(made, handicap), made.options)


def play_first(match: PersonMatch, moves: int = 1000) -> None:
    """Make the first legal move again and again."""
    while moves and not match.over:
        match.play([choices[0].choice for choices in match.legal()])
        moves -= 1


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("seat", [0, 1])
def test_every_game_of_turns_is_played_to_its_end_and_played_again_as_recorded(
    name: str, seat: int, tmp_path: Path
) -> None:
    words = ["random", "random"]
    words[seat] = HUMAN
    match = seated(name, *words)
    play_first(match)
    replays = read_replays(match.record(tmp_path))
    resimulate(replays, game=name)
    assert replays.header.source == "human"
    assert [player.name for player in replays.header.players] == words
    assert sum(number == match.seat for number, _ in match.log) >= len(match.own_turns)


def test_four_sit_at_beasty_bar() -> None:
    match = seated("beastybar", "random", HUMAN, "heuristic", "random")
    play_first(match)
    assert match.over
    assert sorted(match.game.place[0].tolist())[0] == 1


@pytest.mark.parametrize("name", ["beastybar", "leduc", "openspiel:connect_four"])
def test_a_move_taken_back_and_made_again_leads_to_the_same_position(name: str) -> None:
    straight, turned = seated(name, HUMAN, "random"), seated(name, HUMAN, "random")
    play_first(straight, 2)
    play_first(turned, 1)
    last = [choices[-1].choice for choices in turned.legal()]
    turned.play(last)
    turned.undo()
    assert len(turned.own_turns) == 1
    play_first(turned, 1)
    assert turned.scene() == straight.scene()
    assert turned.log == straight.log
    assert [turn.tolist() for turn in turned.turns] == [turn.tolist() for turn in straight.turns]


def test_after_all_moves_are_taken_back_the_match_is_as_at_its_beginning() -> None:
    match = seated("leduc", "random", HUMAN)
    scene, log = match.scene(), list(match.log)
    play_first(match, 2)
    while match.own_turns:
        match.undo()
    assert (match.scene(), match.log) == (scene, log)
    with pytest.raises(LanistaError, match="no move to take back"):
        match.undo()


def test_a_recurrent_opponent_plays_after_a_move_taken_back_as_it_would_have(
    tmp_path: Path,
) -> None:
    name = "openspiel:connect_four"
    path = str(policy_of(tmp_path, name, RECURRENT))
    straight, turned = seated(name, HUMAN, path), seated(name, HUMAN, path)
    play_first(straight, 4)
    play_first(turned, 3)
    turned.play([choices[-1].choice for choices in turned.legal()])
    turned.undo()
    play_first(turned, 1)
    assert [turn.tolist() for turn in turned.turns] == [turn.tolist() for turn in straight.turns]


def test_an_illegal_move_is_refused_and_changes_nothing() -> None:
    match = seated("kuhn", HUMAN, "random")
    before = match.scene()
    for action in ([7], [-1], [0, 0], [], ["bet"], [True]):
        with pytest.raises(LanistaError):
            match.play(action)  # type: ignore[arg-type]
    assert match.scene() == before


def test_moves_that_the_person_does_not_see_are_not_in_the_log() -> None:
    match = seated("phantom_ttt", HUMAN, "random")
    play_first(match)
    assert {words is None for seat, words in match.log if seat == 1} == {True}
    assert all(words for seat, words in match.log if seat == 0)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 1.0])
def test_a_handicap_replaces_its_share_of_moves_by_any_legal_one_alike(share: float) -> None:
    spec = registry.spec_of("openspiel:tic_tac_toe")

    class First:
        name, digest = "first", "1" * 64

        def act(self, decisions, rows):  # type: ignore[no-untyped-def]
            return decisions.mask[rows].argmax(1)[:, None].astype(np.int32)

    matches = 2000
    weak = Handicapped(First(), share, spec, 3)
    assert weak.digest.endswith(f":random={share:g}")
    game = registry.make("openspiel:tic_tac_toe", slots=matches)
    game.start(np.arange(matches), np.arange(matches))
    decisions = game.decisions()
    actions = weak.act(decisions, np.arange(matches))[:, 0]
    # A move of the player's own is the first; of those replaced a ninth falls on each square.
    counts, expected = np.bincount(actions, minlength=9)[1:], matches * share / 9
    assert (np.abs(counts - expected) <= 4.5 * np.sqrt(expected)).all(), counts
    assert np.array_equal(weak.act(decisions, np.arange(matches))[:, 0], actions)


def test_a_hint_is_given_for_the_persons_own_view() -> None:
    from lanista.insight.opinions import Adviser

    match = seated("beastybar", HUMAN, "random")
    adviser = Adviser("champion:beastybar", match.spec)
    opinion = match.hint(adviser)
    legal = {choice.words for choice in match.legal()[0]}
    assert {one.words for one in opinion.choices} <= legal
    assert sum(one.probability for one in opinion.choices) == pytest.approx(1, abs=1e-4)
