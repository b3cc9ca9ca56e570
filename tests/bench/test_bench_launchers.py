"""The launchers' bench: ratios of neighbours, and when it does not measure."""

from bench.launchers import BEASTYBAR, Turn, beastybar, held_against, line, showdown, take_turns

from bench import launchers
from lanista.runs.settings import load_settings


def turn(rate, cores=1.0, cost=0.5, others=0.0):
    return Turn(rate, cores, cost, others)


def rounds_of(**rates):
    return [
        dict(zip(rates, map(turn, row), strict=True)) for row in zip(*rates.values(), strict=True)
    ]


def test_a_ratio_is_the_median_over_rounds():
    rounds = rounds_of(serial=[10.0, 20.0, 40.0], in_turn=[10.0] * 3, threads=[15.0, 40.0, 64.0])
    told = line("x", rounds, 1.6)
    assert (told["ratio"], told["low"], told["high"], told["met"]) == (1.6, 1.5, 2.0, True)
    assert told["judged"] == "threads"
    assert told["ratios"] == {"in_turn": 0.5, "threads": 1.6}


def test_of_two_the_second_is_judged():
    told = line("x", rounds_of(serial=[10.0], two=[16.0]), 1.7)
    assert (told["judged"], told["ratio"], told["met"]) == ("two", 1.6, False)


def test_the_cores_each_kept_busy_and_what_a_decision_cost_stand_beside_the_ratio():
    rounds = [
        {"one": turn(10.0, 1.0, 1.0), "two": turn(17.0, cores, 1.2)} for cores in (1.5, 1.9, 2.0)
    ]
    told = line("x", rounds, 1.7)
    assert told["cores"] == {"one": 1.0, "two": 1.9}
    assert told["cpu_milliseconds_a_decision"] == {"one": 1.0, "two": 1.2}
    assert told["rounds"] == 3


def test_a_loaded_machine_is_not_measured(monkeypatch):
    monkeypatch.setattr(launchers, "idle_cores", lambda: 1.2)
    told = held_against("x", {}, 1.6)
    assert told == {"bench": "x", "why": "not measurable: only 1.20 cores are idle"}
    monkeypatch.setattr(launchers, "idle_cores", lambda: 2.0)
    few = rounds_of(one=[1.0] * 3, two=[2.0] * 3)
    monkeypatch.setattr(launchers, "take_turns", lambda *_: (few, 14))
    told = held_against("x", {}, 1.6)
    assert told["why"] == "not measurable: others used the cores in 11 of 14 rounds"


SMALL = BEASTYBAR | {"network": {"width": 8, "layers": 1}, "rollouts": {"matches": 8}}


def test_every_contestant_plays_and_learns(monkeypatch):
    monkeypatch.setattr(launchers, "MOST_OTHERS", 100.0)
    for values in (*beastybar("bf16", 1024).values(), *showdown(launchers.SIZES[1]).values()):
        load_settings(values)
    split = launchers._with(SMALL, rollouts={"workers": 2, "launcher": "threads"})
    rounds, played = take_turns({"serial": SMALL, "threads": split}, 0.0, 2, 9)
    assert played == len(rounds) == 2
    assert all(turn.rate > 0 and turn.cost > 0 for each in rounds for turn in each.values())


def test_rounds_that_others_disturbed_do_not_count(monkeypatch):
    others = iter([0.0, 0.5, 0.1, 0.0, 0.2, 0.0])
    monkeypatch.setattr(launchers, "_turn", lambda lap: turn(1.0, others=next(others)))
    rounds, played = take_turns({"one": SMALL, "two": SMALL}, 0.0, 2, 3)
    assert (len(rounds), played) == (1, 3)
