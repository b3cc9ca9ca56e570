"""Runs to which a draw is worth something else: every launcher, and going on."""

import pytest
from pipeline_runs import SMALL, last_state, metrics, same_run, settings_of

from lanista.errors import LanistaError, RefusedError
from lanista.exploiters.best_response import ResponseSettings, best_response
from lanista.runs.folder import folder_of
from lanista.runs.settings import apply_overrides
from lanista.training.loop import train

LEDUC = {
    "game": "leduc",
    "iterations": 3,
    "network": SMALL,
    "rollouts": {"matches": 48, "slots": 12, "workers": 2, "opponents": ["self", "random"]},
    "checkpoints": {"save_every": 1, "keep_last": 9},
    "device": "cpu",
}
SHARED = """
from lanista.games import Facts, PythonGame, Step, View

class Shared(PythonGame):
    name = "shared"
    observation = 1
    moves = 2
    facts = Facts(seats=2, longest=1)

    def deal(self, rng):
        return []

    def view(self, state, seat):
        return View([0], (0, 1)) if seat == 0 else None

    def apply(self, state, moves, rng):
        return Step(returns=[1.0, 1.0])
"""


def told(draw, launcher="serial"):
    rollouts = {**LEDUC["rollouts"], "draw": draw, "launcher": launcher}
    return settings_of({**LEDUC, "rollouts": rollouts})


def test_every_launcher_learns_with_it_and_numbers_of_play_stay_the_games(tmp_path):
    for launcher in ("serial", "threads", "processes"):
        assert train(told(-3.0, launcher), tmp_path / launcher / "p.pt") == 0
    assert train(told(None), tmp_path / "none" / "p.pt") == 0
    first = tmp_path / "serial" / "p.pt"
    for launcher in ("threads", "processes"):
        assert same_run(first, tmp_path / launcher / "p.pt")
    assert not same_run(first, tmp_path / "none" / "p.pt")
    # The first iteration plays the same matches with the same weights: only learning differs.
    firsts = [
        {name: value for update, name, value in metrics(path) if update == 1}
        for path in (first, tmp_path / "none" / "p.pt")
    ]
    assert firsts[0]["value/loss"] != firsts[1]["value/loss"]
    played = [name for name in firsts[0] if name.startswith("return/")]
    assert played
    assert all(firsts[0][name] == firsts[1][name] for name in played)


def test_it_makes_another_run_and_one_begun_before_there_was_any_goes_on(tmp_path):
    output = tmp_path / "p.pt"
    assert train(told(None), output) == 0
    config = folder_of(output) / "config.yaml"
    text = config.read_text()
    assert text.count("  draw: null\n") == 1
    config.write_text(text.replace("  draw: null\n", ""))
    more = apply_overrides(told(None), ["iterations=4"])
    with pytest.raises(RefusedError, match=r"begun with rollouts\.draw None, and now it is -1\.0"):
        train(apply_overrides(more, ["rollouts.draw=-1"]), output, resume=True)
    assert train(more, output, resume=True) == 0
    assert last_state(output)["iteration"] == 4


@pytest.fixture
def shared(tmp_path):
    """Return the file of a game in which both seats win, always."""
    (tmp_path / "shared.py").write_text(SHARED)
    return str(tmp_path / "shared.py")


def test_a_game_in_which_all_can_win_is_refused_before_a_run_is_begun(shared, tmp_path):
    settings = settings_of({"game": shared, "rollouts": {"draw": -1}})
    with pytest.raises(LanistaError, match="shared is not a zero-sum game of two or more"):
        train(settings, tmp_path / "p.pt")
    assert not folder_of(tmp_path / "p.pt").exists()


def test_a_best_response_there_is_refused_before_anything_is_written(shared, tmp_path):
    output = tmp_path / "r.safetensors"
    with pytest.raises(LanistaError, match="shared is not a zero-sum game of two or more"):
        best_response("random", ResponseSettings(shared, draw=-1.0), output)
    base = settings_of({"game": shared, "rollouts": {"draw": -1}})
    with pytest.raises(LanistaError, match=r"to be worth -1"):
        best_response("random", ResponseSettings(shared, base=base), output)
    assert not folder_of(output).exists()
    with pytest.raises(LanistaError, match="draw is nan; give a number"):
        ResponseSettings(shared, draw=float("nan"))
