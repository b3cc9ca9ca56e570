"""One player against many: both seats on the same deals, intervals over deals, rows to replay."""

import json
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
import warm_python

from lanista.evaluation.evaluator import FIRST_MATCH, Evaluator, _values
from lanista.evaluation.gauntlet import (
    LAST_WORD,
    against,
    described,
    everybody,
    gauntlet_of,
    match_rows,
    play_gauntlet,
)
from lanista.evaluation.score import Estimate, t_quantile
from lanista.games import Facts, PythonBot, PythonGame, View, registry
from lanista.nets.policy import Policy
from lanista.rollout import Results, Table, join, play
from lanista.runs.settings import load_settings

BOTS = ("heuristic", "random", "noisy", "queue")


def table_of(game="beastybar", bots=BOTS, slots=32, **settings):
    made = registry.make(game, slots=slots, seed=3, **settings)
    return Table(made, tuple(registry.make_bot(game, bot, made.spec, 3) for bot in bots))


def met(deals=20, **how) -> Results:
    return join(list(play_gauntlet([table_of(**how)], deals)))


def test_every_opponent_is_met_on_the_same_deals_from_every_seat_equally():
    for seats in (2, 3, 4):
        schedule = everybody(seats, 3, 5, first_match=100, first_deal=7)
        assert len(schedule) == seats * 3 * 5
        assert sorted(schedule.match) == list(range(100, 100 + len(schedule)))
        for opponent in (1, 2, 3):
            rows = (schedule.seating == opponent).any(axis=1)
            assert set(schedule.seating[rows].ravel()) == {0, opponent}
            seat = (schedule.seating[rows] == 0).argmax(axis=1)
            pairs = Counter(zip(schedule.deal[rows].tolist(), seat.tolist(), strict=True))
            assert pairs == dict.fromkeys(((d, s) for d in range(7, 12) for s in range(seats)), 1)


def test_the_matches_against_one_opponent_have_its_digest_and_rows():
    results = met()
    for number in (1, 2, 3):
        part = against(results, number)
        assert part.digests == (results.digests[0], results.digests[number])
        mine = (results.schedule.seating == number).any(axis=1)
        assert part.schedule.match.tolist() == results.schedule.match[mine].tolist()
        assert part.returns.tolist() == results.returns[mine].tolist()
        assert part.decisions.tolist() == results.decisions[mine].tolist()


def test_players_who_cannot_meet_have_each_deal_for_themselves():
    for seats, opponents in ((1, 2), (3, 2)):
        schedule = everybody(seats, opponents, 4, first_match=9, first_deal=5, apart=True)
        assert schedule.match.tolist() == list(range(9, 9 + 2 * 4 * opponents))
        assert (schedule.seating == schedule.seating[:, :1]).all()
        for opponent in range(1, opponents + 1):
            rows = slice((opponent - 1) * 8, opponent * 8)
            assert schedule.seating[rows, 0].tolist() == [0, opponent] * 4
            assert schedule.deal[rows].tolist() == [5, 5, 6, 6, 7, 7, 8, 8]


class Guess(PythonGame):
    """One number is drawn; every seat names one, and all are paid what the mean is off by."""

    name = "guess"
    facts = Facts(2, 1, chance=True, simultaneous=True, paid_alike=True)
    observation = 1
    moves = 4

    def deal(self, rng):
        return rng.below(4)

    def view(self, state, seat):
        return View([float(state)], range(4))

    def apply(self, state, moves, rng):
        off = sum(abs(move - state) for move in moves.values()) / len(moves)
        return [-off] * len(moves)


class Alone(Guess):
    name = "alone"
    facts = Facts(1, 1, chance=True)


class Right(PythonBot):
    name = "right"

    def choose(self, observation, legal, stream):
        return int(observation[0])


@pytest.mark.parametrize("kind", [Guess, Alone])
def test_who_is_paid_more_on_a_deal_has_won_it(kind):
    made = kind(slots=8, seed=1)
    players = (Right(made.spec, 1), registry.make_bot("kuhn", "random", made.spec, 1))
    results = join(list(play_gauntlet([Table(made, players)], 200)))
    bout = against(results, 1)
    assert len(bout) == 200
    assert len(results) == 400
    assert (bout.returns[:, 0] == 0).all()
    mine = results.returns[results.schedule.seating[:, 0] == 1].mean(axis=1)
    assert bout.returns[:, 1].tolist() == mine.tolist()
    gauntlet = gauntlet_of(results, ("right", "random"))
    won, drawn = (mine < 0).mean(), (mine == 0).mean()
    assert gauntlet.scores["random"].value == pytest.approx(won + drawn / 2)
    assert gauntlet.first_seat is None


def test_in_a_game_paid_alike_the_better_of_two_that_play_alike_is_nobody():
    made = Guess(slots=8, seed=1)
    players = (Right(made.spec, 1), Right(made.spec, 2))
    results = join(list(play_gauntlet([Table(made, players)], 20)))
    assert gauntlet_of(results, ("one", "other")).scores["other"].value == 0.5


def test_a_match_that_was_broken_off_takes_its_deal_with_it():
    made = Alone(slots=8, seed=1)
    players = (Right(made.spec, 1), Right(made.spec, 2))
    results = join(list(play_gauntlet([Table(made, players)], 20)))
    results.cut_off[5] = True
    assert gauntlet_of(results, ("one", "other")).left_out == 1


def test_what_is_said_of_a_bout_is_what_its_matches_alone_say():
    results = met()
    found = gauntlet_of(results, BOTS)
    for number, bout in enumerate(found.bouts, start=1):
        rows = (results.schedule.seating == number).any(axis=1)
        mine = results.schedule.seating[rows] == 0
        place, points = results.place[rows], results.score[rows]
        won = (place[mine] < place[~mine]).sum()
        level = (place[mine] == place[~mine]).sum()
        standing = bout.standing
        assert (standing.wins, standing.draws) == (won, level)
        assert standing.losses == 40 - won - level == standing.matches - won - level
        assert standing.margin.value == pytest.approx((points[mine] - points[~mine]).mean())
        assert standing.win_rate.value == won / 40
        assert standing.win_rate.low < won / 40 < standing.win_rate.high
        assert bout.opponent == BOTS[number]
        assert bout.digest == results.digests[number]


def test_intervals_are_over_pairs_of_seats_on_a_deal_and_not_over_matches():
    results = met()
    rows = (results.schedule.seating == 1).any(axis=1)
    mine = results.schedule.seating[rows] == 0
    place = results.place[rows]
    score = np.where(place[mine] < place[~mine], 1.0, np.where(place[mine] == place[~mine], 0.5, 0))
    pairs = score.reshape(-1, 2).mean(1)  # A deal's two matches come one after the other.
    half = t_quantile(19) * pairs.std(ddof=1) / 20**0.5
    found = gauntlet_of(results, BOTS).bouts[0].standing
    assert found.score.n == 20
    assert found.score.value == pytest.approx(pairs.mean())
    assert found.score.low == pytest.approx(pairs.mean() - half)
    assert found.smallest_difference == pytest.approx(
        (1.959964 + 0.841621) * pairs.std(ddof=1) / 20**0.5, rel=1e-5
    )


def test_the_mean_is_over_opponents_deal_by_deal():
    results = met()
    found = gauntlet_of(results, BOTS)
    scores = [bout.standing.score.value for bout in found.bouts]
    assert found.mean.value == pytest.approx(np.mean(scores))
    assert found.mean.n == 20
    assert found.scores.keys() == set(BOTS[1:])


def test_a_player_that_always_wins_from_the_first_seat_alone_scores_half():
    results = met(deals=10)
    place = np.tile(np.array([[1, 2]], np.int32), (len(results), 1))
    found = gauntlet_of(replace(results, place=place), BOTS)
    assert found.first_seat.value == 1.0
    for bout in found.bouts:
        assert bout.standing.score.value == 0.5
        assert bout.first_seat.value == 1.0


def test_a_broken_match_takes_its_deal_out_of_its_own_bout_alone():
    results = met(deals=10)
    cut_off = results.cut_off.copy()
    cut_off[3] = True
    found = gauntlet_of(replace(results, cut_off=cut_off), BOTS)
    assert [bout.left_out for bout in found.bouts] == [2, 0, 0]
    assert [bout.standing.matches for bout in found.bouts] == [18, 20, 20]
    assert (found.matches, found.left_out) == (58, 2)


def test_with_nothing_decided_nothing_is_known():
    results = met(deals=4)
    found = gauntlet_of(replace(results, cut_off=np.ones(len(results), np.bool_)), BOTS)
    assert found.mean is None
    assert found.scores == {}
    assert described(found, table_of().game.spec, 3, "sampled")["lowest"] is None


def test_parts_are_whole_deals_against_everybody_and_change_nothing(monkeypatch):
    from lanista.evaluation import gauntlet

    whole = met(deals=30)
    monkeypatch.setattr(gauntlet, "FIRST_BLOCK", 12)
    parts = list(play_gauntlet([table_of()], 30))
    assert len(parts) > 2
    for part in parts:
        counts = Counter(part.schedule.seating.max(axis=1).tolist())
        assert len(set(counts.values())) == 1
        assert set(Counter(part.schedule.deal.tolist()).values()) == {6}
    assert sum(map(len, parts)) == len(whole)
    rows = {
        int(m): r for part in parts for m, r in zip(part.schedule.match, part.place, strict=True)
    }
    assert len(rows) == len(whole)
    # Streams depend on the match id, so only bots without chance play the same in other parts.
    assert set(np.concatenate([part.schedule.deal for part in parts])) == set(whole.schedule.deal)


def test_opponents_in_one_batch_play_as_they_do_alone():
    together = met()
    for number in (1, 2, 3):
        rows = (together.schedule.seating == number).any(axis=1)
        alone = play([table_of()], together.schedule.part(*_span(rows)))
        part = against(together, number)
        assert np.array_equal(part.place, alone.place)
        assert np.array_equal(part.score, alone.score)


def _span(rows):
    at = np.flatnonzero(rows)
    return int(at[0]), int(at[-1]) + 1


def test_three_seats_are_the_player_and_the_opponent_in_all_others():
    results = met(deals=6, game="arena", bots=("rusher", "random"), seats=3, duration=3.0)
    found = gauntlet_of(results, ("rusher", "random"))
    assert len(results) == 18
    assert found.bouts[0].standing.matches == 18 - found.left_out
    lineups, _ = match_rows(results, ("rusher", "random"), ["pool"], 3, table_of().game.spec, 1)
    assert sorted(row.names for row in lineups) == [
        ("random", "random", "rusher"),
        ("random", "rusher", "random"),
        ("rusher", "random", "random"),
    ]


def test_rows_name_who_played_each_match_and_why():
    results = met(deals=3)
    spec = table_of().game.spec
    lineups, matches = match_rows(results, BOTS, ["evaluation", "pool", "pool"], 3, spec, 7)
    by_number = {row.lineup: row for row in lineups}
    assert len(by_number) == len(lineups) == 6
    assert len({row.match for row in matches}) == len(matches) == 18
    for at, row in enumerate(matches):
        lineup, seating = by_number[row.lineup], results.schedule.seating[at]
        assert (row.update, lineup.update) == (7, 7)
        assert row.match == results.schedule.match[at]
        assert row.deal == results.schedule.deal[at]
        assert lineup.names == tuple(BOTS[who] for who in seating)
        assert lineup.digests == tuple(results.digests[who] for who in seating)
        assert lineup.reason == ("evaluation" if 1 in seating else "pool")
        assert (lineup.seed, lineup.rules_version) == (3, spec.facts.rules_version)
        assert lineup.observation_version == 1
        assert row.returns == tuple(results.returns[at].tolist())
        assert row.places == tuple(results.place[at].tolist())
        assert not row.cut_off


def evaluator(tmp_path, **evaluation):
    settings = load_settings(
        {
            "game": "kuhn",
            "network": {"width": 16, "layers": 1},
            "evaluation": {"every": 1, "exact": "never", "matches": 11, **evaluation},
        }
    )
    spec = registry.make("kuhn").spec
    torch.manual_seed(0)
    return Evaluator(settings, spec, tmp_path), Policy(spec, settings.network), spec


def test_every_evaluation_has_the_same_deals_and_ids_of_its_own(tmp_path):
    judge, policy, _ = evaluator(tmp_path, bots=["random"])
    first = judge.measure(policy, 1)
    second = judge.measure(policy, 2, first.next_match)
    assert [row.deal for row in first.matches] == [row.deal for row in second.matches]
    assert min(row.deal for row in first.matches) == FIRST_MATCH
    ids = [row.match for row in (*first.matches, *second.matches)]
    assert ids == list(range(FIRST_MATCH, FIRST_MATCH + 24))
    assert second.next_match == FIRST_MATCH + 24
    assert not {row.lineup for row in first.lineups} & {row.lineup for row in second.lineups}


@pytest.mark.parametrize(("matches", "most", "slots"), [(11, 64, 12), (11, 5, 5), (40, 16, 16)])
def test_a_game_has_a_slot_for_each_match_up_to_what_it_allows(
    matches, most, slots, tmp_path, monkeypatch
):
    make, made = registry.make, []

    def watched(name, slots, **more):
        made.append(slots)
        return make(name, slots=slots, **more)

    judge, policy, _ = evaluator(tmp_path, bots=["random"], matches=matches)
    monkeypatch.setattr(registry, "make", watched)
    monkeypatch.setattr(registry, "slots_for", lambda game, usual: min(most, usual))
    assert len(judge.measure(policy, 1).matches) == 2 * -(-matches // 2)
    assert made == [slots]


def test_read_only_rows_are_judged_without_a_warning():
    """PyTorch warns of them once in a process, so another one is asked."""
    code = """
import warnings
warnings.simplefilter("error")
import numpy as np
from lanista.evaluation.evaluator import probabilities
from lanista.games import registry
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
game = registry.make("kuhn", slots=2)
game.start([0, 1], [0, 1])
rows = game.decisions()
arrays = rows.observation.copy(), rows.mask.copy()
for array in arrays:
    array.flags.writeable = False
print(probabilities(Policy(game.spec, Network()))(*arrays).sum(1).round(5).tolist())
"""
    done = warm_python.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [1.0, 1.0]


class Elsewhere(Policy):
    """A policy on a device that this machine has not got."""

    def cpu(self):
        return self.to_empty(device="cpu")


def test_a_policy_that_learns_elsewhere_is_judged_by_a_copy_and_stays_where_it_is(tmp_path):
    judge, _, spec = evaluator(tmp_path, bots=["random"])
    policy = Elsewhere(spec, judge.settings.network).to("meta")
    mine = judge._mine("main", policy, "0" * 64, 1)
    assert next(mine.actor.policy.parameters()).device.type == "cpu"
    assert {each.device.type for each in policy.parameters()} == {"meta"}


def test_bounds_that_nobody_knows_are_no_numbers():
    known = _values(Estimate(0.5, 0.25, 0.75, 4), "x")
    assert known == {"score/x": 0.5, "score_low/x": 0.25, "score_high/x": 0.75}
    unknown = _values(Estimate(0.5, None, None, 1), "x")
    assert unknown["score/x"] == 0.5
    assert np.isnan([unknown["score_low/x"], unknown["score_high/x"]]).all()


def test_a_pool_is_met_beside_the_settings_bots_and_its_lowest_score_is_said(tmp_path):
    judge, policy, spec = evaluator(tmp_path, bots=["random"])
    random = registry.make_bot("kuhn", "random", spec, 0)
    pool = [("one", random), ("two", random), ("random", random)]
    found = judge.measure(policy, 1, pool=pool)
    assert {row.reason for row in found.lineups} == {"evaluation", "pool"}
    assert len(found.matches) == 3 * 12  # Who is among both is met once.
    scores = {name: found.values[f"score/{name}"] for name in ("one", "two", "random")}
    assert found.values["pool/lowest"] == min(scores.values())
    assert found.values["pool/lowest_low"] <= min(
        found.values[f"score_low/{name}"] for name in scores
    )
    assert found.score == scores["random"]
    assert found.gauntlet.bouts[0].opponent == "random"


class Folding(PythonBot):
    """Never bets: every strong hand of it is thrown away."""

    name = "folding"

    def choose(self, observation, legal, stream):
        return [choices[0] for choices in legal]


def test_the_score_is_over_the_settings_players_and_the_reason_says_who_is_which(tmp_path):
    judge, policy, spec = evaluator(tmp_path, bots=["random"])
    folding = Folding(spec, 0)
    found = judge.measure(policy, 1, pool=[("old", folding), ("random", folding)])
    assert found.values["score/old"] != found.values["score/random"]
    assert found.score == found.values["score/random"]
    # Who is among both is the settings' own.
    bot = registry.make_bot("kuhn", "random", spec, 0).digest
    reasons = {}
    for row in found.lineups:
        digests = dict(zip(row.names, row.digests, strict=True))
        reasons |= {
            (name, digest): row.reason for name, digest in digests.items() if name != "main"
        }
    assert reasons == {("random", bot): "evaluation", ("old", folding.digest): "pool"}
    assert found.values["pool/lowest"] == min(found.scores[n].value for n in ("old", "random"))


@pytest.mark.parametrize("greedy", [False, True])
def test_a_policy_is_judged_in_the_manner_of_the_settings(greedy, tmp_path):
    judge, policy, _ = evaluator(tmp_path, bots=["random"], greedy=greedy)
    found = judge.measure(policy, 1)
    for row in found.lineups:
        digests = dict(zip(row.names, row.digests, strict=True))
        assert digests["main"] == found.digest + (":greedy" if greedy else "")


def test_a_duel_s_gain_is_over_deals_in_both_seats(tmp_path):
    judge, _, spec = evaluator(tmp_path)
    random, folding = registry.make_bot("kuhn", "random", spec, 0), Folding(spec, 0)
    found = judge.duel(random, folding, ("random", "folding"), 200, FIRST_MATCH, 1)
    returns = {}
    for match in found.matches:
        names = next(row.names for row in found.lineups if row.lineup == match.lineup)
        returns.setdefault(match.deal, []).append(match.returns[names.index("random")])
    units = [sum(each) / 2 for each in returns.values()]
    assert {len(each) for each in returns.values()} == {2}
    assert found.gain.n == len(units) == 100
    assert found.gain.value == pytest.approx(sum(units) / 100)
    spread = 1.984 * float(np.std(units, ddof=1)) / 10
    assert found.gain.high - found.gain.value == pytest.approx(spread, rel=1e-3)


def test_with_a_pool_alone_the_score_is_over_the_pool(tmp_path):
    judge, policy, spec = evaluator(tmp_path)
    pool = [(name, registry.make_bot("kuhn", "random", spec, 0)) for name in ("one", "two")]
    found = judge.measure(policy, 1, pool=pool)
    assert found.score == pytest.approx((found.values["score/one"] + found.values["score/two"]) / 2)
    assert judge.measure(policy, 1).score is None


def test_evaluation_leaves_torchs_threads_as_they_were(tmp_path):
    judge, policy, _ = evaluator(tmp_path, bots=["random"])
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        judge.measure(policy, 1)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_an_evaluation_that_stands_alone_is_on_deals_that_no_run_is_judged_by():
    own = met(deals=4).schedule
    assert own.deal.min() == own.match.min() == LAST_WORD
    # A run would have to play more matches than it ever could to come there.
    assert LAST_WORD - FIRST_MATCH > 10**12
