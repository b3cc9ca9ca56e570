"""Files and folders made to harm whoever opens them, and a watch over what a command does.

What is hostile is a real file with one thing changed. The watch is Python's own audit hook, which
sees every file that is opened and every piece of code that runs in this process.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np
import yaml

from lanista.data import Header, Record, write_replays
from lanista.games import make, make_bot
from lanista.games.bot_files import bot_from_file
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool
from lanista.nets.files import policy_format
from lanista.runs.settings import load_settings
from lanista.training.loop import train

SECRET = "the-secret-that-nothing-may-read"
HANGS = 10.0
"""Seconds after which a pipe that is waited for is given its end."""
SMALL = {"width": 8, "layers": 1}
RUN = {
    "game": "kuhn",
    "iterations": 1,
    "network": SMALL,
    "rollouts": {"matches": 8, "opponents": ["self"]},
    "evaluation": {"every": 1, "exact": "never", "bots": ["random"], "matches": 4},
}
BOT = """
from lanista.games import PythonBot

class Passer(PythonBot):
    name = "passer"

    def choose(self, observation, legal, stream):
        return legal[0][0]
"""
_PATHS = {
    "open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink",
    "os.truncate", "os.chmod", "os.utime", "os.listdir", "os.scandir", "sqlite3.connect",
    "shutil.copyfile", "shutil.move", "shutil.rmtree",
}  # fmt: skip


class Watch:
    """What this process did while it was watched."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.touched: list[str] = []
        self.ran: list[str] = []
        self._busy = threading.local()
        sys.addaudithook(self._see)

    def _see(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None or getattr(self._busy, "now", False):
            return
        self._busy.now = True
        try:
            if event in ("os.system", "subprocess.Popen"):
                self.ran.append(f"{event} {arguments}")
            elif event == "exec":
                name = getattr(arguments[0], "co_filename", "")
                if not name.startswith("<") and self._inside(name, self.folder):
                    self.ran.append(name)
            elif event in _PATHS:
                for argument in arguments:
                    if self._inside(argument, self.folder / "outside"):
                        self.touched.append(f"{event} {argument}")
        finally:
            self._busy.now = False

    @staticmethod
    def _inside(path: Any, folder: Path) -> bool:
        if not isinstance(path, str | bytes | os.PathLike):
            return False
        text = os.fsdecode(path)
        if text.startswith("file:"):
            text = unquote(urlparse(text).path)
        return os.path.realpath(text).startswith(f"{folder}{os.sep}")

    @contextmanager
    def over(self, folder: Path) -> Iterator[None]:
        self.touched.clear()
        self.ran.clear()
        self.folder = folder.resolve()
        try:
            yield
        finally:
            self.folder = None


WATCH = Watch()


class Originals:
    """Sound files and folders, made once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        spec = make("kuhn").spec
        (folder / "bot.py").write_text(BOT)
        self.bot_digest = bot_from_file(str(folder / "bot.py"), spec, 0).digest
        self.replay = folder / "kuhn-0.jsonl.gz"
        self.header, self.records = recorded()
        write_replays(self.replay, self.header, self.records)
        evaluation = {**RUN["evaluation"], "bots": ["random", str(folder / "bot.py")]}
        settings = load_settings({**RUN, "evaluation": evaluation})
        train(settings, folder / "p.safetensors")
        train(
            load_settings({**RUN, "league": {"round": 1}}),
            folder / "league" / "main.safetensors",
            folder=folder / "league",
        )
        self.policy = folder / "p.safetensors"


def recorded() -> tuple[Header, list[Record]]:
    """Return two matches of kuhn, played at random."""
    game = make("kuhn", seed=3)
    bot = make_bot("kuhn", "random", game.spec, 3)
    records = []
    for match in (1, 2):
        actions: list[list[int]] = []
        game.start([0], [match])
        while not game.done[0].all():
            decisions = game.decisions()
            chosen = bot.act(decisions, np.arange(len(decisions)))
            actions += chosen.tolist()
            game.act(np.arange(len(decisions)), chosen)
        returns, places = tuple(game.returns[0].tolist()), tuple(game.place[0].tolist())
        told = np.array(actions, np.int32)
        records.append(Record(match, match, {}, (0, 1), told, returns, places))
    return Header.of(game.spec, 3, [bot, bot]), records


class World:
    """A folder with hostile files, a canary that their code would make, and secrets outside."""

    def __init__(self, folder: Path, originals: Originals) -> None:
        self.folder, self.originals = folder.resolve(), originals
        self.canary = self.folder / "canary"
        self.outside = self.folder / "outside"
        (self.outside / "teams").mkdir(parents=True)
        (self.outside / "secret.txt").write_text(f"{SECRET}\n")
        (self.outside / "teams" / "team.txt").write_text(f"{SECRET}\n")
        shutil.copy(originals.policy, self.outside / "p.safetensors")
        (self.outside / "game.py").write_text(f"# {SECRET}\n")
        self.code = f"open({str(self.canary)!r}, 'w').close()\n"
        self.trap = self.folder / "trap.py"
        self.trap.write_text(self.code + "def env(**_):\n    " + self.code)
        self.pipes: list[Path] = []

    @property
    def names(self) -> list[str]:
        """Names of games that run code, or read what lies outside."""
        return [
            f"pettingzoo:os:system(command='touch {self.canary}')",
            "pettingzoo:trap",
            str(self.trap),
            "trap.py:env",
            f"openspiel:efg_game(filename={self.outside / 'secret.txt'})",
        ]

    def fifo(self, name: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        self.pipes.append(path)
        return path

    def link(self, name: str, target: Path | None = None) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.symlink_to(target or self.outside / "secret.txt")
        return path

    def policy(self, game: str = "kuhn", name: str = "evil.safetensors", **settings: Any) -> Path:
        """A policy that is whole and sealed, for any game."""
        content = policy_format.read(self.originals.policy)
        header = replace(content.header, game=game, settings=settings)
        return self._policy(header, content, name)

    def policy_of(self, python: Path, name: str = "evil.safetensors") -> Path:
        """A policy whose game came from a Python file, which it names with its digest."""
        content = policy_format.read(self.originals.policy)
        digest = hashlib.sha256(python.read_bytes()).hexdigest()
        of_file = {"game_path": str(python), "game_file": digest}
        return self._policy(replace(content.header, game="mine", **of_file), content, name)

    def _policy(
        self, header: policy_format.PolicyHeader, content: policy_format.PolicyContent, name: str
    ) -> Path:
        path = self.folder / name
        path.write_bytes(policy_format.encode(header, content.arrays))
        return path

    def replays(self, game: str, name: str = "replays/evil.jsonl.gz") -> Path:
        path = self.folder / name
        write_replays(path, replace(self.originals.header, game=game), self.originals.records)
        return path

    def settings(self, name: str = "evil.yaml", **values: Any) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump({**RUN, **values}))
        return path

    def recipe(self, name: str = "pipeline/recipe.yaml", **values: Any) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        stages = {"record": {"seats": ["random,random"], "matches": 2}}
        path.write_text(yaml.safe_dump({"game": "kuhn", "stages": stages, **values}))
        return path

    def run(self, name: str = "p.safetensors.run", **values: Any) -> Path:
        """A run's folder with settings changed."""
        path = shutil.copytree(self.originals.folder / "p.safetensors.run", self.folder / name)
        self.change(path, **values)
        return path

    def league(self, **values: Any) -> Path:
        path = shutil.copytree(self.originals.folder / "league", self.folder / "league")
        self.change(path, **values)
        return path

    def change(self, run: Path, **values: Any) -> None:
        config = run / "config.yaml"
        config.write_text(yaml.safe_dump({**yaml.safe_load(config.read_text()), **values}))

    def say_digest(self, run: Path, digest: str) -> str:
        """Let run.db name another digest for everybody; return a match of theirs."""
        with closing(sqlite3.connect(run / "run.db")) as database, database:
            database.execute("UPDATE lineups SET digests = ?", (json.dumps([digest, digest]),))
            database.execute("UPDATE players SET digest = ?", (digest,))
        return first_match(run)

    def policies(self, game: str = "kuhn", name: str = "policies") -> Path:
        """A policy folder in which a policy for any game plays."""
        folder = PolicyFolder(self.folder / name)
        folder.publish(folder.add(self.policy(game).read_bytes()))
        return self.folder / name

    def pointing(self, digest: str) -> Path:
        """A policy folder whose pointer and history name another digest."""
        folder = self.policies()
        stable = PolicyFolder(folder).pointer().stable
        for path in (folder / "current.json", *(folder / "history").glob("*.json")):
            path.write_text(path.read_text().replace(stable, digest))
        return folder

    def spool(self) -> Path:
        Spool(self.folder / "spool").create()
        return self.folder / "spool"

    def outside_is(self) -> str:
        """Return a digest of all that lies outside."""
        files = sorted(path for path in self.outside.rglob("*"))
        told = [f"{path} {path.read_bytes() if path.is_file() else ''}" for path in files]
        return hashlib.sha256("\n".join(map(str, told)).encode()).hexdigest()

    @contextmanager
    def unblocking(self) -> Iterator[list[Path]]:
        """Give every pipe its end after a while, and say which were waited for."""
        waited: list[Path] = []
        over = threading.Event()

        def unblock() -> None:
            while not over.wait(HANGS):
                for path in self.pipes:
                    waited.append(path)
                    os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))

        thread = threading.Thread(target=unblock, daemon=True)
        thread.start()
        try:
            yield waited
        finally:
            over.set()
            thread.join()


def first_match(run: Path) -> str:
    with closing(sqlite3.connect(run / "run.db")) as database:
        return str(database.execute("SELECT MIN(match) FROM matches").fetchone()[0])
