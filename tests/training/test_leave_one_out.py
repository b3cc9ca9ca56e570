"""No field of the saved state can be dropped: without it the resumed run is another one."""

import copy
from functools import cache
from pathlib import Path

import pytest
from pipeline_runs import ARENA, KUHN, LSTM, SMALL, same, settings_of

from lanista.training.learner_loop import lone_learner

PORTFOLIO = {
    **KUHN,
    "learning": {
        "terms": {"policy": 1.0, "value": 0.5, "portfolio": 0.3, "reference": 0.1},
        "lr": 0.01,
        "portfolio_size": 2,
        "portfolio_every": 2,
        "portfolio_keeps": "best",
        "reference_every": 3,
        "average": 0.9,
    },
}
RNAD = {
    **KUHN,
    "learning": {
        "policy": "neurd",
        "eta": 0.2,
        "fixed_point": [3],
        "target_average": 0.1,
        "critic_sees": "seat",
        "lr": 0.01,
        "terms": {"policy": 1.0, "value": 1.0},
    },
}
JOINT = {
    **KUHN,
    "learning": {
        **RNAD["learning"],
        "critic_sees": "privileged",
        "critic_output": "q",
        "q_trace": "joint",
        "critic_lr": {"kind": "exponential", "start": 0.02, "end": 0.01},
        "reference_average": 0.1,
        "terms": {"policy": 1.0, "value": 1.0, "reference": 0.1},
    },
}
STREAM = {**ARENA, "replay": {}, "learner_updates": 1, "network": SMALL}
RESPONSIVE = {
    **KUHN,
    "learning": {
        "lr": {"kind": "follow-kl", "start": 0.01, "target": 1e-4, "highest": 0.1},
        "minibatches": 2,
        "value_scale": "running",
        "terms": {"policy": 1.0, "value": 0.5},
    },
}
STAGGERED = {**STREAM, "rollouts": {**STREAM["rollouts"], "stagger": 500}}
BY_MATCHUP = {
    **STREAM,
    "game_settings": {"duration": 1.0},  # So that some matches end.
    "network": {**SMALL, "normalise_observations": 5},
    "learning": {**STREAM["learning"], "matchup_floor": 0.1, "matchup_advantages": 4},
    "rollouts": {**STREAM["rollouts"], "opponents": ["self", "rusher", "random"],
                 "learn_from_frozen": True},
}  # fmt: skip
BY_NOISE = {
    **KUHN,
    "learning": {**KUHN["learning"], "minibatches": 4, "minibatches_by_noise": 6},
}
KINDS = {
    "by noise": BY_NOISE,
    "by matchup": BY_MATCHUP,
    "kuhn": KUHN,
    "responsive": RESPONSIVE,
    "staggered": STAGGERED,
    "portfolio": PORTFOLIO,
    "r-nad": RNAD,
    "r-nad over both seats": JOINT,
    "replay": ARENA,
    "stream": STREAM,
    "lstm": LSTM,
}
# Rising, then falling: a plateau schedule and the portfolio's best have something to see.
SCORES = [0.1, 0.3, 0.5, 0.4, 0.3, 0.2, 0.1, 0.6]
GROUPS = ("learner", "collector", "replay", "references", "tape")
CLOCKS = ("cpu_seconds", "wall_seconds")


def fields_of(state, path=()):
    """Give the path of every field, groups of fields taken apart."""
    for name, value in state.items():
        if name in GROUPS and isinstance(value, dict):
            yield from fields_of(value, (*path, name))
        else:
            yield (*path, name)


def at(state, path):
    for name in path:
        state = state.get(name, {}) if isinstance(state, dict) else {}
    return state


def iterate(training, times):
    """Return what some iterations log, clocks aside, and the state they end in."""
    logs = []
    for _ in range(times):
        for number, values in training.iterate():
            logs.append((number, {k: v for k, v in values.items() if k not in CLOCKS}))
        training.learner.evaluated(SCORES[training.iteration - 1])
    return logs, copy.deepcopy(training.state())


@cache
def unbroken(kind):
    """Return the fresh state, the state in the middle, and what came after it."""
    settings = settings_of(KINDS[kind])
    training = lone_learner(settings, Path())
    fresh = copy.deepcopy(training.state())
    _, middle = iterate(training, 4)
    middle |= {"cpu_seconds": 1000.0, "wall_seconds": 1000.0}
    return settings, fresh, middle, iterate(training, 4)


def resumed(kind, state):
    training = lone_learner(settings_of(KINDS[kind]), Path())
    training.load_state(copy.deepcopy(state))
    return iterate(training, 4)


def without(state, path, fresh):
    """Return the state with one field as it was at the start of the run."""
    changed = copy.deepcopy(state)
    *groups, last = path
    here, start = changed, fresh
    for group in groups:
        here, start = here[group], start.get(group, {})
    if last in start:
        here[last] = copy.deepcopy(start[last])
    else:
        del here[last]
    return changed


def test_a_state_that_was_loaded_is_left_as_it_was():
    _, _, middle, _ = unbroken("portfolio")
    state = copy.deepcopy(middle)
    lone_learner(settings_of(KINDS["portfolio"]), Path()).load_state(state)
    assert same(state, middle)


@pytest.mark.parametrize("kind", KINDS)
def test_with_all_fields_the_resumed_run_is_the_same(kind):
    _, _, middle, (logs, end) = unbroken(kind)
    found_logs, found_end = resumed(kind, middle)
    assert found_logs == logs
    assert same(found_end, end)
    assert found_end["cpu_seconds"] > 1000


def is_noticed(kind, path):
    """Say whether the run without a field is another one, or refused."""
    _, fresh, middle, (logs, end) = unbroken(kind)
    try:
        found_logs, found_end = resumed(kind, without(middle, path, fresh))
    except Exception:
        return True
    if path[-1] in CLOCKS:
        return found_end[path[-1]] < 1000
    return found_logs != logs or not same(found_end, end)


def has_something(kind, path):
    """Say whether a field is no longer what it was at the start of the run."""
    _, fresh, middle, _ = unbroken(kind)
    return path[-1] in CLOCKS or not same(at(fresh, path), at(middle, path))


@pytest.mark.parametrize("kind", KINDS)
def test_without_any_one_field_the_resumed_run_is_another(kind):
    fields = [path for path in fields_of(unbroken(kind)[2]) if has_something(kind, path)]
    assert len(fields) > 8
    assert [path for path in fields if not is_noticed(kind, path)] == []


def test_every_field_has_something_to_lose_in_some_run():
    cases = [(kind, path) for kind in KINDS for path in fields_of(unbroken(kind)[2])]
    lost = {path for kind, path in cases if has_something(kind, path)}
    # Half precision needs a GPU.
    assert {path for _, path in cases} - lost == {("learner", "scaler")}
