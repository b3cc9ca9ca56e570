"""poke-env's players as bots: they answer as the real ones, legally, and the same way again."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from showdown_matches import fingerprint, finish, player, step
from showdown_play import Told, needs_simulator, odd_setups, play, setups

from lanista.games import GameError, registry
from lanista.games.check.trial import copied
from lanista.games.showdown.actions.choice_text import read_preview, read_turn
from lanista.games.showdown.game import Showdown
from lanista.games.showdown.observation.description import whole_action, write_mask, wrong_head
from lanista.games.showdown.scripted.poke_env_bots import BOTS, PokeEnvBot
from lanista.games.showdown.sim.battles import Battles
from lanista.games.showdown.sim.match import Told as Heard
from lanista.games.showdown.sim.views import View
from lanista.games.streams import Stream

pytest.importorskip("poke_env", reason="poke-env, whose players these are, is not installed")
pytestmark = needs_simulator
VGC, DOUBLES, SINGLES = "gen9vgc2025regi", "gen9randomdoublesbattle", "gen9randombattle"
ODD = "odd teams"
PLAYED = {VGC: 5, DOUBLES: 4, SINGLES: 1}
NAMES = tuple(bot.name for bot in BOTS)
REPEATS = 4
"""How often a player that is refused must say the same to count as one that always will."""


@pytest.fixture(scope="module")
def battles() -> Iterator[Battles]:
    with Battles() as found:
        yield found


@pytest.fixture(scope="module")
def games() -> Iterator[dict[str, Showdown]]:
    made = {format: Showdown(8, 1, format=format) for format in (VGC, DOUBLES, SINGLES)}
    yield made
    for game in made.values():
        game.close()


@pytest.fixture(scope="module")
def played(battles: Battles) -> dict[str, list[Told]]:
    """Battles under random choices, by format, and some between odd teams."""
    wanted = {kind: setups(battles, kind, count) for kind, count in PLAYED.items()}
    wanted[ODD] = odd_setups(battles, 8)
    return {kind: list(play(battles, each)) for kind, each in wanted.items()}


class Connected:
    """A whole player of poke-env whose socket is two lists: what it is sent, what it sends."""

    def __init__(self, kind: str, format: str, seat: int) -> None:
        from poke_env import AccountConfiguration, player

        account = AccountConfiguration(f"Player {seat + 1}", None)
        made = getattr(player, kind)(
            account, battle_format=format, start_listening=False, log_level=50
        )
        made.ps_client.send_message = self._send
        self.player, self.sent = made, []
        self.room = f">battle-{format}-1"
        self.receive("|init|battle\n|title|Player 1 vs. Player 2\n|j|☆Player 1\n|j|☆Player 2")

    async def _send(self, message: str, room: str = "", message_2: str = "") -> None:
        self.sent.append(message)

    def receive(self, text: str) -> list[str]:
        """Let the player handle a message of the server; return what it sends then."""
        from poke_env.concurrency import POKE_LOOP

        self.sent = []
        lines = [[self.room], *(line.split("|") for line in text.split("\n"))]
        coming = self.player._handle_battle_message(lines)
        asyncio.run_coroutine_threadsafe(coming, POKE_LOOP).result()
        return self.sent

    def hear(self, view: View) -> list[str]:
        """Let the player hear what a seat was told."""
        if view.lines:
            self.receive("\n".join(view.lines))
        return self.receive(f"|request|{json.dumps(view.request)}")


def read(game: Showdown, request: Any, words: str, mask: Any, stream: Stream) -> list[int] | None:
    """Return the action that a sent message stands for."""
    if request.get("teamPreview"):
        choice = read_preview(words.removeprefix("/team "), len(request["side"]["pokemon"]))
    else:
        text = words.removeprefix("/choose ")
        choice = read_turn(request, text, mask[game.previews :], (1, 2), stream)
    return None if choice is None else whole_action(game.spec.heads, request, choice)


def settle(real: Connected, said: str, game: Showdown, request: Any, mask: Any) -> Any:
    """Refuse a player's words, as a server does, until they are taken; return the action."""
    stream = Stream.keyed(0, 0, 0, "act")
    repeats = 0
    while (action := read(game, request, said, mask, stream)) is None:
        repeats += 1
        last, state = said, random.getstate()
        [said] = real.receive("|error|[Invalid choice] Can't do that")
        # One draw decides whether it gives up; whoever makes no other says the same for ever.
        drawn, _ = random.getstate(), random.setstate(state)
        random.random()
        if said == last and random.getstate() == drawn and repeats >= REPEATS:
            return None
        random.setstate(drawn)
    return action


def compare(game: Showdown, told: Told, seat: int, bot: PokeEnvBot) -> int:
    """Hold a bot against the real player over one battle; return how many decisions."""
    real, heard, compared = Connected(bot.player, told.setup.format, seat), Heard(), 0
    mask = np.zeros(game.spec.choices, np.bool_)
    for at, update in enumerate(told.updates):
        view = update.views[seat]
        heard.views.append(view)
        if view.request is None:
            break
        key = (1, told.setup.slot, seat, "act", at)
        random.seed(Stream.keyed(*key).next_word())
        sent = real.hear(view)
        if view.waits:
            assert not sent
            continue
        write_mask(view.request, game.orders, game.previews, mask)
        action = settle(real, sent[-1], game, view.request, mask)
        refused = bot.counts["default"]
        ours = bot.answer(heard, seat, mask, Stream.keyed(*key))
        assert wrong_head(game.spec.heads, mask, ours) < 0
        assert action is None or action == ours
        assert (bot.counts["default"] > refused) >= (action is None)
        compared += 1
    return compared


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [*PLAYED, ODD])
def test_a_bot_answers_as_the_real_player_does(
    played: dict[str, list[Told]], games: dict[str, Showdown], kind: str, name: str
) -> None:
    game = games.get(kind, games[VGC])
    bot = player(game, name)
    assert isinstance(bot, PokeEnvBot)
    compared = sum(compare(game, told, seat, bot) for told in played[kind] for seat in (0, 1))
    assert compared >= 100
    if kind != ODD:
        assert bot.counts["refused"] == 0


@pytest.mark.parametrize("format", [VGC, DOUBLES, SINGLES])
def test_every_answer_is_legal_and_python_draws_on_as_before(
    games: dict[str, Showdown], format: str
) -> None:
    game, decided = games[format], 0
    state = random.getstate()
    for first, second in (NAMES[:2], NAMES[1:]):
        bots = [player(game, first), player(game, second)]
        game.start(range(8), range(8))
        finish(game, bots)  # The game refuses what its mask does not allow.
        decided += sum(bot.counts["decisions"] for bot in bots)  # type: ignore[attr-defined]
    assert decided > 200
    assert random.getstate() == state


def play_on(game: Showdown, bots: list[Any]) -> Any:
    finish(game, bots)
    return fingerprint(game)


@pytest.mark.parametrize("format", [VGC, SINGLES])
def test_a_match_taken_up_again_goes_on_as_it_would_have(
    games: dict[str, Showdown], format: str
) -> None:
    game = games[format]
    names = ("simple_heuristics", "poke_env_random")
    bots = [player(game, name) for name in names]
    game.start(range(8), range(20, 28))
    for _ in range(4):
        step(game, bots)
    saved = game.save(range(8))
    went = play_on(game, bots)
    game.load(range(8), saved)
    assert play_on(game, bots) == went
    game.load(range(8), saved)
    assert play_on(game, [player(game, name) for name in names]) == went


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from showdown_matches import Showdown, fingerprint, finish, player
game = Showdown(8, 1, format=sys.argv[2])
game.start(range(8), range(8))
finish(game, [player(game, "simple_heuristics"), player(game, "poke_env_random")])
print(fingerprint(game))
game.close()
"""


def test_the_same_seed_gives_the_same_matches_in_every_process(games: dict[str, Showdown]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(Path(__file__).parent), DOUBLES],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    game = games[DOUBLES]
    game.start(range(8), range(8))
    bots = [player(game, "simple_heuristics"), player(game, "poke_env_random")]
    assert f"{play_on(game, bots)}\n" == done.stdout


def test_another_seed_gives_other_choices(games: dict[str, Showdown]) -> None:
    game, went = games[VGC], []
    for seed in (1, 2):
        game.start(range(8), range(8))
        went.append(play_on(game, [player(game, "poke_env_random", seed)] * 2))
    assert went[0] != went[1]


def test_battles_of_matches_that_are_gone_are_forgotten(games: dict[str, Showdown]) -> None:
    game = games[VGC]
    bot = player(game, "simple_heuristics")
    assert isinstance(bot, PokeEnvBot)
    for first in range(0, 40, 8):
        game.start(range(8), range(first, first + 8))
        finish(game, [bot, bot])
    gc.collect()
    assert len(bot._battles) <= 2 * game.slots


def test_where_poke_env_breaks_down_the_match_goes_on_and_it_is_said(
    played: dict[str, list[Told]], games: dict[str, Showdown], caplog: pytest.LogCaptureFixture
) -> None:
    game, told = games[VGC], played[VGC][0]
    bot = player(game, "simple_heuristics")
    assert isinstance(bot, PokeEnvBot)
    mask = np.zeros(game.spec.choices, np.bool_)
    heard = Heard([update.views[0] for update in told.updates[:2]])
    heard.views.insert(1, View(("|-unheardof|p1a: Nobody",), None))
    request = heard.views[-1].request
    assert request is not None
    write_mask(request, game.orders, game.previews, mask)
    # Whatever a test before this one did to logging: what a program sees that logs warnings.
    with caplog.at_level(logging.WARNING, logger="lanista.games"):
        for _ in range(2):
            action = bot.answer(heard, 0, mask, Stream.keyed(1, 0, 0, "act"))
            assert wrong_head(game.spec.heads, mask, action) < 0
            bot._player.choose_move = lambda battle: 1 / 0
    assert bot.counts["unread"] == bot.counts["failed"] == 1
    said = [record.getMessage() for record in caplog.records]
    assert "failed at |-unheardof|p1a: Nobody" in said[0]
    assert "failed at choosing" in said[1]


def test_a_bot_that_is_given_a_copy_of_decisions_says_so(games: dict[str, Showdown]) -> None:
    game = games[VGC]
    game.start([0], [0])
    with pytest.raises(GameError, match="'simple_heuristics' thinks from what its seat was told"):
        player(game, "simple_heuristics").act(copied(game.decisions()), np.array([0]))
    finish(game, [player(game, "random")] * 2)


def test_without_poke_env_a_bot_says_what_to_install(
    games: dict[str, Showdown], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "poke_env"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "poke_env", None)
    with pytest.raises(
        GameError, match=r"poke-env is not installed; .*pip install '.\[showdown\]'"
    ):
        registry.make_bot("showdown", "simple_heuristics", games[VGC].spec)


WITHOUT = """
import sys
sys.modules["poke_env"] = None
from lanista.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def without_poke_env(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *words], capture_output=True, text=True, check=False
    )


def test_without_poke_env_a_round_robin_goes_on_and_names_who_is_missing() -> None:
    done = without_poke_env("roundrobin", "showdown", "--matches", "2")
    assert done.returncode == 0, done.stderr
    assert "heuristic" in done.stdout
    for name in NAMES:
        assert f"{name} is left out: poke-env is not installed" in done.stdout
    done = without_poke_env("play", "showdown", "--seats", "simple_heuristics,random")
    assert done.returncode == 2
    assert "pip install '.[showdown]'" in done.stderr
