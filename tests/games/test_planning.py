"""Players plan on copies of a position as their seat knows it, and learn nothing hidden by it."""

import numpy as np
import pytest
from sound_games import Duel, Signals

from lanista.games import registry
from lanista.games.contract import GameError
from lanista.games.planning import Planner
from lanista.games.random_bot import RandomBot
from lanista.games.streams import Stream

HIDING = ["kuhn", "leduc", "beastybar", "liars_dice", "phantom_ttt", "card_rps"]


def positions(name, matches=6, turns=4):
    """Give games of two slots: two true positions that look the same to the seat to move."""
    for match in range(matches):
        game = registry.make(name, slots=2, seed=3)
        bot = registry.make_bot(name, "random", game.spec, 7)
        game.start([0], [match])
        for _ in range(match % turns):
            decisions = game.decisions()
            if len(game.act([0], bot.act(decisions, np.array([0])))):
                break
        if not len(decisions := game.decisions()):
            continue
        seat = int(decisions.seat[0])
        game.load([1], game.save([0]))
        game.resample_hidden(1, seat, Stream.keyed(9, match, seat, "resample", 0))
        yield game, seat


def redrawn(game, slot, count, key=0):
    """Return the full states of copies of a position, hidden part and all."""
    planner = Planner(game, count)
    decisions = game.decisions()
    planner.ask(decisions.slot, decisions.seat)
    planner.copies(decisions, slot, Stream.keyed(5, key, 0, "act", 0), count)
    spare = planner._spare
    spare.decisions()
    return spare.privileged().astype(float)


@pytest.mark.parametrize("name", HIDING)
def test_copies_do_not_depend_on_what_the_seat_cannot_see(name):
    count, differing = 3000, 0
    for game, _ in positions(name):
        game.decisions()
        true = game.privileged().copy()
        differing += bool((true[0] != true[1]).any())
        first, second = redrawn(game, 0, count), redrawn(game, 1, count, key=1)
        # Five standard deviations of the difference of two frequencies, at most.
        scale = np.maximum(1, first.max(0))
        assert (abs(first.mean(0) - second.mean(0)) / scale < 5 * np.sqrt(0.5 / count)).all()
    assert differing


@pytest.mark.parametrize("name", HIDING)
def test_a_planner_that_redraws_nothing_is_noticed(name, monkeypatch):
    monkeypatch.setattr(Planner, "_redraw", lambda *_: None)
    with pytest.raises(AssertionError):
        test_copies_do_not_depend_on_what_the_seat_cannot_see(name)


def test_in_leduc_the_card_to_come_is_redrawn_too():
    game = registry.make("leduc", slots=1, seed=3)
    game.start([0], [0])
    planner, decisions = Planner(game, 200), game.decisions()
    planner.ask(decisions.slot, decisions.seat)
    copies = planner.copies(decisions, 0, Stream.keyed(5, 0, 0, "act", 0))
    for _ in range(2):  # Both call.
        rows = copies.decisions()
        copies.act(np.arange(len(rows)), np.ones((len(rows), 1), np.int32))
    public = copies.decisions().observation[:, 8:14]
    assert (public.any(0)).sum() == 5  # All but the seat's own.


def test_copies_look_the_same_to_the_seat_and_have_ids_of_their_own():
    for game, seat in positions("beastybar", matches=3):
        planner, decisions = Planner(game), game.decisions()
        planner.ask(decisions.slot, decisions.seat)
        copies = planner.copies(decisions, 0, Stream.keyed(5, 0, 0, "act", 0), 8)
        rows = copies.decisions()
        assert len(copies) == 8
        assert (rows.seat == seat).all()
        assert (rows.observation == decisions.observation[0]).all()
        assert len({*rows.match.tolist(), *game.decisions().match.tolist()}) == 9


def test_the_match_that_is_planned_on_stays_as_it_is():
    game = registry.make("beastybar", slots=1, seed=3)
    game.start([0], [0])
    before = {name: array.copy() for name, array in game.save([0]).items()}
    planner, decisions = Planner(game), game.decisions()
    planner.ask(decisions.slot, decisions.seat)
    copies = planner.copies(decisions, 0, Stream.keyed(5, 0, 0, "act", 0), 8)
    assert np.isnan(copies.returns()).all()
    returns = copies.play_out(registry.make_bot("beastybar", "random", game.spec, 1))
    assert copies.over().all()
    assert (returns.sum(1) == 0).all()
    assert all((before[name] == array).all() for name, array in game.save([0]).items())
    game.act([0], [[int(np.flatnonzero(decisions.mask[0])[0])]])


def test_a_planner_answers_only_for_seats_that_are_asked():
    game = registry.make("arena", slots=1, seed=3)
    game.start([0], [0])
    planner, decisions = Planner(game), game.decisions()
    stream = Stream.keyed(5, 0, 0, "act", 0)
    with pytest.raises(GameError, match="Seat 0 of slot 0 is not asked"):
        planner.copies(decisions, 0, stream)
    planner.ask(decisions.slot[:1], decisions.seat[:1])
    assert len(planner.copies(decisions, 0, stream, 2)) == 2
    with pytest.raises(GameError, match="Seat 1 of slot 0 is not asked"):
        planner.copies(decisions, 1, stream)
    with pytest.raises(GameError, match="5000 copies were asked for; give a number from 1 to 1024"):
        planner.copies(decisions, 0, stream, 5000)
    first = [np.flatnonzero(decisions.mask[1][at]) for at in heads(game.spec)]
    game.act([1], [[int(legal[0]) for legal in first]])
    planner.ask(game.decisions().slot, game.decisions().seat)
    with pytest.raises(GameError, match="Another seat has answered in this turn already"):
        planner.copies(game.decisions(), 0, stream)


def heads(spec):
    ends = np.cumsum([head.size for head in spec.heads])
    return [slice(end - head.size, end) for end, head in zip(ends, spec.heads, strict=True)]


def test_a_game_whose_dice_a_copy_would_show_is_refused():
    with pytest.raises(GameError, match="has chance and hides nothing"):
        Planner(Signals(slots=1, seed=0))


def test_a_game_in_python_can_be_planned_in():
    game = Duel(slots=1, seed=3)
    game.start([0], [0])
    planner, decisions = Planner(game), game.decisions()
    planner.ask(decisions.slot, decisions.seat)
    copies = planner.copies(decisions, 0, Stream.keyed(5, 0, 0, "act", 0), 40)
    copies.decisions()
    other = copies._game.privileged()[:, 1]
    assert len(set(other.tolist())) == 5  # All cards but its own.
    assert not np.isnan(copies.play_out(RandomBot(game.spec, 1))).any()
