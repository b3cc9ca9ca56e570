"""docs/guides/launchers.md: its commands do what it says."""

import shlex
import sqlite3
from pathlib import Path

from lanista.cli.main import main, parse

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "launchers.md").read_text(encoding="utf-8")


def test_the_commands_train_with_the_lag_that_they_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    found = [shlex.split(line) for line in PAGE.splitlines() if line.startswith("lanista")]
    on_a_gpu = [words for words in found if "rollouts.graphs=true" in words]
    assert len(on_a_gpu) == 1
    parse(on_a_gpu[0][1:])
    found.remove(on_a_gpu[0])
    assert len(found) == 3
    for words, lag in zip(found, (0, 1, 0), strict=True):
        assert main([*words[1:], "evaluation.every=0"]) == 0, capsys.readouterr().err
        output = words[words.index("--output") + 1]
        with sqlite3.connect(Path(f"{output}.run") / "run.db") as database:
            rows = database.execute("SELECT MAX(value) FROM metrics WHERE name = 'lag/max'")
            assert rows.fetchone() == (lag,)
