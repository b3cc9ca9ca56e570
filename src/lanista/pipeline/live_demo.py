"""Live learning in one command: bots that play in processes of their own, and a learner beside.

Makes a first policy, starts the players, learns in this process until the time is up, ends the
players by their process ids, and writes the report. Knows nothing of how is learned or decided.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from lanista.errors import LanistaError
from lanista.files import write_bytes, write_text
from lanista.games import registry
from lanista.learn.imitation.settings import Imitation
from lanista.learn.settings import Learning
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.learner.background_learner import FOLDER, SETTINGS, BackgroundLearner, Batch
from lanista.live.learner.service import Service, serve
from lanista.live.learner.settings import Gate, LiveSettings
from lanista.live.promotion.sequential_test import Rule
from lanista.nets.policy_format import read_header
from lanista.nets.settings import Network
from lanista.rollout.match_runner import Table, play
from lanista.rollout.replay_recorder import Recorder
from lanista.rollout.schedule import rotations
from lanista.runs.serialise import commented, load
from lanista.training.imitate import Task, imitate

PLAYER = "lanista.live.demo_player"
_LOG = "player-{number}.log"
_ENDING = 30.0
"""Seconds that a player has to finish writing after it is told to stop."""


@dataclass(frozen=True)
class Demo:
    """A folder in which live learning is shown."""

    folder: Path
    opponent: str
    players: int
    seed: int
    hints: float
    """What the game's hints count as rewards."""

    @property
    def facts(self) -> dict[str, str | int]:
        """What must stay the same when it is started again."""
        return {"opponent": self.opponent, "seed": self.seed}

    @property
    def policy(self) -> Path:
        return self.folder / "policy"

    @property
    def spool(self) -> Path:
        return self.folder / "spool"


FACTS = "demo.json"
GAME, TEACHER = "arena", "scavenger"
GAME_SETTINGS = {"ticks_per_decision": 10}
_RECORDED = 300
"""Matches of the teacher against each of two bots."""


def settings_of(seed: int) -> LiveSettings:
    """Return the settings of the demonstration."""
    terms = {"policy": 0.3, "value": 0.5, "upgo": 1.0, "entropy": 0.003}
    learning = Learning(
        policy="vtrace", terms=terms, lr=2e-4, gamma=0.995, epochs=2, minibatches=4,
        critic_sees="seat",
    )  # fmt: skip
    # A candidate that is not ahead makes room for newer weights, so it is never given up as such.
    rule = Rule(futile=0)
    gate = Gate(every=100, refresh=100, rule=rule, watch=Rule(limit=100))
    return LiveSettings(learning, gate, batch_games=50, least_games=50, warm_up=20, seed=seed)


def prepare(demo: Demo, say: Callable[[str], None]) -> None:
    """Publish a clone of a weak bot as the first policy, unless there is one."""
    spec = registry.spec_of(GAME, seed=demo.seed, **GAME_SETTINGS)
    registry.make_bot(GAME, demo.opponent, spec, demo.seed)  # Refuses one that is not known.
    folder = PolicyFolder(demo.policy)
    pointer = folder.found()
    if pointer is not None:
        played = read_header(folder.path_of(pointer.stable)).game
        if played != GAME:
            raise LanistaError(
                f"{demo.policy} holds a policy for {played}, and this plays {GAME}; name another "
                "folder."
            )
        _refuse_others(demo)
        return
    demo.folder.mkdir(parents=True, exist_ok=True)
    write_text(demo.folder / FACTS, json.dumps(demo.facts) + "\n")
    path = demo.folder / "first.safetensors"
    if not path.exists():
        say(f"Making the first policy: a clone of the bot {TEACHER}, some seconds …")
        with tempfile.TemporaryDirectory(dir=demo.folder, prefix="first-") as work:
            clone = Path(work) / path.name
            _record(Path(work) / "data", demo.seed)
            imitate(_task(Path(work) / "data", clone))
            write_bytes(path, clone.read_bytes())
    folder.publish(folder.add(path.read_bytes()), f"a clone of {TEACHER}")


def _refuse_others(demo: Demo) -> None:
    """Refuse to go on against another opponent: two scores would then not be comparable."""
    path = demo.folder / FACTS
    saved_facts = json.loads(path.read_text()) if path.exists() else {}
    for name, value in saved_facts.items():
        if demo.facts[name] != value:
            raise LanistaError(
                f"--{name} is {demo.facts[name]}, and {demo.folder} was begun with {value}; give "
                "that, or another --output."
            )


def kept_settings(demo: Demo) -> LiveSettings | None:
    """Return the settings of the last start; None before the first."""
    path = demo.policy / FOLDER / SETTINGS
    return load(LiveSettings, path) if path.exists() else None


def _record(data: Path, seed: int) -> None:
    for first, other in enumerate(("kiter", "rusher")):
        names = (TEACHER, other)
        with closing(registry.make(GAME, slots=_RECORDED, seed=seed, **GAME_SETTINGS)) as game:
            players = tuple(registry.make_bot(GAME, name, game.spec, seed) for name in names)
            schedule = rotations(2, _RECORDED, first_match=first * _RECORDED)
            recorder = Recorder(data / other, game, players)
            recorder.write(play([Table(game, players)], schedule, record=True))


def _task(data: Path, output: Path) -> Task:
    return Task(
        output=output,
        data_dir=data,
        players=(TEACHER,),
        # Where nothing is fired the aim is noise.
        irrelevant=("aim_x:fire=hold", "aim_y:fire=hold"),
        network=Network(width=64, layers=2),
        imitation=Imitation(epochs=8, batch_size=256, lr=2e-3),
        evaluation_matches=0,
        device="cpu",
    )


def run(
    demo: Demo,
    settings: LiveSettings,
    seconds: float,
    stop: threading.Event,
    say: Callable[[str], None],
    on_batch: Callable[[BackgroundLearner, Batch], None],
) -> None:
    """Play and learn until the time is up or `stop` is set; a player that is gone ends it too.

    Whatever ended it, all games that the players wrote are learned from first.
    """
    gone = None
    try:
        _play_and_learn(demo, settings, seconds, stop, say, on_batch)
    except PlayerGoneError as error:
        gone = error
    # What the players wrote while they were told to stop.
    with BackgroundLearner(demo.spool, demo.policy, settings, say=say) as learner:
        serve(learner, Service(once=True, report_every=0), threading.Event())
    if gone is not None:
        raise gone


def _play_and_learn(
    demo: Demo,
    settings: LiveSettings,
    seconds: float,
    stop: threading.Event,
    say: Callable[[str], None],
    on_batch: Callable[[BackgroundLearner, Batch], None],
) -> None:
    with (
        BackgroundLearner(demo.spool, demo.policy, settings, say=say, stop=stop.is_set) as learner,
        playing(demo) as alive,
    ):
        write_text(learner.home / SETTINGS, commented(settings))
        ends = time.monotonic() + seconds
        watch = threading.Thread(target=_watch, args=(alive, ends, stop), daemon=True)
        watch.start()
        serve(
            learner, Service(poll=1.0, report_every=0), stop, lambda batch: on_batch(learner, batch)
        )
        alive()


class PlayerGoneError(LanistaError):
    """A player's process has ended, and with it the demonstration."""

    exit_code = 1


@contextmanager
def playing(demo: Demo) -> Iterator[Callable[[], None]]:
    """Start the players; give a function that complains if one has ended; end them at the end."""
    started: list[subprocess.Popen[bytes]] = []
    logs = [demo.folder / _LOG.format(number=number) for number in range(demo.players)]

    def alive() -> None:
        for log, process in zip(logs, started, strict=True):
            if process.poll() is not None:
                last = log.read_text(errors="replace").strip().splitlines()[-1:]
                raise PlayerGoneError(
                    f"A player ended with code {process.returncode}: "
                    f"{(last or ['it said nothing'])[0].rstrip('.')} (see {log})."
                )

    try:
        for number, log in enumerate(logs):
            started.append(_start(demo, number, log))
        yield alive
    finally:
        for process in started:
            process.terminate()
        for process in started:
            try:
                process.wait(_ENDING)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _start(demo: Demo, number: int, log: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable, "-m", PLAYER, "--policy", str(demo.policy), "--spool", str(demo.spool),
        "--opponent", demo.opponent, "--seed", str(demo.seed + number),
        "--hints", str(demo.hints), "--parent", str(os.getpid()),
    ]  # fmt: skip
    # Networks this small are slower with several threads, and the learner needs a core too.
    one = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with log.open("wb") as file:
        # A group of its own: Ctrl-C is for the learner, which ends the players when it is done.
        return subprocess.Popen(
            command, stdout=file, stderr=file, stdin=subprocess.DEVNULL, env=one,
            start_new_session=True,
        )  # fmt: skip


def _watch(alive: Callable[[], None], ends: float, stop: threading.Event) -> None:
    """Set `stop` when the time is up, or when a player is gone."""
    while not stop.wait(0.5):
        if time.monotonic() >= ends:
            stop.set()
        try:
            alive()
        except PlayerGoneError:
            stop.set()
