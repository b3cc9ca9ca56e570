"""Showdown as a game: seats, heads, deals, refusals, deaths, saves, and the contract's check."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from showdown_matches import fingerprint, finish, player, step
from showdown_play import MAIN_FORMATS, needs_simulator
from showdown_teams import ODD_TEAMS

from lanista.games import GameError, check_game, make
from lanista.games.check import CHECKS
from lanista.games.check.trial import Trial
from lanista.games.contract import Saved
from lanista.games.showdown import game as module
from lanista.games.showdown.actions.orders import PREVIEWS
from lanista.games.showdown.game import Showdown
from lanista.games.showdown.teams.pool import EXAMPLES, Pool, Team
from lanista.games.streams import Stream

pytestmark = needs_simulator
VGC = MAIN_FORMATS[0]
SINGLES = "gen9randombattle"
Make = Callable[..., Showdown]


@pytest.fixture(scope="module")
def kept() -> Iterator[dict[str, Showdown]]:
    games: dict[str, Showdown] = {}
    yield games
    for game in games.values():
        game.close()


@pytest.fixture
def new(kept: dict[str, Showdown]) -> Make:
    """Make games, or empty one that an earlier test has used: a worker takes a second to start."""

    def make_one(slots: int = 1, seed: int = 1, **settings: object) -> Showdown:
        key = repr((slots, seed, settings))
        if key not in kept:
            kept[key] = Showdown(slots, seed, **settings)  # type: ignore[arg-type]
        game = kept[key]
        game._leave(game._matches)
        game._matches = [None] * slots
        return game

    return make_one


@pytest.fixture
def fresh() -> Iterator[Make]:
    """Make games that nobody else uses."""
    made: list[Showdown] = []

    def make_one(slots: int = 1, seed: int = 1, **settings: object) -> Showdown:
        made.append(Showdown(slots, seed, **settings))  # type: ignore[arg-type]
        return made[-1]

    yield make_one
    for game in made:
        game.close()


def through_a_file(saved: Saved) -> Saved:
    file = io.BytesIO()
    np.savez(file, **saved)  # type: ignore[arg-type]
    file.seek(0)
    with np.load(file, allow_pickle=False) as loaded:
        return {name: loaded[name] for name in loaded.files}


def with_odd_teams(game: Showdown) -> Showdown:
    packed = [team for team, _ in game.battles.validate(VGC, list(ODD_TEAMS.values()))]
    game.dealer.pool = Pool(VGC, tuple(Team(str(at), team) for at, team in enumerate(packed)))
    game.dealer.mode = "cross"
    return game


def test_the_head_that_is_not_asked_has_choice_0_alone(new: Make) -> None:
    game = new(4)
    assert [(head.name, head.size) for head in game.spec.heads] == [("preview", 90), ("turn", 2025)]
    game.start([0, 1], [0, 1])
    bots = [player(game, "random")] * 2
    first, _, _ = step(game, bots)
    previews = first.mask[:, :90]
    assert previews.sum(1).tolist() == [len(PREVIEWS)] * 4
    assert np.flatnonzero(first.mask[0, 90:]).tolist() == [0]
    for _ in range(4):
        later, actions, _ = step(game, bots)
        assert (later.mask[:, :90].sum(1) == 1).all()
        assert later.mask[:, 0].all()
        assert not actions[:, 0].any()


def test_a_format_without_a_choice_at_preview_has_one_head(new: Make) -> None:
    game = new(2, format=SINGLES)
    assert [(head.name, head.size) for head in game.spec.heads] == [("turn", 14)]
    game.start([0], [3])
    finish(game, [player(game, "random")] * 2)
    assert game.done[0].all()
    assert sorted(game.returns[0].tolist()) in ([-1, 1], [0, 0])


def test_choices_are_labelled_in_the_simulators_words(new: Make) -> None:
    preview, turn = new(4).spec.heads
    assert preview.labels[0] == "team 1234"
    # Slot 0: its second move at the opponent's first place; slot 1: party position 3 comes in.
    assert turn.labels[45 * (5 * 1 + 1 + 2) + 40] == "move 2 1, switch 3"
    assert new(2, format=SINGLES).spec.heads[0].labels[5] == "move 2 terastallize"


def test_a_seat_that_waits_is_not_asked_and_turns_count_up_by_one(new: Make) -> None:
    game = new(4)
    game.start(range(4), range(4))
    alone = 0
    turns: dict[int, int] = dict.fromkeys(range(4), -1)

    def look(decisions: object) -> None:
        nonlocal alone
        for slot in set(decisions.slot.tolist()):  # type: ignore[attr-defined]
            rows = decisions.slot == slot  # type: ignore[attr-defined]
            alone += rows.sum() == 1
            turn = int(decisions.turn[rows][0])  # type: ignore[attr-defined]
            assert turn == turns[slot] + 1
            turns[slot] = turn

    finish(game, [player(game, "random")] * 2, look)
    assert alone > 0
    assert not game.cut_off.any()


def test_the_score_counts_who_is_left_and_the_loser_has_nobody(new: Make) -> None:
    game = new(4)
    game.start(range(4), range(4, 8))
    finish(game, [player(game, "random")] * 2)
    for returns, score, place in zip(game.returns, game.score, game.place, strict=True):
        winner = int(np.argmax(returns))
        assert score[1 - winner] == 0
        assert 1 <= score[winner] <= 4
        assert place.tolist() == [1 + (winner == 1), 1 + (winner == 0)]


def test_shaping_follows_the_material_and_sums_to_zero_over_the_seats(new: Make) -> None:
    game = new(4, mode="cross")
    game.start([0], [5])
    bots = [player(game, "random")] * 2
    paid = 0.0
    while not game.done[0, 0]:
        before = game._tables.material[0].copy()
        decisions, _, over = step(game, bots)
        if len(decisions) == 2 and not len(over):
            gain = game._tables.material[0] - before
            assert game.shaping[0, 0] == pytest.approx(gain[0] - gain[1], abs=1e-6)
            assert game.shaping[0].sum() == pytest.approx(0, abs=1e-6)
            paid += abs(float(game.shaping[0, 0]))
    assert paid > 0


def test_a_deal_fixes_dice_and_teams_whoever_sits_where(new: Make) -> None:
    game = new(4, mode="cross")
    game.start([0, 1, 2], [7, 8, 9], {"deal": [4, 4, 5]})
    first, second, other = (game.match_in(slot).setup for slot in range(3))
    assert first.seed == second.seed != other.seed
    assert first.teams == second.teams
    assert first.teams is not None
    assert first.teams[0] != first.teams[1]


def test_mirrored_seats_have_the_same_team(new: Make) -> None:
    brought, given = new(4), new(2, format=SINGLES)
    brought.start(range(4), range(4))
    given.start([0], [0])
    for slot in range(4):
        teams = brought.match_in(slot).setup.teams
        assert teams is not None
        assert teams[0] == teams[1]
    first, second = given.match_in(0).requests
    assert [mon["details"] for mon in first["side"]["pokemon"]] == [
        mon["details"] for mon in second["side"]["pokemon"]
    ]


def test_random_teams_are_mirrored_in_half_of_a_mixed_games_matches(new: Make) -> None:
    game = new(24, format=SINGLES, mode="mixed")
    game.start(range(24), range(24))
    seeds = [game.match_in(slot).setup.team_seeds for slot in range(24)]
    assert 4 < sum(pair is not None and pair[0] == pair[1] for pair in seeds) < 20


def test_a_seat_that_nobody_watches_has_no_observation_and_all_else_is_the_same(new: Make) -> None:
    watched, unwatched = new(4, observation=2), new(6, observation=2)
    unwatched.overlook([0, 1, 2, 3], np.array([[False, True]] * 4))
    bots = [player(watched, "heuristic"), player(watched, "random")]
    for game in (watched, unwatched):
        game.start(range(4), range(4))
    for _ in range(6):
        one, two = watched.decisions(), unwatched.decisions()
        seen = one.seat == 0
        assert (two.observation[seen] == one.observation[seen]).all()
        assert one.observation[~seen].any(axis=1).all()
        assert not two.observation[~seen].any()
        assert (two.mask == one.mask).all()
        for game, decisions in ((watched, one), (unwatched, two)):
            rows = [np.flatnonzero(decisions.seat == seat) for seat in (0, 1)]
            answers = [
                bot.act(decisions, mine) for bot, mine in zip(bots, rows, strict=True) if len(mine)
            ]
            game.act(np.concatenate([mine for mine in rows if len(mine)]), np.concatenate(answers))
    unwatched.overlook([0, 1, 2, 3], np.zeros((4, 2), bool))


def test_a_seat_that_is_asked_late_knows_what_one_that_is_asked_each_turn_knows(new: Make) -> None:
    each_turn, late = new(4, observation=2), new(7, observation=2)
    late.overlook(range(4), np.ones((4, 2), bool))
    bots = [player(each_turn, "random")] * 2
    for game in (each_turn, late):
        game.start(range(4), range(4))
        for _ in range(5):
            step(game, bots)
    late.overlook(range(4), np.zeros((4, 2), bool))
    for slot in range(4):
        match, same = late.match_in(slot), each_turn.match_in(slot)
        assert match.taken_in == [0, 0]
        for seat in (0, 1):
            rows = np.ones((2, each_turn.spec.observation.length), np.int16)
            match.tracker(seat).encode(rows[0])
            same.tracker(seat).encode(rows[1])
            assert (rows[0] == rows[1]).all()
            assert rows[0].any()
            assert match.taken_in[seat] == len(match.transcripts[seat].views) > 1


def test_slots_workers_and_neighbours_change_no_match(new: Make) -> None:
    alone, many = new(4), new(5, workers=2)
    bots = [player(alone, "random")] * 2
    many.start(range(5), range(5))
    finish(many, bots)
    found = fingerprint(many)
    for match in range(2):
        alone.start([0], [match])
        finish(alone, bots)
        assert [part[0] for part in fingerprint(alone)] == [part[match] for part in found]
    assert alone.spec == many.spec


def test_a_refused_choice_is_a_turn_in_which_that_seat_alone_is_asked(
    fresh: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = with_odd_teams(fresh(24, seed=2))
    refused: list[tuple[object, int, int]] = []
    take = module.Match.take

    def watched(match, update):  # type: ignore[no-untyped-def]
        take(match, update)
        seats = [seat for seat in (0, 1) if update.views[seat].refused]
        if len(seats) == 1:
            refused.append((match, seats[0], match.turn))

    monkeypatch.setattr(module.Match, "take", watched)
    game.start(range(24), range(24))
    bots = [player(game, "random")] * 2
    seen = 0
    while len(decisions := game.decisions()):
        for match, seat, turn in refused:
            rows = [
                row
                for row, slot in enumerate(decisions.slot.tolist())
                if game._matches[slot] is match
            ]
            assert decisions.seat[rows].tolist() == [seat]
            assert decisions.turn[rows].tolist() == [turn]
            seen += 1
        refused.clear()
        step(game, bots)
    assert seen > 0
    assert not game.cut_off.any()


def test_a_worker_that_dies_costs_its_matches_their_result_and_the_run_goes_on(new: Make) -> None:
    game = new(5, workers=2)
    bots = [player(game, "random")] * 2
    game.start(range(4), range(4))
    step(game, bots)
    os.kill(game.battles._workers[1].process.pid, signal.SIGKILL)
    _, _, over = step(game, bots)
    assert {1, 3} <= set(over.tolist())
    assert game.cut_off[:4].all(1).tolist() == [False, True, False, True]
    assert not game.returns[[1, 3]].any()
    assert set(game.decisions().slot.tolist()) <= {0, 2}
    game.start([1, 3], [5, 6])
    finish(game, bots)
    assert game.done[:4].all()
    assert not game.cut_off[:4].any()


def test_a_worker_that_dies_while_matches_begin_is_replaced_and_the_others_are_told(
    new: Make,
) -> None:
    game = new(4)
    bots = [player(game, "random")] * 2
    game.start([0, 1], [0, 1])
    os.kill(game.battles._workers[0].process.pid, signal.SIGKILL)
    game.start([2], [2])
    assert set(game.decisions().slot.tolist()) == {2}
    _, _, over = step(game, bots)
    assert over.tolist() == [0, 1]
    assert game.cut_off[:3].all(1).tolist() == [True, True, False]


def test_a_match_that_never_ends_is_cut_off(new: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 2)
    game = new(4)
    game.start([0], [0])
    bots = [player(game, "random")] * 2
    assert not len(step(game, bots)[2])
    assert step(game, bots)[2].tolist() == [0]
    assert game.cut_off[0].all()
    assert not len(game.decisions())
    assert not game.battles._running


def test_a_saved_match_goes_on_the_same_elsewhere(new: Make) -> None:
    game, other = new(4), new(5, workers=2)
    bots = [player(game, "random")] * 2
    game.start([0, 1], [3, 4])
    for _ in range(5):
        step(game, bots)
    decisions = game.decisions()
    row = np.flatnonzero(decisions.slot == 1)[:1]
    game.act(row, bots[0].act(decisions, row))
    saved = through_a_file(game.save([0, 1]))
    other.start([0, 1], [8, 9])
    other.load([2, 0], saved)
    now, then = game.decisions(), other.decisions()
    for slot, elsewhere in ((0, 2), (1, 0)):
        mine, its = now.slot == slot, then.slot == elsewhere
        assert (now.observation[mine] == then.observation[its]).all()
        assert (now.mask[mine] == then.mask[its]).all()
        assert now.turn[mine].tolist() == then.turn[its].tolist()
    finish(game, bots)
    finish(other, bots)
    assert game.returns[[0, 1]].tolist() == other.returns[[2, 0]].tolist()
    assert game.match_in(1).history == other.match_in(0).history


def test_a_save_that_cannot_be_is_refused_and_the_match_goes_on(new: Make) -> None:
    game = new(4)
    bots = [player(game, "random")] * 2
    game.start([0], [3])
    for _ in range(4):
        step(game, bots)
    saved, before = game.save([0]), game.decisions()
    wrong = {name: array.copy() for name, array in saved.items()}
    wrong["history"][-1, 2] = 2024
    short = {**saved, "turns": saved["turns"] + 1}
    for bad in (wrong, short, {**saved, "deals": -saved["deals"]}):
        with pytest.raises(GameError, match="not saved matches"):
            game.load([0], bad)
    after = game.decisions()
    assert (after.observation == before.observation).all()
    assert after.turn.tolist() == before.turn.tolist()
    finish(game, bots)
    assert not game.cut_off[0].any()


@pytest.mark.parametrize("format", [VGC, SINGLES])
def test_what_is_redrawn_is_hidden_from_the_seat_and_shown_to_the_other(
    new: Make, format: str
) -> None:
    game = new(2, format=format)
    bots = [player(game, "random")] * 2
    game.start([0, 1], [3, 3])
    for _ in range(3):
        step(game, bots)
    while len(before := game.decisions()) < 4:
        step(game, bots)
    game.resample_hidden(1, 0, Stream.keyed(1, 1, 0, "resample"))
    after = game.decisions()
    assert (after.observation[2] == before.observation[2]).all()
    assert (after.observation[3] != before.observation[3]).any()
    assert (after.mask == before.mask).all()
    with pytest.raises(GameError, match="cannot be saved"):
        game.save([1])
    finish(game, bots)
    assert not game.cut_off.any()


def test_an_illegal_answer_is_refused_by_name(new: Make) -> None:
    game = new(4)
    game.start([0], [0])
    game.decisions()
    with pytest.raises(GameError, match="Choice 1 of head 'turn' is not legal for seat 0"):
        game.act([0], [[5, 1]])
    with pytest.raises(GameError, match="Choice 90 of head 'preview'"):
        game.act([0], [[90, 0]])
    game.act([0], [[5, 0]])
    with pytest.raises(GameError, match="answered already"):
        game.act([0], [[5, 0]])


def test_an_illegal_team_is_named_and_left_out(
    fresh: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good = (EXAMPLES / "goodstuff.txt").read_text()
    (tmp_path / "good.txt").write_text(good)
    (tmp_path / "bad.txt").write_text(good.replace("Fake Out", "Spore", 1))
    with caplog.at_level(logging.WARNING, "lanista.games"):
        game = fresh(1, team_pool_path=str(tmp_path))
    assert game.dealer.pool is not None
    assert [team.name for team in game.dealer.pool.teams] == ["good"]
    assert "bad.txt is left out" in caplog.text
    digest = game.spec.abilities.simulator_version.split()[-1]
    assert digest == hashlib.sha256(game.dealer.pool.teams[0].packed.encode()).hexdigest()[:12]


def test_without_the_simulator_one_sentence_says_what_to_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LANISTA_SHOWDOWN", str(tmp_path))
    with pytest.raises(GameError, match="run: lanista showdown install"):
        make("showdown")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"format": "gen9ou"}, "choose from"),
        ({"mode": "open"}, "choose from"),
        ({"workers": 0}, "workers is 0"),
        ({"format": SINGLES, "team_pool_path": "teams"}, "Nobody brings a team"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(GameError, match=sentence):
        make("showdown", **settings)


def test_closing_ends_the_workers(fresh: Make) -> None:
    game = fresh(2, workers=2)
    workers = [worker.process for worker in game.battles._workers]
    assert len(workers) == 2
    game.close()
    assert all(worker.poll() is not None for worker in workers)


QUICK = ("description", "plays", "heads", "order", "illegal", "rewards", "places", "length")


def test_the_game_obeys_what_is_quickly_checked_of_the_contract() -> None:
    trial = Trial(Showdown, seed=0, matches=1, effort=60, cut_off_allowed=False)
    for name in QUICK:
        assert CHECKS[name](trial)


@pytest.mark.slow
@pytest.mark.parametrize("format", MAIN_FORMATS)
def test_the_game_obeys_the_contract_in_every_format(format: str) -> None:
    check_game("showdown", matches=8, effort=4_000, settings={"format": format, "mode": "cross"})


@pytest.mark.slow
def test_ten_thousand_matches_leave_nothing_behind(fresh: Make) -> None:
    game = fresh(32, mode="cross")
    bot = player(game, "random")
    game.start(range(32), range(32))
    memory, ended = [], 0
    while ended < 10_000:
        decisions = game.decisions()
        rows = np.arange(len(decisions))
        over = game.act(rows, bot.act(decisions, rows))
        for _ in over:
            ended += 1
            if ended % 100 == 0:
                memory.append(game.battles.usage()[1])
        if len(over):
            game.start(over, range(ended + 32, ended + 32 + len(over)))
    assert len(game._running) == len(game.battles._running) == 32
    # Node collects when it likes: the least of a stretch is what it needs.
    assert min(memory[-25:]) < 1.25 * min(memory[10:35])
