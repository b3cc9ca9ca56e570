"""`lanista export` and policies in the seats of `lanista play`."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from lanista.cli.main import main
from lanista.games import registry
from lanista.nets.files.policy_file import load_policy, save_policy
from lanista.nets.policy import Policy
from lanista.nets.portable.runtime import load_portable
from lanista.nets.settings import Network


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    spec = registry.make("kuhn").spec
    torch.manual_seed(1)
    policy = Policy(spec, Network(width=16, layers=1))
    torch.nn.init.orthogonal_(policy.head.weight, 3.0)
    path = tmp_path / "mine.pt"
    save_policy(path, policy, spec)
    return path


def test_export_writes_a_file_that_numpy_runs(
    tmp_path: Path, policy_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out" / "bot.policy"
    assert main(["export", str(policy_file), "--to", "numpy", "--output", str(out)]) == 0
    assert load_portable(out).digest == load_policy(policy_file).digest
    said = capsys.readouterr().out
    assert str(out) in said
    assert "positions of kuhn" in said


def test_export_refuses_what_is_no_policy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.save({"weight": torch.zeros(2)}, tmp_path / "model.pt")
    out = tmp_path / "out"
    command = ["export", str(tmp_path / "model.pt"), "--to", "numpy", "--output", str(out)]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "torch.save" in said
    assert said.count("\n") == 1
    assert not out.exists()


def test_a_policy_whose_game_is_a_file_needs_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game_file = Path(__file__).parents[2] / "examples" / "my_game.py"
    spec = replace(registry.make(str(game_file)).spec, game_path="")  # As older policies have it.
    save_policy(tmp_path / "p", Policy(spec, Network(width=8, layers=1)), spec)
    command = ["export", str(tmp_path / "p"), "--to", "numpy", "--output", str(tmp_path / "out")]
    assert main(command) == 2
    assert "--game" in capsys.readouterr().err
    assert main([*command, "--game", str(game_file)]) == 0


@pytest.mark.parametrize("game", ["openspiel:matrix_rps", "openspiel:goofspiel(num_cards=3)"])
def test_a_policy_of_openspiel_is_exported_where_it_was_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], game: str
) -> None:
    pytest.importorskip("pyspiel")
    policy, out = str(tmp_path / "p"), str(tmp_path / "out")
    assert main(["rl", "--game", game, "--iterations", "1", "--cpu", "--output", policy]) == 0
    assert main(["export", policy, "--to", "numpy", "--output", out]) == 0
    assert f"positions of {game}" in capsys.readouterr().out


def standing(path: Path, *arguments: str) -> tuple[float, str]:
    """Return the first player's margin and digest."""
    assert main(["play", "kuhn", "--matches", "400", "--json", str(path), *arguments]) == 0
    first = json.loads(path.read_text())["standings"][0]
    return first["margin"]["value"], first["digest"]


def test_policies_sit_down_sampled_greedy_and_together(tmp_path: Path, policy_file: Path) -> None:
    out = tmp_path / "numbers.json"
    seats = f"{policy_file},random"
    sampled = standing(out, "--seats", seats)
    assert sampled[1] == load_policy(policy_file).digest
    assert standing(out, "--seats", seats, "--slots", "7", "--threads", "2") == sampled
    assert standing(out, "--seats", seats, "--temperature", "1") == sampled
    for flags in (["--greedy"], ["--temperature", "9"]):
        other = standing(out, "--seats", seats, *flags)
        assert other[0] != sampled[0]
        assert other[1] != sampled[1]
    together = standing(out, "--seats", f"{policy_file}+{policy_file},random")
    assert together[0] == sampled[0]
    assert together[1] != sampled[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seats", "random,random", "--greedy"], "--greedy is for policies"),
        (["--seats", "FILE,random", "--greedy", "--temperature", "2"], "no meaning"),
        (["--seats", "FILE,random", "--temperature", "0"], "--temperature is 0"),
        (["--seats", "FILE,random", "--temperature", "nan"], "--temperature is nan"),
        (["--seats", "none.pt,random"], "There is no policy file 'none.pt'"),
        (["--seats", "FILE+none.pt,random"], "There is no policy file 'none.pt'"),
        (["--seats", "rendom,random"], "did you mean 'random'"),
    ],
)
def test_seats_that_cannot_be_taken_are_refused(
    policy_file: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    words = [word.replace("FILE", str(policy_file)) for word in arguments]
    assert main(["play", "kuhn", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_policy_of_another_game_is_refused(
    policy_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["play", "leduc", "--seats", f"{policy_file},random"]) == 2
    assert "it plays 'kuhn', and this game is 'leduc'" in capsys.readouterr().err


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "policies.md"


def test_every_line_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = PAGE.read_text(encoding="utf-8").split("```")[1::2]
    saving, running = [block.removeprefix("python\n") for block in blocks if "import" in block]
    game = registry.make("beastybar", slots=3)
    exec(saving, {"game": game})
    Path("second.safetensors").write_bytes(Path("first.safetensors").read_bytes())
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("lanista")]
    assert len(lines) == 7
    for line in lines:
        if "--to onnx" in line and not importlib.util.find_spec("onnxruntime"):
            continue
        assert main(line.split()[1:]) == 0, capsys.readouterr().err
    game.start([0, 1, 2], [0, 1, 2])
    decisions = game.decisions()
    given = {"observation": decisions.observation, "mask": decisions.mask}
    exec(running, given | {"uniforms": np.full((3, 1), 0.5, np.float32)})


def test_an_export_replaces_an_earlier_onnx_file_and_no_policy(
    tmp_path: Path, policy_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "trained.pt"
    other.write_bytes(policy_file.read_bytes())
    for target in ("numpy", "onnx"):
        command = ["export", str(policy_file), "--to", target, "--output", str(other)]
        assert main(command) == 3
        assert "so it is not overwritten" in capsys.readouterr().err
    assert other.read_bytes() == policy_file.read_bytes()
    pytest.importorskip("onnxruntime")
    out = tmp_path / "bot.onnx"
    command = ["export", str(policy_file), "--to", "onnx", "--output", str(out)]
    assert [main(command), main(command)] == [0, 0]
    foreign = out.read_bytes().replace(b"lanista_policy", b"another_model!")
    out.write_bytes(foreign)
    assert main(command) == 3
    assert out.read_bytes() == foreign
