"""Adaptive weights in a run: renewed after each evaluation, by its scores, also when resumed."""

from contextlib import closing

import pytest
from pipeline_runs import SMALL, killed, settings_of

from lanista.runs.database import RunDatabase
from lanista.runs.folder import folder_of
from lanista.runs.schema import LineupRow, MatchmakingRow, MatchRow
from lanista.training.loop import train

VALUES = {
    "game": "beastybar",
    "iterations": 6,
    "network": SMALL,
    "rollouts": {
        "matches": 32,
        "slots": 10,
        "opponents": [
            {"player": "self", "weight": 5.0},
            {"player": "random", "weight": 1.0},
            {"player": "heuristic", "weight": 2.0},
            {"player": "queue", "weight": 2.0},
        ],
    },
    "evaluation": {"every": 2, "bots": ["random", "heuristic"], "matches": 40},
    "checkpoints": {"save_every": 3},
    "league": {
        "round": 100,
        "main_exploiters": 1,
        "main": {
            "snapshot_decisions": 0,
            "matchmaking": {"kind": "adaptive", "smoothing": 0.0, "minimum_games": 10_000.0,
                            "half_life": 0.0},
        },
    },
}  # fmt: skip
"""Nobody has met often enough in training to be known, so evaluations alone tell of opponents."""


def known_after(matches):
    values = {**VALUES, "league": {**VALUES["league"]}}
    main = VALUES["league"]["main"]
    matchmaking = {**main["matchmaking"], "minimum_games": matches}
    values["league"]["main"] = {**main, "matchmaking": matchmaking}
    return values


def recorded(output, row):
    with closing(RunDatabase(folder_of(output) / "run.db")) as database:
        return database.rows(row)


def mix_from(output, update, learner="main"):
    rows = recorded(output, MatchmakingRow)
    return {
        row.opponent: row.weight for row in rows if (row.update, row.learner) == (update, learner)
    }


def won_against(output, bot, update):
    """Return the share of an evaluation's matches that main won against a bot; draws are halves."""
    lineups = {
        row.lineup: row.names
        for row in recorded(output, LineupRow)
        if row.update == update and bot in row.names
    }
    matches = [row for row in recorded(output, MatchRow) if row.lineup in lineups]
    worth = {(1, 1): 0.5, (1, 2): 1.0, (2, 1): 0.0}
    seats = [lineups[row.lineup].index("main") for row in matches]
    won = [
        worth[row.places[seat], row.places[1 - seat]]
        for row, seat in zip(matches, seats, strict=True)
    ]
    assert len(won) == 40
    return sum(won) / len(won)


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    path = tmp_path_factory.mktemp("adaptive") / "p.pt"
    assert train(settings_of(known_after(40.0)), path) == 0
    return path


def test_a_run_starts_with_the_weights_that_were_given(output):
    assert mix_from(output, 1) == pytest.approx(
        {"main": 0.5, "random": 0.1, "heuristic": 0.2, "queue": 0.2}
    )


@pytest.mark.parametrize("update", [2, 4])
def test_after_each_evaluation_weights_go_by_its_win_rates(output, update):
    mix = mix_from(output, update + 1)
    bots = ("random", "heuristic")
    raw = {bot: max(1 - won_against(output, bot, update), 0.05) for bot in bots}
    assert mix["random"] / mix["heuristic"] == pytest.approx(raw["random"] / raw["heuristic"])
    assert mix["main"] / mix["heuristic"] == pytest.approx(0.5 / raw["heuristic"])
    assert sum(mix.values()) == pytest.approx(1)


def test_between_evaluations_weights_stay(output):
    updates = {row.update for row in recorded(output, MatchmakingRow)}
    assert updates == {1, 3, 5}


def test_learners_of_other_rules_keep_their_mix_when_mains_were_evaluated(output):
    assert mix_from(output, 3, "main_exploiter_1") == mix_from(output, 1, "main_exploiter_1")


def test_too_few_evaluation_matches_leave_the_weights_as_given(tmp_path):
    path = tmp_path / "p.pt"
    train(settings_of(VALUES), path)
    assert mix_from(path, 5) == mix_from(path, 1)


def test_a_killed_run_goes_on_with_the_same_weights(output, tmp_path):
    settings, path = settings_of(known_after(40.0)), tmp_path / "p.pt"
    killed(settings, path, 5)
    assert train(settings, path, resume=True) == 0
    assert recorded(path, MatchmakingRow) == recorded(output, MatchmakingRow)
    assert path.read_bytes() == output.read_bytes()
