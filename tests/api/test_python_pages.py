"""The guide, the script and the notebook: all of their code runs, and says what they promise."""

import json
import shlex
import sys
from pathlib import Path

import pytest
import warm_python

import lanista
from lanista.cli.main import main

ROOT = Path(__file__).parents[2]
GUIDE, NOTEBOOK = ROOT / "docs" / "guides" / "python.md", "train_from_python.ipynb"


def blocks(kind, page=GUIDE):
    fenced = page.read_text(encoding="utf-8").split("```")[1::2]
    return [text.partition("\n")[2] for text in fenced if text.partition("\n")[0] == kind]


def test_the_code_of_the_guide_runs_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for number, code in enumerate(blocks("python"), 1):
        exec(compile(code, f"python.md, block {number}", "exec"), names)
    assert names["trained"].updates == 10
    assert names["more"].updates == 12
    assert names["action"] in (0, 1)
    for line in [line for text in blocks("sh") for line in text.splitlines()]:
        assert main(shlex.split(line)[1:]) == 0


def test_the_code_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python", ROOT / "README.md")
    assert "iterations=100)" in code
    names = {}
    exec(compile(code.replace("=100)", "=2)"), "README.md", "exec"), names)
    assert names["trained"].updates == 2
    assert "1000" in capsys.readouterr().out


def test_the_guide_names_every_function():
    text = GUIDE.read_text(encoding="utf-8")
    functions = [name for name in lanista._HOME_OF if name.islower()]
    assert [name for name in functions if f"lanista.{name}(" not in text] == []


def ran(*words, cwd):
    done = warm_python.run([sys.executable, *words], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_example_script_prints_its_numbers(tmp_path):
    few = ["--iterations", "12", "--train-steps", "1000", "--folder", str(tmp_path)]
    text = ran(str(ROOT / "examples" / "train_from_python.py"), *few, cwd=tmp_path)
    for part in ("complete=True", "random    4000", "best response: gains", "value loss: "):
        assert part in text
    assert (tmp_path / "response.safetensors").is_file()


def test_the_notebook_runs_cell_by_cell_and_keeps_no_output(tmp_path):
    notebook = json.loads((ROOT / "examples" / NOTEBOOK).read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    program = "".join(
        f"exec(compile({''.join(cell['source'])!r}, 'cell {number}', 'exec'), names)\n"
        for number, cell in enumerate(cells, 1)
    )
    text = ran("-c", f"names = {{}}\n{program}print(len(names['losses']))", cwd=tmp_path)
    assert "a best response gains" in text
    assert text.endswith("20\n")
