"""Many battles, one call: what a policy sees of them, and that none hears another's answer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("poke_env")

from showdown_field import FORMAT, SPEC, player_of, run
from showdown_play import needs_simulator

from lanista.games.contract import GameError
from lanista.games.registry import make, make_bot
from lanista.games.showdown.game import Sight
from lanista.games.showdown.protocol.tracker import Tracker
from lanista.games.showdown.sim.match import Told
from lanista.live.showdown.batching import Answer, Batcher
from lanista.live.showdown.battle import Battle, Question


def question(seed: int) -> Question:
    """Return something to decide that no battle ever asked."""
    drawn = np.random.default_rng(seed)
    seen = drawn.integers(0, 2, SPEC.observation.length).astype(np.int16)
    mask = np.zeros(SPEC.choices, np.bool_)
    mask[0] = True
    mask[90 + drawn.choice(2025, 40, replace=False)] = True
    return Question({}, seen, mask, Tracker(FORMAT, 0), Told())


def answers(player: Any, order: list[list[int]], at_once: bool) -> dict[int, list[Answer]]:
    """Ask at each step for the battles named there; return each battle's answers."""

    async def ask() -> dict[int, list[Answer]]:
        batcher = Batcher()
        slots = {battle: batcher.sit() for battle in {each for step in order for each in step}}
        given: dict[int, list[Answer]] = {battle: [] for battle in slots}

        async def one(battle: int) -> None:
            turn = len(given[battle])
            told = question(100 * battle + turn)
            given[battle].append(await batcher.ask(player, slots[battle], battle, turn, told))

        for step in order:
            if at_once:
                await asyncio.gather(*(one(battle) for battle in step))
            else:
                for battle in step:
                    await one(battle)
        assert batcher.calls == (len(order) if at_once else batcher.decisions)
        return given

    result: dict[int, list[Answer]] = run(ask())
    return result


@pytest.mark.parametrize("kind", ["mlp", "lstm", "transformer"])
def test_a_battle_is_answered_alike_alone_and_in_company(tmp_path: Path, kind: str) -> None:
    order = [[1, 2, 3], [2, 3], [1, 3], [1, 2, 3]]
    together = answers(player_of(tmp_path, kind), order, at_once=True)
    apart = answers(player_of(tmp_path, kind), order, at_once=False)
    alone = answers(player_of(tmp_path, kind), [[2], [2], [2]], at_once=False)
    for battle, given in together.items():
        assert [each.action for each in given] == [each.action for each in apart[battle]]
        for mine, theirs in zip(given, apart[battle], strict=True):
            assert mine.log_prob == pytest.approx(theirs.log_prob, abs=1e-4)
    assert [each.action for each in together[2]] == [each.action for each in alone[2]]


def test_a_policy_with_memory_remembers_its_own_battle(tmp_path: Path) -> None:
    def last(first: int) -> float | None:
        async def ask() -> Answer:
            batcher = Batcher()
            player, slot = player_of(tmp_path, "lstm"), batcher.sit()
            await batcher.ask(player, slot, 7, 0, question(first))
            return await batcher.ask(player, slot, 7, 1, question(3))

        answer: Answer = run(ask())
        return answer.log_prob

    assert last(1) == last(1)
    assert last(1) != last(2)


def test_an_error_reaches_every_battle_that_was_asked_with_it() -> None:
    class Broken:
        name, digest = "broken", "0"

        def act(self, decisions: Any, rows: Any) -> Any:
            raise GameError("it cannot decide")

    async def ask() -> list[Any]:
        batcher = Batcher()
        slots = [batcher.sit(), batcher.sit()]
        asked = (batcher.ask(Broken(), slot, slot, 0, question(slot)) for slot in slots)
        return await asyncio.gather(*asked, return_exceptions=True)

    assert [str(error) for error in run(ask())] == ["it cannot decide"] * 2


def test_a_question_that_cannot_be_answered_costs_no_other_its_answer() -> None:
    class Stumbling:
        name, digest = "stumbling", "0"

        def act(self, decisions: Any, rows: Any) -> Any:
            if 1 in decisions.match[rows]:
                raise GameError("not that one")
            return np.zeros((len(rows), 2), np.int32)

    async def ask() -> list[Any]:
        batcher = Batcher()
        slots, player = [batcher.sit() for _ in range(3)], Stumbling()
        asked = (batcher.ask(player, slot, slot, 0, question(slot)) for slot in slots)
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert batcher.decisions == 2
        return found

    first, second, third = run(ask())
    assert first == third == Answer((0, 0), None)
    assert str(second) == "not that one"


@needs_simulator
@pytest.mark.parametrize("format", ["gen9vgc2025regi", "gen9randombattle"])
def test_a_battle_on_a_server_is_seen_as_in_training(format: str) -> None:
    game = make("showdown", slots=2, seed=5, format=format)
    try:
        bot = make_bot("showdown", "random", game.spec, 0)
        game.start([0, 1], [0, 1])
        battles: dict[Any, tuple[Battle, int]] = {}
        compared = 0
        while len(decisions := game.decisions()):
            assert isinstance(decisions, Sight)
            for row in range(len(decisions)):
                told, seat = decisions.transcripts[row], int(decisions.seat[row])
                battle, heard = battles.get(told) or (
                    Battle("battle-1", game.format, f"Player {seat + 1}", game.dealer.belief),
                    0,
                )
                asked = None
                for view in told.views[heard:]:
                    message = [*view.lines, f"|request|{json.dumps(view.request)}"]
                    asked = battle.take(message).request
                battles[told] = battle, len(told.views)
                assert asked is not None
                seen = battle.question(asked)
                assert seen is not None
                assert np.array_equal(seen.observation, decisions.observation[row])
                assert np.array_equal(seen.mask, decisions.mask[row])
                compared += 1
            game.act(np.arange(len(decisions)), bot.act(decisions, np.arange(len(decisions))))
        assert compared > 20
    finally:
        game.close()
