"""`lanista view`: serves pages over the runs in a folder, while they go on and after."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from lanista.cli.common.flags import number, optional
from lanista.errors import LanistaError

if TYPE_CHECKING:
    import socket

PORT = 8787


@dataclass(frozen=True)
class View:
    """Serve pages over a folder: watch runs learn, look into matches, play, see to a live bot.

    Runs are compared side by side, and any recorded or evaluated match is stepped through move by
    move. You can play against bots, policies and champions; such matches go into FOLDER/played.
    Towards a run it only reads. Pages are for this machine unless --host says otherwise; what
    changes something needs the token in the address that is printed. Ctrl-C ends it.
    """

    folder: Annotated[tyro.conf.Positional[Path], optional("[FOLDER]")] = Path()
    """Where the runs are, at any depth; the current folder unless given."""
    port: Annotated[int, number(0)] = 0
    """Port of the server; the first free one from 8787 on unless given."""
    host: Annotated[str, optional("ADDRESS")] = "127.0.0.1"
    """Address to listen on. With one that other machines reach, every page needs the token, and
    nothing is encrypted."""

    def run(self) -> int:
        """Serve until interrupted, and return 0."""
        from lanista.view.context import ViewContext
        from lanista.view.server import address_of, uvicorn_server
        from lanista.web.requests import new_token

        if not self.folder.is_dir():
            raise LanistaError(f"{str(self.folder)!r} is no folder; name one that holds runs.")
        context = ViewContext(self.folder.resolve(), new_token(), self.host)
        listener = self._listener()
        print(f"Pages over {context.folder}: {address_of(listener, context)}", flush=True)
        if not context.is_local:
            print("Other machines can reach it, and nothing is encrypted.", file=sys.stderr)
        server = uvicorn_server(context)
        try:
            server.run([listener])
        except KeyboardInterrupt:
            pass  # How it is meant to end.
        finally:
            listener.close()
        return 0

    def _listener(self) -> socket.socket:
        from lanista.web.listening import first_free, listening

        if not 0 <= self.port < 1 << 16:
            raise LanistaError(f"--port is {self.port}; give a number from 1 to 65535.")
        return listening(self.host, self.port) if self.port else first_free(self.host, PORT)
