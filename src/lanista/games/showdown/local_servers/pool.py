"""Several Showdown servers that are kept running.

One that ends by itself is reported and started again on its port, after a pause that doubles
while it does not stay up. Knows nothing of terminals and signals.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from lanista.errors import LanistaError
from lanista.games.closing import Closing
from lanista.games.showdown.local_servers.server import Server

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
SETTLED = 60.0
"""Seconds after which a server counts as staying up, so that the next pause is short again."""


@dataclass
class Post:
    """One server's place: it may be empty for a while."""

    folder: Path
    server: Server
    since: float = field(default_factory=time.monotonic)
    """When the server was started."""
    pause: float = FIRST_PAUSE
    due: float | None = None
    """When an empty place is filled again."""


class Servers(Closing):
    """Servers in folders of `folder`, on ports that follow each other (or free ones)."""

    def __init__(
        self,
        count: int,
        port: int,
        folder: Path,
        *,
        keep_battles: bool = False,
        say: Callable[[str], None] = print,
    ) -> None:
        """Start `count` servers from `port` on (0: free ones); all of them answer, or none runs."""
        self._keep_battles, self._say = keep_battles, say
        self.posts: list[Post] = []
        try:
            for at in range(count):
                own = folder / f"server-{at + 1}"
                server = Server(own, port and port + at, keep_battles=keep_battles, wait=False)
                self.posts.append(Post(own, server))
            for post in self.posts:
                post.server.wait()
        except BaseException:
            self.close()
            raise

    def look(self) -> None:
        """Report servers that ended, and start again those whose pause is over."""
        now = time.monotonic()
        for post in self.posts:
            if post.due is not None:
                if now >= post.due:
                    self._fill(post)
            elif not post.server.alive:
                if now - post.since >= SETTLED:
                    post.pause = FIRST_PAUSE
                self._empty(post, _obituary(post.server))

    def close(self) -> None:
        """End all servers."""
        for post in self.posts:
            post.server.close()

    def _empty(self, post: Post, sentence: str) -> None:
        post.server.close()
        self._say(f"{sentence.rstrip('.')}; starting it again in {post.pause:g} s.")
        post.due = time.monotonic() + post.pause
        post.pause = min(2 * post.pause, LONGEST_PAUSE)

    def _fill(self, post: Post) -> None:
        try:
            post.server = Server(post.folder, post.server.port, keep_battles=self._keep_battles)
        except LanistaError as error:
            self._empty(post, str(error))
            return
        post.since, post.due = time.monotonic(), None
        self._say(f"The server on port {post.server.port} answers again.")


def _obituary(server: Server) -> str:
    """Return how a server ended; what it had said before is no cause unless it is an error."""
    code, error = server.process.returncode, server.complaint()
    how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    return f"The server on port {server.port} {how}" + (f" ({error})" if error else "")
