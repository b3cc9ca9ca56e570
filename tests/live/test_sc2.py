"""What the policy of a StarCraft II bot sees and is asked, without StarCraft II and burnysc2."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import fields, replace
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lanista.errors import LanistaError
from lanista.live.files import game_file
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.sc2 import (
    SCALES,
    SPEC,
    MacroAgent,
    MacroError,
    MacroGame,
    Situation,
    Strategy,
    army_hp,
    features,
    first_policy,
    outcome_of,
    share_in_sight,
    situation_of,
)
from lanista.nets.files import policy_format
from lanista.nets.portable.runtime import load_portable

AREA = SimpleNamespace(x=1, y=2, width=4, height=2)
Result = Enum("Result", "Victory Defeat Tie Undecided")


def unit(name: str, health: float = 0, shield: float = 0, can_attack: bool = True) -> Any:
    kind = SimpleNamespace(name=name)
    return SimpleNamespace(type_id=kind, health=health, shield=shield, can_attack=can_attack)


def made_up_bot(**changes: Any) -> Any:
    """Return what a BotAI would hold in some moment."""
    visibility = np.zeros((8, 8), np.uint8)
    visibility[2, 1:4] = 2
    visibility[0, :] = 2
    values: dict[str, Any] = {
        "minerals": 500,
        "vespene": 250,
        "supply_used": 50,
        "supply_cap": 66,
        "time": 120.0,
        "workers": [unit("DRONE", 40)] * 20,
        "units": [unit("DRONE", 40)] * 20
        + [unit("ZERGLING", 35)] * 4
        + [unit("OVERLORD", 200, can_attack=False)],
        "larva": [unit("LARVA", 25, can_attack=False)] * 3,
        "townhalls": [unit("HATCHERY"), unit("LAIR")],
        "enemy_units": [unit("ZEALOT", 100, 50), unit("PROBE", 20, 20)],
        "enemy_structures": [unit("NEXUS"), unit("PYLON"), unit("NEXUS")],
        "state": SimpleNamespace(
            upgrades={1, 2}, visibility=SimpleNamespace(data_numpy=visibility)
        ),
        "game_info": SimpleNamespace(playable_area=AREA),
        "client": SimpleNamespace(_game_result=None),
    }
    return SimpleNamespace(**(values | changes))


SITUATION = Situation(
    minerals=500, gas=250, supply_used=50, supply_cap=66, workers=20, units=25, visible_enemies=2,
    townhalls=2, seconds=120.0, enemy_bases=2, upgrades=2, larvae=3, map_control=3 / 8,
    army_hp=140, enemy_army_hp=150, enemy_tech=0,
)  # fmt: skip


def test_the_sixteen_features_are_the_situation_divided_by_the_scales():
    expected = [
        500 / 2000, 250 / 1000, 50 / 200, 66 / 200, 20 / 100, 25 / 100, 2 / 100, 2 / 10,
        120 / 1000, 2 / 5, 2 / 10, 3 / 20, 3 / 8, 140 / 5000, 150 / 5000, 0,
    ]  # fmt: skip
    seen = features(SITUATION)
    assert seen.dtype == np.float32
    assert seen.tolist() == np.array(expected, np.float32).tolist()


def test_features_layout_and_scales_name_the_same_things_in_the_same_order():
    names = [entry.name for entry in fields(Situation)]
    assert names == list(SCALES) == [field.name for field in SPEC.observation.fields]
    assert (SPEC.observation.length, SPEC.choices) == (16, 5)
    assert SPEC.heads[0].labels == ("economy", "aggressive", "defensive", "tech", "all_in")


@pytest.mark.parametrize("name", list(SCALES))
def test_each_feature_answers_to_its_own_number_only(name):
    before = features(SITUATION)
    after = features(replace(SITUATION, **{name: getattr(SITUATION, name) + SCALES[name]}))
    changed = after - before
    assert changed[list(SCALES).index(name)] == pytest.approx(1.0)
    assert np.count_nonzero(changed) == 1


def test_a_situation_is_read_from_a_bot():
    assert situation_of(made_up_bot()) == SITUATION


def test_an_army_is_what_can_attack_without_workers():
    units = [unit("SCV", 45), unit("MARINE", 55), unit("MEDIVAC", 150, can_attack=False)]
    assert army_hp(units) == 55
    assert army_hp([]) == 0


def test_only_the_playable_map_counts_as_control():
    seen = np.full((8, 8), 2)
    assert share_in_sight(seen, AREA) == 1
    seen[2:4, 1:5] = 1
    assert share_in_sight(seen, AREA) == 0


def test_a_number_that_is_not_finite_is_refused():
    with pytest.raises(MacroError, match="not finite"):
        features(replace(SITUATION, minerals=float("nan")))


class Recorder:
    """Stands where an agent's game would, and writes down what it is told."""

    def __init__(self, answers: list[int]) -> None:
        self.answers = list(answers)
        self.told: list[tuple[str, Any]] = []

    def act(self, observation: Any, mask: None = None) -> int:
        self.told.append(("act", observation))
        return self.answers.pop(0)

    def overrule(self, action: Any = None) -> None:
        self.told.append(("overrule", action))

    def reward(self, reward: float) -> None:
        self.told.append(("reward", reward))

    def end(self, outcome: float | None) -> None:
        self.told.append(("end", outcome))


def test_the_policy_is_asked_once_an_interval_of_game_time():
    recorder = Recorder([3, 1, 0])
    game = MacroGame(recorder, 5.0)
    times = [0.0, 0.2, 4.9, 5.0, 7.0, 10.1]
    chosen = [game.strategy(at, lambda at=at: at) for at in times]
    assert [observation for _, observation in recorder.told] == [0.0, 5.0, 10.1]
    assert chosen == [Strategy.TECH] * 3 + [Strategy.AGGRESSIVE] * 2 + [Strategy.ECONOMY]


def test_a_rule_in_the_moment_of_a_question_overrules_that_answer():
    recorder = Recorder([0, 0])
    game = MacroGame(recorder, 5.0)
    game.strategy(0.0, lambda: "a")
    assert game.overrule(0.0, lambda: "b", Strategy.DEFENSIVE) is Strategy.DEFENSIVE
    assert recorder.told == [("act", "a"), ("overrule", 2)]


def test_a_rule_later_leaves_the_answer_as_it_was_followed_and_has_a_step_of_its_own():
    recorder = Recorder([0, 0, 1])
    game = MacroGame(recorder, 5.0)
    game.strategy(0.0, lambda: "a")
    game.overrule(3.0, lambda: "b", Strategy.DEFENSIVE)
    game.overrule(4.0, lambda: "c", Strategy.DEFENSIVE)
    assert game.strategy(7.9, lambda: "d") is Strategy.DEFENSIVE
    assert game.strategy(8.0, lambda: "e") is Strategy.AGGRESSIVE
    assert recorder.told == [("act", "a"), ("act", "b"), ("overrule", 2), ("act", "e")]


def test_another_rule_while_one_holds_begins_another_step():
    recorder = Recorder([0, 0])
    game = MacroGame(recorder, 5.0)
    game.overrule(0.0, lambda: "a", Strategy.DEFENSIVE)
    game.overrule(0.0, lambda: "b", Strategy.ALL_IN)
    assert recorder.told == [("act", "a"), ("overrule", 2), ("act", "b"), ("overrule", 4)]


@pytest.mark.parametrize("interval", [0, -1.0, float("nan")])
def test_an_interval_that_is_none_is_refused(interval):
    with pytest.raises(MacroError, match="interval"):
        MacroGame(Recorder([]), interval)


@pytest.mark.parametrize(("name", "value"), [("Victory", 1), ("Tie", 0), ("Defeat", -1)])
def test_a_result_of_the_program_is_the_outcome(name, value):
    bot = made_up_bot(client=SimpleNamespace(_game_result={1: Result[name]}))
    assert outcome_of(bot, Result[name]) == value


def test_what_burnysc2_calls_a_result_by_itself_is_none():
    assert outcome_of(made_up_bot(), Result.Defeat) is None
    assert outcome_of(made_up_bot(), Result.Tie) is None
    bot = made_up_bot(client=SimpleNamespace(_game_result={1: Result.Undecided}))
    assert outcome_of(bot, Result.Undecided) is None


class Base:
    """What a mix-in stands before: a class with an end of its own."""

    ended = 0

    async def on_end(self, game_result: Any) -> None:
        self.ended += 1


class Bot(MacroAgent, Base):
    """A made-up bot with the mix-in."""

    def __init__(self, folder: Path) -> None:
        vars(self).update(vars(made_up_bot()))
        self.macro_policies, self.macro_spool = folder / "policies", folder / "spool"

    def begin(self, name: str) -> None:
        """Let burnysc2 begin a new game: it makes a client for each."""
        self.macro_game_id = name
        self.client = SimpleNamespace(_game_result=None)

    def finish(self, result: Any) -> None:
        self.client._game_result = {1: result}
        asyncio.run(self.on_end(result))


@pytest.fixture
def bot(tmp_path):
    first_policy(tmp_path / "policies")
    made = Bot(tmp_path)
    yield made
    made.macro_close()


def games_of(bot: Bot) -> dict[str, game_file.GameFile]:
    """Close a bot and return its games by id."""
    report = bot.macro_close()
    assert report is not None
    assert report.games.dropped == 0
    read = [game_file.read(path) for path in (Path(bot.macro_spool) / "new").glob("*.npz")]
    return {game.header.game_id: game for game in read}


def always(strategy: Strategy, folder: Path) -> str:
    """Publish a policy that picks one strategy; return its digest."""
    place = PolicyFolder(folder)
    content = policy_format.read(place.path_of(place.pointer().stable))
    arrays = dict(content.arrays) | {"head.bias": np.full(5, -50, np.float32)}
    arrays["head.bias"][strategy] = 50
    return place.publish(place.add(policy_format.encode(content.header, arrays))).stable


def test_what_is_saved_is_what_the_policy_was_shown_and_each_reward_lies_on_its_action(bot):
    bot.begin("one")
    shown, chosen = [], []
    for step, reward in enumerate([0.5, 0.0, -2.0]):
        bot.time, bot.minerals = 5.0 * step, 100 * step
        chosen.append(int(bot.macro_strategy()))
        shown.append(features(situation_of(bot)))
        bot.time += 1.0
        bot.minerals += 7
        bot.macro_strategy()
        bot.macro_reward(reward)
    bot.finish(Result.Victory)
    game = games_of(bot)["one"]
    assert np.array_equal(game.observations, np.array(shown))
    assert game.actions[:, 0].tolist() == chosen
    assert game.rewards.tolist() == [0.5, 0.0, -2.0]
    assert game.outcome.tolist() == [1.0]
    assert bot.ended == 1


def test_a_new_policy_is_taken_up_before_the_next_game_and_not_within_one(bot, tmp_path):
    old = PolicyFolder(bot.macro_policies).pointer().stable
    bot.begin("one")
    bot.macro_strategy()
    new = always(Strategy.TECH, bot.macro_policies)
    for step in range(1, 12):
        bot.time = 200.0 * step
        bot.macro_strategy()
    bot.finish(Result.Defeat)
    bot.begin("two")
    bot.time = 0.0
    assert bot.macro_strategy() is Strategy.TECH
    bot.finish(Result.Victory)
    games = games_of(bot)
    assert {name: game.header.policy for name, game in games.items()} == {"one": old, "two": new}
    assert games["one"].outcome.tolist() == [-1.0]


def test_a_game_that_broke_off_is_cut_off_when_the_next_begins(bot):
    bot.begin("broken")
    bot.macro_strategy()
    bot.begin("next")
    bot.macro_strategy()
    bot.finish(Result.Victory)
    games = games_of(bot)
    assert games["broken"].header.cut_off
    assert games["broken"].outcome.size == 0
    assert games["next"].outcome.tolist() == [1.0]


def test_a_bot_that_was_closed_can_play_again(bot):
    bot.begin("one")
    bot.macro_strategy()
    assert games_of(bot)["one"].header.cut_off
    bot.begin("two")
    bot.macro_strategy()
    bot.finish(Result.Tie)
    assert games_of(bot)["two"].outcome.tolist() == [0.0]


def test_a_game_without_a_question_leaves_no_file(bot):
    bot.begin("silent")
    bot.finish(Result.Victory)
    assert bot.macro_close() is None
    assert bot.ended == 1


def test_overruled_steps_are_marked_in_the_game_file(bot):
    bot.begin("ruled")
    bot.time = 0.0
    bot.macro_strategy()
    bot.time = 2.0
    bot.macro_overrule(Strategy.DEFENSIVE)
    bot.macro_reward(3.0)
    bot.finish(Result.Victory)
    game = games_of(bot)["ruled"]
    assert game.overruled.tolist() == [False, True]
    assert game.actions[1, 0] == Strategy.DEFENSIVE
    # What came while the rule held belongs to the policy's choice before it.
    assert game.rewards.tolist() == [3.0, 0.0]


def test_a_policy_for_something_else_is_refused(bot):
    place = PolicyFolder(bot.macro_policies)
    content = policy_format.read(place.path_of(place.pointer().stable))
    (place.folder / "current.json").unlink()
    header = replace(content.header, observation_version=3)
    place.publish(place.add(policy_format.encode(header, content.arrays)))
    bot.begin("one")
    with pytest.raises(LanistaError, match="observation version"):
        bot.macro_strategy()


def test_a_policy_of_the_first_observation_plays_on_and_sees_what_it_saw(bot, tmp_path):
    bot.macro_policies = tmp_path / "older"
    pointer = first_policy(bot.macro_policies, version=1)
    bot.enemy_structures = [unit("HIVE")]
    bot.begin("one")
    bot.macro_strategy()
    bot.finish(Result.Victory)
    game = games_of(bot)["one"]
    assert (game.header.policy, game.header.layout.observation_version) == (pointer.stable, 1)
    assert game.observations.shape == (1, 15)
    assert features(situation_of(bot)).tolist() == [*game.observations[0].tolist(), 1.0]


@pytest.mark.parametrize(
    ("names", "level"),
    [
        ([], 0), (["HATCHERY", "SPAWNINGPOOL"], 0), (["SPAWNINGPOOL", "LAIR"], 1),
        (["CYBERNETICSCORE", "STARGATE", "GATEWAY"], 2), (["FACTORY", "STARPORT"], 2),
        (["HIVE", "ROACHWARREN"], 3), (["FLEETBEACON"], 3), (["FUSIONCORE", "BARRACKS"], 3),
    ],
)  # fmt: skip
def test_the_enemy_is_as_far_as_its_furthest_structure(names, level):
    bot = made_up_bot(enemy_structures=[unit(name) for name in names])
    assert situation_of(bot).enemy_tech == level


def test_the_first_policy_holds_all_strategies_alike_and_is_made_once(tmp_path):
    pointer = first_policy(tmp_path)
    policy = load_portable(PolicyFolder(tmp_path).path_of(pointer.stable), SPEC)
    seen = np.stack([features(SITUATION), np.zeros(16, np.float32)])
    log_probs, _ = policy.log_probs(seen, np.ones((2, 5), bool))
    assert np.allclose(np.exp(log_probs), 0.2)
    newer = always(Strategy.ECONOMY, tmp_path)
    assert first_policy(tmp_path).stable == newer


def test_the_mix_in_needs_neither_torch_nor_burnysc2():
    check = (
        "import sys, lanista.live.sc2\n"
        "print(sorted({'torch', 'sc2', 'aiohttp', 'lanista.learn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(
    ("own", "ladder", "kept"),
    [
        (None, None, ""),
        (None, "c0ffee", "c0ffee"),
        ("a friend", "c0ffee", "a friend"),
        (None, "two\nlines" + "x" * 500, None),
    ],
)
def test_whom_the_game_was_against_is_kept_with_it(bot, own, ladder, kept):
    bot.macro_opponent, bot.opponent_id = own, ladder
    bot.begin("one")
    bot.macro_strategy()
    bot.finish(Result.Victory)
    found = games_of(bot)["one"].header.opponent
    assert found == kept if kept is not None else found.startswith("two") and len(found) == 200
