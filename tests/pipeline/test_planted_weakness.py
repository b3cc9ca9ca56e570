"""A planted weakness is found with a tenth of the practice its owner had, and can be mended.

The long form trains everything it needs; the short form shows that the parts fit together.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from lanista.cli import main as cli
from lanista.exploit.response_play import SELECTION, Duel
from lanista.games import registry
from lanista.league.population import alone
from lanista.nets.policy_file import save_policy
from lanista.rollout.inference.policy_players import policy_player
from lanista.runs.players import player_of
from lanista.runs.settings import load_settings

HOLED = Path(__file__).parents[1] / "league" / "planted" / "holed.py"
SCORE = 0.60


def lanista(command):
    assert cli.main(command.split()) == 0


def record_of(name):
    return json.loads(Path(f"{name}.safetensors.json").read_text())


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in a folder that has the planted player's file."""
    monkeypatch.chdir(tmp_path)
    Path("holed.py").write_text(HOLED.read_text())
    return tmp_path


@pytest.fixture
def twin(here):
    """Return an untrained policy under the name that the planted player asks for."""
    made = alone(load_settings({"game": "beastybar", "network": {"width": 8, "layers": 1}}), here)
    save_policy("twin.safetensors", made.learner.policy, made.spec)
    return here / "twin.safetensors"


def test_the_planted_player_is_its_twin_but_for_the_hole(twin):
    game = registry.make("beastybar", slots=300, seed=4)
    game.start(np.arange(300), np.arange(300), {})
    holed = player_of("beastybar", "holed.py:Holed", game.spec, 4)
    same, in_hole = policy_player(twin, game.spec, 4), 0
    for _ in range(12):
        decisions = game.decisions()
        rows = np.arange(len(decisions))
        actions, twins = holed.act(decisions, rows), same.act(decisions, rows)
        line = decisions.observation[:, game.spec.observation.slice_of("line species")]
        hole = np.count_nonzero(line, axis=1) >= 3
        assert (actions[~hole] == twins[~hole]).all()
        assert (
            actions[hole, 0] == [np.flatnonzero(mask)[0] for mask in decisions.mask[hole]]
        ).all()
        in_hole += hole.sum()
        game.act(rows, twins)
    assert in_hole > 100


def test_a_planted_player_is_exploited_in_small(twin):
    lanista(
        "exploit holed.py:Holed --game beastybar --train-steps 1500 --games 40 "
        "--selection-games 20 --points 2 --cpu --output x.safetensors"
    )
    record = record_of("x")
    digest = player_of("beastybar", "holed.py:Holed", registry.make("beastybar").spec, 0).digest
    assert record["victim_digest"] == digest
    assert record["reading"]["budget_decisions"] <= 1500


@pytest.mark.slow
def test_a_tenth_of_the_practice_finds_the_hole_and_the_successor_closes_it(here):
    iterations = 250
    lanista(
        f"rl --config beastybar-ppo --size s --iterations {iterations} --cpu "
        "--set evaluation.every=0 --output twin.safetensors"
    )
    budget = iterations * 512 * 24 // 10
    usual = f"--train-steps {budget} --threshold {SCORE} --cpu"
    lanista(f"exploit holed.py:Holed --game beastybar {usual} --output x-holed.safetensors")
    assert record_of("x-holed")["admitted"]
    assert record_of("x-holed")["reading"]["budget_decisions"] <= budget
    for start in ("scratch", "victim"):
        lanista(
            f"exploit twin.safetensors --from {start} {usual} --output x-twin-{start}.safetensors"
        )
        assert record_of(f"x-twin-{start}")["score"]["high"] < SCORE

    lanista(
        "play beastybar --seats holed.py:Doubting,holed.py:Doubting --matches 10000 --seed 1 "
        "--record replays"
    )
    lanista(
        "imitate --data-dir replays --size s --epochs 10 --evaluation-matches 0 --cpu "
        "--output victim.safetensors"
    )
    lanista(f"exploit victim.safetensors {usual} --output x-victim.safetensors")
    assert record_of("x-victim")["admitted"]
    lanista(
        "rl --config beastybar-ppo --supervised-checkpoint victim.safetensors --iterations 120 "
        "--opponents self,x-victim.safetensors --cpu "
        "--set evaluation.every=0 learning.average=0.9 "
        "--output successor.safetensors"
    )
    lanista(f"exploit successor.safetensors {usual} --output x-successor.safetensors")
    assert record_of("x-successor")["score"]["high"] < SCORE
    old = {
        who: Duel("beastybar", {}, f"{who}.safetensors", 1, True).earned(
            here / "x-victim.safetensors", SELECTION, 2000, "score"
        )
        for who in ("victim", "successor")
    }
    assert old["victim"].low > SCORE > old["successor"].high
