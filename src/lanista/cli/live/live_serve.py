"""`lanista live serve FOLDER`: takes games of bots on other machines, and serves their policies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from lanista.cli.common.flags import number, optional, switch
from lanista.cli.live.learn import say_on_error
from lanista.errors import LanistaError, RefusedError
from lanista.text import printable

if TYPE_CHECKING:
    from lanista.live.server.limits import Limits
    from lanista.live.server.running import Certificate

PORT = 8788
_GIB = 1 << 30


@dataclass(frozen=True)
class LiveServe:
    """Take games of bots on other machines into a spool, and serve them the policy they play.

    FOLDER holds `policy` and `spool`, as `lanista live run` makes them; `lanista learn` runs
    beside the server on the same two folders. Bots are made with lanista.live.Agent(server=…,
    token=…); the token is in FOLDER/server/token. Every game is on the disk before it is confirmed,
    and takes effect once, whatever is sent twice or cut off. Ctrl-C ends it.
    """

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")]
    """Where `policy` and `spool` are."""
    port: Annotated[int, tyro.conf.arg(metavar="N", help_behavior_hint="(default: 8788)")] = PORT
    """Port of the server; 0: any that is free."""
    host: Annotated[str, optional("ADDRESS")] = "127.0.0.1"
    """Address to listen on; this machine alone unless given."""
    tls_cert: Annotated[Path | None, optional("FILE")] = None
    """Certificate for TLS, with the chain behind it, as PEM."""
    tls_key: Annotated[Path | None, optional("FILE")] = None
    """The certificate's key."""
    unencrypted: Annotated[bool, switch()] = False
    """Let other machines in without TLS, where a tunnel or a private network protects what is
    sent."""
    token_file: Annotated[Path | None, optional("FILE")] = None
    """A file with the token; FOLDER/server/token, which is made, unless given."""
    max_waiting: Annotated[float, tyro.conf.arg(metavar="GIB")] = 10.0
    """GiB of games that may wait for the learner; beyond that bots keep theirs."""
    max_uploads: Annotated[int, number(256)] = 256
    """Games that come in at once; further ones are put off for a second."""

    def run(self) -> int:
        """Serve until interrupted, and return 0."""
        self._refuse_nonsense()
        from lanista.live.server.running import (
            BACKLOG,
            allow_connections,
            kept_token,
            prepared,
            uvicorn_server,
        )
        from lanista.web.listening import address_of, listening

        certificate = self._certificate()
        self._refuse_open(encrypted=certificate is not None)
        allow_connections(self._limits())
        with prepared(self.folder, self._limits()) as service:
            made = self.token_file is None
            place = self.folder / "server" / "token" if self.token_file is None else self.token_file
            server = uvicorn_server(service, kept_token(place, make=made), certificate)
            listener = listening(self.host, self.port, BACKLOG)
            address = address_of(listener, self.host, "https" if certificate else "http")
            print(f"Serving {self.folder} at {address}; the token is in {place}.", flush=True)
            try:
                server.run([listener])
            except KeyboardInterrupt:
                pass  # How it is meant to end.
            finally:
                listener.close()
            counts = service.reception.counts()
        print(
            f"{counts.received:,} games received, {counts.repeated:,} sent again, "
            f"{counts.refused:,} refused."
        )
        return 0

    def _refuse_open(self, *, encrypted: bool) -> None:
        """Refuse to send tokens and games over a network unencrypted, unless that is wanted."""
        from lanista.web.hosts import is_loopback

        if encrypted or is_loopback(self.host):
            return
        if not self.unencrypted:
            raise RefusedError(
                f"--host is {self.host}, which other machines reach, and nothing would be "
                "encrypted; give --tls-cert and --tls-key, or --unencrypted if a tunnel or a "
                "private network protects it."
            )
        say_on_error("Nothing is encrypted: whoever sees the network can read the token.")

    def _certificate(self) -> Certificate | None:
        from lanista.live.server.running import Certificate

        if (self.tls_cert is None) != (self.tls_key is None):
            raise LanistaError("--tls-cert and --tls-key belong together; give both or neither.")
        if self.tls_cert is None or self.tls_key is None:
            return None
        return Certificate(self.tls_cert, self.tls_key)

    def _limits(self) -> Limits:
        from lanista.live.server.limits import Limits

        return Limits(waiting_bytes=int(self.max_waiting * _GIB), uploads=self.max_uploads)

    def _refuse_nonsense(self) -> None:
        if not self.folder.is_dir():
            raise LanistaError(
                f"{printable(self.folder)!r} is no folder; name one that holds `policy`."
            )
        if not 0 <= self.port < 1 << 16:
            raise LanistaError(f"--port is {self.port}; give a number from 0 to 65535.")
        if not 0 < self.max_waiting <= 1 << 20:
            raise LanistaError(f"--max-waiting is {self.max_waiting}; give GiB above 0.")
        if not 1 <= self.max_uploads <= 1024:
            raise LanistaError(f"--max-uploads is {self.max_uploads}; give 1 to 1024.")
