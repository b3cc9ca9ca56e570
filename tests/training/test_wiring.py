"""What a run hands to its parts: temperature, scores, weights of meetings, outcomes."""

import hashlib
from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from pipeline_runs import KUHN, SMALL, Listener, metrics, settings_of, untrained

from lanista.evaluation.promotion import Champion
from lanista.games import registry
from lanista.league.population import Population
from lanista.league.roster import LivePlayer, outcomes
from lanista.learn.learner import Learner
from lanista.pipeline.stage_play import _judge
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor
from lanista.runs.checkpoints import Checkpoints
from lanista.runs.database import RunDatabase
from lanista.runs.folder import folder_of
from lanista.runs.resolve import resolve
from lanista.runs.schema import EventRow, LineupRow, MatchRow, MetricRow, TrainingGamesRow
from lanista.training.learner_loop import LearnerLoop, lone_learner
from lanista.training.loop import train
from lanista.training.observers import Observer

PLAIN = {"game": "kuhn", "iterations": 4, "network": SMALL, "rollouts": {"matches": 32}}


@pytest.mark.parametrize("rollouts", [{}, {"workers": 2, "launcher": "serial"}])
def test_every_iteration_acts_at_the_temperature_of_its_schedule(rollouts, tmp_path, monkeypatch):
    seen, play = [], Collector.whole_matches

    def watched(collector, matches):
        seen.append((collector.actor.temperature, collector.update))
        return play(collector, matches)

    monkeypatch.setattr(Collector, "whole_matches", watched)
    schedule = {"kind": "linear", "start": 2.0, "end": 0.5}
    settings = settings_of(
        PLAIN, learning={"temperature": schedule}, rollouts={"matches": 32, **rollouts}
    )
    train(settings, tmp_path / "p.pt")
    workers = rollouts.get("workers", 1)
    # From the start at no update to the end after all four.
    wanted = [2.0 - 1.5 * at / 4 for at in range(4) for _ in range(workers)]
    assert [temperature for temperature, _ in seen] == pytest.approx(wanted)
    assert [update for _, update in seen] == [at for at in range(4) for _ in range(workers)]


@pytest.mark.parametrize("rollouts", [{}, {"workers": 2, "launcher": "serial"}])
def test_shaping_fades_by_its_schedule_wherever_matches_are_played(rollouts, tmp_path, monkeypatch):
    seen, play = [], Collector.whole_matches

    def watched(collector, matches):
        seen.append(collector.tape.shaping_scale)
        return play(collector, matches)

    monkeypatch.setattr(Collector, "whole_matches", watched)
    schedule = {"kind": "linear", "start": 0.8, "end": 0.0}
    settings = settings_of(PLAIN, rollouts={"matches": 32, "shaping_scale": schedule, **rollouts})
    train(settings, tmp_path / "p.pt")
    workers = rollouts.get("workers", 1)
    scales = [0.8 * (1 - at / 4) for at in range(4)]
    assert seen == pytest.approx([scale for scale in scales for _ in range(workers)])
    logged = [row[2] for row in metrics(tmp_path / "p.pt") if row[1] == "shaping_scale"]
    assert logged == pytest.approx(scales)


def test_a_learner_is_told_the_score_that_stands_in_the_log(tmp_path, monkeypatch):
    told, evaluated = [], Learner.evaluated
    monkeypatch.setattr(
        Learner, "evaluated", lambda self, score: (told.append(score), evaluated(self, score))[1]
    )
    bots = {"every": 1, "bots": ["random"], "matches": 20}
    for exact in ("never", "auto"):
        told.clear()
        output = tmp_path / f"{exact}.pt"
        train(settings_of(PLAIN, evaluation={**bots, "exact": exact}), output)
        logged = {(update, name): value for update, name, value in metrics(output)}
        assert told == [logged[update, "evaluation/score"] for update in range(1, 5)]
        if (1, "exact/nash_conv") in logged:
            assert told == [-logged[update, "exact/nash_conv"] for update in range(1, 5)]
        else:
            assert told == [logged[update, "score/random"] for update in range(1, 5)]


def test_a_plateau_lowers_the_rate_when_the_score_does_not_rise(tmp_path, monkeypatch):
    scores = iter([0.5, 0.6, 0.4, 0.3, 0.2, 0.1])
    evaluated = Learner.evaluated
    monkeypatch.setattr(Learner, "evaluated", lambda self, _: evaluated(self, next(scores)))
    learning = {"lr": {"kind": "on-plateau", "start": 0.01, "patience": 1, "factor": 0.5}}
    settings = settings_of(
        PLAIN, iterations=6, learning=learning,
        evaluation={"every": 1, "bots": ["random"], "matches": 4, "exact": "never"},
    )  # fmt: skip
    train(settings, tmp_path / "p.pt")
    rates = [value for _, name, value in metrics(tmp_path / "p.pt") if name == "lr"]
    assert rates[:3] == pytest.approx([0.01] * 3)
    assert rates[-1] < 0.01


def test_without_a_league_opponents_are_met_by_the_weights_of_the_settings(tmp_path):
    file = str(untrained(PLAIN, tmp_path / "old.pt"))
    opponents = ["self=2", "random=5", f"{file}=9"]
    settings, files = resolve(settings_of(PLAIN, rollouts={"matches": 32, "opponents": opponents}))
    folder = tmp_path / "run"
    (folder / "policies").mkdir(parents=True)
    for name, data in files.items():
        (folder / "policies" / name).write_bytes(data)
    with closing(Population(settings, folder, LearnerLoop)) as population:
        population.enter(population.first_rows())
        weights = {name: row.weight for name, row in population.roster.items()}
        assert weights == {"main": 2.0, "random": 5.0, file: 9.0}
        rows = population.matchmake()
        assert {row.opponent: row.weight for row in rows} == {
            "main": 0.125, "random": 0.3125, file: 0.5625,
        }  # fmt: skip
        population.meet(rows)
        seating = population.main.collector.seating(np.arange(4000))
        met = np.bincount(seating.sum(1), minlength=3) / 4000
        numbers = {chair[0]: at for at, chair in enumerate(population.main.chairs, start=1)}
        assert met[0] == pytest.approx(0.125, abs=0.04)
        assert met[numbers["random"]] == pytest.approx(0.3125, abs=0.04)


def lineup(number, names):
    return LineupRow(1, number, "evaluation", tuple(names), (), 0, 1, 1)


def match(number, of, places, cut_off=False):
    return MatchRow(1, number, of, number, (), tuple(places), cut_off)


def test_outcomes_are_the_matches_of_each_line_up_that_came_to_an_end():
    games = [TrainingGamesRow(1, "main", ("main", "b"), "hard", (), 9, ((4, 3, 2),), (), 0, 8, 0)]
    lineups = [lineup(7, ["a", "b", "c"]), lineup(3, ["c", "a", "b"]), lineup(5, ["b", "a", "c"])]
    matches = [
        match(7, 7, [1, 2, 3]), match(8, 3, [1, 1, 3]), match(9, 7, [3, 2, 1]),
        match(10, 7, [1, 2, 3], cut_off=True), match(11, 5, [1, 2, 3], cut_off=True),
        match(12, 7, [1, 2, 2]),
    ]  # fmt: skip
    found = [(one.names, one.pairs) for one in outcomes(games, lineups, matches)]
    assert found == [
        (("main", "b"), ((4, 3, 2),)),
        (("a", "b", "c"), ((2, 0, 1), (2, 0, 1), (1, 1, 1))),
        (("c", "a", "b"), ((0, 1, 0), (1, 0, 0), (1, 0, 0))),
    ]


def test_a_live_player_plays_with_the_weights_that_its_learner_has_now(tmp_path):
    with closing(lone_learner(settings_of(PLAIN), tmp_path)) as training:
        player = LivePlayer(training)
        game = registry.make("kuhn", slots=64, seed=1)
        game.start(np.arange(64), np.arange(64))
        decisions, rows = game.decisions(), np.arange(64)
        for start in (training.learner.policy, None, None):
            if start is None:
                training.reset(None, 1)
            with torch.no_grad():
                torch.nn.init.normal_(training.learner.policy.head.weight, std=3.0)
            wanted = Actor(training.learner.policy, training.settings.seed)
            answer = player.act(decisions, rows)
            assert np.array_equal(answer, wanted.choose(decisions, rows).action)
            assert len(np.unique(answer)) == 2


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, False),
        ({"learning": {"epochs": 2}}, True),
        ({"learning": {"minibatches": 2}}, True),
        ({"learning": {"policy": "vtrace", "epochs": 2}}, False),
        ({"learning": {"eta": 0.2}}, True),
        ({"network": {"kind": "lstm", **SMALL}}, True),
        ({"replay": {"size": 50, "batch": 5}}, True),
        ({"rollouts": {"matches": 8, "lag": 1, "workers": 2, "launcher": "threads"}}, True),
    ],
)
def test_values_are_kept_while_acting_where_a_later_step_needs_them(changes, wanted, tmp_path):
    with closing(lone_learner(settings_of(PLAIN, **changes), tmp_path)) as training:
        assert training._values_while_acting is wanted


def test_a_replay_is_what_its_settings_say(tmp_path):
    asked = {"size": 50, "batch": 5, "minimum": 9, "sampling": "prioritised", "reuse": 3,
             "staleness": 7, "priority_exponent": 0.25}  # fmt: skip
    settings = settings_of(PLAIN, seed=11, learning={"gamma": 0.5}, replay=asked)
    with closing(lone_learner(settings, tmp_path)) as training:
        replay = training.replay
        assert (replay.gamma, replay.exponent, replay.sampling) == (0.5, 0.25, "prioritised")
        assert (replay.minimum, replay.reuse, replay.staleness) == (9, 3, 7)


def test_an_update_of_a_run_with_a_replay_learns_from_what_was_drawn(tmp_path, monkeypatch):
    sizes, ages, learn = [], [], Learner.update

    def watched(learner, unrolls, **alone):
        sizes.append(len(unrolls))
        ages.append(learner.update_count - unrolls.update)
        return learn(learner, unrolls, **alone)

    monkeypatch.setattr(Learner, "update", watched)
    settings = settings_of(
        PLAIN, learner_updates=3, replay={"size": 500, "batch": 7, "minimum": 100}
    )
    train(settings, tmp_path / "p.pt", observers=[Listener()])
    assert sizes == [7] * 12
    logged = {(update, name): value for update, name, value in metrics(tmp_path / "p.pt")}
    for update, age in enumerate(ages, start=1):
        assert logged[update, "lag/mean"] == pytest.approx(age.mean())
        assert logged[update, "lag/max"] == age.max()
    assert max(age.max() for age in ages) > 3


def test_the_last_iteration_is_judged_and_saved_whatever_the_intervals(tmp_path):
    settings = settings_of(
        PLAIN, iterations=5, evaluation={"every": 2, "bots": ["random"], "matches": 4},
        checkpoints={"save_every": 3, "keep_last": 9},
    )  # fmt: skip
    train(settings, tmp_path / "p.pt")
    judged = [update for update, name, _ in metrics(tmp_path / "p.pt") if name == "score/random"]
    assert judged == [2, 4, 5]
    assert Checkpoints(folder_of(tmp_path / "p.pt") / "checkpoints").numbers() == [0, 3, 5]


def test_from_an_earlier_checkpoint_every_newer_one_is_set_aside(tmp_path):
    settings = settings_of(PLAIN, checkpoints={"save_every": 1, "keep_last": 9})
    output, listener = tmp_path / "p.pt", Listener()
    train(settings, output)
    kept = Checkpoints(folder_of(output) / "checkpoints")
    train(settings, output, checkpoint=kept.path(1), stop=lambda: True, observers=[listener])
    aside = [line for line in listener.sentences if "was set aside" in line]
    assert [line.split()[1] for line in aside] == ["000002", "000003", "000004"]
    assert kept.numbers()[:2] == [0, 1]


def test_the_champion_is_told_of_every_exploiter_s_test(tmp_path, monkeypatch):
    told, tested = [], Champion.tested

    def watched(champion, name, body):
        told.append(name)
        return tested(champion, name, body)

    monkeypatch.setattr(Champion, "tested", watched)
    league = {"exploiter_check_interval": 1, "exploiter_train_steps": 300, "exploiter_games": 8}
    settings = settings_of(
        PLAIN, iterations=3, league=league, rollouts={"matches": 32, "opponents": ["self"]}
    )
    train(settings, tmp_path / "p.pt")
    assert told == ["exploiter/000001", "exploiter/000002"]


def test_what_is_unknown_is_null_and_the_sum_is_that_of_all_rows_over_many_flushes(tmp_path):
    path = tmp_path / "run.db"
    one = RunDatabase(path)
    one.forget_after(10)
    for update in (1, 2, 3):
        one.add(update, {"known": 0.5, "unknown": float("nan")})
        one.add_rows([EventRow(update, "kind", "who", {})])
        one.flush()
    assert [row.value for row in one.rows(MetricRow)] == [0.5, None] * 3
    total = one.sum
    one.close()
    again = RunDatabase(path)
    again.forget_after(10)
    assert again.sum == total != 0
    again.forget_after(2)
    assert again.sum != total
    assert len(again.rows(EventRow)) == 2
    again.close()


@pytest.mark.parametrize(
    ("greedy", "temperature", "ending"),
    [(False, None, ""), (True, None, ":greedy"), (False, 0.5, ":temperature=0.5")],
)
def test_the_last_word_on_a_policy_is_in_the_manner_asked_for(
    greedy, temperature, ending, tmp_path
):
    file = untrained(PLAIN, tmp_path / "p.safetensors")
    asked = SimpleNamespace(
        greedy=greedy, temperature=temperature, games=8, threads=1, opponents=("random",)
    )
    story = SimpleNamespace(
        game="kuhn", seed=2, game_settings={}, stages=SimpleNamespace(evaluate=asked)
    )
    found = _judge(story, asked, str(file), Observer(), lambda: False)
    assert found["digest"] == hashlib.sha256(file.read_bytes()).hexdigest() + ending
    assert found["manner"] == ("greedy" if greedy else f"temperature {temperature or 1:g}")


def test_every_learner_of_a_run_has_match_ids_of_its_own(tmp_path):
    settings = settings_of(KUHN)
    firsts = []
    for number in range(3):
        training = LearnerLoop(
            settings, tmp_path, lambda *_: None, name=f"l{number}", number=number
        )
        with closing(training):
            firsts.append(training.collector.next_match)
    assert firsts == [0, 1 << 34, 2 << 34]
