"""Collectors as settings want them, where the device is not a matter of a GPU."""

from __future__ import annotations

import pytest

from lanista.games import registry
from lanista.nets.policy import Policy
from lanista.runs.settings import load_settings
from lanista.training import collector_factory
from lanista.training.collector_factory import actor_of, collector_of, cores, crowded


@pytest.mark.parametrize(
    ("launcher", "workers", "expected"),
    [("threads", 3, False), ("threads", 4, True), ("threads", 9, True), ("serial", 9, False)],
)
def test_workers_leave_their_cores_to_others_where_there_are_as_many_of_them(
    launcher: str, workers: int, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector_factory, "cores", lambda: 4)
    rollouts = {"workers": workers, "launcher": launcher}
    assert crowded(load_settings({"game": "kuhn", "rollouts": rollouts})) is expected


def test_there_is_at_least_one_core() -> None:
    assert cores() >= 1


@pytest.mark.parametrize(("sends", "workers"), [(False, 2), (True, 2), (True, 1)])
def test_what_is_played_lies_where_it_is_sent_from_if_it_is_sent(
    sends: bool, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector_factory, "sends", lambda settings: sends)
    network, rollouts = {"width": 8, "layers": 1}, {"workers": workers}
    settings = load_settings({"game": "kuhn", "network": network, "rollouts": rollouts})
    actor = actor_of(settings, Policy(registry.spec_of("kuhn"), settings.network), None)
    collector = collector_of(settings, actor, 0)
    there = sends and workers > 1  # Alone, nobody sends it.
    assert (collector.tape.pick == actor.lane.pick) is there
    assert (collector.tape.empty == actor.lane.empty) is there
    assert collector.whole_matches(4).decisions > 0
