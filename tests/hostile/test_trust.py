"""Python runs only if the user named it, ran it before, or says --trust; never on a file's word."""

from __future__ import annotations

import os
import py_compile
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from lanista.cli.main import main
from lanista.errors import LanistaError, RefusedError
from lanista.foreign import checked_digest
from lanista.games import registry, trust
from lanista.games.bot_files import bot_from_file, bot_with_digest
from lanista.nets.files import policy_format
from lanista.nets.files.policy_file import load_policy, save_policy
from lanista.nets.files.policy_format import PolicyFileError, read_header
from lanista.nets.policy import Policy
from lanista.nets.settings import Network
from lanista.runs.folder import bot_path, policy_path, saved_settings

EXAMPLES = Path(__file__).parents[2] / "examples"
KUHN = """\
game: kuhn
iterations: 2
network: {width: 8, layers: 1}
rollouts: {matches: 8}
checkpoints: {save_every: 1}
evaluation: {every: 1, exact: never, bots: [random], matches: 4}
"""


@pytest.fixture(autouse=True)
def _nothing_allowed_yet(tmp_path, monkeypatch):
    monkeypatch.setenv(trust.LIST, str(tmp_path / "state" / "trusted.txt"))
    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(1)


@pytest.fixture
def bot(tmp_path):
    """A bot that leaves a mark wherever it is run."""
    file = tmp_path / "bot.py"
    mark = f"open({str(tmp_path / 'ran')!r}, 'a').close()\n"
    file.write_text((EXAMPLES / "my_bot.py").read_text() + mark)
    return file


def ran(folder):
    """Return whether the bot ran since this was asked last."""
    mark = folder / "ran"
    was = mark.exists()
    mark.unlink(missing_ok=True)
    return was


def last_line(capsys):
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said.strip().splitlines()[-1]


def test_a_file_named_on_the_command_line_runs_and_is_remembered(bot, tmp_path):
    command = ["play", "kuhn", "--seats", f"random,{bot}:Bluffer", "--matches", "2"]
    assert main(command) == 0
    assert ran(tmp_path)
    (line,) = trust.list_path().read_text().splitlines()
    assert line == f"{trust.sha256(bot.read_bytes())} {bot}"
    assert trust.list_path().stat().st_mode & 0o777 == 0o600


def test_a_file_named_by_a_settings_file_asks_first(bot, tmp_path, capsys):
    (tmp_path / "a.yaml").write_text(KUHN.replace("bots: [random]", f"bots: ['{bot}']"))
    command = ["rl", "--config", "a.yaml", "--output", "p.safetensors"]
    assert main(command) == 3
    said = last_line(capsys)
    assert str(bot) in said
    assert trust.sha256(bot.read_bytes())[:12] in said
    assert "--trust" in said
    assert not ran(tmp_path)
    assert not (tmp_path / "p.safetensors.run").exists()
    assert main([*command, "--trust"]) == 0
    assert ran(tmp_path)


def test_a_run_of_the_users_own_is_resumed_and_replayed_without_asking(bot, tmp_path, capsys):
    (tmp_path / "a.yaml").write_text(KUHN)
    words = [f"evaluation.bots=[{bot}]", "iterations=1"]
    output = ["--output", "p.safetensors"]
    assert main(["rl", "--config", "a.yaml", *output, "--set", *words]) == 0
    assert ran(tmp_path)
    bot.unlink()
    assert main(["rl", *output, "--resume", "--iterations", "2"]) == 0
    assert ran(tmp_path)
    first = first_match(tmp_path / "p.safetensors.run")
    assert main(["replay", "p.safetensors.run", str(first)]) == 0
    assert ran(tmp_path)
    # The same folder on a machine of somebody else.
    trust.list_path().unlink()
    for command in (
        ["replay", "p.safetensors.run", str(first)],
        ["rl", *output, "--resume", "--iterations", "3"],
    ):
        capsys.readouterr()
        assert main(command) == 3
        said = last_line(capsys)
        assert "policies" in said
        assert "--trust" in said
        assert not ran(tmp_path)
    assert main(["replay", "p.safetensors.run", str(first), "--trust"]) == 0
    assert ran(tmp_path)
    assert main(["replay", "p.safetensors.run", str(first)]) == 0


def first_match(folder):
    with closing(sqlite3.connect(folder / "run.db")) as database:
        return database.execute("SELECT MIN(match) FROM matches").fetchone()[0]


def test_workers_in_processes_of_their_own_are_told_what_may_run(
    bot, tmp_path, monkeypatch, capsys
):
    (tmp_path / "a.yaml").write_text(KUHN.replace("iterations: 2", "iterations: 1"))
    # A list that cannot be written: what is handed on must do.
    monkeypatch.setenv(trust.LIST, str(tmp_path / "a.yaml" / "trusted.txt"))
    words = ["rl", "--config", "a.yaml", "--output", "p.safetensors", "--opponents", f"self,{bot}"]
    assert main([*words, "--set", "rollouts.launcher=processes"]) == 0
    assert "will ask for --trust" in capsys.readouterr().err
    assert ran(tmp_path)


def test_workers_forked_later_go_by_what_may_run_now(bot, tmp_path, monkeypatch, capsys):
    """The server that workers are forked from was started before anybody named the bot."""
    (tmp_path / "a.yaml").write_text(KUHN.replace("iterations: 2", "iterations: 1"))
    monkeypatch.setenv(trust.LIST, str(tmp_path / "a.yaml" / "trusted.txt"))
    apart = ["--set", "rollouts.launcher=processes"]
    assert main(["rl", "--config", "a.yaml", "--output", "first.safetensors", *apart]) == 0
    words = ["rl", "--config", "a.yaml", "--opponents", f"self,{bot}", *apart]
    assert main([*words, "--output", "second.safetensors"]) == 0
    assert ran(tmp_path)


def test_a_kept_bot_is_hashed_before_anything_of_it_runs(bot, tmp_path):
    spec = registry.make("kuhn").spec
    digest = bot_from_file(str(bot), spec, 0).digest
    trust.remember(trust.sha256(bot.read_bytes()), "allowed")
    assert ran(tmp_path)
    evil = tmp_path / f"{digest}.py"
    evil.write_text(bot.read_text() + "# another one\n")
    trust.remember(trust.sha256(evil.read_bytes()), "allowed too")
    assert bot_with_digest(evil, digest, spec, 0, "x") is None
    assert not ran(tmp_path)


def test_a_kept_bot_that_nobody_allowed_is_refused_in_a_library_too(bot, tmp_path):
    spec = registry.make("kuhn").spec
    digest = bot_from_file(str(bot), spec, 0).digest
    assert ran(tmp_path)
    with pytest.raises(RefusedError, match="--trust"):
        bot_with_digest(bot, digest, spec, 0, "x")
    assert not ran(tmp_path)
    trust.remember(trust.sha256(bot.read_bytes()), "allowed")
    player = bot_with_digest(bot, digest, spec, 0, "x")
    assert (player.name, player.digest) == ("x", digest)


def test_the_bytes_that_were_hashed_run_and_not_a_compiled_copy_beside_them(bot, tmp_path):
    spec = registry.make("kuhn").spec
    digest = bot_from_file(str(bot), spec, 0).digest
    trust.remember(trust.sha256(bot.read_bytes()), "allowed")
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'sprung')!r}, 'w').close()\n")
    os.utime(evil, (1_700_000_000, 1_700_000_000))
    # As Python caches it, unchecked against the source: an import would take it.
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(evil), cfile=cached(bot), invalidation_mode=mode)
    assert bot_with_digest(bot, digest, spec, 0, "x") is not None
    assert bot_from_file(str(bot), spec, 0).digest == digest
    assert not (tmp_path / "sprung").exists()


def cached(file):
    from importlib.util import cache_from_source

    return cache_from_source(str(file))


@pytest.mark.parametrize(
    "value",
    [
        "",
        "../../x",
        "/etc/passwd",
        "a" * 63,
        "A" * 64,
        "g" * 64,
        "a" * 64 + "\n",
        "a" * 65,
        7,
        None,
    ],
)
def test_what_is_no_digest_never_becomes_a_path(value, tmp_path):
    for use in (checked_digest, lambda text: policy_path(tmp_path, text), bot_path_in(tmp_path)):
        with pytest.raises(RefusedError, match="64 digits"):
            use(value)


def bot_path_in(folder):
    return lambda text: bot_path(folder, text)


def test_a_digest_is_taken_as_it_is(tmp_path):
    assert policy_path(tmp_path, "0f" * 32).name == "0f" * 32 + ".safetensors"


@pytest.fixture
def played(tmp_path):
    """A policy of a game in a Python file, and that file."""
    game = tmp_path / "game.py"
    game.write_text((EXAMPLES / "my_game.py").read_text())
    spec = registry.make(str(game)).spec
    save_policy(tmp_path / "p.safetensors", Policy(spec, Network(width=8, layers=1)), spec)
    return tmp_path / "p.safetensors", game


def test_a_policy_of_a_file_game_is_held_to_that_file(played, capsys):
    policy, game = played
    first = trust.sha256(game.read_bytes())
    assert read_header(policy).game_file == first
    command = [
        "evaluate",
        str(policy),
        "--game",
        str(game),
        "--opponents",
        "random",
        "--games",
        "2",
    ]
    assert main(command) == 0
    game.write_text(game.read_text() + "# edited\n")
    assert main(command) == 2
    said = last_line(capsys)
    assert first[:12] in said
    assert trust.sha256(game.read_bytes())[:12] in said
    assert "--trust" in said
    assert main([*command, "--trust"]) == 0


def test_a_policy_knows_the_file_of_its_game_and_it_runs_once_it_was_allowed(
    played, tmp_path, capsys, monkeypatch
):
    policy, game = played
    out = ["--output", str(tmp_path / "out")]
    commands = [
        ["evaluate", str(policy), "--opponents", "thrifty", "--games", "2"],
        ["export", str(policy), "--to", "numpy", *out],
    ]
    assert main(commands[0]) == 3
    assert f"{game} is a Python file, SHA-256 " in last_line(capsys)
    assert main([*commands[0], "--trust"]) == 0
    assert [main(command) for command in commands] == [0, 0]
    # Elsewhere it lies beside the policy.
    content = policy_format.read(policy)
    header = replace(content.header, game_path="/nowhere/game.py")
    policy.write_bytes(policy_format.encode(header, content.arrays))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(commands[0]) == 0
    game.unlink()
    assert main(commands[0]) == 2
    assert "came from the Python file '/nowhere/game.py', which is not there" in last_line(capsys)


def test_a_response_is_learned_to_a_policy_of_a_file_game_without_naming_the_game(played, tmp_path):
    policy, game = played
    trust.remember(trust.sha256(game.read_bytes()), str(game))
    few = ["--train-steps", "64", "--games", "4", "--selection-games", "4", "--points", "1"]
    output = ["--output", str(tmp_path / "response")]
    assert main(["exploit", str(policy), *few, *output, "--cpu"]) == 0


def test_a_policy_that_names_no_file_is_taken_as_before(tmp_path):
    spec = registry.make("kuhn").spec
    save_policy(tmp_path / "p", Policy(spec, Network(width=8, layers=1)), spec)
    assert b"game_file" not in (tmp_path / "p").read_bytes()
    assert b"game_path" not in (tmp_path / "p").read_bytes()
    assert load_policy(tmp_path / "p", spec).header.game_file == ""


def test_a_header_whose_file_is_no_digest_is_refused(played):
    policy, _ = played
    content = policy_format.read(policy)
    for hostile in ({"game_file": "../x"}, {"game_file": ""}, {"game_path": "a\x1b.py"}):
        header = replace(content.header, **hostile)
        policy.write_bytes(policy_format.encode(header, content.arrays))
        with pytest.raises(PolicyFileError, match="no policy has"):
            read_header(policy)


def test_a_run_of_a_file_game_goes_on_with_that_file_alone(tmp_path, capsys):
    shutil.copy(EXAMPLES / "my_game.py", "game.py")
    (tmp_path / "a.yaml").write_text(KUHN.replace("game: kuhn", "game: arena"))
    output = ["--output", "p.safetensors"]
    begun = ["rl", "--config", "a.yaml", *output, "--game", "game.py", "--iterations", "1"]
    assert main(begun) == 0
    digest = trust.sha256(Path("game.py").read_bytes())
    assert saved_settings(tmp_path / "p.safetensors.run").game_digest == digest
    resumed = ["rl", *output, "--resume", "--iterations", "2"]
    assert main(resumed) == 0
    Path("game.py").write_text(Path("game.py").read_text() + "# edited\n")
    capsys.readouterr()
    for command in (
        ["rl", *output, "--resume", "--iterations", "3"],
        ["replay", "p.safetensors.run", str(first_match(Path("p.safetensors.run")))],
    ):
        assert main(command) == 3
        said = last_line(capsys)
        assert digest[:12] in said
        assert trust.sha256(Path("game.py").read_bytes())[:12] in said


def test_a_list_that_others_can_write_is_not_believed(bot, tmp_path, capsys):
    trust.remember(trust.sha256(bot.read_bytes()), "allowed")
    trust.list_path().chmod(0o666)
    (tmp_path / "a.yaml").write_text(KUHN.replace("bots: [random]", f"bots: ['{bot}']"))
    assert main(["rl", "--config", "a.yaml", "--output", "p.safetensors"]) == 3
    assert "chmod 600" in last_line(capsys)
    assert not ran(tmp_path)


def test_nothing_stays_allowed_for_the_process_after_a_command(bot):
    assert main(["play", "kuhn", "--seats", f"random,{bot}", "--matches", "2"]) == 0
    assert trust.VOUCHED not in os.environ
    trust.list_path().unlink()
    spec = registry.make("kuhn").spec
    digest = bot_from_file(str(bot), spec, 0).digest
    with pytest.raises(LanistaError, match="--trust"):
        bot_with_digest(bot, digest, spec, 0, "x")


FILE_GAMES = [
    "openspiel:efg_game(filename=/secret)",
    "openspiel:nfg_game(filename=secret)",
    "openspiel:universal_poker(gamedef_file=secret)",
    "openspiel:hex(board_size=../x)",
]


@pytest.mark.parametrize("word", FILE_GAMES)
def test_a_word_that_can_name_a_file_must_be_typed_or_allowed(word):
    refused = pytest.raises(RefusedError, match="can name a file")
    with trust.guarding(["rl", "--config", "a.yaml"]), refused:
        registry.entry(word)
    with trust.guarding(["rl", "--game", word]):
        registry.entry(word)
    with trust.guarding(["rl", "--resume"]):
        registry.entry(word)  # The user's own run goes on.


@pytest.mark.parametrize("word", ["kuhn", "openspiel:hex(board_size=5)", "openspiel:go()"])
def test_plain_parameters_need_no_leave(word):
    with trust.guarding(["rl", "--config", "a.yaml"]):
        registry.entry(word)
    assert not trust.list_path().exists()
