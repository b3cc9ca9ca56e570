"""A critic whose values have a running scale: what it says, what it learns, how the scale moves."""

from __future__ import annotations

import math

import pytest
import torch
from test_learner import kuhn_run

from lanista.errors import LanistaError
from lanista.games import make
from lanista.learn.critic import follow_targets
from lanista.learn.settings import Learning
from lanista.nets.policy import Critic
from lanista.nets.settings import Network

VALUE = {"policy": 1.0, "value": 0.5}


def scaled_critic() -> Critic:
    critic = Critic(make("kuhn").spec, Network(width=8, layers=1), scaled=True)
    with torch.no_grad():
        for parameter in critic.parameters():
            parameter.uniform_(-1, 1)
    return critic


def test_a_new_scale_leaves_every_value_as_it_was() -> None:
    critic = scaled_critic()
    length = make("kuhn").spec.observation.length
    view = torch.randint(0, 2, (5, length)).to(torch.uint8)
    before, raw = critic.value_of(critic(view)), critic(view)
    critic.rescale(4.0)
    torch.testing.assert_close(critic.value_of(critic(view)), before)
    torch.testing.assert_close(critic(view), raw / 4)
    critic.rescale(0.5)
    torch.testing.assert_close(critic.value_of(critic(view)), before)


def test_the_scale_is_the_root_of_the_mean_square_of_all_targets_so_far() -> None:
    critic, squares = scaled_critic(), [4.0, 16.0, 1.0, 9.0]
    for update, square in enumerate(squares, start=1):
        follow_targets(critic, square, update)
        mean = sum(squares[:update]) / update
        assert float(critic.scale) == pytest.approx(math.sqrt(mean))


def test_old_targets_are_forgotten_and_the_scale_never_vanishes() -> None:
    critic = scaled_critic()
    follow_targets(critic, 100.0, 1)
    follow_targets(critic, 0.0, 1000)
    assert float(critic.scale) == pytest.approx(math.sqrt(0.99 * 100))
    follow_targets(critic, 0.0, 1)
    assert float(critic.scale) == pytest.approx(0.01)


def test_the_critic_learns_targets_divided_by_the_scale() -> None:
    settings = Learning(terms=VALUE, value_scale="running", lr=1e-9)
    run = kuhn_run(settings)
    first, second = run.train(2)
    # A new critic says 0, so its loss is half the mean square of the targets over the scale.
    assert first["value/loss"] == pytest.approx(first["value/target_square"] / 2, rel=1e-4)
    scale = math.sqrt(first["value/target_square"])
    assert first["value/scale"] == pytest.approx(scale)
    assert second["value/loss"] == pytest.approx(
        second["value/target_square"] / 2 / scale**2, rel=1e-3
    )


def test_without_the_setting_there_is_no_scale() -> None:
    run = kuhn_run(Learning(terms=VALUE))
    assert "value/scale" not in run.train(1)[0]
    assert "scale" not in run.learner.critic.state_dict()


@pytest.mark.parametrize("others", [{"critic_output": "outcome"}, {"eta": 0.2}])
def test_a_scale_is_refused_where_there_is_no_plain_value(others: dict[str, object]) -> None:
    with pytest.raises(LanistaError, match="value_scale needs"):
        Learning(terms=VALUE, value_scale="running", **others)  # type: ignore[arg-type]
