"""`lanista`: reads the command line, runs a command, and turns what went wrong into one line.

Exit codes: 0 done, 1 failed, 2 cannot be used so, 3 refused for safety, 130 interrupted with
everything complete saved. Knows nothing of what the commands do.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, cast

from lanista import __version__
from lanista.errors import LanistaError
from lanista.terminal import fit_streams
from lanista.text import without_controls

if TYPE_CHECKING:
    from lanista.cli.usage import Group

ABOUT = """Trains agents for competitive games, and says honestly how strong they are.

With --debug, anywhere on the line, an error shows its trace. With --trust Python files that a
settings file or a folder names are run, which you have not run here before. --version prints the
version."""

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
    from lanista.cli.common.outputs import refuse_unsafe

    _mend_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    trusting = "--trust" in given
    given = [word for word in given if word not in ("--debug", "--trust")]
    try:
        if given == ["--version"]:
            print(f"lanista {__version__}")
            code = 0
        else:
            command = parse(given)
            from lanista.games.trust import guarding  # Help needs neither games nor numpy.

            refuse_unsafe(command)
            with fit_streams(), guarding(given, trusting=trusting):
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
        what = f"{place}: " if place else ""
        what += f"{type(error).__name__}: {error}".rstrip(": .")
        return _say(f"{what}. Run it with --debug to see the trace.", 1, debug)


def parse(arguments: Sequence[str]) -> Command:
    """Return the command with its settings; refuse what cannot be read."""
    from lanista.cli.usage import read

    return cast(Command, read(commands(), arguments, ABOUT))


def commands() -> dict[str, Callable[..., Command] | Group]:
    """Return every command and group of commands by name."""
    from lanista.cli.live.doctor import Doctor
    from lanista.cli.live.learn import Learn
    from lanista.cli.live.live_demo import LiveDemo
    from lanista.cli.live.policy import POLICY
    from lanista.cli.measure.evaluate import Evaluate
    from lanista.cli.measure.experiment import ExperimentCommand
    from lanista.cli.measure.exploit import Exploit
    from lanista.cli.measure.report import Report
    from lanista.cli.measure.roundrobin import RoundRobin
    from lanista.cli.play.games import Games
    from lanista.cli.play.play import Play
    from lanista.cli.play.replay import Replay
    from lanista.cli.play.watch import Watch
    from lanista.cli.showdown.verbs import SHOWDOWN
    from lanista.cli.tools.check import Check
    from lanista.cli.tools.config import Config
    from lanista.cli.tools.data import Data
    from lanista.cli.tools.export import Export
    from lanista.cli.tools.profile import ProfileCommand
    from lanista.cli.train.imitate import Imitate
    from lanista.cli.train.league import LeagueCommand
    from lanista.cli.train.rl import RL
    from lanista.cli.train.run import RunCommand

    return {
        "games": Games,
        "play": Play,
        "roundrobin": RoundRobin,
        "check": Check,
        "data": Data,
        "watch": Watch,
        "export": Export,
        "imitate": Imitate,
        "rl": RL,
        "league": LeagueCommand,
        "learn": Learn,
        "live-demo": LiveDemo,
        "run": RunCommand,
        "evaluate": Evaluate,
        "replay": Replay,
        "report": Report,
        "exploit": Exploit,
        "config": Config,
        "experiment": ExperimentCommand,
        "profile": ProfileCommand,
        "policy": POLICY,
        "doctor": Doctor,
        "showdown": SHOWDOWN,
    }


def unusable(error: OSError) -> str:
    """Return what the system said about a file or device, as a sentence."""
    what = (error.strerror or str(error) or type(error).__name__).rstrip(".")
    if error.filename is None:
        return f"{what}."
    return f"{error.filename2 or error.filename} cannot be used: {what[:1].lower()}{what[1:]}."


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
            print(without_controls(traceback.format_exc()), end="", file=sys.stderr)
        print(f"lanista: {without_controls(' '.join(sentence.split()))}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
