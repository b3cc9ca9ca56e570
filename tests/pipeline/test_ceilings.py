"""Best responses to many players: learnt in pieces, read back, and what lies below them."""

import json
import math
import shutil
from dataclasses import replace

import pytest

from lanista.errors import LanistaError, RefusedError
from lanista.evaluate.score import Estimate
from lanista.exploit.best_response import ResponseSettings, differing, json_path, usual_settings
from lanista.exploit.ceilings import (
    best_responses,
    ceiling_of,
    ceilings_in,
    distance,
    is_complete,
    specialist_path,
)
from lanista.exploit.response_play import Duel
from lanista.nets.settings import Network
from lanista.runs.folder import folder_of
from lanista.runs.serialise import plain
from lanista.runs.settings import apply_overrides, load_settings

SETTINGS = ResponseSettings(
    game="kuhn",
    train_steps=300,
    games=40,
    selection_games=20,
    points=2,
    responses=2,
    network=Network(width=8, layers=1),
    device="cpu",
)
BOT = """
from lanista.games import PythonBot

class Caller(PythonBot):
    name = "caller"

    def choose(self, observation, legal, stream):
        return int(legal[0][0])
"""


def record_of(path, **changes):
    """Write what a best response leaves, as docs/meter.md has it."""
    values = {
        "victim": "outcome",
        "victim_digest": "d1",
        "response": "r1",
        "manner": "greedy",
        "score": {"value": 0.85, "low": 0.84, "high": 0.86, "n": 5000},
        "wins": 8000,
        "draws": 1000,
        "losses": 1000,
        "reading": {"called": "ceiling"},
        "responses": [{"decisions": 900}, {"decisions": 1000}, {"decisions": 950}],
    }
    path.write_text(json.dumps(values | changes))


def test_a_ceiling_stays_one_only_where_every_response_practised_enough(tmp_path):
    record_of(tmp_path / "outcome.safetensors.json")
    found = ceilings_in(tmp_path, least_decisions=900)["outcome"]
    assert (found.called, found.responses, found.decisions) == ("ceiling", 3, 900)
    assert found.win_rate.value == 0.8
    assert ceilings_in(tmp_path, least_decisions=901)["outcome"].called == "lower bound"


def test_a_lower_bound_is_never_called_a_ceiling(tmp_path):
    record_of(tmp_path / "outcome.safetensors.json", reading={"called": "lower bound"})
    assert ceilings_in(tmp_path)["outcome"].called == "lower bound"


def test_the_distance_has_the_spread_of_both_measurements():
    far = distance(Estimate(0.85, 0.82, 0.88, 50), Estimate(0.80, 0.76, 0.84, 40))
    assert far.value == pytest.approx(0.05)
    assert far.half == pytest.approx(math.sqrt(0.03**2 + 0.04**2))
    assert distance(Estimate(0.9, None, None, 1), Estimate(0.8, 0.7, 0.9, 4)).low is None


def test_a_response_to_another_player_of_that_name_is_refused(tmp_path):
    record_of(tmp_path / "outcome.safetensors.json")
    known = ceilings_in(tmp_path)
    assert ceiling_of(known, "outcome", "d1") is known["outcome"]
    assert ceiling_of(known, "heuristic", "d2") is None
    with pytest.raises(RefusedError, match="another player of that name"):
        ceiling_of(known, "outcome", "d2")


@pytest.mark.parametrize("text", ["{}", "[", '{"wins": 1}'])
def test_what_holds_no_numbers_is_refused(text, tmp_path):
    with pytest.raises(LanistaError, match="no best responses"):
        ceilings_in(tmp_path)
    (tmp_path / "a.safetensors.json").write_text(text)
    with pytest.raises(LanistaError, match=r"damaged|does not hold"):
        ceilings_in(tmp_path)


def test_victims_come_one_after_another_and_stopped_anywhere_it_comes_to_the_same(tmp_path):
    (tmp_path / "caller.py").write_text(BOT)
    victims = ["random", str(tmp_path / "caller.py")]
    whole, pieces = tmp_path / "whole", tmp_path / "pieces"
    assert [who for who, _ in best_responses(victims, SETTINGS, whole)] == victims
    stops, given = 0, []
    while True:
        stop = iter([False] * 5 + [True] * 1000).__next__
        part = list(best_responses(victims, SETTINGS, pieces, resume=stops > 0, stop=stop))
        given += [who for who, found in part if found is not None]
        if not part or part[-1][1] is not None:
            break
        stops += 1
    assert stops >= 2
    assert given == victims  # Each is given once: what is complete is passed over.
    for victim in victims:
        paths = [specialist_path(folder, victim) for folder in (whole, pieces)]
        assert paths[0].read_bytes() == paths[1].read_bytes()
        assert is_complete(paths[1], SETTINGS)
    assert ceilings_in(pieces).keys() == set(victims)
    with pytest.raises(RefusedError, match="already"):
        next(best_responses(victims, SETTINGS, pieces))


@pytest.fixture
def complete(tmp_path):
    """Return a best response of which the policy and its numbers alone were moved."""
    asked = replace(SETTINGS, responses=1)
    assert list(best_responses(["random"], asked, tmp_path))
    output = specialist_path(tmp_path, "random")
    shutil.rmtree(folder_of(output))
    return output, asked


def edited(output, change):
    path = json_path(output)
    record = json.loads(path.read_text())
    change(record["settings"])
    path.write_text(json.dumps(record))


def gone_on(output, asked):
    return list(best_responses(["random"], asked, output.parent, resume=True))


def test_what_is_complete_is_so_on_another_device_and_launcher_too(complete):
    output, asked = complete
    other = replace(asked, device="auto", launcher="threads", threshold=0.7, exact=True)
    assert is_complete(output, other)
    assert gone_on(output, other) == []


def test_what_an_older_version_did_not_write_down_was_as_usual(complete):
    output, asked = complete

    def forget(saved):
        del saved["workers"]
        del saved["network"]["kind"]

    edited(output, forget)
    assert gone_on(output, asked) == []
    assert not is_complete(output, replace(asked, workers=2))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"responses": 2}, "responses 1, and now it is 2"),
        ({"train_steps": 600}, "train_steps 300, and now it is 600"),
        ({"network": Network(width=9, layers=1)}, "network.width 8, and now it is 9"),
    ],
)
def test_what_was_made_otherwise_names_the_setting_that_differs(complete, change, said):
    output, asked = complete
    assert not is_complete(output, replace(asked, **change))
    with pytest.raises(RefusedError, match=said) as error:
        gone_on(output, replace(asked, **change))
    assert "--resume" not in str(error.value)


def test_a_policy_without_its_numbers_is_refused_by_their_name(complete):
    output, asked = complete
    json_path(output).unlink()
    with pytest.raises(RefusedError, match=r"without random\.safetensors\.json"):
        gone_on(output, asked)


def test_of_a_base_only_what_makes_another_run_counts():
    base = load_settings({"game": "kuhn", "rollouts": {"matches": 32}})
    saved = json.loads(json.dumps(plain(replace(SETTINGS, base=base))))
    del saved["base"]["rollouts"]["inference"]
    for override in ("device=cpu", "threads=2", "rollouts.launcher=threads", "evaluation.every=3"):
        asked = replace(SETTINGS, base=apply_overrides(base, [override]))
        assert list(differing(saved, asked)) == []
    asked = replace(SETTINGS, base=apply_overrides(base, ["learning.terms.entropy=0.5"]))
    assert [key for key, _, _ in differing(saved, asked)] == ["base.learning.terms"]
    saved["base"]["rollouts"]["processes"] = 3
    assert list(differing(saved, replace(SETTINGS, base=base))) == [
        ("base.rollouts.processes", 3, None)
    ]


def test_two_victims_never_share_a_file(tmp_path):
    with pytest.raises(LanistaError, match="one file"):
        next(best_responses(["random", "other/random.pt"], SETTINGS, tmp_path))


@pytest.mark.parametrize(
    ("steps", "decisions", "minibatches"),
    [(60_000, 512, 1), (1_000_000, 8_333, 7), (9_000_000, 9_216, 8), (50_000_000, 50_000, 8)],
)
def test_a_large_budget_has_larger_updates_not_more_than_a_thousand(steps, decisions, minibatches):
    duel = Duel("beastybar", {}, "random", 0, True)
    asked = ResponseSettings(game="beastybar", train_steps=steps)
    found = usual_settings(asked, duel.spec, 12.0, fresh=True)
    assert found.rollouts.matches == 2 * round(decisions / 24)
    assert found.learning.minibatches == minibatches


@pytest.mark.parametrize(
    ("steps", "matches", "decisions"),
    [
        (20_000_000, 32_768, 166_666),  # 120 updates are left.
        (20_000_000, 4_096, 49_152),
        (1_000_000, 32_768, 8_333),  # No more of them fit in.
    ],
)
def test_updates_are_as_large_as_the_machine_likes_while_enough_are_left(steps, matches, decisions):
    duel = Duel("beastybar", {}, "random", 0, True)
    asked = ResponseSettings(
        game="beastybar", train_steps=steps, matches=matches, precision="bf16", graphs=True
    )
    found = usual_settings(asked, duel.spec, 12.0, fresh=True)
    assert found.rollouts.matches == 2 * round(decisions / 24)
    assert (found.learning.precision, found.rollouts.graphs) == ("bf16", True)
