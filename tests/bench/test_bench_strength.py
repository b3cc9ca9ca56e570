"""Time to strength: rows, marks, the judge, a peer's environment, one tiny row as a whole."""

from __future__ import annotations

import importlib.util
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from bench.strength import arm, clock, command, ours, rows
from bench.strength.curves import Ratio, Times, ratio, time_to_mark
from bench.strength.judge import Judge
from bench.strength.page import curves_of, page
from bench.strength.rows import NASH_CONV, ROWS, Mark, Row, row_of
from bench.strength.snapshots import Encoder, Mixture, Snapshot
from hypothesis import given
from hypothesis import strategies as st

from lanista.evaluation.evaluator import uniform
from lanista.games import registry
from lanista.games.bots import Player
from lanista.games.contract import Spec
from lanista.nets.encoders import FlatEncoder

ROOT = Path(__file__).parents[2]
OPENSPIEL = importlib.util.find_spec("pyspiel") is not None
GYMNASIUM = importlib.util.find_spec("gymnasium") is not None


def playable(row: Row) -> Row:
    """Return the row, its game's file named from anywhere; skip what is not installed."""
    if row.game.startswith("openspiel:") and not OPENSPIEL:
        pytest.skip("OpenSpiel is not installed")
    if row.name == "microrts":
        pytest.skip("MicroRTS has an engine of its own; its bench tests look at it")
    return row


def look(seconds: float, value: float, metric: str = NASH_CONV) -> dict[str, Any]:
    decisions = int(1000 * seconds)
    return {"cpu_seconds": seconds, "decisions": decisions, "metrics": {metric: {"value": value}}}


# The table.


def test_rows_have_names_of_their_own_marks_from_easy_to_hard_and_five_minutes_at_most() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS) == 10
    for row in ROWS:
        assert row.marks
        assert 0 < row.seconds <= 300
        for metric in {mark.metric for mark in row.marks}:
            values = [mark.value for mark in row.marks if mark.metric == metric]
            harder = sorted(set(values), reverse=metric == NASH_CONV)
            assert values == harder, row.name


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_rows_bots_and_recipe_are_of_its_game(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    playable(row)
    assert {*row.bots} <= {*registry.bot_names(registry.entry(row.game))}
    settings = ours.settings_for(row, 3)
    assert (settings.game, settings.seed, settings.device) == (row.game, 3, "cpu")
    assert settings.rollouts.alone, "one core is the subject"


def random_masks(row: Row, steps: int = 200) -> np.ndarray[Any, Any]:
    """Return the masks of random matches."""
    game = registry.make(row.game, slots=8, seed=1, **row.game_settings)
    bot = registry.make_bot(row.game, "random", game.spec, 1)
    masks, match = [], 0
    for _ in range(steps):
        decisions = game.decisions()
        if not len(decisions):
            game.start(np.arange(8), np.arange(match, match + 8))
            match += 8
            continue
        masks.append(decisions.mask.copy())
        every = np.arange(len(decisions))
        game.act(every, bot.act(decisions, every))
    game.close()
    return np.concatenate(masks)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_says_whether_every_choice_is_always_legal(
    row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert random_masks(playable(row)).all() == row.always_legal


def test_ppo_without_masks_takes_part_only_where_every_choice_is_legal() -> None:
    arms = command.arms(ROWS, [0, 1])
    assert {arm.row for arm in arms if arm.learner == "ppo"} == {"kuhn"}
    assert {arm.row for arm in arms if arm.learner == "maskable_ppo"} == {r.name for r in ROWS}
    assert [arm.budget for arm in arms] == sorted((arm.budget for arm in arms), reverse=True)


# Time to a mark.

curves = st.lists(
    st.tuples(st.floats(0.1, 100.0), st.floats(0.0, 1.0)),
    min_size=1,
    max_size=12,
    unique_by=lambda p: p[0],
)


@given(curves, st.floats(0.0, 1.0), st.sampled_from([NASH_CONV, "random"]))
def test_the_time_to_a_mark_is_that_of_the_first_look_that_reaches_it(
    points: list[tuple[float, float]], value: float, metric: str
) -> None:
    mark = Mark(metric, value)
    moment = time_to_mark([look(at, now, metric) for at, now in points], mark)
    good = {at for at, now in points if (now <= value if metric == NASH_CONV else now >= value)}
    assert moment == (min(good) if good else None)


@given(curves, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_a_harder_mark_is_never_reached_sooner(
    points: list[tuple[float, float]], first: float, second: float
) -> None:
    looks = [look(at, value) for at, value in points]
    hard, easy = sorted([first, second])
    late, soon = (time_to_mark(looks, Mark(NASH_CONV, value)) for value in (hard, easy))
    assert late is None or (soon is not None and soon <= late)


@given(curves, st.floats(0.0, 1.0), st.randoms())
def test_the_order_of_lines_does_not_matter_and_later_looks_take_nothing_away(
    points: list[tuple[float, float]], value: float, random: Any
) -> None:
    mark, looks = Mark(NASH_CONV, value), [look(*point) for point in points]
    moment = time_to_mark(looks, mark)
    random.shuffle(looks)
    assert time_to_mark(looks, mark) == moment
    if moment is not None:
        assert time_to_mark([*looks, look(1000.0, 5.0)], mark) == moment


def test_a_peer_that_never_arrives_gives_a_lower_bound() -> None:
    # Ours 2, 4 and 5 seconds; of the peer's 100 seconds none was enough.
    mine, peer = Times((2.0, 4.0, 5.0), ()), Times((), (100.0, 104.0, 101.0))
    assert ratio(mine, peer) == Ratio(25.0, True, 20.0, None)
    assert ratio(mine, Times((8.0, 40.0), (100.0,))) == Ratio(10.0, False, 8 / 5, None)
    assert ratio(mine, Times((8.0, 12.0, 20.0), ())) == Ratio(3.0, False, 8 / 5, 10.0)


def test_where_ours_does_not_arrive_the_ratio_is_an_upper_bound_or_unknown() -> None:
    mine = Times((2.0,), (9.0, 10.0))
    assert ratio(mine, Times((3.0,), ())) == Ratio(1 / 3, False, below=True)
    assert ratio(mine, Times((), (100.0,))) == Ratio(None, False, below=True)


def test_one_of_ours_that_did_not_arrive_leaves_no_lower_end() -> None:
    assert ratio(Times((2.0, 4.0), (9.0,)), Times((8.0,), ())).low is None


@given(st.floats(0.5, 300.0), st.integers(1, 4))
def test_a_curve_is_looked_at_evenly_in_the_log_and_last_at_its_budget(
    budget: float, a_doubling: int
) -> None:
    moments = clock.look_times(budget, a_doubling)
    assert moments[-1] == budget
    assert moments[0] == pytest.approx(budget / 64)
    steps = np.diff(np.log2(moments))
    assert steps == pytest.approx(np.full(len(steps), 1 / a_doubling))


def test_a_clock_counts_work_and_leaves_the_judge_out() -> None:
    watch = clock.Clock()
    with watch.paused():
        busy(0.2)
    assert watch.seconds < 0.1
    busy(0.1)
    assert watch.seconds >= 0.1


def busy(seconds: float) -> None:
    import time

    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


# Two cores and a GPU.


@pytest.mark.parametrize(
    ("name", "launcher", "lag"),
    [("beastybar", "threads", 0), ("arena", "threads", 1), ("purses", "processes", 0)],
)
def test_on_two_cores_ours_plays_with_two_workers_and_learns_with_two_threads(
    name: str, launcher: str, lag: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    settings = ours.settings_for(row_of(name), 1, cores=2)
    rollouts = settings.rollouts
    assert (rollouts.workers, rollouts.launcher, rollouts.lag) == (2, launcher, lag)
    assert settings.learning.shards == 2


def test_on_a_gpu_ours_is_told_what_the_row_says_and_then_what_the_flag_says() -> None:
    row = row_of("beastybar")
    settings = ours.settings_for(row, 1, gpu=True, words=["rollouts.workers=3"])
    assert (settings.device, settings.rollouts.matches) == ("cuda", 2048)
    assert settings.rollouts.workers == 3
    assert {one.name for one in ROWS if one.on_gpu} == {"beastybar", "arena"}
    assert command.default_rows(gpu=True) == ["beastybar", "arena"]


def test_an_arm_counts_cpu_seconds_on_one_core_and_wall_seconds_elsewhere() -> None:
    places = [command.Place(), command.Place(2), command.Place(gpu=True)]
    made = [command.arms([row_of("kuhn")], [0], 5.0, ["ours"], place)[0] for place in places]
    assert [one.unit for one in made] == ["cpu_seconds", "wall_seconds", "wall_seconds"]
    # Lines of one core are as they always were.
    assert not {"cores", "gpu", "settings"} & {*made[0].described}
    assert (made[1].described["cores"], made[2].described["gpu"]) == (2, True)
    assert arm.read_arm(json.dumps(made[1].described)) == made[1]


def test_the_page_keeps_two_cores_and_a_gpu_apart_from_one_core() -> None:
    def line(seconds: float, unit: str, **where: Any) -> dict[str, Any]:
        values = look(seconds, 0.01)
        values[unit] = values.pop("cpu_seconds")
        return {"row": "kuhn", "learner": "ours", "seed": 0, "budget": 40.0, **values, **where}

    text = page([
        line(8.0, "cpu_seconds"),
        line(4.0, "wall_seconds", cores=2),
        line(2.0, "wall_seconds", gpu=True),
    ])  # fmt: skip
    one, two, gpu = text.split("\n\n**")
    assert "8.0 CPU s" in one
    assert two.startswith("2 cores, wall seconds**")
    assert "4.0 s" in two
    assert gpu.startswith("One GPU, wall seconds**")
    assert "2.0 s" in gpu


def test_jobs_of_two_cores_each_get_cores_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3, 4})
    wanted = command.arms([row_of("kuhn")], [0, 1], 5.0, ["ours"], command.Place(2))
    assert command._cores(2, wanted) == [{0, 1}, {2, 3}]
    assert command._cores(3, wanted) == [None] * 3


# The judge.


class Uniform:
    """Chooses everything legal alike."""

    def __init__(self, spec: Spec, game: str) -> None:
        self.bot = registry.make_bot(game, "random", spec, 5)

    def player(self, greedy: bool) -> Player:
        return self.bot

    probabilities = staticmethod(uniform)


@pytest.mark.skipif(not OPENSPIEL, reason="OpenSpiel is not installed")
def test_uniform_play_in_kuhn_is_judged_at_eleven_twelfths() -> None:
    """A best response to uniform play gains 1/2 as first seat and 5/12 as second."""
    row = row_of("kuhn")
    spec = registry.spec_of("kuhn", seed=0)
    value = Judge(row).look(Uniform(spec, "kuhn"))[NASH_CONV]["value"]
    assert value == pytest.approx(1 / 2 + 5 / 12)


def test_a_bot_against_itself_is_judged_at_a_half() -> None:
    row = replace(row_of("phantom_ttt"), marks=(Mark("random", 0.5),))
    spec = registry.spec_of(row.game, seed=0)
    score = Judge(row, matches=2000).look(Uniform(spec, row.game))["random"]
    assert score["low"] < 0.5 < score["high"]
    assert score["n"] == 1000


# The peer's side.


def snapshot(spec: Spec, *, zero: bool = False, greedy: bool = False) -> Snapshot:
    """Return a network of one layer, all zero or drawn."""
    width, random = Encoder(spec).width, np.random.default_rng(2)
    weights = random.normal(size=(width, spec.choices)).astype(np.float32)
    bias = np.zeros(spec.choices, np.float32)
    return Snapshot(spec, [(weights * (not zero), bias)], greedy=greedy)


@pytest.mark.parametrize("name", ["leduc", "beastybar", "arena", "purses"])
def test_a_peer_sees_what_our_encoder_makes_of_a_view(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    game = registry.make(row_of(name).game, slots=64, seed=1)
    game.start(np.arange(64), np.arange(64))
    views = game.decisions().observation.copy()
    ours_of = FlatEncoder(game.spec.observation)(torch.from_numpy(views)).numpy()
    assert (Encoder(game.spec)(views) == ours_of).all()
    assert (Encoder(game.spec)(views[3]) == ours_of[3]).all()


def test_a_network_of_zeros_is_uniform_play() -> None:
    spec = registry.spec_of("liars_dice", seed=0)
    masks = random_masks(row_of("liars_dice"))
    views = np.zeros((len(masks), spec.observation.length), np.uint8)
    assert snapshot(spec, zero=True).probabilities(views, masks) == pytest.approx(
        uniform(views, masks)
    )


def test_a_snapshot_draws_as_often_as_its_probabilities_say() -> None:
    game = registry.make("beastybar", slots=4000, seed=1)
    game.start(np.arange(4000), np.arange(4000), {"deal": 0})
    decisions, every = game.decisions(), np.arange(4000)
    player = snapshot(game.spec)
    (chances,) = player.probabilities(decisions.observation[:1], decisions.mask[:1])
    counts = np.bincount(player.act(decisions, every)[:, 0], minlength=game.spec.choices)
    assert abs(counts / 4000 - chances).max() < 4 * 0.5 / 4000**0.5
    likeliest = snapshot(game.spec, greedy=True).act(decisions, every)
    assert (likeliest == chances.argmax()).all()


@pytest.mark.skipif(not GYMNASIUM, reason="Gymnasium is not installed")
@pytest.mark.parametrize("name", ["kuhn", "beastybar", "arena", "goofspiel", "purses"])
def test_a_peers_matches_take_legal_actions_end_and_pay_what_the_game_pays(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bench.strength.seat_env import LearningSeat

    monkeypatch.chdir(ROOT)
    row = playable(row_of(name))
    spec = registry.spec_of(row.game, seed=0, **row.game_settings)
    bot = registry.make_bot(row.game, "random", spec, 0)
    opponent = Mixture([(None, 1.0), (bot, 1.0)], [snapshot(spec)], np.random.default_rng(0))
    env = LearningSeat(row.game, opponent, 0, row.game_settings)
    random, seats = np.random.default_rng(1), []
    heads = np.cumsum([head.size for head in spec.heads])[:-1]
    for _ in range(4):
        observation, info = env.reset()
        rewards, over = 0.0, False
        for _ in range(spec.facts.longest + 1):
            assert observation.shape == env.observation_space.shape
            legal = [np.flatnonzero(part) for part in np.split(env.action_masks(), heads)]
            action = [random.choice(choices) for choices in legal]
            observation, reward, over, cut, info = env.step(action if len(legal) > 1 else action[0])
            rewards += reward
            over |= cut
            if over:
                break
        assert over
        assert rewards == pytest.approx(info["returns"])
        seats.append(info["seat"])
    assert {*seats} == {0, 1}
    env.close()


@pytest.mark.skipif(not GYMNASIUM, reason="Gymnasium is not installed")
def test_a_peer_that_must_mask_is_refused_an_illegal_action() -> None:
    from bench.strength.seat_env import LearningSeat

    from lanista.games.contract import GameError

    spec = registry.spec_of("beastybar", seed=0)
    env = LearningSeat(
        "beastybar", Mixture([(None, 1.0)], [snapshot(spec)], np.random.default_rng(0)), 0, {}
    )
    env.reset()
    with pytest.raises(GameError):
        env.step(int(np.flatnonzero(~env.action_masks())[0]))


def test_each_match_has_one_opponent_and_snapshots_and_bots_both_come() -> None:
    spec = registry.spec_of("kuhn", seed=0)
    bot = registry.make_bot("kuhn", "random", spec, 0)
    pool = [snapshot(spec) for _ in range(3)]
    mixture = Mixture([(None, 1.0), (bot, 1.0)], pool, np.random.default_rng(0))
    drawn = [mixture._drawn() for _ in range(400)]
    assert 140 < sum(one is bot for one in drawn) < 260
    # Half of the snapshots' matches and a third of the rest: 2/3 of 200.
    assert 90 < sum(one is pool[-1] for one in drawn) < 180
    assert all(any(one is member for one in drawn) for member in pool)


# From end to end.


class Counter(clock.Clock):
    """Takes each question for the time as a second gone, so that no outcome depends on speed."""

    reads = 0

    @property
    def seconds(self) -> float:
        self.reads += 1
        return float(self.reads)


@pytest.mark.skipif(not OPENSPIEL, reason="OpenSpiel is not installed")
def test_our_curve_of_a_tiny_row_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "iterations_within", lambda *_: 50)
    out = io.StringIO()
    curve = arm.Curve(arm.Arm("kuhn", "ours", 1, 40.0), out)
    curve.clock = Counter()
    ours.learn(curve)
    looks = [json.loads(line) for line in out.getvalue().splitlines()]
    assert all((look["learner"], look["seed"]) == ("ours", 1) for look in looks)
    assert looks[0]["command"].startswith("rl --config kuhn-ppo --set ")
    assert looks[-1]["cpu_seconds"] == 40.0
    values = [look["metrics"][NASH_CONV]["value"] for look in looks]
    assert values[-1] < 0.6 * values[0]


def test_a_rehearsal_says_how_many_iterations_fit() -> None:
    settings = ours.settings_for(row_of("kuhn"), 0)
    few, many = (ours.iterations_within(settings, seconds) for seconds in (0.0, 50.0))
    assert few == 1
    assert many > 10


def test_a_peer_makes_a_curve_where_it_is_installed_and_is_a_named_skip_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    (line, *_) = command.lines(command.arms([row_of("kuhn")], [0], 0.5, ["maskable_ppo"]))
    if command.peer_python() is None:
        assert line["why"] == "not measured: `make peers` adds it"
    else:
        assert line["decisions"] == 2048 * 4
        assert 0 < line["metrics"][NASH_CONV]["value"] < 4


def test_an_arm_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (line,) = command.lines([arm.Arm("no such row", "ours", 0, 1.0)])
    assert line["why"].startswith("failed: ")
    assert "no such row" in line["why"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--budget", "0"], "argument --budget: it is 0; give a number above 0."),
        (["--jobs", "-2"], "argument --jobs: it is -2; give a number above 0."),
        (["--page", "no-such-file"], "no-such-file cannot be read as lines of"),
        (["--plot", "curves.svg"], "give --page FILE too."),
        (["--rows", "chess"], "invalid choice: 'chess'"),
        (["--rows", "kuhn", "--gpu"], "the row kuhn is not run on a GPU; leave out --gpu or"),
        (["--cores", "0"], "argument --cores: it is 0; give a number above 0."),
    ],
)
def test_a_flag_that_makes_no_sense_is_refused_in_a_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.main(words)
    assert sentence in capsys.readouterr().err


def test_the_page_is_printed_from_files_of_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for learner in ("ours", "ppo"):
        files.append(tmp_path / f"{learner}.jsonl")
        line = {"row": "kuhn", "learner": learner, "seed": 0, "budget": 40.0, **look(2.0, 0.01)}
        files[-1].write_text(json.dumps(line) + "\n", encoding="utf-8")
    picture = tmp_path / "curves.svg"
    command.main(["--page", *map(str, files), "--plot", str(picture)])
    assert picture.read_text(encoding="utf-8").count("<polyline") == len(files)
    assert "| 2.0 CPU s [2.0, 2.0] (PPO) | 1.0 [1.0, 1.0] |" in capsys.readouterr().out


def test_the_page_has_a_line_for_each_mark_and_for_each_row() -> None:
    looks = [
        {"row": "kuhn", "learner": learner, "seed": seed, "budget": 40.0, **look(seconds, value)}
        for learner, scale in (("ours", 1.0), ("ppo", 10.0), ("maskable_ppo", 20.0))
        for seed in (0, 1, 2)
        for seconds, value in ((scale * (1 + seed), 0.08), (scale * 4.0, 0.03))
    ]
    skipped = {"row": "leduc", "learner": "ppo", "seed": 0, "why": "not measured"}
    assert {*curves_of([*looks, skipped])} == {"kuhn"}
    text = page([*looks, skipped])
    # The mark 0.1 is reached after 1, 2 and 3 seconds, by the better peer after 10, 20 and 30.
    assert (
        "| Kuhn poker | NashConv ≤ 0.1 | 2.0 CPU s [1.0, 3.0] | 20.0 CPU s [10.0, 30.0] (PPO) "
        "| 10.0 [3.3, 30.0] |" in text
    )
    assert "| Kuhn poker | NashConv ≤ 0.05 | 4.0 CPU s [4.0, 4.0] |" in text
    assert "| Kuhn poker | NashConv ≤ 0.02 | > 4.0 CPU s | > 40.0 CPU s (PPO) | — |" in text
    assert "| `rl --config kuhn-ppo --set learning.lr.start=2.8e-3 " in text
    assert "learning.terms.magnet=0.0051` | 40 | 3 |" in text
    # 10 and 10 times as soon to the first two marks, and nobody reaches the third.
    assert (
        "Of 3 marks ours reaches 2, 0 of them alone; 2 at least 5 times as soon as the best peer, "
        "0 later than it." in text
    )
    assert rows.row_of("leduc").title not in text


def test_the_command_of_a_row_says_each_setting_once_as_it_holds() -> None:
    words = row_of("arena").command(["rollouts.workers=4", "learning.lr=1e-3"], gpu=True).split()
    assert words[-2:] == ["rollouts.workers=4", "learning.lr=1e-3"]
    keys = [word.partition("=")[0] for word in words[words.index("--set") + 1 :]]
    assert len(keys) == len({*keys}) == 5


def test_the_page_names_the_command_that_made_a_curve_and_not_the_rows_of_today() -> None:
    line = {"row": "leduc", "learner": "ours", "seed": 0, "budget": 9.0, **look(2.0, 0.1)}
    assert "| `rl --game leduc` | 9 |" in page([line])
    assert "| `rl --config old` | 9 |" in page([line | {"command": "rl --config old"}])


def test_the_standing_table_is_what_its_lines_say() -> None:
    lines = (ROOT / "bench" / "strength" / "standing.jsonl").read_text(encoding="utf-8")
    table = page(json.loads(line) for line in lines.splitlines())
    assert table in (ROOT / "docs" / "results" / "strength.md").read_text(encoding="utf-8")
