"""What moves are worth: by search where all is seen, by play-outs where something is hidden."""

from __future__ import annotations

from pathlib import Path

import pytest
from insight_takes import RECURRENT, SMALL, policy_of, take_of

from lanista.data.records import Header, Record
from lanista.errors import LanistaError
from lanista.games import registry
from lanista.insight.films import Take
from lanista.insight.judgements import judge, reason_against
from lanista.insight.opinions import Adviser
from lanista.insight.opponents import Person
from lanista.insight.person_match import PersonMatch

TTT = "openspiel:tic_tac_toe"


def take_after(moves: list[int], name: str = TTT) -> Take:
    """Return a match in which seat 0 makes these moves and seat 1 the lowest legal ones."""
    game = registry.make(name)

    class Lowest:
        name, digest = "lowest", "0" * 64

        def act(self, decisions, rows):  # type: ignore[no-untyped-def]
            return decisions.mask[rows].argmax(1)[:, None].astype("int32")

    match = PersonMatch(game, (Person(), Lowest()))
    for move in moves:
        match.play([move])
    assert match.over
    results = match.results()
    actions = results.actions
    assert actions is not None
    header = Header.of(game.spec, game.seed, match.players)
    record = Record(0, 0, {}, (0, 1), actions, tuple(results.returns[0].tolist()),
                    tuple(results.place[0].tolist()))  # fmt: skip
    return Take(header, record)


def test_a_search_sees_that_a_win_was_missed(tmp_path: Path) -> None:
    # Seat 0 has 3 and 4, so that 5 would win; it plays 6, and seat 1 wins with 0, 1, 2.
    take = take_after([4, 3, 6])
    adviser = Adviser(policy_of(tmp_path, TTT), registry.spec_of(TTT))
    judgement = judge(take, 4, 0, adviser)
    assert judgement.method.startswith("search")
    best = judgement.moves[0]
    assert best.words.startswith("x(1,2)")
    assert best.value == 1
    played = next(move for move in judgement.moves if move.played)
    assert judgement.cost == pytest.approx(best.value - played.value)
    assert played.value == -1


def test_play_outs_know_that_folding_the_best_card_costs(tmp_path: Path) -> None:
    """Leduc's seat that faces a raise: folding is worth exactly what lies in the pot of its own."""
    path = policy_of(tmp_path, "leduc", SMALL)
    adviser = Adviser(path, registry.spec_of("leduc"))
    for seed in range(40):
        take = take_of("leduc", seed)
        actions = take.record.actions[:, 0].tolist()
        if 0 in actions:
            at = actions.index(0)
            break
    judgement = judge(take, at, at_seat(take, at), adviser)
    assert "play-outs" in judgement.method
    fold = next(move for move in judgement.moves if move.words == "fold")
    assert fold.played
    assert fold.error == 0
    assert fold.value == take.record.returns[at_seat(take, at)]


def at_seat(take: Take, at: int) -> int:
    """Return who decided at a step of a match of turns."""
    from lanista.games.scenes import everybody
    from lanista.insight.films import film

    shown = film(take, everybody(registry.spec_of(take.header.game)))
    return shown.decisions[at].seat


def test_the_same_position_is_judged_the_same_twice(tmp_path: Path) -> None:
    adviser = Adviser(policy_of(tmp_path, "kuhn"), registry.spec_of("kuhn"))
    take = take_of("kuhn")
    assert judge(take, 0, 0, adviser) == judge(take, 0, 0, adviser)


def test_what_cannot_be_judged_is_said(tmp_path: Path) -> None:
    spec = registry.spec_of(TTT)
    assert reason_against(spec, None) == "no policy is named"
    recurrent = Adviser(policy_of(tmp_path, TTT, RECURRENT), spec)
    assert "remembers" in reason_against(spec, recurrent)
    with pytest.raises(LanistaError, match="remembers earlier positions"):
        judge(take_of(TTT), 0, 0, recurrent)
    arena = registry.spec_of("arena")
    assert reason_against(arena, Adviser("champion:arena", arena)) == "a move has 7 parts"


def test_a_step_or_seat_that_has_no_decision_is_refused(tmp_path: Path) -> None:
    adviser = Adviser(policy_of(tmp_path, TTT), registry.spec_of(TTT))
    with pytest.raises(LanistaError, match="no decision"):
        judge(take_of(TTT), 0, 1, adviser)
    with pytest.raises(LanistaError, match="no decision"):
        judge(take_of(TTT), 999, 0, adviser)
