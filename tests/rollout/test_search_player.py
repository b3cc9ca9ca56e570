"""Policies that search: as players, with a value from their run, and where they are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import lanista
from lanista.errors import LanistaError
from lanista.evaluation.lineup import lineup, searching
from lanista.games.registry import make, make_bot, spec_of
from lanista.learn.settings import Learning
from lanista.nets.files.policy_file import load_policy, save_policy
from lanista.nets.files.value_file import VALUE, load_value, value_bytes
from lanista.nets.policy import Critic, Policy
from lanista.nets.settings import Network
from lanista.rollout import rotations
from lanista.rollout.inference.search_player import search_player
from lanista.rollout.match_runner import Results, Table, play
from lanista.runs.settings import Evaluation, Rollouts, RunSettings
from lanista.training.loop import train

GAME = "openspiel:tic_tac_toe"
SMALL = Network("mlp", width=16, layers=1)


def untrained(folder: Path, game: str = GAME, network: Network = SMALL) -> Path:
    torch.manual_seed(0)
    save_policy(folder / "p.safetensors", Policy(spec_of(game), network), spec_of(game))
    return folder / "p.safetensors"


def trained(folder: Path, **learning: object) -> Path:
    settings = RunSettings(
        game=GAME,
        iterations=2,
        network=SMALL,
        learning=Learning(terms={"policy": 1.0, "value": 0.5}, **learning),  # type: ignore[arg-type]
        rollouts=Rollouts(matches=32),
        evaluation=Evaluation(every=0),
        device="cpu",
    )
    assert train(settings, folder / "p.safetensors", findings=False) == 0
    return folder / "p.safetensors"


def matches_of(path: Path, slots: int, simulations: int, **manner: bool) -> Results:
    game = make(GAME, slots=slots, seed=3)
    value = Path(f"{path}.run") / VALUE
    mine = search_player(path, value, game.spec, 3, simulations, **manner)  # type: ignore[arg-type]
    other = make_bot(GAME, "random", game.spec, 3)
    return play([Table(game, (mine, other))], rotations(2, 12), record=True)


def test_a_match_comes_out_the_same_alone_and_among_others(tmp_path: Path) -> None:
    path = untrained(tmp_path)
    alone, together = matches_of(path, 1, 12), matches_of(path, 12, 12)
    assert np.array_equal(alone.actions, together.actions)  # type: ignore[arg-type]


def test_a_search_from_an_untrained_policy_never_loses_to_random_moves(tmp_path: Path) -> None:
    results = matches_of(untrained(tmp_path), 12, 300, greedy=True)
    mine = results.schedule.seating == 0
    assert (results.returns[mine] >= 0).all()


def test_the_value_that_a_run_files_is_what_its_critic_says(tmp_path: Path) -> None:
    """Also where averaged weights are handed over, whose features the critic does not know."""
    spec, policy = spec_of(GAME), Policy(spec_of(GAME), SMALL)
    critic = Critic(spec, SMALL, features=16, scaled=True)
    torch.nn.init.normal_(critic.head.weight)
    critic.rescale(7.0)
    data = value_bytes(critic, policy, SMALL, "a" * 64, 1.0)
    assert data is not None
    (tmp_path / VALUE).write_bytes(data)
    loaded = load_value(tmp_path / VALUE, spec, "a" * 64).critic
    seen = torch.rand(5, spec.observation.length)
    expected = critic.value_of(critic(policy.torso(seen)))
    torch.testing.assert_close(loaded.value_of(loaded(seen)), expected)


@pytest.mark.parametrize(
    "learning", [{}, {"average": 0.5}, {"critic_sees": "seat"}, {"critic_output": "outcome"}]
)
def test_a_policy_that_rl_made_searches_with_its_value(
    tmp_path: Path, learning: dict[str, object]
) -> None:
    path = trained(tmp_path, **learning)
    digest, spec = load_policy(path).digest, spec_of(GAME)
    value = Path(f"{path}.run") / VALUE
    loaded = load_value(value, spec, digest)
    player = lineup(GAME, [str(path), "random"], (), seats=2, seed=0, search=4).seated()[0]
    assert player.digest == f"{digest}:search=4,2,{loaded.digest[:16]}"
    with pytest.raises(LanistaError, match="written for another policy"):
        load_value(value, spec, "b" * 64)


def test_a_run_that_is_made_again_files_the_same_value(tmp_path: Path) -> None:
    contents = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        path = trained(tmp_path / name)
        contents.append((Path(f"{path}.run") / VALUE).read_bytes())
    assert contents[0] == contents[1]


@pytest.mark.parametrize("damage", ["cut", "text", "empty"])
def test_a_damaged_value_is_refused(tmp_path: Path, damage: str) -> None:
    path = trained(tmp_path)
    value = Path(f"{path}.run") / VALUE
    data = {"cut": value.read_bytes()[:-3], "text": b"no tensors at all", "empty": b""}[damage]
    value.write_bytes(data)
    with pytest.raises(LanistaError, match=r"is refused: .*; put back the file"):
        load_value(value, spec_of(GAME), load_policy(path).digest)


def test_each_way_to_play_has_a_digest_of_its_own(tmp_path: Path) -> None:
    path, spec = untrained(tmp_path), spec_of(GAME)
    none = tmp_path / "none"
    digests = {
        load_policy(path).digest,
        search_player(path, none, spec, 0, 4).digest,
        search_player(path, none, spec, 0, 5).digest,
        search_player(path, none, spec, 0, 4, greedy=True).digest,
        search_player(path, none, spec, 0, 4, temperature=0.5).digest,
    }
    assert len(digests) == 5


@pytest.mark.parametrize(
    ("game", "sentence"),
    [
        ("kuhn", "kuhn cannot be searched: it hides something from its seats; play the policy"),
        ("openspiel:pig", "chance decides what follows a move"),
        ("arena", "its seats choose at the same time"),
    ],
)
def test_a_game_that_search_is_not_sound_for_is_refused(
    tmp_path: Path, game: str, sentence: str
) -> None:
    path = untrained(tmp_path, game)
    with pytest.raises(LanistaError, match=sentence):
        search_player(path, tmp_path / "none", spec_of(game), 0, 8)


def test_a_policy_with_memory_is_refused(tmp_path: Path) -> None:
    path = untrained(tmp_path, network=Network("lstm", width=16, layers=1))
    with pytest.raises(LanistaError, match="remembers earlier positions"):
        search_player(path, tmp_path / "none", spec_of(GAME), 0, 8)


def test_a_search_is_named_with_the_policy() -> None:
    assert searching("p.safetensors:search=64") == ("p.safetensors", 64)
    assert searching("p.safetensors") == ("p.safetensors", 0)
    for number in ("", "0", "-3", "many"):
        with pytest.raises(LanistaError, match="write POLICY:search=64"):
            searching(f"p.safetensors:search={number}")


def test_a_search_is_asked_for_once_and_of_policies(tmp_path: Path) -> None:
    path = untrained(tmp_path)
    with pytest.raises(LanistaError, match="--search is for policies, and no seat has one"):
        lineup(GAME, ["random", "random"], (), seats=2, seed=0, search=8)
    with pytest.raises(LanistaError, match="names a search of its own; leave out --search 8"):
        lineup(GAME, [f"{path}:search=4", "random"], (), seats=2, seed=0, search=8)
    with pytest.raises(LanistaError, match="--search is 0; give a number"):
        lineup(GAME, [str(path), "random"], (), seats=2, seed=0, search=0)


def test_a_searching_player_is_named_wherever_players_are(tmp_path: Path) -> None:
    path = untrained(tmp_path)
    evaluated = lanista.evaluate(path, "random", games=2, search=4, greedy=True)
    assert evaluated.manner == "greedy, with a search of 4 simulations"
    met = lanista.round_robin(GAME, [str(path), f"{path}:search=4"], matches=2)
    assert [pair.second for pair in met.pairs()] == [f"{path}:search=4"]
    seats = [f"{path}:search=4", "random"]
    recorded = lanista.play(GAME, seats, matches=2, record=tmp_path / "replays")
    assert recorded.replays is not None


def test_several_policies_do_not_search_together(tmp_path: Path) -> None:
    path = untrained(tmp_path)
    both = lineup(GAME, [f"{path}+{path}", "random"], (), seats=2, seed=0, search=4)
    with pytest.raises(LanistaError, match="a search goes by one; name one of them"):
        both.seated()
