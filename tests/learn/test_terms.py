"""Every term of the loss, alone: whom it moves, and which way."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from small_runs import Run, leduc_run
from torch import nn

from lanista.errors import LanistaError
from lanista.learn import loss_terms
from lanista.learn.settings import Learning
from lanista.learn.term_table import LOSSES, REGULARISERS, term_names

ON_CRITIC = {"value"}
PULLED = {"anchor_reverse", "anchor_forward", "reference", "portfolio"}


def alone(term: str, **others: Any) -> Run:
    """Return a run whose loss is one term, the policy already off its references."""
    if term == "forecast":
        others["forecast"] = ("bets", "public card")
    settings = Learning(terms={term: 1.0}, critic_sees="seat", **others)
    start = None
    if term.startswith("anchor"):
        start = leduc_run(Learning(), seed=8).learner.policy
    run = leduc_run(settings, start=start)
    run.learner.update(run.play())
    run.learner.update_count = 1  # References were taken; now the policy moves on.
    with torch.no_grad():
        generator = torch.Generator().manual_seed(5)
        for parameter in run.learner.policy.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return run


def gradient_of(network: nn.Module) -> float:
    parts = [p.grad.abs().sum() for p in network.parameters() if p.grad is not None]
    return float(torch.stack(parts).sum()) if parts else 0.0


@pytest.mark.parametrize("term", term_names())
def test_each_term_alone_moves_its_own_network_and_no_other(term: str) -> None:
    run = alone(term)
    # The acting policy is another one, so that the pull towards behaviour is seen.
    unrolls = run.play()
    with torch.no_grad():
        run.learner.policy.head.bias.add_(torch.tensor([0.3, -0.2, 0.1]))
    run.learner._step(unrolls, {term: 1.0})
    policy = gradient_of(run.learner.policy)
    critic = gradient_of(run.learner.critic)
    if term in ON_CRITIC:
        assert critic > 1e-4
        assert policy == 0
    else:
        assert policy > 1e-4
        assert critic == 0


@pytest.mark.parametrize("loss", ["all_action", "neurd"])
def test_a_q_critic_is_moved_by_value_and_the_policy_by_its_own_term(loss: Any) -> None:
    for term, moved in (("policy", "policy"), ("value", "critic")):
        run = alone(term, policy=loss, critic_output="q")
        run.learner.critic.head.weight.data.normal_(generator=torch.Generator().manual_seed(1))
        run.learner._step(run.play(), {term: 1.0})
        for name in ("policy", "critic"):
            size = gradient_of(getattr(run.learner, name))
            assert (size > 1e-4) == (name == moved)


@pytest.mark.parametrize("term", ["entropy", "magnet", "forecast", *sorted(PULLED)])
def test_following_a_pull_makes_its_loss_smaller(term: str) -> None:
    run = alone(term, lr=3e-3)
    logs = [run.learner.update(run.play()) for _ in range(30)]
    assert logs[-1][f"{term}/loss"] < 0.9 * abs(logs[0][f"{term}/loss"])
    assert logs[-1][f"{term}/loss"] < logs[0][f"{term}/loss"]


def test_a_term_with_weight_nought_is_left_out() -> None:
    log = leduc_run(Learning(terms={"policy": 1.0, "value": 0.5, "magnet": 0.0})).train(1)[0]
    assert "magnet/loss" not in log


def test_behaviour_without_the_acting_chances_is_refused_with_a_sentence() -> None:
    run = leduc_run(Learning(terms={"behaviour": 1.0}))
    run.collector.tape.keep_log_probs = False
    with pytest.raises(LanistaError, match="needs the acting policy's log_probs"):
        run.train(1)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"terms": {"forecast": 0.1}}, "learning.forecast names no field"),
        ({"forecast": ("bets",)}, "names bets, and learning.terms has no weight for forecast"),
    ],
)
def test_a_forecast_without_fields_or_weight_is_refused(
    settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(LanistaError, match=sentence):
        Learning(**settings)


def test_a_forecast_of_a_field_that_the_views_lack_is_refused_with_the_nearest() -> None:
    settings = Learning(terms={"forecast": 0.1}, forecast=("bet",))
    with pytest.raises(LanistaError, match="did you mean 'bets'"):
        leduc_run(settings)


def test_a_forecast_goes_on_from_its_state_as_if_it_had_not_stopped() -> None:
    terms = {"policy": 1.0, "value": 0.5, "forecast": 0.5}
    settings = Learning(terms=terms, forecast=("bets",), critic_lr=1e-3)
    run, other = leduc_run(settings), leduc_run(settings, seed=4)
    run.train(2)
    other.learner.load_state(copy.deepcopy(run.learner.state()))
    unrolls = run.play()
    assert run.learner.update(unrolls) == other.learner.update(unrolls)
    pairs = zip(run.learner.parameters, other.learner.parameters, strict=True)
    assert all(torch.equal(one, same) for one, same in pairs)


def test_without_the_term_there_is_no_forecast_and_with_it_the_others_begin_the_same() -> None:
    plain = leduc_run(Learning())
    assert plain.learner.forecast is None
    assert "forecast" not in plain.learner.state()
    weighed = leduc_run(Learning(terms={**Learning().terms, "forecast": 0.5}, forecast=("bets",)))
    for one, same in (
        (plain.learner.policy, weighed.learner.policy),
        (plain.learner.critic, weighed.learner.critic),
    ):
        pairs = zip(one.parameters(), same.parameters(), strict=True)
        assert all(torch.equal(*pair) for pair in pairs)


def test_an_unknown_term_is_refused_and_the_nearest_named() -> None:
    with pytest.raises(LanistaError, match="did you mean 'magnet'"):
        Learning(terms={"magnett": 1.0})
    with pytest.raises(LanistaError, match="did you mean 'magnet'"):
        loss_terms.term("magnett")


def test_every_term_that_settings_name_exists_and_is_described() -> None:
    for entry in [*LOSSES.own.values(), *REGULARISERS.own.values()]:
        assert entry.load().__module__ == "lanista.learn.loss_terms"
        assert entry.about


ADDED = """
from lanista.learn.losses import Term


def boldness(known):
    return Term(-known.log_probs[:, -1].exp().mean(), {})
"""


def test_an_installed_package_adds_a_term(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bold_losses.py").write_text(ADDED)
    info = tmp_path / "bold_losses-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bold-losses\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[lanista.losses]\nboldness = bold_losses:boldness\n")
    with pytest.raises(LanistaError, match="no loss term 'boldness'"):
        Learning(terms={"boldness": 1.0})
    monkeypatch.syspath_prepend(str(tmp_path))
    run = leduc_run(Learning(terms={"boldness": 1.0}, lr=3e-2))
    logs = run.train(20)
    monkeypatch.delitem(sys.modules, "bold_losses")
    assert logs[-1]["boldness/loss"] < logs[0]["boldness/loss"] - 0.2
