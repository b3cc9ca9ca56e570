"""The package without the libraries that adapters need."""

from __future__ import annotations

import subprocess
import sys

BLOCK = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspiel", "open_spiel", "pettingzoo", "gymnasium"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Block())
"""

USE = """
import importlib
from lanista.games import GameError, entry, make

entry("openspiel:kuhn_poker"), entry("pettingzoo:somewhere.env_v0")
uses = [
    lambda: make("openspiel:kuhn_poker"),
    lambda: make("pettingzoo:somewhere.env_v0"),
    lambda: importlib.import_module("lanista.games.adapters.to_pettingzoo"),
    lambda: importlib.import_module("lanista.games.adapters.to_gymnasium"),
]
for use in uses:
    try:
        use()
    except GameError as error:
        print(error)
"""


def run(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_without_the_extra_one_sentence_says_what_to_install() -> None:
    assert run(BLOCK + USE) == [
        "OpenSpiel is not installed; run in a checkout: pip install '.[openspiel]'",
        "PettingZoo is not installed; run in a checkout: pip install '.[environments]'",
        "PettingZoo is not installed; run in a checkout: pip install '.[environments]'",
        "Gymnasium is not installed; run in a checkout: pip install '.[environments]'",
    ]


def test_importing_games_and_listing_them_pulls_in_no_extra() -> None:
    code = """
import sys
from lanista.games import entry, names
from lanista.games.adapters import from_pettingzoo, openspiel
for name in names():
    if name not in ("openspiel", "pettingzoo"):  # Which bots one of a family has, its rules say.
        entry(name)
extras = {"pyspiel", "open_spiel", "pettingzoo", "gymnasium"}
print(sorted(extras & {module.partition(".")[0] for module in sys.modules}))
"""
    assert run(code) == ["[]"]
