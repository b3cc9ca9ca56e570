"""`python -m bench.showdown_arms FOLDER`: what a clone gains from head, features, teams and losses.

Every arm is a clone of the recorded teacher with the same matches, epochs and network but for one
thing, judged in our worker on teams that nobody learned from. A field that an arm leaves out is
blank in what it learns from and has no weight in its file, so that it says nothing in play either.
Rows go to FOLDER/rows.jsonl as they come.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lanista import evaluate
from lanista.data.demonstrations import Demonstrations
from lanista.data.gathering import gather
from lanista.games import registry, trust
from lanista.games.bots import Player
from lanista.games.contract import Decisions, Field, Observation, Spec
from lanista.learn.imitation.cloner import Cloner
from lanista.learn.imitation.settings import Imitation
from lanista.nets.files.policy_file import save_policy
from lanista.nets.policy import Policy, parameter_count
from lanista.nets.settings import Network
from lanista.nets.tokens import FEW, depth_of, layout_of
from lanista.rollout.inference.policy_players import policy_player

GAME = "showdown"
ROWS = "rows.jsonl"
NETWORK = Network(
    "transformer", width=64, layers=2, embedding=8, id_dropout=0.2, dropout=0.05, readout="pointer"
)
IMITATION = Imitation(epochs=5, batch_size=512, lr=2e-3)
SETTINGS = {"observation": 2, "team_pool_path": "held-out", "mode": "mirror"}
OPPONENTS = ("simple_heuristics", "max_power", "heuristic")
_DAMAGE = (
    *("own.best_on", "own.threat", "own.likely_threat_of", "own.knocks_out", "own.doomed"),
    *("foe.strongest_threat", "foe.takes_"),
    *("move.least", "move.most", "move.turned", "move.knocks_out", "move.on_ally"),
)
_TRAITS = tuple(
    f"{group}.{kind}_" for group in ("own", "foe") for kind in ("item", "ability", "has")
)


@dataclass(frozen=True)
class Arm:
    """What is different in an arm."""

    network: Network = NETWORK
    imitation: Imitation = IMITATION
    leaves_out: Callable[[Field], bool] | None = None
    """Fields that it does not see."""
    few_teams: bool = False
    """It learns from the recording on few teams."""


def _named(*heads: str) -> Callable[[Field], bool]:
    return lambda field: field.name.startswith(heads)


def _is_id(field: Field) -> bool:
    return bool(field.table) and field.classes > FEW


ARMS: dict[str, Arm] = {
    "base": Arm(),
    "choices by number": Arm(network=replace(NETWORK, readout=None)),
    "without damage": Arm(leaves_out=_named(*_DAMAGE)),
    "without traits": Arm(leaves_out=_named(*_TRAITS, "move.does_")),
    "without ids": Arm(leaves_out=_is_id),
    "few teams": Arm(few_teams=True),
    "without value loss": Arm(imitation=replace(IMITATION, value_weight=0.0)),
    "predicts the opponent": Arm(
        imitation=replace(IMITATION, forecast=("foe.turn1_kind", "foe.turn1_move", "foe.turn1_aim"))
    ),
    "with memory": Arm(network=replace(NETWORK, kind="transformer_lstm")),
}
PREVIEWS = ("random", "heuristic")
"""Whose team previews are played in the policy's place, where `base` is judged."""


def train(arm: Arm, data: Demonstrations, seed: int, path: Path) -> dict[str, Any]:
    """Clone, write the policy, and return what it took."""
    spec = data.spec
    blank = [field for field in spec.observation.fields if arm.leaves_out and arm.leaves_out(field)]
    data = _blanked(data, blank)
    began = time.process_time()
    settings = replace(arm.imitation, seed=seed)
    cloner = Cloner(spec, arm.network, settings)
    learned, held_out = data.split(settings.hold_out, settings.seed)
    while not cloner.finished:
        cloner.train_epoch(data, learned, held_out)
    policy, _ = cloner.best()
    silence(policy, spec.observation, blank)
    save_policy(path, policy, spec, name=path.stem, step=cloner.best_epoch)
    best = cloner.history[cloner.best_epoch - 1]
    return {
        "parameters": parameter_count(policy), "decisions": len(data.rows(learned)),
        "epochs": cloner.epoch, "best_epoch": cloner.best_epoch,
        "held_out_nll": round(best["held_out_nll"], 4),
        "training_cpu_seconds": round(time.process_time() - began, 1),
    }  # fmt: skip


def _blanked(data: Demonstrations, blank: Sequence[Field]) -> Demonstrations:
    if not blank:
        return data
    observation = data.observation.copy()
    for field in blank:
        observation[:, data.spec.observation.slice_of(field.name)] = 0
    return replace(data, observation=observation)


@torch.no_grad()
def silence(policy: Policy, observation: Observation, blank: Sequence[Field]) -> None:
    """Make a policy that learned with blank fields take any value of theirs for blank."""
    encoder: Any = policy.torso.encoder
    layout = layout_of(observation, policy.network.readout)
    depth = depth_of(policy.network.resolved_width, policy.network.embedding)
    entries = {
        entry
        for field in blank
        for entry in range(*observation.slice_of(field.name).indices(observation.length))
    }
    for kind, layer in zip(layout.kinds, encoder.inputs, strict=True):
        for at, number in enumerate(kind.numbers[0]):
            if int(number) in entries:
                layer.weight[:, len(kind.rows) * depth + at] = 0
        for at, category in enumerate(kind.categories[0]):
            if int(category) in entries:
                # What it always saw is now part of the layer's constant.
                columns = slice(at * depth, (at + 1) * depth)
                blank_value = encoder.embedding.weight[int(kind.rows[at])]
                layer.bias += layer.weight[:, columns] @ blank_value
                layer.weight[:, columns] = 0


class WithPreview:
    """A policy whose team previews somebody else chooses."""

    def __init__(self, policy: Player, previews: Player) -> None:
        self.policy, self.previews = policy, previews
        self.name = f"{policy.name} with previews of {previews.name}"
        self.digest = f"{policy.digest} {previews.digest}"

    def act(self, decisions: Decisions, rows: Any) -> Any:
        """Return the policy's actions, and the other's team previews."""
        actions = np.array(self.policy.act(decisions, rows))
        other = np.array(self.previews.act(decisions, rows))
        actions[:, 0] = other[:, 0]  # Where no preview is asked, both have its only choice.
        return actions


def judge(path: Path, games: int, previews: str | None = None) -> dict[str, Any]:
    """Return the scores of a policy, greedy, on the held-out teams."""

    def player(spec: Spec, seed: int) -> Any:
        policy = policy_player(path, spec, seed, greedy=True)
        if previews is None:
            return policy
        return WithPreview(policy, registry.make_bot(GAME, previews, spec, seed))

    player.__name__ = "arm"
    outcome = evaluate(
        player, list(OPPONENTS), games=games, game=GAME, settings=SETTINGS, seed=1_000_000
    )
    return {
        name: [round(float(number or 0), 3) for number in (score.value, score.low, score.high)]
        for name, score in outcome.gauntlet.scores.items()
    }


def run(folder: Path, recorded: Path, few_teams: Path, arms: Iterable[str], seeds: Sequence[int],
        games: int) -> None:  # fmt: skip
    """Train and judge every arm with every seed, and write a row for each."""
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    names = list(arms)
    for few, source in ((False, recorded), (True, few_teams)):
        chosen = [name for name in names if ARMS[name].few_teams == few]
        if not chosen:
            continue
        data = gather(source)[0]
        data.leave_out_idle()
        for seed in seeds:
            for name in chosen:
                _row(folder, name, seed, data, games)


def _row(folder: Path, name: str, seed: int, data: Demonstrations, games: int) -> None:
    path = folder / f"{name.replace(' ', '-')}-{seed}.safetensors"
    row = {"arm": name, "seed": seed, "matches": data.matches}
    row |= train(ARMS[name], data, seed, path)
    _write(folder, row | {"games": games, "scores": judge(path, games)})
    if name == "base":
        for previews in PREVIEWS:
            scores = judge(path, games, previews)
            arm = f"previews of {previews}"
            _write(folder, {"arm": arm, "seed": seed, "games": games, "scores": scores})


def _write(folder: Path, row: Mapping[str, Any]) -> None:
    with (folder / ROWS).open("a", encoding="utf-8") as rows:
        rows.write(json.dumps(row) + "\n")
    print(json.dumps(row), flush=True)


def main() -> None:
    """Read the words, and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--recorded", type=Path, required=True)
    parser.add_argument("--few-teams", type=Path, required=True)
    parser.add_argument("--arms", default=",".join(ARMS), help=f"of {', '.join(ARMS)}")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--games", type=int, default=504)
    words = parser.parse_args()
    seeds = [int(seed) for seed in words.seeds.split(",")]
    arms = words.arms.split(",")
    if unknown := [arm for arm in arms if arm not in ARMS]:
        parser.error(f"there is no arm {unknown[0]!r}; known: {', '.join(ARMS)}")
    with trust.guarding((), trusting=True):  # Recordings name the user's own folder of teams.
        run(words.folder, words.recorded, words.few_teams, arms, seeds, words.games)


if __name__ == "__main__":
    main()
