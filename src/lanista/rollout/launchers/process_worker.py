"""A worker in a process of its own: plays, and answers through shared memory.

It ends by itself when its parent is gone. Who started it is `processes`. Knows nothing of lag.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from typing import Any

import torch
from numpy.typing import NDArray

from lanista.data.trajectory import to_arrays
from lanista.errors import LanistaError
from lanista.games import trust
from lanista.rollout.chunks import Line, MachineError
from lanista.rollout.collect_worker import CollectWorker
from lanista.rollout.garbage import seldom_collected
from lanista.rollout.launchers.processes import ENDED, NOT_THEIRS
from lanista.rollout.launchers.shared_memory import Layout, Outbox, Segment, read
from lanista.rollout.launchers.weight_arrays import weights_from


def work(pipe: Connection, line: Line, slots: int, environment: Mapping[str, str]) -> None:
    """Answer until nobody asks any more."""
    # The server has the environment, and what may run, of the moment when it was started.
    for name in set(os.environ) - set(environment):
        del os.environ[name]
    os.environ.update(environment)
    trust.inherit()
    for number in NOT_THEIRS:  # The parent is told, and ends this process.
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, NOT_THEIRS)  # Held back since its start.
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    crew = CollectWorker(line)
    # Nobody is there any more. Other faults of the system are told where they arise.
    gone = contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError)
    with gone, seldom_collected():
        layout, many = pipe.recv()
        weights = [Segment.receive(pipe) for _ in range(many)]
        outbox = Outbox(pipe, slots)
        while True:
            method, argument = pipe.recv()
            outbox.send(*_answer(crew, method, argument, weights, layout))
    crew.close()


def _end_with_parent() -> None:
    """End this process when its parent was killed, also in the middle of a match."""
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _answer(
    crew: CollectWorker, method: str, argument: Any, segments: Sequence[Segment], layout: Layout
) -> tuple[dict[str, NDArray[Any]], tuple[bool, Any]]:
    began = time.process_time()
    try:
        if method != "collect":
            return {}, (True, getattr(crew, method)(argument))
        version = segments[argument.version % len(segments)] if segments else None
        weights = [] if version is None else weights_from(read(version, layout))
        played = crew.collect(argument, weights)
    except LanistaError as error:
        return {}, (False, (type(error), str(error)))
    except OSError:
        message = f"A process that plays matches failed: {traceback.format_exc()}"
        return {}, (False, (MachineError, message))
    except Exception:
        message = f"A process that plays matches failed: {traceback.format_exc()}"
        return {}, (False, (LanistaError, message))
    arrays = to_arrays(played.unrolls) | {f"{ENDED}{k}": v for k, v in played.ended.items()}
    spent = time.process_time() - began
    rest = (played.next_match, played.wall, played.cpu, spent, played.measured)
    return arrays, (True, rest)
