"""Imitation: what is gathered, what is held out, what is learned, and that it resumes exactly."""

import copy
import math
import tracemalloc
from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from demonstrated import SPEC, demonstrate

from lanista.data import expand, read_replays
from lanista.data.demonstrations import UNKNOWN, DemonstrationError, joined
from lanista.data.gathering import gather
from lanista.games import make, make_bot
from lanista.learn.imitation.cloner import Cloner, Shown, judged, show
from lanista.learn.imitation.report import choice_counts, report
from lanista.learn.imitation.settings import Imitation
from lanista.learn.learner import BrokenLossError
from lanista.nets.settings import Network
from lanista.rollout import Table, play, rotations
from lanista.rollout.replay_recorder import Recorder

SMALL = Network(size="s", width=16, layers=1)


def play_and_record(folder, game, bots, matches, seed=3):
    made = make(game, slots=64, seed=seed)
    players = tuple(make_bot(game, bot, made.spec, seed) for bot in bots)
    results = play([Table(made, players)], rotations(len(players), matches), record=True)
    Recorder(folder, made, players).write(results)


def fit(data, settings, network=SMALL):
    cloner = Cloner(data.spec, network, settings)
    learned, held = data.split(settings.hold_out, settings.seed)
    while not cloner.finished:
        cloner.train_epoch(data, learned, held)
    return cloner


@pytest.mark.parametrize("heads", [None, "mean"])
def test_a_decision_is_judged_by_the_sum_or_the_mean_of_its_open_heads(tmp_path, heads):
    play_and_record(tmp_path, "arena", ("kiter", "zoner"), 6)
    data, _ = gather(tmp_path)
    learned, held = data.split(0.3, 0)
    cloner = Cloner(data.spec, SMALL, Imitation(heads=heads, batch_size=100_000))
    policy, expected = cloner.policy.eval(), []
    for row in data.rows(held).tolist():
        logits = policy(torch.from_numpy(data.observation[row : row + 1]))[0].detach()
        mask, start, chosen, choosing = data.mask(np.array([row]))[0], 0, 0.0, 0
        for number, head in enumerate(data.spec.heads):
            legal = mask[start : start + head.size]
            among = logits[start : start + head.size][torch.from_numpy(legal)].log_softmax(-1)
            chosen -= float(among[legal[: data.action[row, number]].sum()])
            choosing += legal.sum() > 1
            start += head.size
        expected.append(chosen / max(1, choosing) if heads else chosen)
    assert cloner.losses(data, held)["nll"] == pytest.approx(np.mean(expected), rel=1e-4)
    # One step of all decisions: the loss is that of the weights before it.
    before = cloner.losses(data, learned)["nll"]
    assert cloner.train_epoch(data, learned, held)["learned_nll"] == pytest.approx(before, rel=1e-4)


# What is gathered.


def test_gathered_rows_are_what_the_players_saw_and_did(tmp_path):
    play_and_record(tmp_path, "beastybar", ("heuristic", "random"), 20)
    data, _ = gather(tmp_path, players=["heuristic"])
    file = next(iter(tmp_path.iterdir()))
    replays = read_replays(file)
    columns = expand(replays)
    seating = np.array([record.seating for record in replays.records])
    mine = seating[columns.match, columns.seat] == 0
    wanted = {
        (m, s, t): (o.tobytes(), k.tobytes(), a.tolist())
        for m, s, t, o, k, a in zip(
            columns.match[mine], columns.seat[mine], columns.turn[mine],
            columns.observation[mine], columns.mask[mine], columns.actions[mine], strict=True,
        )
    }  # fmt: skip
    match, seat = data.per_row(data.match), data.per_row(data.seat)
    rows = np.arange(len(data))
    mask = data.mask(rows)
    found = {
        (match[i], seat[i], data.turn[i]): (
            data.observation[i].tobytes(), mask[i].tobytes(), data.action[i].tolist()
        )
        for i in rows
    }  # fmt: skip
    assert found == wanted
    assert [teacher.name for teacher in data.teachers] == ["heuristic"]


def test_outcomes_are_those_of_the_decider(tmp_path):
    play_and_record(tmp_path, "beastybar", ("heuristic", "random"), 40)
    data, _ = gather(tmp_path)
    replays = read_replays(next(iter(tmp_path.iterdir())))
    assert {0, 2} <= set(data.outcome.tolist())
    for match, seat, outcome in zip(data.match, data.seat, data.outcome, strict=True):
        record = replays.records[match]
        mine, other = record.place[seat], record.place[1 - seat]
        assert outcome == (1 if mine == other else 0 if mine < other else 2)


def test_columns_are_as_small_as_the_game_allows(tmp_path):
    play_and_record(tmp_path, "beastybar", ("random", "random"), 10)
    data, _ = gather(tmp_path)
    assert data.observation.dtype == np.uint8
    assert data.action.dtype == np.uint8
    assert data.mask_bits.shape[1] == 5  # 33 choices
    columns = (data.observation, data.mask_bits, data.action, data.turn, data.reward)
    # 100,000 matches of 24 decisions then take less than a quarter of 2 GB.
    assert sum(column.nbytes for column in columns) / len(data) * 2_400_000 < 500e6


def test_growing_holds_nothing_twice(tmp_path):
    play_and_record(tmp_path, "beastybar", ("random", "random"), 2000)
    gather(tmp_path)
    tracemalloc.start()
    data, _ = gather(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # One part of the records and their columns beside what is kept.
    assert peak < len(data) * 63 + 30e6


def test_an_unknown_player_is_refused_with_the_nearest(tmp_path):
    play_and_record(tmp_path, "kuhn", ("random", "random"), 4)
    with pytest.raises(DemonstrationError, match="did you mean 'random'"):
        gather(tmp_path, players=["randon"])


def test_broken_replays_stop_a_gathering(tmp_path):
    play_and_record(tmp_path, "kuhn", ("random", "random"), 4)
    (tmp_path / "bad.jsonl.gz").write_bytes(b"not a replay")
    with pytest.raises(DemonstrationError, match=r"bad\.jsonl\.gz: it is not a gzip file"):
        gather(tmp_path)


def test_two_games_in_one_folder_are_refused(tmp_path):
    play_and_record(tmp_path, "kuhn", ("random", "random"), 4)
    play_and_record(tmp_path, "leduc", ("random", "random"), 4)
    with pytest.raises(DemonstrationError, match="give folders of one game in one setting"):
        gather(tmp_path)


def test_a_head_that_did_not_matter_is_left_out_of_those_decisions_only(tmp_path):
    play_and_record(tmp_path, "arena", ("rusher", "rusher"), 2)
    data, _ = gather(tmp_path)
    rows = np.arange(len(data))
    before = data.mask(rows)
    holds = data.action[:, 4] == 0
    assert holds.any()
    assert not holds.all()
    assert data.leave_out("aim_x:fire=hold") == holds.sum()
    after = data.mask(rows)
    aim = slice(22, 33)
    assert (after[holds, aim].sum(axis=1) == 1).all()
    assert after[holds, 22 + data.action[holds, 2].astype(int)].all()
    assert (after[~holds] == before[~holds]).all()
    rest = np.ones(after.shape[1], bool)
    rest[aim] = False
    assert (after[:, rest] == before[:, rest]).all()
    for wrong, reason in (
        ("aim_x", "HEAD:OTHER=CHOICE"),
        ("aim:fire=hold", "no head 'aim'; did you mean"),
        ("aim_x:fire=holt", "did you mean 'hold'"),
    ):
        with pytest.raises(DemonstrationError, match=reason):
            data.leave_out(wrong)


# What is held out.


def test_both_matches_of_a_deal_lie_on_one_side_whoever_played_them(tmp_path):
    play_and_record(tmp_path / "a", "kuhn", ("random", "random"), 200)
    play_and_record(tmp_path / "b", "kuhn", ("random", "random"), 100)
    data, _ = gather(tmp_path)
    learned, held = data.split(0.25)
    assert len(learned) + len(held) == data.trajectories
    assert not set(data.group[learned].tolist()) & set(data.group[held].tolist())
    deals = len(set(data.group.tolist()))
    assert deals == 100
    assert len(set(data.group[held].tolist())) == 25
    # Two seats of two or four matches each.
    assert {int((data.group == g).sum()) for g in set(data.group.tolist())} == {4, 8}


def test_the_split_follows_from_the_deals_not_from_their_order(tmp_path):
    for folder, seeds in (("one", (3, 9)), ("two", (9, 3))):
        for name, seed in zip("ab", seeds, strict=True):
            play_and_record(tmp_path / folder / name, "kuhn", ("random", "random"), 100, seed)
    one, two = gather(tmp_path / "one")[0], gather(tmp_path / "two")[0]
    assert one.group.tolist() != two.group.tolist()
    held = set(one.group[one.split(0.2, 5)[1]].tolist())
    assert held == set(two.group[two.split(0.2, 5)[1]].tolist())
    assert held != set(one.group[one.split(0.2, 6)[1]].tolist())


def test_one_deal_alone_cannot_be_held_out():
    data = demonstrate(1)
    with pytest.raises(DemonstrationError, match="at least two"):
        data.split(0.1)


# What is learned.


@pytest.mark.parametrize("kind", ["mlp", "residual", "lstm"])
def test_a_rule_in_the_view_is_learned(kind):
    data = demonstrate(400)
    settings = Imitation(epochs=15, batch_size=64, lr=1e-2, patience=0)
    cloner = fit(data, settings, Network(kind=kind, size="s", width=16, layers=1))
    _, held = data.split(settings.hold_out)
    policy, critic = cloner.best()
    judgement = report(data, held, judged(policy, critic, data, held), critic="value")
    assert judgement.heads[0].accuracy > 0.98
    assert judgement.nll < 0.1


def test_a_recurrent_policy_is_shown_each_trajectory_from_its_start():
    data = demonstrate(30)
    cloner = Cloner(SPEC, Network(kind="lstm", size="s", width=8), Imitation())
    trajectories = np.array([5, 2, 20, 21])
    shown = show(cloner.policy, None, data, data.rows(trajectories), trajectories)
    at = 0
    for trajectory in trajectories:
        state = torch.zeros(1, cloner.policy.state_size)
        for row in data.rows(np.array([trajectory])):
            view = torch.from_numpy(data.observation[[row]])
            logits, _, state = cloner.policy.step(view, state)
            wanted = cloner.policy.heads.log_probs(logits, torch.from_numpy(data.mask([row])))
            torch.testing.assert_close(shown.log_probs[at], wanted[0])
            at += 1
    assert at == len(shown.log_probs)


@pytest.mark.parametrize("critic", ["value", "outcome"])
def test_what_has_no_outcome_teaches_the_critic_nothing(critic):
    data = demonstrate(100, outcome=UNKNOWN)
    settings = Imitation(epochs=3, batch_size=32, lr=1e-2, critic=critic)
    cloner = fit(data, settings)
    assert not cloner.critic.head.weight.any()
    assert fit(demonstrate(100, outcome=0), settings).critic.head.weight.any()
    _, held = data.split(settings.hold_out)
    judgement = report(data, held, judged(*cloner.best(), data, held), critic=critic)
    assert judgement.value.decisions == 0
    assert getattr(judgement.value, {"value": "error", "outcome": "nll"}[critic]) is None


def test_training_ends_when_nothing_improves_and_keeps_the_best_epoch():
    # What is held out contradicts what is learned, so every epoch after the first is worse.
    data = demonstrate(200)
    learned, held = data.split(0.3)
    data.action[data.rows(held)] ^= 1
    settings = Imitation(epochs=50, batch_size=32, lr=1e-2, patience=2, value_weight=0)
    cloner = Cloner(SPEC, SMALL, settings)
    while not cloner.finished:
        cloner.train_epoch(data, learned, held)
    losses = [entry["held_out_nll"] for entry in cloner.history]
    assert cloner.best_epoch == 1 + int(np.argmin(losses))
    assert cloner.epoch == cloner.best_epoch + 2
    last = copy.deepcopy(cloner.policy.state_dict())
    policy, _ = cloner.best()
    assert not torch.equal(policy.head.weight, cloner.policy.head.weight)
    assert all(torch.equal(last[key], now) for key, now in cloner.policy.state_dict().items())
    judgement = report(data, learned, judged(policy, None, data, held), critic=None)
    assert judgement.nll == pytest.approx(min(losses), rel=1e-5)
    assert losses[-1] > min(losses)


def test_a_loss_that_is_no_number_stops_with_a_sentence():
    data = demonstrate(20)
    cloner = Cloner(SPEC, SMALL, Imitation())
    with torch.no_grad():
        cloner.policy.head.bias.fill_(math.nan)
    with pytest.raises(BrokenLossError, match="smaller lr"):
        cloner.train_epoch(data, np.arange(10), np.arange(10, 20))


# That it resumes exactly.


def weights(cloner):
    policy, critic = cloner.best()
    return torch.cat([p.flatten() for p in [*policy.parameters(), *critic.parameters()]])


def broken_off(data, settings, network, change=None):
    """Train half, put the state away, and go on in a fresh object."""
    learned, held = data.split(settings.hold_out, settings.seed)
    first = Cloner(SPEC, network, settings)
    for _ in range(settings.epochs // 2):
        first.train_epoch(data, learned, held)
    state = copy.deepcopy(first.state())
    fresh = Cloner(SPEC, network, settings)
    if change:
        change(state, fresh.state())
    fresh.load_state(state)
    while not fresh.finished:
        fresh.train_epoch(data, learned, held)
    return fresh


@pytest.mark.parametrize("kind", ["mlp", "lstm"])
def test_a_run_broken_off_and_resumed_equals_the_unbroken_one_bit_for_bit(kind):
    data = demonstrate(200)
    network = Network(kind=kind, size="s", width=16, layers=1)
    settings = Imitation(epochs=6, batch_size=32, lr=1e-2, patience=0)
    unbroken, resumed = fit(data, settings, network), broken_off(data, settings, network)
    assert torch.equal(weights(unbroken), weights(resumed))
    assert unbroken.history == resumed.history


@pytest.mark.parametrize(
    "field", ["weights", "optimiser", "epoch", "history", "best", "best_epoch"]
)
def test_every_field_of_the_state_matters(field):
    data = demonstrate(200)
    # The held-out loss is best after the first epoch, so the best weights come from the state.
    data.action[data.rows(data.split(0.1)[1])] ^= 1
    settings = Imitation(epochs=6, batch_size=32, lr=1e-2, patience=0)

    def forget(state, fresh):
        state[field] = fresh[field]

    whole = broken_off(data, settings, SMALL)
    try:
        without = broken_off(data, settings, SMALL, forget)
    except (IndexError, KeyError):
        return  # It cannot go on at all, which is noticed too.
    same = torch.equal(weights(whole), weights(without)) and whole.history == without.history
    assert not same or whole.best_epoch != without.best_epoch


def test_the_order_of_decisions_differs_between_epochs_and_seeds():
    numbers = np.arange(100)
    orders = []
    for seed, epoch in ((0, 0), (0, 1), (1, 0)):
        cloner = Cloner(SPEC, SMALL, Imitation(seed=seed))
        cloner.epoch = epoch
        order = cloner._ordered(numbers)
        assert sorted(order.tolist()) == numbers.tolist()
        orders.append(order.tolist())
    assert len({tuple(order) for order in orders}) == 3


# What is reported.


def test_a_report_is_the_hand_computed_one():
    data = demonstrate(4)
    # Five decisions: taken, the clone's probability of choice 1, and how the match ended.
    taken = [1, 1, 1, 0, 0]
    likely = [0.9, 0.6, 0.2, 0.3, 0.8]
    outcome = [0, 0, 2, 2, UNKNOWN]
    forecast = torch.tensor([[0.8, 0.1, 0.1], [0.8, 0.1, 0.1], [0.6, 0.2, 0.2], [0.15, 0.05, 0.8],
                             [0.3, 0.4, 0.3]]).double()  # fmt: skip
    shown = Shown(
        log_probs=torch.tensor([[1 - p, p] for p in likely]).double().log(),
        critic_output=forecast.log(),
        action=torch.tensor(taken)[:, None],
        mask=torch.ones(5, 2, dtype=torch.bool),
        outcome=torch.tensor(outcome),
        returns=torch.zeros(5),
        match=np.array([0, 0, 1, 1, 2]),
    )
    data.action[:] = 1  # Choice 1 is the usual one.
    judgement = report(data, np.arange(4), [shown], critic="outcome")
    head = judgement.heads[0]
    assert head.decisions == 5
    assert head.accuracy == pytest.approx(3 / 5)
    assert head.balanced_accuracy == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert head.majority_accuracy == pytest.approx(3 / 5)
    assert head.majority_balanced_accuracy == pytest.approx(1 / 2)
    assert head.gain == pytest.approx(0.0)
    assert judgement.whole_action_accuracy == pytest.approx(3 / 5)
    assert (judgement.decisions, judgement.matches) == (5, 3)
    chosen = [0.9, 0.6, 0.2, 0.7, 0.2]
    assert head.nll == pytest.approx(-np.log(chosen).mean())
    assert judgement.nll == pytest.approx(-np.log(chosen).mean())
    assert head.sampled_accuracy == pytest.approx(np.mean(chosen))
    one = head.choices[1]
    assert (one.chosen, one.predicted) == (3, 3)
    assert one.recall == pytest.approx(2 / 3)
    assert one.precision == pytest.approx(2 / 3)
    assert one.probability == pytest.approx((0.9 + 0.6 + 0.2) / 3)
    value = judgement.value
    assert (value.decisions, value.matches) == (4, 2)
    assert value.nll == pytest.approx(-np.log([0.8, 0.8, 0.2, 0.8]).mean())
    brier = [0.06, 0.06, 0.36 + 0.04 + 0.64, 0.065]
    assert value.brier == pytest.approx(np.mean(brier))
    wins = {round(one.low, 1): (one.decisions, one.predicted, one.won) for one in value.bins}
    assert wins[0.8] == (2, pytest.approx(0.8), 1.0)
    assert wins[0.6] == (1, pytest.approx(0.6), 0.0)
    assert wins[0.0] == (0, None, None)
    assert value.calibration_error == pytest.approx((2 * 0.2 + 0.6 + 0.15) / 4)


def test_decisions_with_one_choice_say_nothing_about_a_head():
    data = demonstrate(4)
    shown = Shown(
        log_probs=torch.tensor([[0.0, -1e9], [-0.5, -0.93]]),
        critic_output=None,
        action=torch.tensor([[0], [1]]),
        mask=torch.tensor([[True, False], [True, True]]),
        outcome=torch.tensor([0, 0]),
        returns=torch.zeros(2),
        match=np.array([0, 0]),
    )
    judgement = report(data, np.arange(4), [shown], critic=None)
    assert judgement.heads[0].decisions == 1
    assert judgement.heads[0].accuracy == 0.0
    assert judgement.whole_action_accuracy == 0.0
    assert judgement.nll == pytest.approx(0.93 / 2)
    assert judgement.value is None


def test_the_usual_choice_is_the_most_frequent_legal_one():
    data = replace(demonstrate(4), spec=make("leduc").spec)
    data.action[:] = 1
    shown = Shown(
        log_probs=torch.full((2, 3), -math.log(2)),
        critic_output=None,
        action=torch.tensor([[1], [0]]),
        mask=torch.tensor([[True, True, True], [True, False, True]]),
        outcome=torch.tensor([0, 0]),
        returns=torch.zeros(2),
        match=np.array([0, 0]),
    )
    judgement = report(data, np.arange(4), [shown], critic=None)
    assert judgement.heads[0].majority_accuracy == 1.0


def five_decisions(dtype=torch.float64):
    """Return shown decisions of three matches, one of them without an outcome."""
    likely = torch.tensor([0.9, 0.6, 0.2, 0.3, 0.8], dtype=dtype)
    forecast = [[0.8, 0.1, 0.1], [1.0, 0.0, 0.0], [0.65, 0.15, 0.2], [0.0, 0.1, 0.9],
                [0.3, 0.4, 0.3]]  # fmt: skip
    return Shown(
        log_probs=torch.stack([1 - likely, likely], 1).log(),
        critic_output=torch.tensor(forecast, dtype=dtype).log(),
        action=torch.tensor([1, 1, 1, 0, 0])[:, None],
        mask=torch.ones(5, 2, dtype=torch.bool),
        outcome=torch.tensor([0, 0, 2, 1, UNKNOWN]),
        returns=torch.tensor([0.9, 1.0, -1.0, 0.5, math.nan]).double(),
        match=np.array([0, 0, 1, 1, 2]),
    )


def cut(shown, start, end):
    columns = {name: value for name, value in vars(shown).items() if value is not None}
    return Shown(**{name: value[start:end] for name, value in columns.items()})


def test_a_report_does_not_depend_on_how_decisions_are_shown():
    data, shown = demonstrate(4), five_decisions()
    whole = asdict(report(data, np.arange(4), [shown], critic="outcome"))
    parts = asdict(
        report(data, np.arange(4), [cut(shown, 0, 2), cut(shown, 2, 5)], critic="outcome")
    )
    flat, flat_parts = flattened(whole), flattened(parts)
    assert flat.keys() == flat_parts.keys()
    assert flat == pytest.approx(flat_parts)


def flattened(value, name=""):
    """Return all numbers of a report by their place in it; what is unknown is left out."""
    if isinstance(value, dict):
        parts = [flattened(each, f"{name}/{key}") for key, each in value.items()]
    elif isinstance(value, list | tuple):
        parts = [flattened(each, f"{name}/{n}") for n, each in enumerate(value)]
    else:
        return {name: value} if isinstance(value, int | float) else {}
    return {key: each for part in parts for key, each in part.items()}


def test_a_forecast_is_held_against_how_often_each_end_came_in_what_was_learned_from():
    data = demonstrate(4)
    data.outcome[:] = [0, 0, 1, 2]
    lengths = np.diff(data.first)
    usual = np.array([lengths[0] + lengths[1], lengths[2], lengths[3]]) / lengths.sum()
    value = report(data, np.arange(4), [five_decisions()], critic="outcome").value
    came = np.eye(3)[[0, 0, 2, 1]]
    assert value.base_nll == pytest.approx(-np.log(usual[[0, 0, 2, 1]]).mean())
    assert value.base_brier == pytest.approx(((usual - came) ** 2).sum(1).mean())
    forecast = np.array([[0.8, 0.1, 0.1], [1, 0, 0], [0.65, 0.15, 0.2], [0, 0.1, 0.9]])
    assert value.brier == pytest.approx(((forecast - came) ** 2).sum(1).mean())
    assert value.nll == pytest.approx(-np.log([0.8, 1.0, 0.2, 0.1]).mean())
    assert [(one.low, one.high) for one in value.bins] == [
        (pytest.approx(i / 10), pytest.approx((i + 1) / 10)) for i in range(10)
    ]
    assert [one.decisions for one in value.bins] == [1, 0, 0, 0, 0, 0, 1, 0, 1, 1]


def test_what_was_thought_impossible_costs_much_and_not_everything():
    shown = five_decisions()
    data = demonstrate(4, outcome=0)
    value = report(data, np.arange(4), [replace(shown, outcome=torch.tensor([1, 1, 1, 0, 0]))],
                   critic="outcome").value  # fmt: skip
    came = [0.1, 1e-30, 0.15, 1e-30, 0.3]
    assert value.nll == pytest.approx(-np.log(came).mean())
    assert value.base_nll == pytest.approx(-np.log(1e-30) * 3 / 5)


def test_where_no_match_has_an_end_every_end_is_taken_for_as_likely():
    data = demonstrate(4, outcome=UNKNOWN)
    value = report(data, np.arange(4), [five_decisions()], critic="outcome").value
    assert value.base_nll == pytest.approx(math.log(3))


def test_a_value_forecast_is_held_against_the_mean_of_what_was_learned_from():
    data = demonstrate(4)
    mean = data.returns(0.9)[data.rows(np.array([0, 2]))].mean()
    forecast = torch.tensor([0.7, 0.4, -0.5, 0.0, 3.0]).double()
    shown = replace(five_decisions(), critic_output=forecast)
    parts = [cut(shown, 0, 2), cut(shown, 2, 5)]
    value = report(data, np.array([0, 2]), parts, critic="value", gamma=0.9).value
    came = np.array([0.9, 1.0, -1.0, 0.5])  # Nobody knows how the last match ended.
    errors = came - forecast.numpy()[:4]
    assert (value.decisions, value.matches) == (4, 2)
    assert value.error == pytest.approx((errors**2).mean())
    assert value.base_error == pytest.approx(((came - mean) ** 2).mean())
    assert value.explained_variance == pytest.approx(1 - errors.var() / came.var())


def test_a_return_is_what_came_from_a_decision_on_discounted_by_how_late():
    data = demonstrate(9, seed=4)
    data.outcome[3] = UNKNOWN
    for gamma in (1.0, 0.8):
        for trajectory in range(9):
            rows = data.rows(np.array([trajectory]))
            wanted = [
                sum(gamma**k * data.reward[later] for k, later in enumerate(rows[at:]))
                for at in range(len(rows))
            ]
            came = data.returns(gamma)[rows]
            if trajectory == 3:
                assert np.isnan(came).all()
            else:
                assert came.tolist() == pytest.approx(wanted, rel=1e-5)


def test_demonstrations_of_two_sources_are_those_of_both():
    one, two = demonstrate(5, seed=1), demonstrate(7, seed=2)
    whole = joined(one, two)
    assert whole.matches == one.matches + two.matches
    assert whole.teachers == one.teachers
    mine = np.arange(5, 12)
    for name in ("observation", "action", "reward", "turn"):
        column = getattr(whole, name)
        assert np.array_equal(column[: len(one)], getattr(one, name))
        assert np.array_equal(column[whole.rows(mine)], getattr(two, name))
    assert np.array_equal(whole.outcome, np.concatenate([one.outcome, two.outcome]))
    assert np.array_equal(whole.mask(whole.rows(mine)), two.mask(np.arange(len(two))))


def test_the_entropy_of_a_head_is_that_of_its_distributions():
    likely = np.array([0.9, 0.6, 0.2, 0.3, 0.8])
    head = report(demonstrate(4), np.arange(4), [five_decisions()], critic=None).heads[0]
    entropy = -(likely * np.log(likely) + (1 - likely) * np.log(1 - likely))
    assert head.entropy == pytest.approx(entropy.mean())


def test_choices_are_counted_head_by_head_where_there_was_more_than_one():
    rows = 140_000  # More than are looked at together, twice.
    mask = np.ones((rows, 5), np.bool_)
    mask[::2, :3] = [True, False, False]  # The first head has one choice every other time,
    mask[:100, 3:] = [False, True]  # and the second one at the beginning.
    action = np.stack([np.where(np.arange(rows) % 2, 2, 0), np.ones(rows, np.int64)], 1)
    data = SimpleNamespace(
        spec=SimpleNamespace(heads=(SimpleNamespace(size=3), SimpleNamespace(size=2))),
        rows=lambda trajectories: trajectories,
        mask=lambda part: mask[part],
        action=action,
    )
    first, second = choice_counts(data, np.arange(rows))
    assert first.tolist() == [0, 0, rows // 2]
    assert second.tolist() == [0, rows - 100]
