"""Battle logs as Showdown hands them out: replay JSON, saved HTML pages, plain text.

Reads them without trust and says in a few words what cannot be read. Knows who played which format,
how it ended, and whether two logs are of one battle; what else the lines mean is not its business.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanista.errors import LanistaError
from lanista.games.showdown.protocol.vocabulary import to_id
from lanista.games.showdown.sim.views import SEATS, SPLIT, lines_for

SUFFIXES = (".json", ".jsonl", ".html", ".htm", ".log", ".txt")
LARGEST = 16 << 20
"""Bytes of a file, and of a line of a `.jsonl`; a battle takes about 50,000."""
MOST_LINES = 100_000
"""Lines of a battle; one of the longest allowed, 1,000 turns, takes about 40,000."""
LONGEST_LINE = 1 << 16
TIE = -1
_RATING = re.compile(r"[0-9]{1,5}")
_LONGEST_NAME = 60
_PUBLIC = {"t:": 1, "poke": 2, "turn": 1, "switch": 2, "drag": 2, "replace": 2, "move": 2}
"""Lines that every view of a battle has, and how many of their parts are the same in all."""
_CLOSE_TAG = re.compile(r"\|\[(from|of)\](?=\S)")


class LogError(LanistaError):
    """A battle log cannot be read; the message is why, in a few words."""


@dataclass(frozen=True)
class Log:
    """One battle as a spectator saw it."""

    name: str
    """The battle's id, or its file's name."""
    format: str
    """The simulator's name for it."""
    players: tuple[str, str]
    ratings: tuple[int | None, int | None]
    """As they were before the battle, where the log tells them."""
    lines: tuple[str, ...]
    winner: int
    """The seat that won; `TIE` if nobody did."""


def identity(log: Log) -> bytes:
    """Return what tells a battle from others, the same for whoever saw and kept its log.

    HP is left out, which players see in points and others in percent; so is what a room adds.
    """
    facts: list[str] = [log.format, *log.players, str(log.winner)]
    for line in log.lines:
        kind, *rest = line.split("|")[1:] or [""]
        if kind in _PUBLIC:
            facts.append("|".join((kind, *rest[: _PUBLIC[kind]])))
    return hashlib.sha256("\n".join(facts).encode(errors="surrogatepass")).digest()


def find_logs(paths: Iterable[Path]) -> list[Path]:
    """Return the files that paths name; of a folder all that look like logs, in order.

    Links in a folder lead nowhere: it may come from somebody else.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = (file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES)
            files += sorted(file for file in inside if file.is_file() and not file.is_symlink())
        elif path.is_file():
            files.append(path)
        else:
            problem = "is no file" if path.exists() else "does not exist"
            raise LanistaError(f"{path} {problem}; give battle logs or folders of them.")
    return list(dict.fromkeys(files))


def read_logs(file: Path) -> Iterator[tuple[str, Log | LogError]]:
    """Yield each battle of a file, named for a reader, or why it cannot be read."""
    try:
        if file.stat().st_size > LARGEST and file.suffix.lower() != ".jsonl":
            raise LogError("is too large for a battle log")
        if file.suffix.lower() == ".jsonl":
            yield from _read_many(file)
            return
        yield file.name, read_log(file.read_text(encoding="utf-8"), file.stem)
    except OSError as error:
        yield file.name, LogError(f"cannot be opened: {(error.strerror or '').lower()}")
    except UnicodeDecodeError:
        yield file.name, LogError("is not text in UTF-8")
    except LogError as error:
        yield file.name, error


def _read_many(file: Path) -> Iterator[tuple[str, Log | LogError]]:
    with file.open("rb") as lines:
        number = 0
        while line := lines.readline(LARGEST):
            number += 1
            name = f"{file.stem}-{number}"
            if not line.strip():
                continue
            try:
                yield name, read_log(line.decode("utf-8"), name)
            except UnicodeDecodeError:
                yield name, LogError("is not text in UTF-8")
            except LogError as error:
                yield name, error


def read_log(text: str, name: str) -> Log:
    """Return the battle in a text: a replay's JSON, a saved page, or protocol lines."""
    start = text.lstrip("\ufeff \t\r\n")
    replay: dict[str, Any] = {}
    if start.startswith("{"):
        replay = _json(start)
        body, name = replay["log"], str(replay.get("id") or replay.get("roomid") or name)
    elif start.startswith("<"):
        body, title = _page(text)
        name = title or name
    else:
        body = start
    if "\0" in body or "|" not in body:
        raise LogError("holds no protocol lines")
    _refuse_endless(body)
    lines = tuple(_CLOSE_TAG.sub(r"|[\1] ", line.rstrip("\r")) for line in body.split("\n"))
    if any(line.startswith(SPLIT) for line in lines):
        lines = lines_for(lines, SEATS)  # A server's own log: what only players see is in it too.
    return _described(name, lines, replay)


def _page(text: str) -> tuple[str, str]:
    """Return the log that a saved page holds, and the battle's id where it names one."""
    starts = (
        end
        for tag, end in _tags(text, "script")
        if "battle-log-data" in (_attribute(tag, "class") or "").split()
    )
    start = next(starts, -1)
    end = text.find("</script>", start) if start >= 0 else -1
    if end < 0:
        raise LogError("is a page without a battle's log")
    # A page cannot hold "</script>", so a log's slashes are written with a backslash there.
    body = text[start:end].replace("\\/", "/")
    titles = (
        _attribute(tag, "value")
        for tag, _ in _tags(text, "input")
        if _attribute(tag, "name") == "replayid"
    )
    return body, html.unescape(next(titles, None) or "")


def _tags(text: str, kind: str) -> Iterator[tuple[str, int]]:
    """Yield the insides of a page's tags of one kind, and where each ends.

    Every letter is looked at once: the search goes on where a tag ends, and ends with the first
    that is not closed. A pattern with several open ends would restart at every tag.
    """
    at = 0
    while (start := text.find(f"<{kind}", at)) >= 0:
        at = text.find(">", start) + 1
        if not at:
            return
        inside = text[start + 1 + len(kind) : at - 1]
        if inside[:1].isspace():
            yield inside, at


def _attribute(tag: str, name: str) -> str | None:
    """Return what a tag says in double quotes; None where it does not."""
    # Between quotes the pieces are in turn outside and inside of values.
    pieces = tag.split('"')
    for before, value in zip(pieces[::2], pieces[1::2], strict=False):
        if before.split()[-1:] == [f"{name}="]:
            return value
    return None


def _refuse_endless(body: str) -> None:
    """Refuse what no battle brings forth before it is cut into pieces."""
    if body.count("\n") >= MOST_LINES:
        raise LogError(f"has more than {MOST_LINES:,} lines")
    start = 0
    while len(body) - start > LONGEST_LINE:
        end = body.rfind("\n", start, start + LONGEST_LINE + 1)
        if end < 0:
            raise LogError(f"has a line of more than {LONGEST_LINE:,} letters")
        start = end + 1


def _json(text: str) -> dict[str, Any]:
    try:
        replay = json.loads(text)
    except (ValueError, RecursionError):
        raise LogError("is no JSON") from None
    log = replay.get("log") if isinstance(replay, dict) else None
    if isinstance(log, list) and all(isinstance(line, str) for line in log):
        log = "\n".join(log)
    if not isinstance(log, str):
        raise LogError("is JSON without a battle's log")
    return {**replay, "log": log}


def _described(name: str, lines: tuple[str, ...], replay: dict[str, Any]) -> Log:
    players, ratings = ["", ""], [_whole(replay.get("rating"))] * SEATS
    format, ends = "", list[str | int]()
    for line in lines:
        kind, *rest = line.split("|")[1:] or [""]
        if kind == "player" and len(rest) > 1 and rest[0] in ("p1", "p2") and rest[1]:
            seat = int(rest[0][1]) - 1
            players[seat] = rest[1]
            if len(rest) > 3 and _RATING.fullmatch(rest[3]):
                ratings[seat] = int(rest[3])
        elif kind == "tier" and rest:
            format = to_id(rest[0])
        elif kind == "win":
            ends.append(rest[0] if rest else "")
        elif kind == "tie":
            ends.append(TIE)
    format = format or to_id(str(replay.get("formatid") or replay.get("format") or ""))
    if not format:
        raise LogError("does not say its format")
    if not all(players) or players[0] == players[1]:
        raise LogError("does not name its two players")
    if len(ends) != 1:
        raise LogError("does not say how the battle ended")
    if ends[0] not in (*players, TIE):
        raise LogError("names a winner who did not play")
    winner = TIE if ends[0] == TIE else players.index(str(ends[0]))
    return Log(
        _shown(name) or "battle",
        format,
        (_shown(players[0]), _shown(players[1])),
        (ratings[0], ratings[1]),
        lines,
        winner,
    )


def _shown(name: str) -> str:
    shortened = name[:_LONGEST_NAME]
    return "".join(letter if letter.isprintable() else "?" for letter in shortened)


def _whole(value: Any) -> int | None:
    return value if type(value) is int else None
