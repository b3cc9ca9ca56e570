"""What is noted of ports and shared memory, and that it is seen when it stays."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("reads /proc", allow_module_level=True)

from remains import Remains

from ray_machines import MARK

HOLDER = """
import mmap, os, socket, sys, time
line = socket.create_server(("127.0.0.1", 0))
file = open(sys.argv[1], "w+b")
file.truncate(4096)
memory = mmap.mmap(file.fileno(), 4096)
child = os.fork() if sys.argv[2] == "kept" else None
if child == 0:
    os.close(1)
    time.sleep(600)
else:
    print(child or 0, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("kept", ["kept", "closed"])
def test_what_is_held_is_left_only_where_somebody_keeps_it(kept, tmp_path):
    mark, path = f"remains-{os.getpid()}-{kept}", f"/dev/shm/lanista-{os.getpid()}-{kept}"
    remains = Remains(mark)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path, kept],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, MARK: mark},
    ) as holder:  # fmt: skip
        child = int(holder.stdout.readline())
        remains.look()
        assert len(remains.sockets) == 1
        assert len(remains.left()) == 2
        holder.kill()
    try:
        if kept == "closed":
            Path(path).unlink()
            assert remains.left() == []
        else:
            assert len(remains.left()) == 2
    finally:
        if child:
            os.kill(child, 9)
            Path(path).unlink()


def test_a_socket_that_only_connects_is_no_port():
    mark = f"remains-{os.getpid()}-line"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        program = f"import socket, sys; s = socket.create_connection(('127.0.0.1', {port}));"
        with subprocess.Popen(
            [sys.executable, "-c", program + "print(flush=True); sys.stdin.read()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, MARK: mark},
        ) as client:  # fmt: skip
            client.stdout.readline()
            remains = Remains(mark)
            remains.look()
            client.kill()
    assert remains.sockets == set()
