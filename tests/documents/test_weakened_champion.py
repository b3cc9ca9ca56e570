"""The champion's page: the policy that is weakened on purpose can be made again, and is weaker."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from lanista import play
from lanista.nets.files.policy_file import load_policy

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "results" / "champion.md"


@pytest.fixture
def weakened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the page's lines beside a copy of the champion; return what they wrote."""
    (tmp_path / "artifacts").mkdir()
    shutil.copy(ROOT / "artifacts" / "champion.safetensors", tmp_path / "artifacts")
    monkeypatch.chdir(tmp_path)
    (lines,) = [
        block.partition("\n")[2]
        for block in PAGE.read_text(encoding="utf-8").split("```")[1::2]
        if block.startswith("python\n")
    ]
    exec(compile(lines, str(PAGE), "exec"), {})
    return tmp_path / "weakened.safetensors"


def test_each_weight_matrix_has_noise_of_six_tenths_of_its_deviation(weakened: Path) -> None:
    champion = load_policy(weakened.parent / "artifacts" / "champion.safetensors").policy
    pairs = zip(champion.named_parameters(), load_policy(weakened).policy.parameters(), strict=True)
    matrices = 0
    for (name, before), after in [((name, a.detach()), b.detach()) for (name, a), b in pairs]:
        noise = after - before
        if before.dim() == 2:
            matrices += 1
            assert float(noise.std() / before.std()) == pytest.approx(0.6, rel=0.02), name
            assert abs(float(noise.mean())) < 0.02 * float(before.std()), name
        else:
            assert torch.equal(after, before), name
    assert matrices == 4


def test_the_champion_beats_what_was_weakened_by_about_what_the_page_says(weakened: Path) -> None:
    """0.687 in 4,000 matches; in 400 five deviations are 0.09."""
    seats = "artifacts/champion.safetensors", str(weakened)
    score = play("beastybar", seats, matches=400, seed=3, greedy=True).score
    assert score is not None
    assert score.value == pytest.approx(0.687, abs=0.09)
