"""Old import paths: what was written for an earlier version still loads, with a warning."""

import importlib
import subprocess
import sys

import pytest

from lanista.moved_modules import MOVED


def test_every_old_path_gives_the_module_at_its_new_one():
    for old, new in MOVED.items():
        module = importlib.import_module(f"lanista.{new}")
        sys.modules.pop(f"lanista.{old}", None)
        with pytest.warns(DeprecationWarning, match=f"lanista.{old} is now lanista.{new}"):
            found = importlib.import_module(f"lanista.{old}")
        assert found is module
        assert module.__spec__.name == module.__name__ == f"lanista.{new}"


def test_a_module_that_never_was_is_still_missing():
    with pytest.raises(ModuleNotFoundError, match=r"lanista\.pipeline\.nowhere"):
        importlib.import_module("lanista.pipeline.nowhere")


def test_an_old_bot_file_finds_what_it_imports():
    script = "from lanista.live.agent import Agent; from lanista.nets.judging import *; print(1)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr
