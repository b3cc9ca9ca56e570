"""The runbook: both shells say the same commands, and the commands work, with small numbers."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lanista.cli import main as cli
from lanista.cli.main import parse
from lanista.data.feedback import append_outcome

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))
from live_client import play_live

TEXT = (Path(__file__).parents[2] / "docs" / "start" / "runbook.md").read_text(encoding="utf-8")
SMALL = {
    "--iterations": "1",
    "--epochs": "1",
    "--actor-rollouts": "2",
    "--learner-updates": "1",
    "--unroll-length": "8",
    "--batch-size": "2",
    "--replay-size": "16",
    "--min-replay-sequences": "1",
    "--save-every": "1",
    "--rl-iterations-per-round": "1",
    "--games": "2",
    "--matches": "2",
}
ADDED = {
    "play": [],
    "imitate": ["--size", "s", "--evaluation-matches", "2", "--batch-size", "512", "--threads",
                "1"],
    "league": ["--set", "replay.minimum=2", "--set", "replay.batch=2", "--set",
               "evaluation.matches=2", "--cpu"],
    "rl": ["--cpu"],
    "run": [
        word
        for change in (
            "device=cpu", "stages.record.matches=2", "stages.imitate.evaluation_matches=2",
            "stages.imitate.imitation.epochs=1", "stages.imitate.network.size=s",
            "stages.imitate.imitation.dagger.rounds=1", "stages.imitate.imitation.dagger.matches=2",
            "stages.rl.iterations=1", "stages.rl.rollouts.unrolls=2", "stages.rl.replay.minimum=2",
            "stages.rl.replay.batch=2", "stages.rl.evaluation.matches=2",
            "stages.league.iterations=1", "stages.league.rollouts.unrolls=2",
            "stages.league.replay.minimum=2", "stages.league.replay.batch=2",
            "stages.league.evaluation.matches=2", "stages.evaluate.games=2",
        )
        for word in ("--set", change)
    ],
}  # fmt: skip
LOOPS = 2
"""Of 200."""


def blocks(shell):
    return re.findall(rf"^```{shell}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def bash_commands():
    """Return the words of every command as bash itself reads them."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash here")
    script = "lanista() { printf '%s\\0' \"$@\"; printf '\\n\\0'; }\n" + "".join(blocks("bash"))
    said = subprocess.run([bash, "-eu", "-c", script], capture_output=True, check=True).stdout
    commands, words = [], []
    for word in said.decode().split("\0")[:-1]:
        if word == "\n":
            commands.append(words)
            words = []
        else:
            words.append(word)
    return commands


def powershell_commands():
    """Return the words of every command of the part of PowerShell that the page uses."""
    commands = []
    for block in blocks("powershell"):
        text = block.replace("`\n", " ")
        loop = re.fullmatch(
            r"for \(\$i = (\d+); \$i -le (\d+); \$i\+\+\) \{\n(.*)\}\n", text, re.DOTALL
        )
        times = range(int(loop[1]), int(loop[2]) + 1) if loop else [None]
        for i in times:
            body = loop[3] if loop else text
            if i is not None:
                body = re.sub(r"\((\d+) \+ \$i\)", lambda found: str(int(found[1]) + i), body)  # noqa: B023
            for line in body.splitlines():
                assert "$" not in line
                assert "`" not in line
                commands.append(shlex.split(line)[1:])
    return commands


def small(words):
    """Return a command with small numbers in place of large ones."""
    changed = list(words)
    for flag, value in SMALL.items():
        if flag in changed and changed[changed.index(flag) + 1].isdigit():
            changed[changed.index(flag) + 1] = value
    if "--budget" in changed:
        at = changed.index("--budget")
        del changed[at : at + 2]
    if "--rounds" in changed:
        changed[changed.index("--rounds") + 1] = "2" if "--resume" in changed else "1"
    return changed + ([] if "--resume" in changed else ADDED.get(changed[0], []))


def test_both_shells_have_the_same_commands():
    assert len(blocks("bash")) == len(blocks("powershell")) > 5
    assert bash_commands() == powershell_commands()


def test_every_command_is_understood_as_written():
    commands = powershell_commands()
    assert [words[0] for words in commands if words[0] != "play"] == [
        "data", "imitate", "imitate", "rl", "rl", "evaluate", "league", "league", "report", "run",
    ]  # fmt: skip
    assert len(commands) == 200 + 1 + 10
    for words in [*commands[:1], *commands[199:]]:
        parse(words)


def test_the_commands_work_one_after_the_other_and_make_what_the_page_says(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    play_live(Path("reports/feedback_training"), game="arena", duration=120.0)
    append_outcome(Path("reports/live"), "monday", "win", match="m0")
    commands = bash_commands()
    for words in [*commands[:LOOPS], *commands[200:]]:
        assert cli.main(small(words)) == 0, (words, capsys.readouterr().err)
    listed = re.findall(r"`((?:artifacts|reports)/[^`]+\.[a-z]+)`", TEXT.split("## 6)")[1])
    assert len(listed) == 7
    for path in listed:
        assert Path(path).is_file(), path
    assert Path("runs/arena/report/report.html").is_file()
