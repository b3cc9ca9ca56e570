"""Weights that are finite one by one and overflow together: every runtime says so and none plays.

What is drawn from numbers that are none may be illegal, and a score made of it is no score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_device import far
from torch import nn

from lanista import games
from lanista.cli.main import main
from lanista.evaluation.evaluator import probabilities
from lanista.games.contract import Decisions, Game
from lanista.live.agent.inference import load as load_decider
from lanista.nets.files.policy_file import load_policy, save_policy
from lanista.nets.finite import NotFiniteError
from lanista.nets.policy import Policy
from lanista.nets.portable.export import onnx_bytes
from lanista.nets.portable.onnx_runtime import onnx_runner
from lanista.nets.portable.runtime import load_portable
from lanista.nets.settings import Network
from lanista.rollout.inference.actor import Actor
from lanista.rollout.inference.device_transfer import Lane
from lanista.rollout.inference.opponent_batch import OpponentBatch
from lanista.rollout.inference.policy_players import PolicyPlayer, ensemble_player, policy_player

SLOTS = 24
HUGE = 3e38
KINDS = ("mlp", "residual", "lstm", "transformer")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def at_start(name: str = "beastybar") -> tuple[Game, Decisions]:
    game = games.make(name, slots=SLOTS, seed=3)
    game.start(np.arange(SLOTS), np.arange(SLOTS))
    return game, game.decisions()


def saved(path: Path, name: str = "beastybar", kind: Any = "mlp", huge: bool = True) -> Path:
    """Write a policy whose weights are all finite, and as large as a file can hold if `huge`."""
    torch.manual_seed(1)
    spec = games.make(name).spec
    policy = Policy(spec, Network(kind, width=16, layers=1))
    if huge:
        for weight in policy.parameters():
            nn.init.constant_(weight, HUGE)
    save_policy(path, policy, spec)
    return path


def answers(path: Path) -> dict[str, Callable[[Game, Decisions], Any]]:
    """Return every way to let a policy file answer decisions of a game."""
    rows = np.arange(SLOTS)
    digest = load_policy(path).digest

    def actor(**manner: Any) -> Actor:
        return Actor(load_policy(path).policy, 7, **manner)

    def panel(stack: bool) -> Callable[[Game, Decisions], Any]:
        players = [PolicyPlayer(f"p{number}", f"d{number}", actor()) for number in range(2)]
        return lambda _, d: OpponentBatch(players, Lane(torch.device("cpu")), stack=stack).act(
            d, rows, [SLOTS // 2] * 2
        )

    def decided(_: Game, d: Decisions) -> Any:
        decider = load_decider(path, digest)
        drawn = np.full(len(decider.layout.heads), 0.3)
        return [
            decider.decide(d.observation[n][None], d.mask[n][None], decider.start, drawn).action
            for n in range(4)
        ]

    return {
        "actor": lambda _, d: actor().choose(d, rows).action,
        "greedy actor": lambda _, d: actor(greedy=True).choose(d, rows).action,
        "actor in blocks": lambda _, d: actor(block=64).choose(d, rows).action,
        "actor over a device": lambda _, d: far(actor()).choose(d, rows).action,
        "player": lambda g, d: policy_player(path, g.spec, 7).act(d, rows),
        "ensemble": lambda g, d: ensemble_player([path, path], g.spec, 7).act(d, rows),
        "panel in turn": panel(False),
        "panel as one": panel(True),
        "numpy": lambda _, d: load_portable(path).act(
            d.observation[rows], d.mask[rows], uniforms=np.full((SLOTS, 1), 0.3, np.float32)
        ),
        "numpy, greedily": lambda _, d: load_portable(path).act(d.observation[rows], d.mask[rows]),
        "live": decided,
    }


WAYS = (
    "actor", "greedy actor", "actor in blocks", "actor over a device", "player", "ensemble",
    "panel in turn", "panel as one", "numpy", "numpy, greedily", "live",
)  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_policy_that_overflows_is_refused_and_one_that_does_not_plays(
    tmp_path: Path, way: str
) -> None:
    game, decisions = at_start()
    sound, broken = saved(tmp_path / "sound", huge=False), saved(tmp_path / "broken")
    answers(sound)[way](game, decisions)
    with pytest.raises(NotFiniteError) as caught:
        answers(broken)[way](game, decisions)
    digest = load_policy(broken).digest
    named = {"player": digest[:12], "numpy": digest[:12], "live": digest[:12], "ensemble": "broken"}
    named |= {"panel in turn": "d0 (p0)", "panel as one": "d0 (p0)"}
    assert named.get(way, "The policy that learns") in str(caught.value) or way.startswith("numpy")
    assert "overflow" in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_networks_of_every_kind_are_refused_by_torch_and_by_numpy(
    tmp_path: Path, kind: str
) -> None:
    game, decisions = at_start()
    path = saved(tmp_path / "p", kind=kind)
    for way in ("player", "numpy", "live"):
        with pytest.raises(NotFiniteError, match=load_policy(path).digest[:12]):
            answers(path)[way](game, decisions)


def test_a_gap_between_choices_beyond_any_float_is_no_overflow_and_plays_legally(
    tmp_path: Path,
) -> None:
    game, decisions = at_start()
    policy = load_policy(saved(tmp_path / "sound", huge=False)).policy
    with torch.no_grad():
        for weight in policy.parameters():
            weight.zero_()
        policy.head.bias.fill_(-HUGE)
        policy.head.bias[::2] = HUGE
    save_policy(tmp_path / "p", policy, game.spec)
    for way, answer in answers(tmp_path / "p").items():
        given = answer(game, decisions)
        action = np.asarray(given[0] if way.startswith("numpy") else given).reshape(-1)
        legal = decisions.mask[: len(action)]
        assert legal[np.arange(len(action)), action].all(), way
        # What is preferred beyond measure is taken wherever it is legal.
        assert (action % 2 == 0)[legal[:, ::2].any(1)].all(), way


def test_a_live_bot_draws_nothing_where_nothing_is_possible(tmp_path: Path) -> None:
    _, decisions = at_start()
    path = saved(tmp_path / "p", huge=False)
    decider = load_decider(path, load_policy(path).digest)
    legal = decisions.mask[:1]
    said = np.where(legal, -np.inf, np.float32(-1e9))
    decider._run = lambda *_: (said, decider.start)
    with pytest.raises(NotFiniteError, match=decider.digest[:12]):
        decider.decide(decisions.observation[:1], legal, decider.start, np.full(1, 0.3))


def test_an_export_that_overflows_is_refused_by_name(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    _, decisions = at_start()
    loaded = load_policy(saved(tmp_path / "p"))
    run = onnx_runner(onnx_bytes(loaded), threads=1)
    rows, state = np.arange(4), np.zeros((4, 0), np.float32)
    with pytest.raises(NotFiniteError, match=loaded.digest[:12]):
        run(decisions.observation[rows], decisions.mask[rows], state)


def test_the_exact_instrument_does_not_judge_what_overflows(tmp_path: Path) -> None:
    _, decisions = at_start("kuhn")
    policy = load_policy(saved(tmp_path / "p", "kuhn")).policy
    with pytest.raises(NotFiniteError):
        probabilities(policy)(decisions.observation, decisions.mask)


def test_a_panel_names_the_one_that_overflows_and_spares_one_without_rows(tmp_path: Path) -> None:
    game, decisions = at_start()
    sound, broken = saved(tmp_path / "sound", huge=False), saved(tmp_path / "broken")
    players = [policy_player(path, game.spec, 7) for path in (sound, broken)]
    rows = np.arange(SLOTS)
    for stack in (False, True):
        panel = OpponentBatch(players, Lane(torch.device("cpu")), stack=stack)
        assert len(panel.act(decisions, rows, [SLOTS, 0])) == SLOTS
        with pytest.raises(NotFiniteError, match=r"\(broken\) gave no probabilities at 4 of 4"):
            panel.act(decisions, rows, [SLOTS - 4, 4])


def test_play_scores_no_policy_that_overflows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(tmp_path / "broken.pt", "kuhn")
    assert main(["play", "kuhn", "--seats", f"{path},random", "--matches", "4"]) == 2
    out, err = capsys.readouterr()
    assert "overflow" in err
    assert load_policy(path).digest[:12] in err
    assert "score" not in out
