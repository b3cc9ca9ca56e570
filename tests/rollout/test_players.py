"""Policies as players: digests that tell what plays, ensembles, and play that can be repeated."""

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lanista.errors import LanistaError
from lanista.games import registry
from lanista.games.bots import Player
from lanista.games.contract import Decisions, Spec
from lanista.nets.files.policy_file import PolicyFileError, load_policy, save_policy
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.rollout import Results, Table, play, rotations
from lanista.rollout.inference.policy_players import ensemble_player, policy_player


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def policy_in(folder: Path, name: str = "kuhn", kind: Any = "mlp", seed: int = 0) -> Path:
    spec = registry.make(name).spec
    torch.manual_seed(seed)
    policy = Policy(spec, Network(kind, width=16, layers=1))
    torch.nn.init.orthogonal_(policy.head.weight, 3.0)
    path = folder / f"{kind}{seed}.safetensors"
    save_policy(path, policy, spec, name=f"{kind} {seed}")
    return path


def spec_of(name: str) -> Spec:
    return registry.make(name).spec


def played(name: str, player: Player, slots: int, matches: int = 60) -> Results:
    game = registry.make(name, slots=slots, seed=8)
    bot = registry.make_bot(name, "random", game.spec, 8)
    return play([Table(game, (player, bot))], rotations(2, matches), record=True)


@pytest.mark.parametrize("many", [1, 2])
def test_a_player_plays_in_the_manner_it_was_asked_for(many: int, tmp_path: Path) -> None:
    game = registry.make("leduc", slots=4000, seed=8)
    game.start(np.arange(4000), np.arange(4000))
    decisions, rows = game.decisions(), np.arange(4000)
    files = [policy_in(tmp_path, "leduc", seed=seed) for seed in range(many)]
    with torch.no_grad():
        seen, mask = (torch.from_numpy(x.copy()) for x in (decisions.observation, decisions.mask))
        logits = [load_policy(file).policy(seen).masked_fill(~mask, -torch.inf) for file in files]
        mean = torch.stack([each.softmax(1) for each in logits]).mean(0).double().numpy()

    def made(**manner: Any) -> Player:
        if many == 1:
            return policy_player(files[0], game.spec, 5, **manner)
        return ensemble_player(files, game.spec, 5, **manner)

    for temperature in (0.4, 1.0, 3.0):
        # p^(1/T) over its sum: what logits divided by T are.
        wanted = mean ** (1 / temperature)
        wanted /= wanted.sum(1, keepdims=True)
        action = made(temperature=temperature).act(decisions, rows)[:, 0]
        counted = np.bincount(action, minlength=3) / len(rows)
        assert counted == pytest.approx(wanted.mean(0), abs=0.04)
        assert np.abs(wanted.mean(0) - mean.mean(0)).max() > 0.05 or temperature == 1.0
    greedy = made(greedy=True).act(decisions, rows)[:, 0]
    assert (greedy == mean.argmax(1)).mean() > 0.99
    one, other = (policy_player(files[0], game.spec, seed).act(decisions, rows) for seed in (5, 6))
    assert not np.array_equal(one, other)


def test_a_players_digest_is_its_files_and_tells_how_it_plays(tmp_path: Path) -> None:
    path = policy_in(tmp_path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    spec = spec_of("kuhn")
    assert policy_player(path, spec, 0).digest == digest
    assert policy_player(load_policy(path), spec, 3).digest == digest
    manners: list[dict[str, Any]] = [{}, {"greedy": True}, {"temperature": 2.0}]
    manners += [{"temperature": 2.0000001}]
    digests = [policy_player(path, spec, 0, **manner).digest for manner in manners]
    digests += [ensemble_player([path], spec, 0, **manner).digest for manner in manners]
    assert len(set(digests)) == len(digests)
    assert all(one.startswith(digest) for one in digests[:4])


def test_names_come_from_the_file_unless_given(tmp_path: Path) -> None:
    path, spec = policy_in(tmp_path), spec_of("kuhn")
    assert policy_player(path, spec, 0).name == "mlp0"
    assert policy_player(load_policy(path), spec, 0).name == "mlp 0"
    assert policy_player(path, spec, 0, name="mine").name == "mine"
    assert ensemble_player([path, path], spec, 0).name == "mlp0+mlp0"


@pytest.mark.parametrize("kind", ["mlp", "residual", "lstm", "transformer"])
def test_the_same_matches_come_out_with_any_number_of_slots(tmp_path: Path, kind: str) -> None:
    path, spec = policy_in(tmp_path, "leduc", kind), spec_of("leduc")
    tables = [played("leduc", policy_player(path, spec, 8), slots) for slots in (1, 7, 64)]
    for other in tables[1:]:
        assert np.array_equal(tables[0].returns, other.returns)
        assert np.array_equal(tables[0].actions, other.actions)  # type: ignore[arg-type]


def test_swapping_two_files_swaps_their_results(tmp_path: Path) -> None:
    spec = spec_of("kuhn")
    first, second = policy_in(tmp_path, seed=1), policy_in(tmp_path, seed=2)
    before = [played("kuhn", policy_player(path, spec, 8), 16) for path in (first, second)]
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    after = [played("kuhn", policy_player(path, spec, 8), 16) for path in (first, second)]
    assert not np.array_equal(before[0].returns, before[1].returns)
    for old, new in zip(before, reversed(after), strict=True):
        assert old.digests == new.digests
        assert np.array_equal(old.returns, new.returns)


def test_an_ensemble_plays_the_mean_of_its_members(tmp_path: Path) -> None:
    spec = spec_of("arena")
    paths = [policy_in(tmp_path, "arena", kind) for kind in ("mlp", "lstm", "transformer")]
    game = registry.make("arena", slots=400, seed=8)
    game.start(np.arange(400), np.arange(400))
    decisions = game.decisions()
    rows = np.arange(len(decisions))
    probabilities = []
    for path in paths:
        policy = load_policy(path).policy
        with torch.no_grad():
            logits = policy(torch.from_numpy(decisions.observation[rows]))
        log_probs = policy.heads.log_probs(logits, torch.from_numpy(decisions.mask[rows]))
        probabilities.append(log_probs.exp().numpy())
    mean = np.mean(probabilities, 0)
    greedy = ensemble_player(paths, spec, 8, greedy=True).act(decisions, rows)
    sampled = ensemble_player(paths, spec, 8).act(decisions, rows)
    start = 0
    for head, size in enumerate(policy.heads.sizes):
        part = mean[:, start : start + size]
        best = np.take_along_axis(part, greedy[:, head, None].astype(np.int64), 1)[:, 0]
        np.testing.assert_allclose(best, part.max(1), atol=1e-6)
        spread = np.sqrt((part * (1 - part)).sum(0)) + 1
        counts = np.bincount(sampled[:, head], minlength=size)
        assert (np.abs(counts - part.sum(0)) < 5 * spread).all()
        start += size


def test_an_ensemble_does_not_depend_on_the_order_of_its_members(tmp_path: Path) -> None:
    spec = spec_of("leduc")
    paths = [policy_in(tmp_path, "leduc", "lstm", seed) for seed in (1, 2, 3)]
    one, other = ensemble_player(paths, spec, 8), ensemble_player(paths[::-1], spec, 8)
    assert one.digest == other.digest
    assert one.digest != ensemble_player(paths[:2], spec, 8).digest
    assert np.array_equal(played("leduc", one, 5).returns, played("leduc", other, 16).returns)


def test_an_ensemble_of_one_plays_as_its_member(tmp_path: Path) -> None:
    path, spec = policy_in(tmp_path, "leduc", "lstm"), spec_of("leduc")
    alone = played("leduc", policy_player(path, spec, 8), 16)
    together = played("leduc", ensemble_player([path, path], spec, 8), 16)
    assert np.array_equal(alone.actions, together.actions)  # type: ignore[arg-type]


def test_policies_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = policy_in(tmp_path)
    for source in (path, load_policy(path)):
        with pytest.raises(PolicyFileError, match="it plays 'kuhn', and this game is 'leduc'"):
            policy_player(source, spec_of("leduc"), 0)
    with pytest.raises(LanistaError, match="needs policies"):
        ensemble_player([], spec_of("kuhn"), 0)
    with pytest.raises(LanistaError, match="temperature"):
        ensemble_player([path], spec_of("kuhn"), 0, temperature=0)


def test_players_never_load_the_optimiser_or_the_learner() -> None:
    code = (
        "import sys, lanista.rollout.inference.policy_players\n"
        "assert not [name for name in sys.modules if name.startswith('lanista.learn')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class Told:
    """A player that keeps, for each decision, what its policy said to the last bit."""

    def __init__(self, player: Any) -> None:
        self.player, self.name, self.digest = player, player.name, player.digest
        self.said: dict[tuple[int, int, int], bytes] = {}

    def act(self, decisions: Decisions, rows: Any) -> Any:
        choice = self.player.actor.choose(decisions, rows)
        for at, row in enumerate(rows):
            key = (int(d[row]) for d in (decisions.match, decisions.seat, decisions.turn))
            self.said[tuple(key)] = choice.log_probs[at].tobytes()  # type: ignore[index]
        return choice.action


@pytest.mark.parametrize("kind", ["mlp", "residual", "lstm", "transformer"])
@pytest.mark.parametrize("name", ["leduc", "beastybar"])
def test_matches_are_the_same_to_the_last_bit_with_1_7_and_1024_slots(
    tmp_path: Path, name: str, kind: str
) -> None:
    path, spec = policy_in(tmp_path, name, kind), spec_of(name)
    said, results = [], []
    for slots in (1, 7, 1024):
        told = Told(policy_player(path, spec, 8))
        results.append(played(name, told, slots))
        said.append(told.said)
    assert said[0] == said[1] == said[2]
    for other in results[1:]:
        assert np.array_equal(results[0].actions, other.actions)  # type: ignore[arg-type]
        assert np.array_equal(results[0].returns, other.returns)


def test_an_ensembles_matches_are_the_same_in_any_company(tmp_path: Path) -> None:
    spec = spec_of("arena")
    paths = [policy_in(tmp_path, "arena", kind) for kind in ("mlp", "lstm", "transformer")]
    game = registry.make("arena", slots=100, seed=8)
    game.start(np.arange(100), np.arange(100))
    decisions = game.decisions()
    together = _means(ensemble_player(paths, spec, 8, temperature=0.7), decisions, 0, 200)
    for start, stop in ((0, 1), (3, 10), (57, 130), (199, 200)):
        apart = _means(ensemble_player(paths, spec, 8, temperature=0.7), decisions, start, stop)
        assert torch.equal(together[start:stop], apart)


def _means(player: Any, decisions: Decisions, start: int, stop: int) -> Any:
    """Return the log-probabilities that an ensemble draws from at some rows."""
    kept: list[Any] = []
    plain = player._mean
    player._mean = lambda *given: kept.append(plain(*given)) or kept[-1]
    player.act(decisions, np.arange(start, stop))
    return torch.cat([part for (part,) in kept])[: stop - start]
