"""A time budget becomes numbers once; the numbers follow from what was measured."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from pipeline_recipes import TINY, story_of

from lanista.errors import LanistaError
from lanista.pipeline import budget
from lanista.pipeline.budget import digest_of, plan, read_budget, too_short, within
from lanista.pipeline.recipe import load_recipe, recipe_values, with_overrides
from lanista.pipeline.rehearsal import Clock, rehearse
from lanista.pipeline.resolve_recipe import settled
from lanista.runs.settings import load_settings

RATES = {
    "record/matches": 100.0,
    "imitate/matches": 64.0,
    "imitate/decisions_a_match": 10.0,
    "imitate/gathered": 10_000.0,
    "imitate/learned": 5_000.0,
    "imitate/a_match_of_each": 0.01,
    "rl/iterations": 2.0,
    "rl/decisions": 100.0,
    "rl/judgement_seconds": 3.0,
    "evaluate/matches": 50.0,
}
SHARES = {"record": 1, "imitate": 2, "rl": 6, "evaluate": 1}


def story(**changes):
    values = {**TINY, "stages": {**TINY["stages"], "evaluate": {}}, "shares": SHARES, **changes}
    return settled(load_recipe(values))


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("1.5h", 5400), (" 5m ", 300)]
)
def test_a_time_is_read(text, seconds):
    assert read_budget(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "m", "-5m", "0s", "2d", "1h30m", "nan"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(LanistaError, match="90s, 30m or 2h"):
        read_budget(text)


def test_a_budget_that_measuring_used_up_says_so_and_what_to_give():
    measured = RATES | {"rehearsal/seconds": 6.0}
    sentence = too_short(plan(story(), 1.0, measured).budget)
    assert sentence.startswith("A budget of 1 s cannot be kept: measuring")
    assert "took 6 s" in sentence
    assert sentence.endswith("; give 60 s or more.")
    assert too_short(plan(story(), 12.0, measured).budget) == ""
    assert too_short(story().budget) == ""


def test_a_timed_run_says_what_its_minutes_cannot_do(monkeypatch):
    monkeypatch.setattr(budget, "rehearse", lambda *_: RATES)
    monkeypatch.setattr(
        budget, "time", SimpleNamespace(perf_counter=iter([0.0, 6.0, 6.0, 12.0]).__next__)
    )
    sentences = []
    settings = load_settings({"game": "kuhn", "iterations": 8})
    budget.run_within(settings, 1.0, sentences.append)
    assert [sentence[:14] for sentence in sentences] == ["A budget of 1 "]
    budget.run_within(settings, 600.0, sentences.append)
    assert len(sentences) == 1


def test_each_stage_gets_its_share_of_the_time():
    planned = plan(story(), 1000.0, RATES)
    # 100 s at 100 matches a second, and one line-up.
    assert planned.stages.record.matches == 10_000
    # 200 s less 10 matches of each opponent at 0.01 s; 100,000 decisions are gathered in 10 s; then
    # so many epochs of 20 s.
    assert planned.stages.imitate.imitation.epochs == int((200 - 0.1 - 10) / 20)
    # 600 s less two judgements, as in the recipe, and the clone's, at two iterations a second.
    rl = planned.run_settings("rl")
    assert rl.iterations == (600 - 3 * 3) * 2
    assert rl.evaluation.every == rl.iterations / 2
    assert planned.stages.evaluate.games == 100 * 50  # Leduc has one bot.


@pytest.mark.parametrize(
    ("judgement_seconds", "matches"),
    [
        (3.0, 400),
        (40.0, 400),  # A fifth of 600 s for three judgements.
        (80.0, 200),
        (10_000.0, 20),
    ],
)
def test_dear_evaluations_have_fewer_matches_so_that_a_run_has_most_of_its_time_to_learn(
    judgement_seconds, matches
):
    values = with_overrides(TINY, ["stages.rl.evaluation.matches=400"])
    dear = {**RATES, "rl/judgement_seconds": judgement_seconds}
    stages = {**values["stages"], "evaluate": {}}
    rl = plan(story(stages=stages), 1000.0, dear).run_settings("rl")
    assert rl.evaluation.matches == matches
    judging = 3 * judgement_seconds * matches / 400
    assert rl.iterations == int(max(300, 600 - judging) * 2)


TAUGHT = {**RATES, "imitate/labelled_a_match": 50.0, "imitate/labelled": 1000.0}


@pytest.mark.parametrize("recorded", [True, False])
def test_rounds_of_dagger_are_as_long_as_there_is_time_for(recorded):
    """Their decisions are played once, and gone over in their own round and each later one."""
    dagger = {"teacher": "random", "rounds": 3, "epochs": 2, "matches": 10}
    stages = {**TINY["stages"], "evaluate": {}}
    stages["imitate"] = {**stages["imitate"], "imitation": {"epochs": 4, "dagger": dagger}}
    if not recorded:
        del stages["record"]
    planned = plan(story(stages=stages), 1000.0, TAUGHT)
    seconds = 1000.0 * 2 / (10 if recorded else 9) - 0.1

    def takes(matches):
        played = matches * 50.0
        first = planned.stages.record.matches * 10.0 if recorded else played
        time = first / 10_000 if recorded else played / 1000
        total = first
        time += 4 * total / 5000
        for _ in range(3):
            total += played
            time += played / 1000 + 2 * total / 5000
        return time

    chosen = planned.stages.imitate.imitation
    assert chosen.epochs == 4
    assert takes(chosen.dagger.matches) <= seconds < takes(chosen.dagger.matches + 2)
    assert chosen.dagger.matches > 10


@pytest.mark.parametrize(("rehearsed", "left"), [(0.0, 1000.0), (300.0, 700.0), (900.0, 500.0)])
def test_a_rehearsal_is_part_of_the_time_but_leaves_half_of_it(rehearsed, left):
    found = plan(story(), 1000.0, {**RATES, "rehearsal/seconds": rehearsed})
    assert found.stages == plan(story(), left, RATES).stages
    assert found.budget.seconds == 1000.0


def test_gathering_what_is_learned_from_takes_of_its_time():
    planned = plan(story(), 1000.0, {**RATES, "imitate/gathered": 1000.0})
    # 100,000 decisions are gathered in 100 of 199.9 seconds; the rest is epochs of 20.
    assert planned.stages.imitate.imitation.epochs == int((200 - 0.1 - 100) / 20)


@pytest.mark.parametrize(("every", "judged"), [(4, 5.0), (0, 0.0)])
def test_an_iteration_of_several_updates_is_timed_from_its_first_to_its_last(every, judged):
    times = [0.0, 1.0, 4.0, 5.0, 8.0, 9.0, 12.0, 13.0, 21.0]  # Four seconds each; then a judgement.
    clock = Clock(marks={"rl": [("at", time, 0) for time in times]}, decisions={"rl": 400})
    settings = load_settings(
        {"game": "kuhn", "iterations": 4, "learner_updates": 2, "replay": {"size": 9, "batch": 2},
         "evaluation": {"every": every}}
    )  # fmt: skip
    small = SimpleNamespace(run_settings=lambda name: settings)
    assert clock._run("rl", small) == {
        "rl/iterations": 0.25, "rl/decisions": 100.0, "rl/judgement_seconds": judged,
    }  # fmt: skip


def test_more_line_ups_share_the_matches():
    values = with_overrides(TINY, ["stages.record.seats=['random,random','random,random']"])
    planned = plan(story(stages={**values["stages"], "evaluate": {}}), 1000.0, RATES)
    assert planned.stages.record.matches == 5_000


def test_no_more_is_recorded_than_can_be_gone_over_a_few_times():
    slow = {**RATES, "imitate/learned": 500.0}
    planned = plan(story(), 1000.0, slow)
    epochs = 3  # The recipe asks for no more.
    assert planned.stages.imitate.imitation.epochs in (epochs, epochs + 1)
    decisions = planned.stages.record.matches * 10
    assert decisions / 10_000 + epochs * decisions / 500 <= 200
    assert planned.stages.record.matches < 10_000


def test_the_smallest_budget_still_does_something_in_every_stage():
    planned = plan(story(), 0.001, RATES)
    assert planned.stages.record.matches == 4  # Two deals, one of which imitation holds out.
    assert planned.stages.imitate.imitation.epochs == 1
    assert planned.run_settings("rl").iterations == 1
    assert planned.stages.evaluate.games == 2


def test_the_rates_and_the_recipe_it_was_for_are_written():
    before = story()
    planned = plan(before, 1000.0, RATES)
    assert planned.budget.seconds == 1000
    assert planned.budget.rates == RATES
    assert planned.budget.of == digest_of(before)
    assert load_recipe(recipe_values(planned)) == planned
    # Where the networks run does not change the recipe; what is learned does.
    assert digest_of(replace(before, device="cuda")) == digest_of(before)
    assert digest_of(replace(before, seed=4)) != digest_of(before)


def test_twice_the_time_is_about_twice_the_work():
    one, two = plan(story(), 1000.0, RATES), plan(story(), 2000.0, RATES)
    assert two.stages.record.matches == 2 * one.stages.record.matches
    assert two.run_settings("rl").iterations == pytest.approx(
        2 * one.run_settings("rl").iterations, rel=0.02
    )


def test_a_rehearsal_measures_every_stage():
    evaluate = {"opponents": ["all", "imitation", "rl"]}
    rates = rehearse(story_of({**TINY, "stages": {**TINY["stages"], "evaluate": evaluate}}), 0.05)
    assert set(rates) == set(RATES)
    assert all(value > 0 for name, value in rates.items() if name != "rl/judgement_seconds")
    # Two to eight decisions a match of Leduc; a tenth of the deals is held out.
    assert 1 < rates["imitate/decisions_a_match"] < 8


@pytest.mark.parametrize("recorded", [True, False])
def test_a_rehearsal_measures_how_fast_a_teacher_labels(recorded):
    dagger = {"teacher": "random", "rounds": 2, "matches": 8}
    stages = {"imitate": {**TINY["stages"]["imitate"], "imitation": {"dagger": dagger}}}
    if recorded:
        stages["record"] = TINY["stages"]["record"]
    rates = rehearse(story_of({**TINY, "stages": stages}), 0.0)
    assert rates["imitate/labelled"] > 0
    assert rates["imitate/learned"] > 0
    # One seat of two, and a tenth of the deals is held out.
    assert 0.5 < rates["imitate/labelled_a_match"] < 4


def test_the_clock_counts_what_was_done_between_its_marks(monkeypatch):
    now = iter([0.0, 2.0, 3.0, 4.0, 6.0, 8.0, 13.0, 14.0])
    monkeypatch.setattr(budget.time, "perf_counter", lambda: next(now))
    clock = Clock()
    clock.stage_started("rl")
    clock.work_started(5, "updates")
    for update in range(5):
        clock.work_at(update)
        clock.updated(update, {"decisions": 30.0 * update})
    clock.stage_finished("rl")
    small = with_overrides(
        {**TINY, "stages": {"rl": TINY["stages"]["rl"]}},
        ["stages.rl.rollouts.opponents=[self]", "stages.rl.iterations=4",
         "stages.rl.evaluation.every=4"],
    )  # fmt: skip
    found = clock.rates(story_of(small))
    # Iterations of 1, 2, 2 and 5 seconds, the last of them with a judgement.
    assert found == {"rl/iterations": 0.5, "rl/decisions": 30.0, "rl/judgement_seconds": 3.0}
    assert clock.spent == {"rl": 14.0}


def test_a_budget_of_some_seconds_is_kept_within_reason():
    planned = within(story_of(TINY), 5.0)
    assert planned.stages.record.matches > 40
    assert planned.run_settings("rl").iterations > 6


def test_exploiters_grow_with_the_run_and_are_paid_for():
    league = {
        "iterations": 100,
        "league": {"exploiter_check_interval": 40, "exploiter_train_steps": 5000},
    }
    values = {"game": "leduc", "stages": {"league": league}}
    rates = {"league/iterations": 2.0, "league/decisions": 100.0, "league/judgement_seconds": 0.0}
    planned = plan(story_of(values), 1000.0, rates).run_settings("league")
    # Exploiters after 40 and 80 iterations: 10,000 decisions beside the 10,000 of the run, so half
    # of the time is theirs.
    assert planned.iterations == 1000
    assert planned.league.exploiter_check_interval == 400
    assert planned.league.exploiter_train_steps == 50_000
