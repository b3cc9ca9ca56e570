"""Actors: what a policy chooses does not depend on its company, and memory ends with a match."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from lanista.errors import LanistaError
from lanista.games import registry
from lanista.games.contract import Decisions, Game
from lanista.nets.policy import Critic, Policy
from lanista.nets.settings import Network
from lanista.rollout.inference.actor import Actor

KINDS = ("mlp", "residual", "lstm", "transformer", "transformer_lstm")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def policy_of(game: Game, kind: Any = "mlp") -> Policy:
    torch.manual_seed(2)
    policy = Policy(game.spec, Network(kind, width=16, layers=1))
    torch.nn.init.orthogonal_(policy.head.weight, 3.0)
    return policy


def started(name: str, slots: int = 16, first: int = 0, **settings: Any) -> Game:
    game = registry.make(name, slots=slots, seed=5, **settings)
    game.start(np.arange(slots), np.arange(first, first + slots))
    return game


def walk(game: Game, steps: int) -> Iterator[tuple[Decisions, NDArray[Any]]]:
    """Give the decisions of random play, copied so that they can be kept."""
    bot = registry.make_bot(game.spec.name, "random", game.spec, 1)
    for _ in range(steps):
        now = game.decisions()
        if not len(now):
            return
        rows = np.arange(len(now))
        kept = {
            name: getattr(now, name).copy()
            for name in ("slot", "seat", "match", "turn", "observation", "mask")
        }
        yield Decisions(**kept), rows
        game.act(rows, bot.act(now, rows))


@pytest.mark.parametrize("block", [0, 64])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5])
def test_choices_have_the_probabilities_of_the_logits_over_the_temperature(
    temperature: float, block: int
) -> None:
    """softmax(logits / temperature) over what is legal, in all that an actor says."""
    game = started("leduc")
    policy = policy_of(game)
    actor = Actor(policy, 3, temperature=temperature, block=block)
    sure = []
    for decisions, rows in walk(game, 4):
        with torch.no_grad():
            logits = policy(torch.from_numpy(decisions.observation)).double().numpy()
        weights = np.where(decisions.mask, np.exp(logits / temperature), 0.0)
        wanted = weights / weights.sum(1, keepdims=True)
        choice = actor.choose(decisions, rows)
        legal = decisions.mask
        assert np.exp(choice.log_probs)[legal] == pytest.approx(wanted[legal], abs=1e-5)
        assert np.exp(actor.log_probs(decisions, rows).numpy())[legal] == pytest.approx(
            wanted[legal], abs=1e-5
        )
        chosen = wanted[rows, choice.action[:, 0]]
        assert np.exp(choice.log_prob) == pytest.approx(chosen, abs=1e-5)
        sure.append(wanted.max(1))
    assert np.concatenate(sure).std() > 0.03  # Not uniform, so that a temperature shows.


@pytest.mark.parametrize("block", [0, 64])
def test_the_memory_of_every_seat_goes_through_its_match_alone(block: int) -> None:
    """Each seat's logits against a policy that is walked through that seat's decisions by hand."""
    game = started("arena", slots=3, duration=2.0)
    policy = policy_of(game, "lstm")
    actor = Actor(policy, 3, block=block)
    state: dict[tuple[int, int], torch.Tensor] = {}
    moved = []
    for decisions, rows in walk(game, 12):
        said = actor.choose(decisions, rows)
        for row in rows:
            key = int(decisions.slot[row]), int(decisions.seat[row])
            before = state.get(key, torch.zeros(1, policy.state_size))
            with torch.no_grad():
                seen = torch.from_numpy(decisions.observation[row : row + 1])
                logits, _, state[key] = policy.step(seen, before)
                fresh = policy.step(seen, torch.zeros_like(before))[0]
            mask = torch.from_numpy(decisions.mask[row : row + 1])
            wanted = policy.heads.log_probs(logits, mask)[0].numpy()
            np.testing.assert_allclose(said.log_probs[row], wanted, atol=1e-4)
            assert said.state is not None
            np.testing.assert_allclose(said.state[row], before[0].numpy(), atol=1e-4)
            moved.append(float((fresh - logits).abs().max()))
    assert np.mean(np.array(moved) > 0.01) > 0.5  # What is remembered changes what is said.


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_chooses_alone_as_it_does_in_company(kind: str) -> None:
    game = started("beastybar")
    policy = policy_of(game, kind)
    together, alone = Actor(policy, 4), Actor(policy, 4)
    for decisions, rows in walk(game, 6):
        choice = together.choose(decisions, rows)
        for row in rows[::-1]:
            single = alone.choose(decisions, np.array([row]))
            np.testing.assert_allclose(single.log_probs[0], choice.log_probs[row], atol=1e-5)
            assert single.action[0] == choice.action[row]
            if choice.state is not None:
                assert single.state is not None
                np.testing.assert_allclose(single.state[0], choice.state[row], atol=1e-5)


def test_the_log_probability_is_that_of_the_action() -> None:
    game = started("arena")
    policy = policy_of(game)
    decisions, rows = next(walk(game, 1))
    choice = Actor(policy, 4).choose(decisions, rows)
    with torch.no_grad():
        logits = policy(torch.from_numpy(decisions.observation))
    for row in rows:
        start, total = 0, 0.0
        for head, size in enumerate(policy.heads.sizes):
            legal = decisions.mask[row, start : start + size]
            odds = logits[row, start : start + size].exp().numpy() * legal
            total += np.log(odds[choice.action[row, head]] / odds.sum())
            start += size
        assert choice.log_prob[row] == pytest.approx(total, abs=1e-4)


def test_sampled_actions_follow_the_probabilities() -> None:
    game = started("kuhn", slots=4000)
    policy = policy_of(game)
    decisions, rows = next(walk(game, 1))
    choice = Actor(policy, 4).choose(decisions, rows)
    expected = np.exp(choice.log_probs[:, 1])
    spread = np.sqrt((expected * (1 - expected)).sum())
    assert abs((choice.action[:, 0] == 1).sum() - expected.sum()) < 5 * spread


@pytest.mark.parametrize("critic_sees", ["features", "seat", "privileged"])
def test_the_network_is_asked_once_about_equal_rows(critic_sees: str) -> None:
    game = started("kuhn", slots=200)
    policy = policy_of(game)
    spec = game.spec
    views: dict[str, dict[str, Any]] = {
        "features": {"features": policy.torso.width},
        "seat": {},
        "privileged": {"observation": spec.privileged},
    }
    critic = Critic(spec, policy.network, "value", **views[critic_sees])
    torch.nn.init.orthogonal_(critic.head.weight)
    decisions, rows = next(walk(game, 1))
    privileged = game.privileged().copy() if critic_sees == "privileged" else None
    assert privileged is None or len(privileged) == len(rows)
    asked: list[int] = []
    policy.torso.register_forward_pre_hook(lambda _, given: asked.append(len(given[0])))
    critic.register_forward_pre_hook(lambda _, given: asked.append(len(given[0])))
    choice = Actor(policy, 4, critic).choose(decisions, rows, privileged)
    kinds = len(np.unique(decisions.observation, axis=0))
    judged = kinds if privileged is None else len(np.unique(privileged, axis=0))
    assert asked == [kinds, judged]
    with torch.no_grad():
        seen = torch.from_numpy(decisions.observation)
        view = {"features": policy.torso(seen), "seat": seen}.get(critic_sees)
        if view is None:
            view = torch.from_numpy(privileged)
        assert choice.value is not None
        np.testing.assert_allclose(choice.value, critic(view).numpy(), atol=1e-6)
        log_probs = policy.heads.log_probs(policy(seen), torch.from_numpy(decisions.mask))
    np.testing.assert_allclose(choice.log_probs, log_probs.numpy(), atol=1e-6)


def test_a_q_critic_gives_no_value_while_acting() -> None:
    game = started("kuhn")
    policy = policy_of(game)
    actor = Actor(policy, 4, Critic(game.spec, policy.network, "q"))
    assert actor.choose(*next(walk(game, 1))).value is None


def test_read_only_decisions_are_taken_without_a_warning() -> None:
    for name in ("beastybar", "arena"):
        game = started(name)
        decisions = game.decisions()
        assert not decisions.observation.flags.writeable
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for kind in KINDS:
                Actor(policy_of(game, kind), 4).choose(decisions, np.arange(len(decisions)))


def test_no_rows_are_no_trouble() -> None:
    game = started("leduc")
    for kind in KINDS:
        actor = Actor(policy_of(game, kind), 4)
        assert actor.choose(game.decisions(), np.arange(0)).action.shape == (0, 1)


def states(actor: Actor, game: Game, steps: int) -> list[Any]:
    return [actor.choose(*step).state for step in walk(game, steps)]


def test_memory_is_carried_through_a_match_seat_by_seat() -> None:
    game = started("leduc", slots=3)
    policy = policy_of(game, "lstm")
    actor = Actor(policy, 4)
    carried: dict[tuple[int, int], torch.Tensor] = {}
    for decisions, rows in walk(game, 4):
        choice = actor.choose(decisions, rows)
        assert choice.state is not None
        for row in rows:
            place = int(decisions.slot[row]), int(decisions.seat[row])
            before = carried.get(place, torch.zeros(1, policy.state_size))
            np.testing.assert_allclose(choice.state[row], before[0].numpy(), atol=1e-5)
            with torch.no_grad():
                seen = torch.from_numpy(decisions.observation[row][None])
                carried[place] = policy.step(seen, before)[2]
    assert any(state.abs().max() > 0 for state in carried.values())


def test_a_slot_that_plays_another_match_begins_with_an_empty_memory() -> None:
    actor = Actor(policy_of(started("leduc"), "lstm"), 4)
    states(actor, started("leduc"), 4)
    assert np.abs(states(actor, started("leduc", first=100), 1)[0]).max() == 0


def test_the_same_match_begun_again_begins_with_an_empty_memory() -> None:
    actor = Actor(policy_of(started("leduc"), "lstm"), 4)
    first = states(actor, started("leduc"), 4)
    again = states(actor, started("leduc"), 4)
    for one, other in zip(first, again, strict=True):
        assert np.array_equal(one, other)


def test_memory_put_away_and_taken_up_goes_on_the_same() -> None:
    game = started("leduc")
    policy = policy_of(game, "lstm")
    whole, before, after = Actor(policy, 4), Actor(policy, 4), Actor(policy, 4)
    steps = list(walk(game, 4))
    expected = [whole.choose(*step).log_probs for step in steps]
    for step in steps[:2]:
        before.choose(*step)
    after.restore(before.memory())
    for step, wanted in zip(steps[2:], expected[2:], strict=True):
        assert np.array_equal(after.choose(*step).log_probs, wanted)


def test_temperature_divides_the_logits() -> None:
    game = started("beastybar")
    policy = policy_of(game)
    decisions, rows = next(walk(game, 1))
    plain = Actor(policy, 4).choose(decisions, rows).log_probs
    warm = Actor(policy, 4, temperature=2.0).choose(decisions, rows).log_probs
    odds = np.exp(plain / 2) * decisions.mask
    wanted = odds / odds.sum(1, keepdims=True)
    np.testing.assert_allclose(np.exp(warm), wanted, atol=1e-5)


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf")])
def test_temperatures_that_mean_nothing_are_refused(temperature: float) -> None:
    with pytest.raises(LanistaError, match="temperature"):
        Actor(policy_of(started("kuhn")), 4, temperature=temperature)


def test_greedy_takes_the_likeliest_legal_choice() -> None:
    game = started("beastybar")
    decisions, rows = next(walk(game, 1))
    choice = Actor(policy_of(game), 4, greedy=True).choose(decisions, rows)
    likeliest = np.where(decisions.mask, choice.log_probs, -np.inf).argmax(1)
    assert (choice.action[:, 0] == likeliest).all()
    other = replace(decisions, match=decisions.match + 1000)
    assert (
        Actor(policy_of(game), 9, greedy=True).choose(other, rows).action == choice.action
    ).all()


def test_half_precision_chooses_about_the_same() -> None:
    game = started("beastybar")
    decisions, rows = next(walk(game, 1))
    policy = policy_of(game)
    full = Actor(policy, 4).choose(decisions, rows)
    half = Actor(policy, 4, precision=torch.bfloat16).choose(decisions, rows)
    assert half.log_probs.dtype == np.float32
    np.testing.assert_allclose(np.exp(half.log_probs), np.exp(full.log_probs), atol=0.05)
