"""Kills a background learner again and again while bots leave games; for test_learner_kills.py.

Producers play with real agents and leave broken and repeated files too. At the end every good
game took effect once: by the book, by the archive, and by the weights, which a learner that was
never killed reaches bit for bit from the same batches. Prints one JSON line.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sys
import threading
import time
import traceback
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "live"))

from practice import Bench, quick, same_weights, settings_of
from toy import agent_of, view

from lanista.files import write_bytes
from lanista.live.agent.agent import Game
from lanista.live.files.game_file import read
from lanista.live.files.policy_folder import PolicyFolder
from lanista.live.files.spool import Spool
from lanista.live.learner.background_learner import BackgroundLearner
from lanista.live.learner.ledger import Ledger, reading
from lanista.live.learner.service import Service, serve
from lanista.live.learner.settings import LiveSettings
from lanista.live.promotion.sequential_test import Rule
from lanista.runs.checkpoints import Checkpoints

MOST_WAITING = 60
"""Producers wait while so many files lie in `new/`, so that the games last as long as the kills."""
KINDS = (
    (os, "fsync"), (Path, "replace"), (Path, "rename"), (Path, "mkdir"), (os, "rmdir"),
    (os, "unlink"), (Ledger, "add_games"), (Ledger, "add_batch"), (Ledger, "add_event"),
    (Ledger, "forget_after"), (PolicyFolder, "add"), (PolicyFolder, "_change"),
)  # fmt: skip
"""Calls that change what is on the disk."""


def settings() -> LiveSettings:
    """Return settings with which candidates come, go, are published and watched all the time."""
    rule, watch = Rule(limit=120, margin=0.2), Rule(limit=30, margin=0.2)
    gate = quick(every=30, rule=rule, patience=80, watch_share=0.3, watch=watch)
    return settings_of(gate, {"lr": 0.01, "epochs": 2}, batch_games=10)


# Producers.


def producing(folder: Path, number: int, games: int, broken: int, repeated: int) -> None:
    """Play games in a spool of one's own, and hand them over: some damaged, some twice."""
    drawn, spool = np.random.default_rng(number), Spool(folder / "spool")
    order = drawn.permutation(games)
    bad, twice = set(order[:broken].tolist()), set(order[broken : broken + repeated].tolist())
    own = folder / f"producer-{number}"
    own.mkdir()
    (own / "policy").symlink_to(folder / "policy")
    good = []
    with agent_of(own, seed=number) as agent:
        for at in range(games):
            play(agent.game(f"{number}-{at}"), np.random.default_rng([number, at]))
            while not (found := Spool(own / "spool").waiting()):
                time.sleep(0.001)
            content, data = read(found[0]).content, found[0].read_bytes()
            found[0].unlink()
            while len(spool.waiting()) > MOST_WAITING:
                time.sleep(0.01)
            name = f"{number}-{at}"
            if at in bad:
                write_bytes(spool.new / f"{name}.npz", damaged(data, drawn))
                continue
            good.append(content)
            write_bytes(spool.new / f"{name}.npz", data)
            if at in twice:
                again(spool, data, name, drawn)
    (folder / f"good-{number}.json").write_text(json.dumps(good))


def play(game: Game, luck: np.random.Generator) -> None:
    """Play three steps, in which one choice pays, some are overruled and some games cut off."""
    good = 0
    for step in range(3):
        good += game.act(view(step))[0] == 1
        if luck.random() < 0.2:
            game.overrule()
        game.reward(float(luck.normal()) / 10)
    game.end(None if luck.random() < 0.05 else 1 if luck.random() < good / 3 else -1)


def damaged(data: bytes, drawn: np.random.Generator) -> bytes:
    """Return a file that is no game: cut short, changed within, or something else."""
    at = int(drawn.integers(1, len(data) - 1))
    flipped = bytearray(data)
    flipped[len(data) // 3] ^= 0xFF
    return (data[:at], bytes(flipped), b"", b"no game" * 50)[int(drawn.integers(4))]


def again(spool: Spool, data: bytes, name: str, drawn: np.random.Generator) -> None:
    """Leave a copy: now or a little later, renamed, perhaps packed in another way."""
    if drawn.random() < 0.5:
        time.sleep(0.3 * drawn.random())
    place = spool.new / f"{name}-again.npz"
    if drawn.random() < 0.5:
        write_bytes(place, data)
        return
    packed = spool.folder / f"{name}.packing"
    source = spool.folder / f"{name}.source"
    source.write_bytes(data)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(packed, "w") as new:
        for entry in old.infolist():
            new.writestr(zipfile.ZipInfo(entry.filename), old.read(entry))
    write_bytes(place, packed.read_bytes())
    packed.unlink()
    source.unlink()


# Learners that are killed.


def arm(kind: int, calls: int) -> None:
    """Let this process kill itself at its `calls`-th call of a kind."""
    where, name = KINDS[kind]
    usual, left = getattr(where, name), [calls]

    def fatal(*arguments: object, **named: object) -> object:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return usual(*arguments, **named)

    setattr(where, name, fatal)


def started(work: Callable[..., None], *arguments: object) -> int:
    """Run a function in a fork; return the child's id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work(*arguments)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def learning(folder: Path, armed: tuple[int, int] | None) -> None:
    if armed is not None:
        arm(*armed)
    how = Service(poll=0.05, report_every=0)
    with BackgroundLearner(folder / "spool", folder / "policy", settings(), say=str) as learner:
        serve(learner, how, threading.Event())


def kill_learners(folder: Path, kills: int, seed: int) -> dict[str, int]:
    """Start learners and kill each, half at random moments and half at certain writes."""
    drawn, counts = np.random.default_rng(seed), {"random": 0, "writes": 0}
    kinds: set[int] = set()
    reached: set[int] = set()
    checkpoints = Checkpoints(folder / "policy" / "learner" / "checkpoints")
    turn = held = 0
    while sum(counts.values()) < kills:
        turn += 1
        armed = None
        if turn % 2:
            kind = (turn // 2) % len(KINDS)
            armed = kind, 1 + int(drawn.integers(1 + 4 * (kind < 4)))
        child = started(learning, folder, armed)
        last = time.monotonic() + (3.0 if armed else 0.05 + 0.6 * drawn.random())
        status = None
        while status is None and time.monotonic() < last:
            time.sleep(0.005)
            done, code = os.waitpid(child, os.WNOHANG)
            status = code if done else None
        if status is None:
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            counts["random"] += 1
        else:
            assert os.WIFSIGNALED(status), "a learner ended by itself"
            counts["writes"] += 1
            kinds.add(armed[0])
        reached.add(checkpoints.numbers()[-1])
        held += bool(Spool(folder / "spool").taken())
    # How many kinds of writes, how far the learner was, and how often it held games just then.
    return counts | {"kinds": len(kinds), "moments": len(reached), "held": held}


# What must be true at the end.


def check_book(folder: Path, good: set[str], broken: int) -> dict[str, int]:
    spool, policy = Spool(folder / "spool"), PolicyFolder(folder / "policy")
    with reading(folder / "policy" / "learner" / "learn.db") as ledger:
        rows, batches = ledger.games(), ledger.batches()
        numbers = {one.update_number for one in batches}
        assert numbers == set(range(1, len(batches) + 1))
        for one in batches:
            mine = [row for row in rows if row.update_number == one.update_number]
            assert len(mine) == one.games
            assert sum(row.use == "learned" for row in mine) == one.learned
        assert len(rows) == len({row.content for row in rows})
        assert {row.content for row in rows} == good
        changes = [e for e in ledger.events() if e.kind in ("candidate", "published")]
    archived = {path.stem for path in spool.archive.rglob("*.npz")}
    assert archived == good
    assert all(read(spool.archived(content)).content == content for content in good)
    bad = [path.name for path in spool.bad.iterdir()]
    assert sum(not name.endswith(".txt") for name in bad) == broken, sorted(bad)
    assert all(f"{name}.reason.txt" in bad for name in bad if not name.endswith(".txt"))
    left = [path for part in (spool.new, spool.work, spool.open) for path in part.iterdir()]
    left += [p for at in ("spool", "policy") for p in (folder / at).rglob(".*")]
    assert left == [], left
    assert len(policy.history()) == policy.pointer().serial
    return {"applied": len(rows), "bad": broken, "batches": len(batches), "changes": len(changes)}


def check_weights(folder: Path) -> int:
    """Learn the same batches without a kill; return how many policies were published on the way."""
    bench = Bench(folder / "again", settings())
    done = BackgroundLearner(folder / "spool", folder / "policy", settings(), say=str)
    source = Spool(folder / "spool")
    rows = done.ledger.games()
    with done, bench.start() as learner:
        for batch in done.ledger.batches():
            mine = [row for row in rows if row.update_number == batch.update_number]
            for at, row in enumerate(mine or rows[:1]):
                place = bench.spool.new / f"{row.content}.npz"
                shutil.copy(source.archived(row.content), place)
                os.utime(place, (1000 + at, 1000 + at))
            learner.step()
        assert learner.number == done.number
        assert bench.folder.history()[0].pointer == done.folder.history()[0].pointer
        one, other = learner.weights.learner, done.weights.learner
        assert one.update_count == other.update_count
        assert same_weights(one.policy, other.policy)
        assert same_weights(one.critic, other.critic)
        assert learner.gatekeeper.deployment.state() == done.gatekeeper.deployment.state()
        assert bench.folder.pointer() == done.folder.pointer()
        return len(done.ledger.events("published"))


def run(
    folder: Path, producers: int, games: int, broken: int, repeated: int, kills: int
) -> dict[str, float]:
    """Do it all; `broken` and `repeated` are of all producers together."""
    torch.set_num_threads(1)
    began = time.monotonic()
    bench = Bench(folder, settings())
    with bench.start():
        pass  # So that no child spends its short life on imports.
    each = [
        started(producing, folder, number, games, broken // producers, repeated // producers)
        for number in range(producers)
    ]
    counts = kill_learners(folder, kills, seed=1)
    last = started(learning, folder, None)
    try:
        for child in each:
            assert os.waitpid(child, 0)[1] == 0
        while bench.spool.waiting() or bench.spool.taken():
            assert os.waitpid(last, os.WNOHANG)[0] == 0, "the last learner ended by itself"
            time.sleep(0.02)
    finally:
        os.kill(last, signal.SIGKILL)  # The last of all, when nothing is left to do.
    os.waitpid(last, 0)
    with bench.start():
        pass
    good = {one for path in folder.glob("good-*.json") for one in json.loads(path.read_text())}
    assert len(good) == producers * games - broken
    found = counts | check_book(folder, good, broken) | {"published": check_weights(folder)}
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(one.ru_utime + one.ru_stime for one in used)
    return found | {"wall_s": round(time.monotonic() - began, 1), "cpu_s": round(cpu, 1)}


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]).absolute(), *map(int, sys.argv[2:]))))
