"""What recorded games say about the learner's weights, worked out once more by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from practice import Bench, numbered, policy_of, settings_of
from toy import CHOICES

from lanista.live.files.game_file import GameFile
from lanista.live.learner.background_learner import BackgroundLearner
from lanista.live.promotion import ope_veto as opinions
from lanista.live.promotion.ope_veto import recorded_opinion
from lanista.nets.policy import Policy

HEADS = ((0, 3), (3, 2))


@dataclass
class Recorded:
    """A learner, and the games with a result that its stable policy has played, in order."""

    learner: BackgroundLearner
    games: list[GameFile]


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """Return twelve such games among others: of another policy, and without a result."""
    bench = Bench(tmp_path, settings_of(learning={"average": 0.5, "lr": 0.0}))
    other = bench.folder.add(policy_of(9))
    games: list[GameFile] = []
    outcomes = [3.0, -0.2, 0.0, None, -5.0, 1.0, 0.4, None, -1.0, 2.0, 0.0, -3.0, 7.0, -0.5]
    learner = bench.start()
    for number, outcome in enumerate(outcomes):
        game = numbered(number, bench.stable, outcome, serial=1)
        if outcome is not None:
            games.append(game)
        bench.spool.write(game)
        bench.spool.write(numbered(100 + number, other, 1.0, serial=1))
        bench.learn(learner)
    with torch.no_grad():
        source = torch.Generator().manual_seed(3)
        for network, size in (
            (learner.weights.learner.policy, 2.0),
            (learner.weights.learner.best, 0.3),
        ):
            for parameter in network.parameters():
                parameter.add_(size * torch.randn(parameter.shape, generator=source))
    return Recorded(learner, games)


def weight(game: GameFile, policy: Policy) -> float:
    """Return how much likelier a policy is to play a game's own decisions than who played it."""
    total = 0.0
    with torch.no_grad():
        logits = policy(torch.from_numpy(game.observations.copy())).double()
    for step in range(len(game.actions)):
        if game.overruled[step]:
            continue
        for head, (start, size) in enumerate(HEADS):
            part = logits[step, start : start + size]
            total += float(part[game.actions[step, head]] - part.logsumexp(0))
        total -= float(game.log_probs[step])
    return math.exp(total)


def expected(games: list[GameFile], policy: Policy) -> tuple[float, float, float, int]:
    """Return the weighed score, the plain one, the effective sample, and how many games."""
    weights = [weight(game, policy) for game in games]
    scores = [
        1.0 if game.outcome[0] > 0 else 0.5 if game.outcome[0] == 0 else 0.0 for game in games
    ]
    value = sum(w * x for w, x in zip(weights, scores, strict=True)) / sum(weights)
    effective = sum(weights) ** 2 / sum(w * w for w in weights)
    return value, sum(scores) / len(scores), effective, len(games)


@pytest.mark.parametrize(
    ("most", "few", "least", "used"),
    [(500, 100, 0.0, 12), (7, 3, 0.0, 7), (7, 3, 1e9, 3), (12, 12, 0.0, 12)],
)
def test_the_newest_games_of_the_stable_policy_are_weighed_by_the_averaged_weights(
    recorded: Recorded,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    few: int,
    least: float,
    used: int,
) -> None:
    for name, value in (("MOST_GAMES", most), ("FEW", few), ("LEAST", least)):
        monkeypatch.setattr(opinions, name, value)
    learner = recorded.learner
    with learner:
        found = recorded_opinion(
            learner.spool,
            learner.ledger,
            learner.gatekeeper.deployment.stable,
            learner.weights.learner,
            learner.settings,
        )
    value, plain, effective, games = expected(recorded.games[-used:], learner.weights.learner.best)
    assert found.games == games
    assert found.candidate == pytest.approx(value, rel=1e-4)
    assert found.stable == pytest.approx(plain)
    assert found.effective == pytest.approx(effective, rel=1e-3)
    assert abs(value - plain) > 1e-3
    assert sum(size for _, size in HEADS) == CHOICES
