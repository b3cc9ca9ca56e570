"""The launchers' bench: ratios of neighbours, and when it does not measure."""

from bench.launchers import BEASTYBAR, beastybar, held_against, line, take_turns

from bench import launchers
from lanista.pipeline.settings import load_settings


def test_a_ratio_is_the_median_over_neighbouring_laps():
    rates = {"serial": [10.0, 20.0, 40.0], "in turn": [10.0] * 3, "threads": [15.0, 40.0, 64.0]}
    told = line("x", rates, 1.6)
    assert (told["ratio"], told["low"], told["high"], told["met"]) == (1.6, 1.5, 2.0, True)
    assert told["ratios"] == {"in turn": 0.5, "threads": 1.6}


def test_of_two_the_second_is_judged():
    told = line("x", {"serial": [10.0], "two workers": [16.0]}, 1.7)
    assert (told["ratio"], told["met"]) == (1.6, False)


def test_a_loaded_machine_is_not_measured(monkeypatch):
    monkeypatch.setattr(launchers, "idle_cores", lambda: 1.2)
    told = held_against("x", {}, 1.6)
    assert told == {"bench": "x", "why": "not measurable: only 1.20 cores are idle"}
    monkeypatch.setattr(launchers, "idle_cores", lambda: 2.0)
    monkeypatch.setattr(launchers, "take_turns", lambda *_: ({}, 0.5))
    assert held_against("x", {}, 1.6)["why"] == "not measurable: others used 0.50 cores meanwhile"


def test_every_contestant_plays_and_learns():
    for values in beastybar("bf16", 1024).values():
        load_settings(values)
    small = BEASTYBAR | {"network": {"width": 8, "layers": 1}, "rollouts": {"matches": 8}}
    split = launchers._with(small, rollouts={"workers": 2, "launcher": "threads"})
    rates, _ = take_turns({"serial": small, "threads": split}, 0.0, 2)
    assert all(len(found) == 2 and min(found) > 0 for found in rates.values())
