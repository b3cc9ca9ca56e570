"""`lanista`: reads the command line, runs a command, and turns what went wrong into one line.

Exit codes: 0 done, 1 failed, 2 cannot be used so, 3 refused for safety, 130 interrupted with
everything complete saved. Knows nothing of what the commands do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol, cast

from lanista import __version__
from lanista.errors import LanistaError
from lanista.terminal import fit_streams, plain_notices
from lanista.text import without_controls

INTERRUPTED = 130
# What a shell reports for a program that a closed pipe ended: 128 + SIGPIPE.
PIPE_CLOSED = 141


class Command(Protocol):
    """What a subcommand is once its settings are read."""

    def run(self) -> int:
        """Do it and return the exit code."""
        ...


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` (those of the process, unless given) ask for."""
    _mend_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    trusting = "--trust" in words
    words = [word for word in words if word not in ("--debug", "--trust")]
    try:
        if words == ["--version"]:
            print(f"lanista {__version__}")
            code = 0
        else:
            command = parse(words)
            # Below, since help needs neither games nor numpy.
            from lanista.cli.common.outputs import refuse_unsafe
            from lanista.games.trust import guarding

            refuse_unsafe(command)
            with fit_streams(), plain_notices(), guarding(words, trusting=trusting):
                code = command.run()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _say("interrupted.", INTERRUPTED, debug)
    except LanistaError as error:
        return _say(str(error), error.exit_code, debug)
    except BrokenPipeError:
        # Nobody reads any more; without this the interpreter complains when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except OSError as error:
        return _say(unusable(error), 1, debug)
    except MemoryError:
        return _say("There is not enough memory for this; ask for less at once.", 1, debug)
    except Exception as error:
        from lanista.games.blame import place_of

        place = place_of(error)
        fault = f"{place}: " if place else ""
        fault += f"{type(error).__name__}: {error}".rstrip(": .")
        return _say(f"{fault}. Run it with --debug to see the trace.", 1, debug)


def parse(arguments: Sequence[str]) -> Command:
    """Return the command with its settings; refuse what cannot be read."""
    from lanista.cli.usage import read

    return cast(Command, read(arguments))


def unusable(error: OSError) -> str:
    """Return what the system said about a file or device, as a sentence."""
    reason = (error.strerror or str(error) or type(error).__name__).rstrip(".")
    if error.filename is None:
        return f"{reason}."
    return f"{error.filename2 or error.filename} cannot be used: {reason[:1].lower()}{reason[1:]}."


def _mend_streams() -> None:
    """See to it that printing works where a stream is closed or cannot write every letter."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _say(sentence: str, code: int, debug: bool) -> int:
    with suppress(OSError):  # Where even this cannot be written, the exit code still tells.
        if debug:
            import traceback

            print(without_controls(traceback.format_exc()), end="", file=sys.stderr)
        print(f"lanista: {without_controls(' '.join(sentence.split()))}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
