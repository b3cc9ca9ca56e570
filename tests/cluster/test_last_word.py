"""Where Ray ends the driver, somebody says why; where it ends by itself, nobody says anything."""

import os
import socket
import subprocess
import sys
import threading

import pytest

from lanista.cluster.last_word import LastWord

PROGRAM = """
import os, sys
from lanista.cluster.last_word import LastWord
word = LastWord(*sys.argv[1:3])
if sys.argv[3] == "ends":
    sys.exit()
os._exit(1)
"""


def ended(address, raylet, how):
    """Return what is said when a driver has ended: of itself (ends), or without a word (dies)."""
    words = [sys.executable, "-c", PROGRAM, address, str(raylet), how]
    # Its output ends when the program beside it has ended too.
    return subprocess.run(words, capture_output=True, text=True, check=False).stderr


@pytest.fixture
def head():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def raylet(short_folder):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(short_folder / "raylet"))
        server.listen()
        yield short_folder / "raylet"


@pytest.fixture
def nobody():
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{line.getsockname()[1]}"


def test_a_head_that_is_gone_is_told_in_one_sentence(nobody, raylet):
    assert ended(nobody, raylet, "dies") == (
        f"lanista: The head of the cluster at {nobody} is gone, and Ray has ended this command; "
        "what was saved is good: start the cluster again, and then the command; a run is resumed.\n"
    )


def test_a_process_of_ray_that_is_gone_is_told_too(head, short_folder):
    assert "process of Ray on this machine" in ended(head, short_folder / "none", "dies")


def test_a_driver_that_ends_by_itself_leaves_no_word(nobody, short_folder):
    assert ended(nobody, short_folder / "none", "ends") == ""


def test_a_driver_that_somebody_else_killed_leaves_no_word(head, raylet):
    assert ended(head, raylet, "dies") == ""


def test_what_is_still_there_when_the_driver_ends_and_goes_a_moment_later_is_told(raylet):
    with socket.create_server(("127.0.0.1", 0)) as head:
        threading.Timer(1.0, head.shutdown, [socket.SHUT_RDWR]).start()
        address = f"127.0.0.1:{head.getsockname()[1]}"
        assert f"The head of the cluster at {address} is gone" in ended(address, raylet, "dies")


def test_it_ends_though_a_process_of_the_users_holds_its_line(nobody, short_folder):
    word = LastWord(nobody, str(short_folder / "none"))
    held = os.dup(word._program.stdin.fileno())  # As in a process that was forked meanwhile.
    word.close()
    os.close(held)
    assert word._program.returncode == 0
