"""Bots in a process of their own: what they are asked, what they answer, how they end."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lanista.games import GameError, make
from lanista.games.bot_files import bot_from_file
from lanista.games.process_bots import ProcessBot
from lanista.games.random_bot import RandomBot
from lanista.rollout import Table, play, rotations

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "foreign_bot.py")
ECHO = """
import json, sys
about = json.loads(sys.stdin.readline())
assert about["game"] == "kuhn" and sum(size for _, size in about["fields"]) > 0, about
print("{}", flush=True)
for line in sys.stdin:
    asked = json.loads(line)["decisions"]
    print(json.dumps({"actions": [[one["legal"][0][one["turn"] % len(one["legal"][0])]]
                                  for one in asked]}), flush=True)
"""


def bot_of(code: str, spec: Any) -> ProcessBot:
    kind = type("Written", (ProcessBot,), {"command": (sys.executable, "-c", code)})
    bot: ProcessBot = kind(spec, 1)
    return bot


class Same(ProcessBot):
    """What ECHO does, in this process."""

    def act(self, decisions: Any, rows: Any) -> Any:
        return np.array(
            [
                [(legal := np.flatnonzero(decisions.mask[row]))[decisions.turn[row] % len(legal)]]
                for row in rows
            ]
        )


def test_a_program_s_answers_are_played() -> None:
    played = []
    for make_it in (lambda spec: bot_of(ECHO, spec), lambda spec: Same(spec, 1)):
        game = make("kuhn", slots=5, seed=2)
        bot = make_it(game.spec)
        table = Table(game, (bot, RandomBot(game.spec, 3)))
        played.append(play([table], rotations(2, 40), record=True).actions.tolist())
    assert played[0] == played[1]


def test_the_example_plays_every_match() -> None:
    game = make("beastybar", slots=4, seed=2)
    table = Table(game, (bot_from_file(EXAMPLE, game.spec, 1), RandomBot(game.spec, 3)))
    assert len(play([table], rotations(2, 8)).returns) == 8


def test_a_program_ends_when_nobody_has_the_bot_any_more() -> None:
    game = make("kuhn", slots=1, seed=2)
    bot = bot_of(ECHO, game.spec)
    game.start([0], [0])
    bot.act(game.decisions(), np.array([0]))
    process = bot._process
    assert process is not None
    assert process.poll() is None
    del bot
    gc.collect()
    assert process.poll() == 0


READY = "import sys; sys.stdin.readline(); print('{}', flush=True); sys.stdin.readline(); "


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("raise SystemExit(7)", r"has ended \(exit code 7\)"),
        (READY + "raise SystemExit(0)", r"has ended \(exit code 0\)"),
        (READY + "print('hello')", "answered 'hello\\\\n', which is no JSON"),
        (READY + "print('[1]')", r"answered \[1\]; it is asked for `actions`"),
        (READY + "print('{\"actions\": [[0], [0]]}')", "each of 1 decisions"),
        (READY + "print('{\"actions\": [[0.5]]}')", "whole number"),
    ],
)
def test_a_program_that_fails_or_answers_something_else_is_named(code: str, sentence: str) -> None:
    game = make("kuhn", slots=1, seed=2)
    game.start([0], [0])
    with pytest.raises(GameError, match=sentence):
        bot_of(code, game.spec).act(game.decisions(), np.array([0]))


def test_a_bot_without_a_program_and_a_program_that_is_not_there_are_refused() -> None:
    game = make("kuhn", slots=1, seed=2)
    game.start([0], [0])
    with pytest.raises(GameError, match="names no program; set its `command`"):
        ProcessBot(game.spec, 1).act(game.decisions(), np.array([0]))
    missing = type("Missing", (ProcessBot,), {"command": ("/no/such/program",)})
    with pytest.raises(GameError, match="cannot be started"):
        missing(game.spec, 1).act(game.decisions(), np.array([0]))
