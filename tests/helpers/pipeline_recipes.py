"""Small pipelines, and somebody who listens to them."""

from __future__ import annotations

from lanista.pipeline.recipe import load_recipe
from lanista.pipeline.resolve_recipe import settled
from lanista.pipeline.runner import conduct
from lanista.training.observers import Observer

TINY = {
    "game": "leduc",
    "seed": 3,
    "device": "cpu",
    "stages": {
        "record": {"seats": ["random,random"], "matches": 40},
        "imitate": {
            "network": {"width": 8, "layers": 1},
            "imitation": {"epochs": 3, "batch_size": 64},
            "evaluation_matches": 10,
        },
        "rl": {
            "iterations": 6,
            "learning": {"minibatches": 2},
            "rollouts": {"matches": 16, "opponents": ["self", "imitation"]},
            "evaluation": {"every": 3, "bots": ["random"], "matches": 10, "exact": "never"},
            "checkpoints": {"save_every": 2},
        },
    },
}


class Listening(Observer):
    """Remembers what it was told."""

    def __init__(self):
        self.begun, self.finished, self.over = [], [], []
        self.sentences, self.counts = [], []

    def stage_skipped(self, name):
        self.over.append(name)

    def stage_started(self, name):
        self.begun.append(name)

    def stage_finished(self, name):
        self.finished.append(name)

    def message(self, sentence):
        self.sentences.append(sentence)

    def work_at(self, count):
        self.counts.append(count)


def story_of(values):
    return settled(load_recipe(values))


def conducted(values, folder):
    """Do a pipeline to its end and return who listened."""
    heard = Listening()
    assert conduct(story_of(values), folder, observers=[heard]) == 0
    return heard
