"""Runs that learn by matchup and from frozen seats: the same in workers, and when they go on."""

import pytest
from pipeline_runs import ARENA, SMALL, killed, last_state, metrics, same, same_run, settings_of

from lanista.errors import LanistaError
from lanista.training.learner_loop import lone_learner
from lanista.training.loop import train

MATCHUPS = {
    **ARENA,
    "game_settings": {"duration": 1.0},
    "iterations": 4,
    "network": {**SMALL, "normalise_observations": 5},
    "learning": {**ARENA["learning"], "matchup_floor": 0.1, "matchup_advantages": 4},
    "rollouts": {**ARENA["rollouts"], "opponents": ["self", "rusher", "random"],
                 "learn_from_frozen": True},
    "replay": {"size": 20, "minimum": 8, "batch": 5},
    "checkpoints": {"save_every": 2},
}  # fmt: skip
LEAGUE = {
    **MATCHUPS,
    "iterations": 6,
    "replay": {},
    "learner_updates": 1,
    "league": {"round": 1, "main": {"snapshot_decisions": 100,
                                    "matchmaking": {"kind": "uniform", "minimum_games": 1}}},
}  # fmt: skip


def numbers(output):
    """Return a run's rows without its clocks, those of a league's learners included."""
    return [row for row in metrics(output) if not row[1].endswith("_seconds")]


def launched(launcher, lag):
    rollouts = {**MATCHUPS["rollouts"], "launcher": launcher, "workers": 2, "lag": lag}
    return settings_of({**MATCHUPS, "rollouts": rollouts})


def test_every_launcher_gives_the_same_run(tmp_path):
    for launcher in ("serial", "processes"):
        assert train(launched(launcher, 1), tmp_path / launcher / "p.pt") == 0
    assert same_run(tmp_path / "serial" / "p.pt", tmp_path / "processes" / "p.pt")


@pytest.mark.parametrize("kind", ["league", "workers ahead"])
def test_killed_and_resumed_equals_the_unbroken_run(kind, tmp_path):
    settings = settings_of(LEAGUE) if kind == "league" else launched("threads", 2)
    train(settings, tmp_path / "a" / "p.pt")
    killed(settings, tmp_path / "b" / "p.pt", settings.updates - settings.learner_updates)
    assert train(settings, tmp_path / "b" / "p.pt", resume=True) == 0
    one, other = tmp_path / "a" / "p.pt", tmp_path / "b" / "p.pt"
    assert numbers(one) == numbers(other)
    assert same(last_state(one), last_state(other))
    assert one.read_bytes() == other.read_bytes()


def test_a_league_learns_from_what_its_past_selves_decide(tmp_path):
    # Bots whose probabilities nobody knows, and itself: whoever is kept is a past self.
    rollouts = {**LEAGUE["rollouts"], "opponents": ["self", "rusher"]}
    settings = settings_of({**LEAGUE, "iterations": 16, "rollouts": rollouts})
    assert train(settings, tmp_path / "p.pt") == 0
    rows = metrics(tmp_path / "p.pt")
    decisions = {update: value for update, name, value in rows if name == "frozen/decisions"}
    ratios = {update: value for update, name, value in rows if name == "policy/frozen_ratio"}
    assert decisions[1] == 0
    assert sum(decisions.values()) > 0
    assert ratios.keys() == {update for update, count in decisions.items() if count}
    assert all(0 < ratio <= 1 for ratio in ratios.values())
    names = last_state(tmp_path / "p.pt")["matchups"]["names"]
    assert "rusher" in names
    assert len(names) > 1


def test_a_game_of_one_seat_has_no_matchups(tmp_path):
    lonely = {"game": "my_game.py", "learning": {"matchup_floor": 0.5}}
    (tmp_path / "my_game.py").write_text(
        "from lanista.games import Facts, PythonGame, Step, View\n"
        "class Lone(PythonGame):\n"
        "    name = 'lone'\n"
        "    facts = Facts(seats=1, longest=2)\n"
        "    observation = 1\n"
        "    moves = 2\n"
        "    def deal(self, rng): return 0\n"
        "    def view(self, state, seat): return View([0.0], (0, 1))\n"
        "    def apply(self, state, moves, rng): return Step(returns=[0.0])\n"
    )
    lonely["game"] = str(tmp_path / "my_game.py")
    with pytest.raises(LanistaError, match="lone has one seat, so there is nobody"):
        lone_learner(settings_of(lonely), tmp_path)
