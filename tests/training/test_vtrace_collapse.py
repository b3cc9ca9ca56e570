"""V-trace where it used to collapse: from nothing against a bot that stands still, and from a clone
that learns from a replay."""

from dataclasses import replace

import pytest

from lanista.learn import returns
from lanista.learn.imitation.settings import Dagger, Imitation
from lanista.nets.settings import Network
from lanista.pipeline.recipes import alphastar
from lanista.runs.settings import Evaluation, Opponent, Replay
from lanista.training.imitate import Task, imitate
from lanista.training.loop import train
from lanista.training.observers import Observer

SMALL = Network(width=32, layers=2)
rightly_normalised = returns.normalise


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
        network=SMALL,
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


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clone of the arena's `rusher` that wavers, as clones do whose heads are drawn apart."""
    file = tmp_path_factory.mktemp("clone") / "clone.safetensors"
    dagger = Dagger(teacher="rusher", rounds=2, matches=64, epochs=2)
    imitation = Imitation(epochs=2, lr=3e-3, patience=0, dagger=dagger)
    task = Task(
        output=file,
        network=SMALL,
        imitation=imitation,
        game="arena",
        evaluation_matches=0,
        threads=1,
        device="cpu",
    )
    imitate(task)
    return file


def centred_alike(advantage_t, valid_t, *, ratio_t=None, least=returns.LEAST_DEVIATION):
    """The fault: advantages that carry their ratios are centred as if they carried none."""
    return rightly_normalised(advantage_t, valid_t, least=least)


@pytest.mark.parametrize("by_ratios", [True, False])
def test_centring_by_ratios_keeps_a_clone_that_replays_near_who_acted(
    clone, tmp_path, monkeypatch, by_ratios
):
    """Most of what it learns from is old, and a constant pulls away from whatever was done then."""
    if not by_ratios:
        monkeypatch.setattr(returns, "normalise", centred_alike)
    recipe = alphastar(anchored=False)
    terms = {name: weight for name, weight in recipe.learning.terms.items() if name != "behaviour"}
    settings = replace(
        recipe,
        iterations=40,
        learner_updates=4,
        supervised_checkpoint=str(clone),
        learning=replace(recipe.learning, terms=terms, lr=7e-4),
        rollouts=replace(
            recipe.rollouts, unrolls=32, unroll_length=32, opponents=(Opponent("kiter"),)
        ),
        replay=Replay(size=512, minimum=32, batch=32),
        evaluation=Evaluation(every=0),
        device="cpu",
    )
    kept = Kept()
    train(settings, tmp_path / "policy.safetensors", observers=[kept])
    assert len(kept.kl) == 160
    assert (max(kept.kl) < 2) == by_ratios
