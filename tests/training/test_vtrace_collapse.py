"""V-trace from nothing against a bot that stands still: the case in which it used to collapse."""

from dataclasses import replace

import pytest

from lanista.nets.settings import Network
from lanista.pipeline.recipes import alphastar
from lanista.runs.settings import Evaluation, Opponent, Replay
from lanista.training.loop import train
from lanista.training.observers import Observer


class Kept(Observer):
    def __init__(self):
        self.kl = []

    def updated(self, update, values):
        self.kl.append(values["policy/behaviour_kl"])


@pytest.mark.parametrize("held", [True, False])
def test_the_trust_region_of_the_alphastar_recipe_keeps_an_update_near_who_acted(tmp_path, held):
    """Rewards are rare at first, so that advantages of one size are mostly the critic's noise."""
    recipe = alphastar(anchored=False)
    terms = dict(recipe.learning.terms)
    if not held:
        del terms["behaviour"]
    settings = replace(
        recipe,
        iterations=40,
        learner_updates=1,
        network=Network(width=32, layers=2),
        learning=replace(recipe.learning, terms=terms, lr=3e-3, epochs=2, minibatches=4),
        rollouts=replace(
            recipe.rollouts, unrolls=32, unroll_length=32, opponents=(Opponent("still"),)
        ),
        replay=Replay(),
        evaluation=Evaluation(every=0),
        device="cpu",
    )
    kept = Kept()
    train(settings, tmp_path / "policy.safetensors", observers=[kept])
    assert len(kept.kl) == 40
    assert (max(kept.kl) < 0.05) == held
