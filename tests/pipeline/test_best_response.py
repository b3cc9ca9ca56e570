"""Learned best responses: what they find, what they are measured on, and that kills change nothing.

The long forms hold the learned instrument against the exact one, and plant a weakness.
"""

import hashlib
import json
import shutil
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pipeline_runs import KUHN, KilledError, Killer, Listener, untrained

from lanista.errors import LanistaError, RefusedError
from lanista.evaluate.score import Estimate
from lanista.exploit.best_response import (
    PULLS,
    ResponseSettings,
    best_response,
    json_path,
    run_settings,
    usual_settings,
)
from lanista.exploit.response_play import CALIBRATION, SELECTION, TEST, Duel, stages_of
from lanista.games import registry
from lanista.nets.settings import Network
from lanista.pipeline.recipes import settings_of
from lanista.rollout import Results, Schedule
from lanista.runs.folder import folder_of
from lanista.runs.settings import apply_overrides, load_settings
from lanista.train.loop import train

PLANTED = Path(__file__).parents[1] / "league" / "planted"
LEDUC_HOLES = PLANTED / "leduc_holes.py"
SMALL = ResponseSettings(
    "kuhn", train_steps=4000, games=400, selection_games=200, points=6, unit="gain", threshold=0.0,
    device="cpu",
)  # fmt: skip
TWICE = replace(SMALL, train_steps=1600, games=60, selection_games=20, points=3, responses=2)
KUHN_SPEC = registry.spec_of("kuhn")
LEDUC = ResponseSettings(
    "leduc", train_steps=1_400_000, games=200_000, selection_games=20_000, points=8, unit="gain",
    threshold=0.0, exact=True, device="cpu",
)  # fmt: skip


def facts(response):
    """Return what a response proves, without clocks."""
    record = json.loads(json_path(response.policy_path).read_text())
    for part in record["responses"]:
        assert part.pop("cpu_seconds") > 0
    return record, response.policy_path.read_bytes(), response.results.returns.tolist()


def share_of_exact(response):
    return response.record["gain"]["value"] / response.record["exact_gain"]


def test_a_response_to_uniform_leduc_finds_most_of_what_there_is(tmp_path):
    pytest.importorskip("pyspiel")
    asked = replace(LEDUC, train_steps=40_000, games=20_000, selection_games=2000, points=3)
    found = best_response("random", asked, tmp_path / "r.safetensors")
    assert found.record["exact_gain"] == pytest.approx(2.374, abs=1e-3)
    assert share_of_exact(found) > 0.7
    assert found.admitted


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return an unbroken small response to compare others with."""
    return best_response("random", SMALL, tmp_path_factory.mktemp("small") / "r.safetensors")


@pytest.fixture(scope="module")
def trained_twice(tmp_path_factory):
    """Return the output of two responses of three stages each."""
    output = tmp_path_factory.mktemp("twice") / "r.safetensors"
    best_response("random", TWICE, output)
    return output


def test_a_response_is_measured_on_deals_that_it_was_neither_trained_nor_chosen_on(small):
    deals = small.results.schedule.deal
    assert deals.min() >= TEST
    assert deals.max() < CALIBRATION
    duel = Duel("kuhn", {}, "random", SMALL.seed, SMALL.greedy)
    other = duel.play(small.policy_path, SELECTION, SMALL.selection_games).schedule.deal
    assert not set(deals) & set(other)
    ids = {name: getattr(small.results.schedule, name).tolist() for name in ("match", "deal")}
    again = duel.play(small.policy_path, TEST, SMALL.games)
    assert ids == {name: getattr(again.schedule, name).tolist() for name in ("match", "deal")}
    mine = again.schedule.seating == 0
    assert small.record["gain"]["value"] == pytest.approx(again.returns[mine].mean())


def test_the_stage_that_earned_most_on_the_selections_deals_is_taken(small):
    points = small.reading.curve
    best = max(points, key=lambda point: point.value)
    assert small.digest == best.digest
    assert small.record["chosen"]["decisions"] == best.decisions
    assert len(points) >= SMALL.points
    assert points[-1].decisions == small.reading.budget_decisions


@pytest.mark.parametrize(
    ("values", "chosen"),
    [
        ([[0.1, 0.4, 0.2], [0.3, -0.5, 0.3]], (0, 1)),
        ([[0.1, 0.4, 0.2], [0.3, 0.7, 0.9]], (1, 2)),
        ([[-0.4, -0.1, -0.1], [-0.2, -0.3, -0.2]], (0, 1)),
        ([[0.5, 0.4, 0.3], [0.5, 0.6, 0.1]], (1, 1)),
    ],
)
def test_of_all_stages_of_all_responses_the_one_that_earned_most_is_measured(
    values, chosen, trained_twice, tmp_path, monkeypatch
):
    """What stages earn is laid down here, so that the best is neither the first nor the last."""
    output = tmp_path / "r.safetensors"
    shutil.copytree(folder_of(trained_twice), folder_of(output))
    stages, asked = {}, []
    for number in range(2):
        run = folder_of(output) / f"response-{number + 1}.safetensors"
        mine = stages_of(run, {registry.make_bot("kuhn", "random", KUHN_SPEC).digest})
        for stage, value in zip(mine, values[number], strict=True):
            stages[stage.path.name] = number, stage, value

    def earned(duel, response, first, matches, unit):
        asked.append((response.name, first, matches, unit))
        value = stages[response.name][2]
        return Estimate(value, value - 0.01, value + 0.01, matches)

    monkeypatch.setattr(Duel, "earned", earned)
    found = best_response("random", TWICE, output, resume=True)
    number, stage, _ = stages[asked[chosen[0] * 3 + chosen[1]][0]]
    assert number == chosen[0]
    assert found.digest == stage.digest == hashlib.sha256(output.read_bytes()).hexdigest()
    assert found.record["chosen"] == {"response": number + 1, "decisions": stage.decisions}
    assert found.results.digests[0] == f"{stage.digest}:greedy"
    assert [part["best"] for part in found.record["responses"]] == [max(each) for each in values]
    assert [point.value for point in found.reading.curve] == values[number]
    assert {each[1:] for each in asked} == {(SELECTION, TWICE.selection_games, TWICE.unit)}


def test_budget_is_kept_to_the_nearest_iteration(small):
    assert small.reading.budget_decisions == pytest.approx(SMALL.train_steps, rel=0.2)


def test_the_record_says_who_played_on_which_rules(small):
    record, spec = small.record, registry.make("kuhn").spec
    assert record["victim_digest"] == registry.make_bot("kuhn", "random", spec).digest
    assert record["victim_digest"] == small.results.digests[1]
    assert small.results.digests[0] == f"{small.digest}:greedy"
    assert record["rules_version"] == spec.facts.rules_version
    assert record["reading"]["value"] == small.reading.value


@pytest.mark.parametrize("update", [1, 5])
def test_killed_and_resumed_it_comes_to_the_same(update, small, tmp_path):
    output = tmp_path / "r.safetensors"
    with suppress(KilledError):
        best_response("random", SMALL, output, observers=[Killer(update)])
        raise AssertionError("it was not killed")
    again = best_response("random", SMALL, output, resume=True)
    assert facts(again) == facts(small)


def test_stopped_it_says_so_and_goes_on_to_the_same(small, tmp_path):
    output, calls = tmp_path / "r.safetensors", []
    before, after = Listener(), Listener()

    def stop():
        calls.append(1)
        return len(calls) > 5

    assert best_response("random", SMALL, output, stop=stop, observers=[before]) is None
    assert not output.exists()
    again = best_response("random", SMALL, output, resume=True, observers=[after])
    assert facts(again) == facts(small)
    # It was stopped while it trained: a part of the updates came before, the rest after.
    assert 0 < len(before.updates) < before.updates[-1] + len(after.updates) == after.updates[-1]


def test_what_is_complete_is_measured_again_and_says_the_same(small):
    assert facts(best_response("random", SMALL, small.policy_path, resume=True)) == facts(small)


def test_admission_goes_by_the_lower_bound(tmp_path):
    output = tmp_path / "r.safetensors"
    found = best_response("random", replace(SMALL, threshold=-9.0), output)
    low = found.reading.low
    for threshold, admitted in ((low - 1e-6, True), (low, False), (found.reading.value, False)):
        asked = replace(SMALL, threshold=threshold)
        assert best_response("random", asked, output, resume=True).admitted is admitted


def test_what_exists_is_not_overwritten_and_other_settings_do_not_go_on(small):
    with pytest.raises(RefusedError, match="already"):
        best_response("random", SMALL, small.policy_path)
    with pytest.raises(RefusedError, match="train_steps"):
        best_response(
            "random", replace(SMALL, train_steps=9), small.policy_path, resume=True
        )  # fmt: skip


def test_nothing_but_the_victim_is_met_and_nothing_pulls(tmp_path):
    base = load_settings(
        {
            "game": "kuhn",
            "learning": {"terms": {"policy": 1.0, "value": 0.5, **dict.fromkeys(PULLS, 0.1)}},
            "rollouts": {"matches": 64, "opponents": ["self", "random"]},
        }
    )
    victim = str(untrained(KUHN, tmp_path / "v.safetensors"))
    asked = replace(SMALL, base=base, starts=("victim",))
    made = run_settings(asked, Duel("kuhn", {}, victim, 0, True), 0)
    assert made.opponents == (victim,)
    assert set(made.learning.terms) == {"policy", "value"}
    assert made.supervised_checkpoint == victim


@pytest.mark.parametrize(
    ("mine", "base", "came"), [(None, None, None), (None, -0.5, -0.5), (-1.0, -0.5, -1.0)]
)
def test_a_draw_is_worth_what_is_said_or_what_the_settings_to_train_with_say(mine, base, came):
    values = {"game": "leduc", "rollouts": {"draw": base}}
    duel = Duel("leduc", {}, "random", 0, True)
    asked = replace(LEDUC, draw=mine, base=load_settings(values))
    assert run_settings(asked, duel, 0).rollouts.draw == came
    if base is None:
        assert run_settings(replace(LEDUC, draw=-0.25), duel, 0).rollouts.draw == -0.25


def test_what_a_draw_is_worth_changes_what_is_learnt_and_is_no_older_responses(tmp_path):
    asked = replace(LEDUC, train_steps=2000, games=200, selection_games=100, points=2, exact=False)
    found = {
        draw: best_response("random", replace(asked, draw=draw), tmp_path / f"{draw}.safetensors")
        for draw in (None, -5.0)
    }
    assert found[None].digest != found[-5.0].digest
    for draw, each in found.items():
        record, n = each.record, each.record["wins"] + each.record["draws"] + each.record["losses"]
        assert record["draw_worth"] == draw
        assert record["win_rate"]["value"] == pytest.approx(record["wins"] / n)
        mine = each.results.schedule.seating == 0
        assert record["gain"]["value"] == pytest.approx(each.results.returns[mine].mean())
    with pytest.raises(RefusedError, match=r"begun with draw None, and now it is -5\.0"):
        best_response(
            "random", replace(asked, draw=-5.0), tmp_path / "None.safetensors", resume=True
        )
    # A plan of a version that did not know it.
    plan = folder_of(tmp_path / "None.safetensors") / "exploit.json"
    values = json.loads(plan.read_text())
    del values["draw"]
    plan.write_text(json.dumps(values))
    again = best_response("random", asked, tmp_path / "None.safetensors", resume=True)
    assert again.digest == found[None].digest


def test_responses_have_seeds_of_their_own_and_take_turns_with_their_starts(tmp_path):
    start = str(untrained(KUHN, tmp_path / "s.safetensors"))
    asked = replace(SMALL, train_steps=600, responses=3, starts=("scratch", start))
    found = best_response("random", asked, tmp_path / "r.safetensors")
    parts = found.record["responses"]
    assert [part["start"] for part in parts] == ["scratch", start, "scratch"]
    assert [part["seed"] for part in parts] == [0, 1, 2]
    best = max(parts, key=lambda part: part["best"])
    assert parts[found.record["chosen"]["response"] - 1] == best


@pytest.mark.parametrize(("each", "lam"), [(3.0, 1.0), (9.9, 1.0), (10.0, 0.95), (60.0, 0.95)])
def test_short_matches_are_taken_whole_and_a_critic_sees_what_it_may(each, lam):
    spec = registry.spec_of("leduc")
    assert spec.privileged is not None
    for shown, sees in ((spec, "privileged"), (replace(spec, privileged=None), "seat")):
        made = usual_settings(LEDUC, shown, each, fresh=True)
        assert (made.learning.lam, made.learning.critic_sees) == (lam, sees)


@pytest.mark.parametrize(
    ("fresh", "rates", "entropy"), [(True, (2e-3, 1e-4), 0.05), (False, (5e-4, 5e-5), 0.005)]
)
def test_whoever_can_play_already_learns_at_a_rate_that_keeps_it(fresh, rates, entropy):
    learning = usual_settings(LEDUC, registry.spec_of("leduc"), 3.0, fresh=fresh).learning
    assert (learning.lr["start"], learning.lr["end"]) == rates
    assert (learning.terms["entropy"]["start"], learning.terms["entropy"]["end"]) == (entropy, 0.0)


def test_the_defaults_of_a_response_are_those_that_are_documented():
    settings = asdict(ResponseSettings("kuhn"))
    assert settings.pop("network") == asdict(Network(size="s"))
    assert settings == {
        "game": "kuhn", "game_settings": {}, "train_steps": 1_000_000, "starts": ("scratch",),
        "responses": 1, "threshold": 0.55, "games": 2000, "selection_games": 1000, "points": 12,
        "unit": "score", "greedy": True, "exact": False, "seed": 0, "base": None, "device": "auto",
        "workers": 0, "launcher": "", "draw": None, "matches": 0, "precision": "fp32",
        "graphs": False,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["train_steps", "responses", "games", "selection_games", "points"])
def test_a_response_of_nothing_is_refused(name):
    with pytest.raises(LanistaError, match=f"^{name} is 0; give at least 1.$"):
        ResponseSettings("kuhn", **{name: 0})
    assert getattr(ResponseSettings("kuhn", **{name: 1}), name) == 1


@pytest.mark.parametrize("draw", [float("nan"), float("inf")])
def test_a_draw_that_is_worth_no_number_is_refused(draw):
    with pytest.raises(LanistaError, match="give a number"):
        ResponseSettings("kuhn", draw=draw)


def test_a_response_from_nowhere_is_refused():
    with pytest.raises(LanistaError, match="No start was named"):
        ResponseSettings("kuhn", starts=())


@pytest.mark.parametrize(
    ("steps", "least_matches", "decisions"),
    [
        (1000, 0, 512),  # At least so many.
        (120 * 512, 0, 512),
        (120 * 514, 0, 514),  # 120 updates of a small budget.
        (120 * 9216, 0, 9216),
        (120 * 9218, 0, 9216),  # At most so many,
        (1000 * 9216, 0, 9216),
        (1000 * 9218, 0, 9218),  # but no more than 1000 updates.
        (120 * 20_000, 9_000, 18_000),  # As many matches as are asked for,
        (120 * 20_000, 11_000, 20_000),  # if that leaves 120 updates.
        (120 * 700, 10, 700),  # Never fewer than without.
    ],
)
def test_an_update_has_as_many_decisions_as_its_budget_calls_for(steps, least_matches, decisions):
    asked = replace(SMALL, train_steps=steps, matches=least_matches)
    made = usual_settings(asked, KUHN_SPEC, 2.0, fresh=True)
    assert made.rollouts.matches == 2 * round(decisions / 2 / 2)
    assert made.rollouts.mode != "stream"


@pytest.mark.parametrize(
    ("decisions", "steps"),
    [(512, 1), (1727, 1), (1729, 2), (2879, 2), (2881, 3), (8639, 7), (8641, 8), (9216, 8)],
)
def test_an_optimiser_step_has_about_1152_decisions(decisions, steps):
    asked = replace(SMALL, train_steps=120 * decisions)
    learning = usual_settings(asked, KUHN_SPEC, 2.0, fresh=True).learning
    assert learning.minibatches == steps
    much = replace(SMALL, train_steps=10**9)
    assert usual_settings(much, KUHN_SPEC, 2.0, fresh=True).learning.minibatches == 8


@pytest.mark.parametrize(("each", "streams"), [(200.0, False), (200.1, True)])
def test_long_matches_are_cut_into_unrolls_of_64(each, streams):
    asked = replace(SMALL, train_steps=120 * 9215 + 60, matches=1000)
    rollouts = usual_settings(asked, KUHN_SPEC, each, fresh=True).rollouts
    assert (rollouts.mode == "stream") is streams
    if streams:
        assert (rollouts.unrolls, rollouts.unroll_length) == (9215 // 64, 64)
        assert isinstance(rollouts.unrolls, int)
    else:
        assert rollouts.matches == 2 * round(9215 / 200 / 2)


def test_what_is_usual_for_a_response_is_what_the_meter_was_measured_with():
    for fresh, epochs, kl in ((True, 4, 0.0), (False, 2, 0.03)):
        asked = replace(SMALL, precision="bf16", graphs=True)
        made = usual_settings(asked, KUHN_SPEC, 2.0, fresh=fresh)
        learning = made.learning
        assert (learning.policy, learning.epochs, learning.target_kl) == ("ppo", epochs, kl)
        assert (learning.average, learning.precision) == (0.9, "bf16")
        assert (learning.terms["policy"], learning.terms["value"]) == (1.0, 0.5)
        assert learning.lr["kind"] == learning.terms["entropy"]["kind"] == "linear"
        assert made.rollouts.graphs is True
        assert (made.network, made.device, made.game) == (SMALL.network, "cpu", "kuhn")


def test_a_response_trains_as_often_and_is_judged_as_it_is_asked():
    duel = Duel("kuhn", {}, "random", 0, True)
    asked = replace(SMALL, train_steps=6000, points=4, seed=7, workers=2, launcher="threads")
    made = run_settings(asked, duel, 3)
    each = duel.decisions_per_match()
    assert made.iterations == int(6000 / (made.rollouts.matches * each))
    every = made.iterations // 4
    assert (made.evaluation.every, made.checkpoints.save_every) == (every, every)
    assert (made.evaluation.matches, made.evaluation.exact) == (200, "never")
    assert (made.evaluation.bots, made.evaluation.greedy) == (("random",), True)
    assert (made.seed, made.device, made.game) == (10, "cpu", "kuhn")
    assert (made.rollouts.workers, made.rollouts.launcher) == (2, "threads")
    few = run_settings(replace(asked, train_steps=1, points=9), duel, 0)
    assert (few.iterations, few.evaluation.every) == (1, 1)


def test_a_response_is_not_held_to_a_reference_by_its_base(tmp_path):
    base = load_settings({"game": "kuhn", "learning": {"eta": 0.3}, "rollouts": {"matches": 64}})
    made = run_settings(replace(SMALL, base=base), Duel("kuhn", {}, "random", 0, True), 0)
    assert (base.learning.eta, made.learning.eta) == (0.3, 0.0)


def test_the_victim_has_all_seats_but_one():
    duel = Duel("beastybar", {"seats": 3}, "random", 0, True)
    seating = duel._play((duel.victim, duel.victim), TEST, 6).schedule.seating
    assert (seating == 0).sum(1).tolist() == [1] * 6
    assert sorted(seating.argmin(1).tolist()) == [0, 0, 1, 1, 2, 2]


def results_with(returns, cut_off=None):
    """Return pairs of matches, the response in seat 0 and then in seat 1."""
    n = len(returns)
    seating = np.array([[0, 1], [1, 0]] * (n // 2), np.int32)
    return Results(
        Schedule(np.arange(n) + TEST, TEST + np.arange(n) // 2, seating),
        np.array(returns, np.float32), np.ones((n, 2), np.int32), np.zeros((n, 2), np.float32),
        np.ones(n, np.int32), np.array(cut_off or [False] * n), ("response", "victim"),
    )  # fmt: skip


@pytest.mark.parametrize(("zero_sum", "gain"), [(True, 3.5), (False, 1.25)])
def test_a_gain_is_beyond_what_the_victim_earns_against_itself(zero_sum, gain):
    """Where what one wins another need not lose, all may earn; that is no weakness."""
    found = results_with([[4, 0], [9, 2], [6, 7], [1, 2]])  # The response: 4, 2, 6, 2 → 3, 4.
    base = results_with([[1, 0], [0, 2], [3, 0], [0, 3]])  # Player 0: 1, 2, 3, 3 → 1½, 3.
    asked = []

    def again(players, first, matches):
        asked.append((players, first, matches))
        return base

    duel = SimpleNamespace(
        spec=SimpleNamespace(facts=SimpleNamespace(zero_sum=zero_sum)), game="g", victim="v",
        _play=again,
    )  # fmt: skip
    estimate = Duel.gain_of(duel, found)
    assert (estimate.value, estimate.n) == (gain, 2)
    assert asked == ([] if zero_sum else [(("v", "v"), TEST, 4)])


def test_a_bot_has_no_weights_to_begin_from(tmp_path):
    with pytest.raises(LanistaError, match="no policy file"):
        best_response("random", replace(SMALL, starts=("victim",)), tmp_path / "r.safetensors")


def test_a_bots_file_is_a_victim_under_its_digest_and_an_edited_one_is_another(tmp_path):
    file = tmp_path / "holes.py"
    file.write_text(LEDUC_HOLES.read_text())
    asked = replace(LEDUC, train_steps=2000, games=200, selection_games=100, points=2)
    output = tmp_path / "r.safetensors"
    found = best_response(f"{file}:Timid", asked, output)
    nested = folder_of(folder_of(output) / "response-1.safetensors")
    assert (nested / "policies" / f"{found.record['victim_digest']}.py").is_file()
    assert found.results.digests[1] == found.record["victim_digest"]
    file.write_text(LEDUC_HOLES.read_text().replace("0.8", "0.7"))
    with pytest.raises(RefusedError, match="digest"):
        best_response(f"{file}:Timid", asked, output, resume=True)


def test_planted_players_choose_as_they_say():
    """What the exact instrument is told and what is played are the same player."""
    duel = Duel("leduc", {}, f"{LEDUC_HOLES}:Timid", 3, True)
    results = duel._play((duel.victim, duel.victim), 0, 20_000)
    assert abs(results.returns.mean()) < 1e-6
    game = registry.make("leduc", slots=4000, seed=3)
    game.start(np.arange(4000), np.arange(4000), {})
    decisions = game.decisions()
    chance = duel.victim.probabilities(decisions.observation, decisions.mask)
    action = duel.victim.act(decisions, np.arange(len(decisions)))[:, 0]
    counted = np.bincount(action, minlength=3) / len(action)
    assert counted == pytest.approx(chance.mean(0), abs=0.03)


@pytest.fixture(scope="module")
def leduc_policies(tmp_path_factory):
    """Return a policy in the middle of its training, and one near its end."""
    folder = tmp_path_factory.mktemp("leduc")
    found = {}
    for name, iterations, matches in (("mid", 60, 1024), ("best", 700, 2048)):
        values = [f"iterations={iterations}", f"rollouts.matches={matches}", "device=cpu"]
        found[name] = folder / f"{name}.safetensors"
        train(apply_overrides(settings_of("leduc-ppo"), values), found[name])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("who", ["uniform", "mid", "best", "timid", "reckless"])
def test_the_learned_instrument_earns_nine_tenths_of_the_exact_gain(who, leduc_policies, tmp_path):
    words = {"uniform": "random", "timid": f"{LEDUC_HOLES}:Timid",
             "reckless": f"{LEDUC_HOLES}:Reckless"}  # fmt: skip
    victim = words.get(who) or leduc_policies[who]
    found = best_response(victim, LEDUC, tmp_path / "r.safetensors")
    assert share_of_exact(found) >= 0.9, found.record
