"""A policy in a script: what it says is what the network says, and it is written for others."""

import numpy as np
import pytest
import torch
from pipeline_runs import untrained

import lanista
from lanista.nets.files.policy_file import load_policy as load_network

SMALL = {"game": "kuhn", "network": {"kind": "mlp", "width": 8, "layers": 1}}
RECURRENT = {**SMALL, "network": {"kind": "lstm", "width": 8, "layers": 1}}
SEVERAL = {"game": "arena", "network": {"kind": "mlp", "width": 8, "layers": 1}}


def policy_of(values, folder):
    return lanista.load_policy(untrained(values, folder / "p.safetensors"))


def decision_of(game, slot=0):
    made = lanista.make(game, seed=4)
    made.start([0], [slot])
    decisions = made.decisions()
    return decisions.observation[0].copy(), decisions.mask[0].copy()


def test_probabilities_are_those_of_the_network(tmp_path):
    policy = policy_of(SMALL, tmp_path)
    observation, mask = decision_of("kuhn")
    network = load_network(policy.path).policy
    with torch.no_grad():
        logits = network(torch.from_numpy(observation)[None])[0]
    (found,) = policy.probabilities(observation, mask)
    assert found == pytest.approx(logits.softmax(-1).numpy(), abs=1e-6)


def test_actions_follow_the_probabilities_and_the_seed(tmp_path):
    policy = policy_of(SMALL, tmp_path)
    observation, mask = decision_of("kuhn")
    (wanted,) = policy.probabilities(observation, mask)
    drawn = [policy.act(observation, mask) for _ in range(4000)]
    assert np.bincount(drawn, minlength=2) / 4000 == pytest.approx(wanted, abs=0.04)
    again = lanista.load_policy(policy.path)
    assert [again.act(observation, mask) for _ in range(20)] == drawn[:20]
    other = lanista.load_policy(policy.path, seed=1)
    assert [other.act(observation, mask) for _ in range(20)] != drawn[:20]
    likeliest = {policy.act(observation, mask, greedy=True) for _ in range(9)}
    assert likeliest == {int(wanted.argmax())}
    cold = {policy.act(observation, mask, temperature=1e-4) for _ in range(9)}
    assert cold == likeliest


def test_illegal_choices_are_never_taken(tmp_path):
    policy = policy_of(SMALL, tmp_path)
    observation, _ = decision_of("kuhn")
    for legal in (0, 1):
        mask = np.arange(2) == legal
        assert {policy.act(observation, mask) for _ in range(20)} == {legal}


def test_several_heads_give_a_tuple(tmp_path):
    policy = policy_of(SEVERAL, tmp_path)
    observation, mask = decision_of("arena")
    assert len(policy.act(observation, mask)) == len(policy.heads) > 1
    assert all(part.sum() == pytest.approx(1) for part in policy.probabilities(observation, mask))


def test_a_recurrent_policy_remembers_until_it_is_reset(tmp_path):
    policy = policy_of(RECURRENT, tmp_path)
    observation, mask = decision_of("kuhn")
    first = policy.probabilities(observation, mask)[0]
    assert policy.probabilities(observation, mask)[0].tolist() == first.tolist()
    policy.act(observation, mask)
    assert policy.probabilities(observation, mask)[0].tolist() != first.tolist()
    policy.reset()
    assert policy.probabilities(observation, mask)[0].tolist() == first.tolist()


def test_what_does_not_fit_is_refused(tmp_path):
    policy = policy_of(SMALL, tmp_path)
    observation, mask = decision_of("kuhn")
    with pytest.raises(lanista.LanistaError, match=r"of kuhn needs \d+ numbers"):
        policy.act(observation[:-1], mask)
    with pytest.raises(lanista.LanistaError, match="without a legal choice"):
        policy.act(observation, [False, False])
    with pytest.raises(lanista.LanistaError, match="temperature is 0"):
        policy.act(observation, mask, temperature=0)
    with pytest.raises(lanista.LanistaError, match="known: champion:arena"):
        lanista.load_policy("champion:nobody")


def test_a_policy_is_written_for_numpy(tmp_path):
    policy = policy_of(SMALL, tmp_path)
    done = lanista.export(policy, tmp_path / "copy.safetensors", to="numpy")
    assert done.difference < 1e-5
    assert done.size == (tmp_path / "copy.safetensors").stat().st_size
    assert lanista.load_policy(done.path).game == done.game == "kuhn"
    with pytest.raises(lanista.LanistaError):
        lanista.export(policy, tmp_path / "copy.safetensors", to="numpy")
