"""`import lanista`: which names there are, what loading them costs, what they say of themselves."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import lanista

FUNCTIONS = [
    "check_game", "evaluate", "exploit", "export", "imitate", "load_policy", "make", "play", "rate",
    "read_run", "recipe_names", "round_robin", "run", "train", "write_report", "game_names",
    "champion_names",
]  # fmt: skip


def said_by(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_loads_neither_torch_nor_numpy_and_a_game_no_torch():
    assert said_by(
        "import sys, lanista\n"
        "print([name for name in ('torch', 'numpy') if name in sys.modules])\n"
        "print(lanista.make('kuhn').spec.name, 'torch' in sys.modules)\n"
        "print(lanista.load_policy.__name__, 'torch' in sys.modules)\n"
    ).splitlines() == ["[]", "kuhn False", "load_policy False"]


def test_editors_see_the_names_that_are_there():
    tree = ast.parse(Path(lanista.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    assert seen == lanista._HOME_OF
    assert set(dir(lanista)) >= {*seen, "__version__"}
    assert set(lanista.__all__) == {*seen, "__version__"}


@pytest.mark.parametrize("name", sorted(lanista._HOME_OF))
def test_every_name_is_there_with_a_docstring(name):
    found = getattr(lanista, name)
    assert (inspect.getdoc(found) or "").endswith(".")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_has_every_argument_and_what_is_returned(name):
    found = getattr(lanista, name)
    function = found.function if inspect.ismodule(found) else found
    text = inspect.getdoc(function)
    missing = [word for word in inspect.signature(found).parameters if f"`{word}" not in text]
    assert missing == []
    assert "eturn" in text


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        lanista.trian  # noqa: B018


def test_a_function_stays_whatever_is_imported_first():
    assert said_by(
        "import lanista\n"
        "import lanista.exploiters.best_response, lanista.evaluation.score, lanista.training.loop\n"
        "print(callable(lanista.exploit), callable(lanista.evaluate), callable(lanista.train))\n"
    ).splitlines() == ["True True True"]
