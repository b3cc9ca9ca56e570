"""Java in the process: what is missing is said, and the process ends when it should."""

from __future__ import annotations

import os
import subprocess
import sys

from microrts_matches import needs_engine

from lanista.games.microrts.engine import PLACE


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=900,  # A process that does not end would never fail otherwise.
    )


MAKE = """
from lanista.games import GameError
from lanista.games.microrts import MicroRTS
try:
    MicroRTS()
except GameError as error:
    print(error)
"""

BLOCK = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "jpype":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Block())
"""


def test_without_the_engine_one_sentence_says_what_to_run(tmp_path):
    done = run(MAKE, **{PLACE: str(tmp_path)})
    assert done.stdout.startswith(
        "The MicroRTS engine is not installed; run in a checkout: pip install '.[microrts]' && "
        "pip install --no-deps --target "
    )
    assert done.stdout.endswith(" gym-microrts==0.4.3\n")


@needs_engine
def test_without_jpype_one_sentence_says_what_to_run():
    assert run(BLOCK + MAKE).stdout == (
        "JPype is not installed; run in a checkout: pip install '.[microrts]'\n"
    )


@needs_engine
def test_without_java_one_sentence_says_what_to_install():
    broken = """
import jpype
def startJVM(*flags, **settings):
    raise jpype.JVMNotFoundException("No JVM shared library file found.\\nTry JAVA_HOME.")
jpype.startJVM = startJVM
"""
    assert run(broken + MAKE).stdout == (
        "MicroRTS needs Java 11 or newer, which could not be started (No JVM shared library file "
        "found); install a Java runtime, on Debian with: apt-get install openjdk-17-jre-headless\n"
    )


def test_importing_the_game_starts_no_java():
    code = "import sys, lanista.games.microrts; print('jpype' in sys.modules)"
    assert run(code).stdout == "False\n"


PLAY = """
import numpy as np
from lanista.games.microrts import ENTRY, MicroRTS
game = MicroRTS(4, longest=200)
bot = ENTRY.bots["coac"](game.spec, 0)
game.start(range(4), range(4))
while not game.done.all():
    decisions = game.decisions()
    rows = np.arange(len(decisions))
    game.act(rows, bot.act(decisions, rows))
"""


@needs_engine
def test_the_process_ends_though_a_java_thread_goes_on():
    # A timer's thread keeps a Java program alive for ever.
    done = run(PLAY + "import jpype; jpype.JClass('java.util.Timer')()\nprint('played')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "played\n", "")


@needs_engine
def test_java_leaves_signals_and_the_terminal_to_python():
    code = PLAY + (
        "import jpype, os, signal\n"
        "jpype.JClass('java.lang.System').out.println('chatter')\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    done = run(code)
    assert (done.returncode, done.stdout, done.stderr) == (-15, "", "")
    code = PLAY + (
        "import os, signal\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    assert run(code).stdout == "interrupted\n"


@needs_engine
def test_a_forked_process_ends_too():
    code = PLAY + (
        "import os\n"
        "child = os.fork()\n"
        "if child:\n"
        "    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = run(code)
    assert (done.returncode, done.stdout) == (0, "0\n")


@needs_engine
def test_an_error_after_play_keeps_its_exit_status():
    assert run(PLAY + "raise SystemExit(3)").returncode == 3
