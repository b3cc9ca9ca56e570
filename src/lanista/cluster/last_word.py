"""One sentence where Ray ends the driver: a small program that outlives it says why.

When the cluster's head, or Ray's own process on this machine, is gone, Ray ends the driver's
process at once, without a word of Python. The program waits for the driver's end, looks who is
still there, and ends. Knows nothing of what the driver did.
"""

from __future__ import annotations

import atexit
import subprocess
import sys
from contextlib import suppress

_PATIENCE = 10.0
"""Seconds that the program has to end when it is told to."""
_PROGRAM = """
import socket, sys, time
address, raylet = sys.argv[1:]
if sys.stdin.read(4):
    sys.exit()
host, _, port = address.rpartition(':')
family = socket.AF_INET6 if ':' in host else socket.AF_INET
places = (family, (host.strip('[]'), int(port))), (socket.AF_UNIX, raylet)
def gone(family, place):
    with socket.socket(family) as line:
        line.settimeout(5)
        try:
            line.connect(place)
        except OSError:
            return True
    return False
# What dies together dies one after the other, and the driver may be first: look on for a while.
for _ in range(20):
    if any(gone(*place) for place in places):
        break
    time.sleep(0.25)
else:
    sys.exit()
time.sleep(1)
if gone(*places[0]):
    what = f'The head of the cluster at {address} is gone'
else:
    what = f'The process of Ray on this machine (cluster {address}) is gone'
print(f'lanista: {what}, and Ray has ended this command; what was saved is good: start the '
      'cluster again, and then the command; a run is resumed.', file=sys.stderr)
"""


class LastWord:
    """The program beside a driver, as long as it is connected."""

    def __init__(self, address: str, raylet: str) -> None:
        """Watch for the cluster at `address`, and Ray's process here that listens at `raylet`."""
        self._program = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, address, raylet],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the driver.
        )
        atexit.register(self.close)

    def close(self) -> None:
        """Let it end silently: the driver ends by itself."""
        atexit.unregister(self.close)
        assert self._program.stdin is not None
        with suppress(OSError, ValueError):
            self._program.stdin.write(b"done")
            self._program.stdin.close()
        try:
            self._program.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._program.kill()
            self._program.wait()
