"""Every command that reads settings, given a file that would hang it or be misread."""

import shutil
import signal

import pytest

from lanista.cli import main as cli
from lanista.evaluation.evaluator import FIRST_MATCH

BOMB = "\n".join(
    ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
)
"""Nine levels of nine: 387 million values in 500 bytes."""
FILES = {
    "bomb": (BOMB + "\n", "comes to more than 50,000 values"),
    "twice": ("{head}seed: 1\nseed: 2\n", "has the key 'seed' twice, in lines"),
    "deep": ("game: " + "[" * 5000 + "]" * 5000, "more than 50 deep"),
}


@pytest.fixture(autouse=True)
def _ends():
    """End a command that would compute for ever, by its own CPU seconds."""

    def end(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, 60)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    small = ["network.width=8", "network.layers=1", "rollouts.matches=8"]
    words = ["rl", "--config", "kuhn-ppo", "--iterations", "1", "--output", str(folder / "k.pt")]
    judged = ["evaluation.every=1", "evaluation.bots=[random]", "evaluation.matches=2"]
    assert cli.main([*words, "--set", *small, *judged]) == 0
    return folder


def refused(words, sentence, capsys):
    capsys.readouterr()
    code = cli.main([str(word) for word in words])
    said = capsys.readouterr().err
    assert code == 2, said
    assert said.count("\n") == 1, said
    assert sentence in said


@pytest.mark.parametrize("kind", sorted(FILES))
@pytest.mark.parametrize(
    ("words", "head"),
    [
        (["rl", "--config", "FILE", "--output", "p.pt"], "game: kuhn\n"),
        (["league", "--config", "FILE", "--output-dir", "l"], "game: kuhn\n"),
        (["run", "FILE", "--output-dir", "r"], "game: kuhn\nstages: {report: {}}\n"),
        (["experiment", "FILE", "--output", "e"], "recipe: kuhn-ppo\n"),
        (["tune", "FILE", "--mark", "nash_conv<=0.5", "--output", "t"], "game: kuhn\n"),
        (
            ["tune", "kuhn-ppo", "--mark", "nash_conv<=0.5", "--output", "t", "--space", "FILE"],
            "iterations: int:1..2\n",
        ),
        (["config", "import", "FILE", "--output", "o.yaml"], "total_iterations: 3\n"),
        (["config", "diff", "FILE", "kuhn-ppo"], "game: kuhn\n"),
        (["config", "new", "FILE", "o.yaml"], "game: kuhn\n"),
        (["profile", "FILE"], "game: kuhn\n"),
        (["learn", "--spool", "s", "--policy", "p", "--config", "FILE"], "batch_games: 3\n"),
    ],
)
def test_a_settings_file_that_is_a_trap_is_refused_at_once(
    kind, words, head, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    text, sentence = FILES[kind]
    (tmp_path / "trap.yaml").write_text(text.replace("{head}", head))
    refused(["trap.yaml" if word == "FILE" else word for word in words], sentence, capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["trap.yaml"]


@pytest.mark.parametrize("kind", sorted(FILES))
@pytest.mark.parametrize(
    "words",
    [
        ["rl", "--output", "k.pt", "--resume"],
        ["report", "k.pt.run"],
        ["replay", "k.pt.run", FIRST_MATCH],
        ["config", "diff", "k.pt.run", "kuhn-ppo"],
    ],
)
def test_a_run_whose_settings_are_a_trap_is_refused_at_once(
    kind, words, run, tmp_path, monkeypatch, capsys
):
    shutil.copytree(run, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    text, sentence = FILES[kind]
    (tmp_path / "here" / "k.pt.run" / "config.yaml").write_text(text.replace("{head}", ""))
    refused(words, sentence, capsys)


@pytest.mark.parametrize("value", [BOMB, "[" * 3000, "{a: 1, a: 2}"])
def test_a_value_on_the_command_line_is_held_to_the_same(value, tmp_path, capsys):
    words = ["rl", "--config", "kuhn-ppo", "--output", tmp_path / "p.pt"]
    refused([*words, "--set", f"game_settings.x={value}"], "no YAML that can be used", capsys)
