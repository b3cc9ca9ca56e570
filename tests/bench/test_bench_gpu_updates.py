"""The bench of updates that learn on a GPU: its arithmetic, and its parts where there is none."""

from pathlib import Path

import pytest
from bench.gpu import ceilings

from bench import gpu_curves, gpu_updates
from lanista.games import registry
from lanista.profile.machine import Use
from lanista.profile.measure import Lap
from lanista.runs.settings import apply_overrides

SMALL = {
    "beastybar": {"matches": 8},
    "arena": {"unrolls": 8, "unroll_length": 4},
}


def lap(rate):
    own = {"learn": 0.75, "wait": 0.25}
    return Lap(2, rate, wall=1.0, use=Use(1.0, 3.0, 0.0), own=own, played={}, desk={}, cpu={})


def test_a_line_has_the_median_lap_and_how_busy_the_gpu_was():
    told = gpu_updates.line("x", [lap(10), lap(20), lap(60)], [0.5, 0.7, 0.9], target=15, met=True)
    assert (told["median"], told["low"], told["high"]) == (20, 10, 60)
    assert (told["gpu_busy"], told["update_ms"], told["decisions_an_update"]) == (0.7, 500.0, 10)
    assert gpu_updates.line("x", [lap(10)], [])["gpu_busy"] is None


def test_a_third_of_a_leagues_matches_each_are_its_own_its_bots_and_frozen_networks(tmp_path):
    for game in SMALL:
        weight = dict(word.rsplit("=", 1) for word in gpu_updates.opponents(game, tmp_path))
        bots = registry.bot_names(registry.entry(game))
        assert sum(float(weight[bot]) for bot in bots) == pytest.approx(1.0)
        files = [name for name in weight if name.endswith(".safetensors")]
        assert len(files) == gpu_updates.FROZEN
        assert sum(float(weight[name]) for name in files) == pytest.approx(1.0)
        assert float(weight["self"]) == 1.0
        assert len({Path(name).read_bytes() for name in files}) == gpu_updates.FROZEN


@pytest.mark.parametrize("kind", gpu_updates.KINDS)
@pytest.mark.parametrize("game", SMALL)
def test_every_row_plays_about_as_many_decisions_as_it_says(game, kind, tmp_path):
    rollouts = gpu_updates.PLAY[game, kind]
    if "unrolls" in rollouts:
        assert rollouts["unrolls"] * rollouts["unroll_length"] == gpu_updates.UPDATE
    else:
        a_match = 24 if kind == "self-play" else 24 / 3 + 12 * 2 / 3
        decisions = rollouts["matches"] * a_match
        assert decisions == pytest.approx(gpu_updates.UPDATE, rel=0.01)
    settings = gpu_updates.run_settings(game, kind, "fp32", "cpu", tmp_path, **SMALL[game])
    laps, _ = gpu_updates.measured(settings, 0.0, 1)
    assert laps[0].decisions > 0
    assert laps[0].played


def test_ceilings_count_every_epoch():
    alone = gpu_updates.alone_of("arena", "fp32", lambda *_: (100.0, 50.0), "cpu")
    # A decision: 1/100 s of inference, twice 1/50 s of training.
    assert alone == {"inference_alone": 100, "training_alone": 25, "both_in_turn": 20}
    inference, training = ceilings({"width": 8, "layers": 1}, "fp32", 32, "cpu", "arena")
    assert inference > training > 0


def test_a_curve_looks_as_often_as_it_says():
    settings = gpu_curves.settings_of("beastybar", "fp32", True, 3, "cpu")
    assert settings.seed == 3
    small = apply_overrides(settings, ["rollouts.matches=8", "rollouts.workers=1"])
    looks = list(gpu_curves.curve(small, 700, looks=2, matches=4))
    assert [look["decisions"] >= due for look, due in zip(looks, (350, 700), strict=True)]
    assert all(0.0 <= look[bot] <= 1.0 for look in looks for bot in gpu_curves.BOTS["beastybar"])
