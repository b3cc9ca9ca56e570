"""Actors, workers and processes for tests of central inference, and what compares their play."""

import gc
import threading
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from pathlib import Path

import numpy as np
import torch

from lanista.data.trajectory import to_arrays
from lanista.games import make
from lanista.games.contract import Decisions
from lanista.nets.policy import Critic, Policy
from lanista.nets.settings import Network
from lanista.rollout.collector import Collector
from lanista.rollout.inference.actor import Actor
from lanista.rollout.inference.client import RemoteActor
from lanista.rollout.inference.server import InferenceServer

CONTEXT = get_context("spawn")
NEVER = 3600.0
"""Seconds: a deadline that no test reaches."""
# A second thread costs more than it brings on tensors this small.
torch.set_num_threads(1)


def actor_of(name="kuhn", kind="mlp", critic=False, privileged=False):
    torch.manual_seed(2)
    spec = make(name, slots=1, seed=5).spec
    network = Network(kind, width=16, layers=1)
    policy = Policy(spec, network)
    torch.nn.init.orthogonal_(policy.head.weight, 3.0)
    judge = None
    if critic:
        view = {"observation": spec.privileged} if privileged else {"features": policy.torso.width}
        judge = Critic(spec, network, **view)
        torch.nn.init.orthogonal_(judge.head.weight)
    return Actor(policy, 4, judge)


def collector_of(name, actor, number, **more):
    game = make(name, slots=4, seed=5)
    return Collector(game, actor, unroll_length=5, first_match=1000 * number, **more)


def played(collector, rounds):
    return [to_arrays(collector.unrolls(count)) for count in rounds]


def playing(pipe, line, name, number, rounds, more):
    """A worker: play some rounds with choices from the other process, and send what was kept."""
    torch.set_num_threads(1)
    remote = RemoteActor(line, log_probs="keep_log_probs" in more)
    collector = collector_of(name, remote, number, **more)
    for arrays in played(collector, rounds):
        pipe.send(arrays)
    remote.rest()
    pipe.send(dict(remote.phases.wall))


def asking_twice(pipe, line):
    """A worker that says when its first answer came, and then asks again."""
    remote, decisions = RemoteActor(line), started(3)
    pipe.send("asks")
    remote.choose(decisions, np.arange(3))
    pipe.send("answered")
    remote.choose(decisions, np.arange(3))
    pipe.send("never said")


def answering(pipe):
    """The central side, which hangs at its first inference."""
    actor = actor_of()
    central = InferenceServer(actor, 1, batch=1, deadline=NEVER)

    def hang(*_):
        pipe.send("running")
        threading.Event().wait()

    actor.policy.torso.register_forward_pre_hook(hang)
    with central.attach(0) as line:
        send_handle(pipe, line.fileno(), 0)
    pipe.recv()


def process_of(work, *arguments):
    """Return a process, and a pipe to it; the ends of other pipes among `arguments` are its own."""
    here, there = CONTEXT.Pipe()
    process = CONTEXT.Process(target=work, args=(there, *arguments), daemon=True)
    process.start()
    for each in (there, *arguments):
        if isinstance(each, Connection):
            each.close()
    return process, here


def started(rows, first=0, name="kuhn"):
    """Return the first decisions of `rows` matches, copied so that they can be kept."""
    game = make(name, slots=rows, seed=5)
    game.start(np.arange(rows), np.arange(first, first + rows))
    now = game.decisions()
    names = ("slot", "seat", "match", "turn", "observation", "mask")
    return Decisions(**{each: getattr(now, each).copy() for each in names})


def in_thread(work, *arguments):
    """Return what waits for `work`, which runs meanwhile, and gives its result or its error."""
    found = []

    def run():
        try:
            found.append(work(*arguments))
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def result():
        thread.join()
        return found[0]

    return result


def until(true):
    while not true():
        time.sleep(0.002)


def open_files():
    gc.collect()  # What other tests left.
    return len(list(Path("/proc/self/fd").iterdir()))


def waiting(central):
    """Return the numbers of the workers whose request has come and waits."""
    return sorted(line.number for line in list(central._lines.values()) if line.request)


def remotes(central, count=2):
    return [RemoteActor(central.attach(number), log_probs=True) for number in range(count)]


def both_play(central):
    """Return two workers who asked and are waited for from now on."""
    first, second = remotes(central)
    decisions = started(1)
    first.choose(decisions, np.arange(1))
    waits = in_thread(second.choose, decisions, np.arange(1))
    until(lambda: waiting(central) == [1])
    first.choose(decisions, np.arange(1))
    waits()
    central.measured()
    return first, second


def same_choice(found, expected):
    np.testing.assert_array_equal(found.action, expected.action)
    for name in ("log_prob", "log_probs", "value", "state"):
        one, other = getattr(found, name), getattr(expected, name)
        assert (one is None) == (other is None), name
        if one is not None:
            np.testing.assert_allclose(one, other, atol=1e-5, err_msg=name)


def same_columns(found, expected):
    assert sorted(found) == sorted(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype, name
        if array.dtype.kind == "f":
            np.testing.assert_allclose(found[name], array, atol=1e-5, err_msg=name)
        else:
            np.testing.assert_array_equal(found[name], array, err_msg=name)
