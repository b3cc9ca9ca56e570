"""Who can be named as an opponent: bots, policy files and bots' Python files, by digest."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from pipeline_runs import KUHN, killed, same_run, settings_of, untrained

from lanista.errors import LanistaError, RefusedError
from lanista.games import registry
from lanista.games.bot_files import bot_from_file
from lanista.games.registry import make
from lanista.nets.files.policy_file import load_policy
from lanista.rollout.inference.row_blocks import BLOCK
from lanista.runs.folder import bot_path, folder_of, policy_path, saved_settings
from lanista.runs.players import make_player
from lanista.training.loop import train

MY_BOT = Path(__file__).parents[2] / "examples" / "my_bot.py"


@pytest.fixture
def bot(tmp_path):
    """Return a copy of the example's bot, free to be changed."""
    file = tmp_path / "bot.py"
    file.write_text(MY_BOT.read_text())
    return file


def against(word):
    """Return the settings of a run that meets `word`, and is judged against it."""
    return settings_of(
        KUHN,
        rollouts={"matches": 32, "slots": 10, "opponents": ["self", f"{word}=2"]},
        evaluation={"every": 4, "exact": "never", "bots": [str(word)], "matches": 20},
    )


def test_a_policy_to_begin_from_that_is_not_there_is_refused_with_how_to_make_one(tmp_path):
    settings = settings_of(KUHN, supervised_checkpoint=str(tmp_path / "no.pt"))
    with pytest.raises(LanistaError) as raised:
        train(settings, tmp_path / "p.safetensors")
    assert str(raised.value) == (
        f"There is no policy file {str(tmp_path / 'no.pt')!r} to begin from; make one with "
        "`lanista imitate`, or set supervised_checkpoint to another."
    )


def test_a_bots_file_is_met_under_the_digest_of_its_bytes(bot, tmp_path):
    output = tmp_path / "p.safetensors"
    assert train(against(f"{bot}:Bluffer"), output) == 0
    saved = saved_settings(folder_of(output))
    digest = bot_from_file(str(bot), make("kuhn").spec, 0).digest
    assert [each.digest for each in saved.rollouts.opponents] == ["", digest]
    assert dict(saved.evaluation.digests) == {f"{bot}:Bluffer": digest}
    assert bot_path(folder_of(output), digest).read_bytes() == bot.read_bytes()


def test_a_run_goes_on_with_the_bot_it_began_with_though_its_file_was_edited(bot, tmp_path):
    whole, broken = tmp_path / "whole" / "p.safetensors", tmp_path / "broken" / "p.safetensors"
    settings = against(bot)
    train(settings, whole)
    killed(settings, broken, 6)
    bot.write_text("raise SystemExit")
    train(settings, broken, resume=True)
    assert same_run(whole, broken)


def test_a_bot_of_another_version_than_the_run_met_is_refused(tmp_path, monkeypatch):
    output = tmp_path / "p.safetensors"
    killed(against("random"), output, 6)
    newer = SimpleNamespace(name="random", digest="0" * 64)
    monkeypatch.setattr(registry, "make_bot", lambda *given: newer)
    with pytest.raises(RefusedError, match="The bot random that the run met has the digest"):
        train(against("random"), output, resume=True)


def test_a_bot_changed_in_the_runs_own_folder_is_refused(bot, tmp_path):
    output = tmp_path / "p.safetensors"
    killed(against(bot), output, 6)
    (kept,) = (folder_of(output) / "policies").glob("*.py")
    kept.write_text(kept.read_text().replace("below(3)", "below(4)"))
    with pytest.raises(RefusedError, match="is not the bot the run was begun with"):
        train(against(bot), output, resume=True)


@pytest.mark.parametrize(("device", "block"), [("cpu", BLOCK), ("meta", 0)])
def test_an_opponent_acts_in_blocks_where_its_matches_can_be_played_again(device, block, tmp_path):
    digest = load_policy(untrained(KUHN, tmp_path / "p.safetensors")).digest
    kept = policy_path(tmp_path, digest)
    kept.parent.mkdir(parents=True)
    (tmp_path / "p.safetensors").rename(kept)
    told = (settings_of(KUHN), "p", digest, make("kuhn").spec, tmp_path, 0)
    assert make_player(*told, device=device).actor.block == block


@pytest.mark.parametrize(
    ("word", "what"),
    [("nobody.py", "neither a bot of kuhn"), (f"{MY_BOT}:Bluffa", "did you mean 'Bluffer'")],
)
def test_a_bots_file_that_is_not_there_is_refused(word, what, tmp_path):
    with pytest.raises(LanistaError, match=what):
        train(against(word), tmp_path / "p.safetensors")
