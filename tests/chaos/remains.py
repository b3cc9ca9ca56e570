"""What processes with a mark hold beyond themselves: ports, and shared memory that has a name.

It is noted while they live. Afterwards a socket or a segment of theirs is still there only if
somebody without the mark kept it.
"""

from contextlib import suppress
from pathlib import Path

from ray_machines import marked

SHARED = Path("/dev/shm")


class Remains:
    """Ports and segments of the processes with a mark."""

    def __init__(self, mark):
        self.mark = mark
        self.sockets, self.segments = set(), set()

    def look(self):
        """Note what the processes hold now."""
        listening = listening_sockets()
        for pid, _ in marked(self.mark):
            self.sockets |= listening & set(sockets_of(pid))
            self.segments |= set(segments_of(pid))

    def left(self):
        """Return what of it is still there."""
        there = [path for path in self.segments if path.exists()]
        return sorted(self.sockets & listening_sockets()) + sorted(map(str, there))


def listening_sockets():
    """Return the sockets that somebody listens at, by their number in the kernel."""
    lines = []
    for name in ("tcp", "tcp6"):
        lines += Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    fields = [line.split() for line in lines]
    return {int(values[9]) for values in fields if values[3] == "0A"}


def sockets_of(pid):
    with suppress(OSError):
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                kind, _, number = str(handle.readlink()).partition(":")
                if kind == "socket":
                    yield int(number.strip("[]"))


def segments_of(pid):
    """Return the files of shared memory that a process maps and that have a name."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            path = line.partition(f"{SHARED}/")[2]
            if path and not path.endswith(" (deleted)"):
                yield SHARED / path
