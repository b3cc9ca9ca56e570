"""Battles on a real server go to the background learner, and its policies come back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("poke_env")

from showdown_field import SPEC, connected, opponent, packed_team, proxied, run, tiny
from showdown_play import needs_simulator

from lanista.cli.main import main
from lanista.errors import LanistaError
from lanista.games.showdown.formats import format_named
from lanista.games.showdown.observation.description import describe
from lanista.live.agent.inference import load
from lanista.live.files.game_file import GameFile, read
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool
from lanista.live.learner.ledger import reading
from lanista.live.showdown import players
from lanista.live.showdown.players import Folder
from lanista.live.showdown.replays import replay_page, save_replay
from lanista.live.showdown.table import Result

pytestmark = needs_simulator


def published(folder: Path, seed: int = 0) -> str:
    policies = PolicyFolder(folder)
    digest = policies.add(tiny(seed=seed))
    policies.publish(digest, "a test")
    return digest


def games_in(spool: Path) -> list[GameFile]:
    return [read(path) for path in reversed(Spool(spool).waiting())]


def play(url: str, source: Folder, battles: int, name: str) -> list[Result]:
    async def played() -> list[Result]:
        team = packed_team()
        async with (
            connected(source, url, name) as ours,
            opponent(url, f"{name} too", team, at_once=battles) as theirs,
        ):
            waiting = asyncio.create_task(theirs.accept_challenges(ours.username, battles))
            results = await asyncio.gather(
                *(ours.challenge(theirs.username, team) for _ in range(battles))
            )
            await waiting
            return results

    found: list[Result] = run(played())
    return found


def test_the_learner_takes_games_of_the_server_and_updates_on_them(
    showdown_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policies, spool = tmp_path / "policy", tmp_path / "spool"
    digest = published(policies)
    source = Folder(policies, spool, SPEC, seed=3)
    results = play(showdown_url, source, 3, "teacher")
    written = source.close()
    assert written is not None
    assert (written.written, written.dropped, written.problem) == (3, 0, "")
    games = games_in(spool)
    by_tag = {game.header.game_id.partition("-")[2]: game for game in games}
    decider = load(PolicyFolder(policies).path_of(digest), digest)
    for result in results:
        game = by_tag[result.tag]
        assert game.header.steps == result.decisions
        assert game.outcome.tolist() == [result.outcome]
        assert (game.header.opponent, game.header.policy) == ("teacher too", digest)
        assert not game.header.cut_off
        # The log-probabilities are those of the policy for what it saw.
        masks = np.unpackbits(game.masks, axis=1, count=SPEC.choices).view(np.bool_)
        said, _ = decider._run(game.observations, masks, np.zeros((len(masks), 0), np.float32))
        columns = game.actions + np.array([0, 90])
        found = np.take_along_axis(said, columns, 1).sum(1)
        assert found == pytest.approx(game.log_probs, abs=1e-4)
    where = ["--spool", str(spool), "--policy", str(policies), "--nice", "0"]
    assert main(["learn", *where, "--once"]) == 0
    assert "games 3 (learned from 3, too old 0, copies 0, refused 0" in capsys.readouterr().out
    with reading(policies / "learner" / "learn.db") as ledger:
        assert sum(batch.games for batch in ledger.batches()) == 3
    assert not Spool(spool).waiting()


def test_a_policy_published_meanwhile_plays_the_next_battle(
    showdown_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(players, "PATIENCE", 600.0)  # A busy machine needs its time to load it.
    policies, spool = tmp_path / "policy", tmp_path / "spool"
    first = published(policies)
    source = Folder(policies, spool, SPEC)
    before = play(showdown_url, source, 1, "pupil")
    second = published(policies, seed=1)
    after = play(showdown_url, source, 1, "pupil")
    source.close()
    assert [result.policy for result in (*before, *after)] == [first, second]
    assert [game.header.policy for game in games_in(spool)] == [first, second]


def test_a_battle_given_up_or_cut_off_has_no_result_for_the_learner(
    showdown_url: str, tmp_path: Path
) -> None:
    policies, spool = tmp_path / "policy", tmp_path / "spool"
    published(policies)
    source = Folder(policies, spool, SPEC)
    team = packed_team()

    def spoil(message: str) -> str:
        room, _, rest = message.partition("\n")
        return f"{room}\n|switch|p9\n{rest}" if "|turn|3" in rest else message

    async def played() -> None:
        async with (
            proxied(showdown_url) as proxy,
            connected(source, proxy.url, "unlucky") as ours,
            opponent(showdown_url, "lucky", team) as theirs,
        ):
            proxy.inward = spoil
            waiting = asyncio.create_task(theirs.accept_challenges(ours.username, 2))
            assert (await ours.challenge(theirs.username, team)).given_up
            proxy.inward = lambda message: message
            battle = asyncio.create_task(ours.challenge(theirs.username, team))
            while not ours.batcher.decisions or not ours.playing:
                await asyncio.sleep(0.01)
            ours.cut_off()
            assert (await battle).outcome is None
            waiting.cancel()

    run(played())
    source.close()
    games = games_in(spool)
    assert games
    assert all(game.header.cut_off for game in games)


def test_a_replay_is_a_page_in_which_nobody_else_can_write(tmp_path: Path) -> None:
    lines = (
        "|player|p1|me|1|",
        "|c|☆foe|</script><b>hello",
        "|c|☆foe|<!--<script>",
        "|turn|1",
        "|win|me",
    )
    result = Result("battle-x-1", "<i>foe{REPLAY_LOG}", 0, 1.0, 3, "", log=lines)
    page = replay_page("me", result)
    assert "|turn|1\n|win|me" in page
    assert "</script><b>" not in page
    assert "<\\/script><b>hello" in page
    assert "<i>foe" not in page
    assert "<!--<script" not in page  # It would keep the element open at its own end.
    assert page.count("|win|me") == 1
    first, second = (save_replay(tmp_path, "me", result) for _ in range(2))
    assert first != second
    assert first.read_text() == second.read_text() == page


def test_a_policy_of_another_format_is_not_taken_up(tmp_path: Path) -> None:
    published(tmp_path / "policy")
    other = describe(format_named("gen9randombattle"), "mirror", "", "any")
    with pytest.raises(LanistaError, match="refused"):
        Folder(tmp_path / "policy", None, other)
