"""Keeps films of matches that are being looked at, a few at a time.

A film is made in one thread after another, so that many pages cannot take all cores. Knows nothing
of HTTP. What needs torch is imported when a match is judged.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lanista.data.resimulation import refereeing
from lanista.errors import LanistaError
from lanista.foreign import is_digest
from lanista.games.contract import Spec
from lanista.games.scenes import Eyes, everybody
from lanista.insight.films import Film, Take, film
from lanista.nets.files.champions import champion_names, champions_for, policy_file
from lanista.view.context import ViewContext
from lanista.view.match.takes import take_of
from lanista.view.match.walk import digest_of, policies_for

if TYPE_CHECKING:
    from lanista.insight.judgements import Judgement
    from lanista.insight.opinions import Adviser

MOST_FILMS = 8
MOST_BYTES = 64 << 20
MOST_COMPARED = 50
"""Policy files that are compared with the digest of whoever played."""
AUTO, NONE, ALL, PUBLIC = "auto", "none", "all", "none"


@dataclass(frozen=True)
class Look:
    """Which match is looked at, through whose eyes, and judged by which policy."""

    place: str
    match: int
    eyes: str
    policy: str


class FilmCache:
    """The films of one server."""

    def __init__(self, context: ViewContext) -> None:
        self.context = context
        self._films: OrderedDict[tuple[Look, int], Film] = OrderedDict()
        self._takes: OrderedDict[tuple[str, int, int], tuple[Take, Spec]] = OrderedDict()
        self._turn = threading.Lock()

    def film(self, look: Look) -> Film:
        """Return the film of a look, made now or before."""
        with self._turn:
            path = self.context.path_of(look.place)
            key = (look, _changed(path))
            if key not in self._films:
                take, spec = self._take(look, path)
                advisers = self._advisers(look, take, spec, path)
                self._films[key] = film(take, eyes_of(look.eyes, spec), advisers)
                self._forget()
            self._films.move_to_end(key)
            return self._films[key]

    def judge(self, look: Look, step: int, seat: int) -> Judgement:
        """Return what the moves of a decision were worth; the eyes must see through its seat."""
        from lanista.insight.judgements import judge

        with self._turn:
            path = self.context.path_of(look.place)
            take, spec = self._take(look, path)
            if spec.facts.hidden and seat not in eyes_of(look.eyes, spec):
                raise LanistaError("That seat's view is hidden; show it to judge its moves.")
            advisers = self._advisers(look, take, spec, path)
            if seat not in advisers:
                raise LanistaError("No policy is named to judge the moves by; choose one.")
            return judge(take, step, seat, advisers[seat])

    def advisers(self, look: Look) -> dict[int, Adviser]:
        """Return the policy that each seat's decisions are judged by."""
        with self._turn:
            path = self.context.path_of(look.place)
            take, spec = self._take(look, path)
            return self._advisers(look, take, spec, path)

    def policies(self, game: str, seats: int) -> list[str]:
        """Return the words of policies that can judge a match: the champion, then files."""
        return [*champions_for(game, seats), *policies_for(self.context, game, seats)]

    def _take(self, look: Look, path: Path) -> tuple[Take, Spec]:
        key = (look.place, look.match, _changed(path))
        if key not in self._takes:
            take = take_of(path, look.match)
            with refereeing(take.header, slots=1, game=take.game) as referee:
                self._takes[key] = (take, referee.spec)
            while len(self._takes) > MOST_FILMS:
                self._takes.popitem(last=False)
        return self._takes[key]

    def _advisers(self, look: Look, take: Take, spec: Spec, path: Path) -> dict[int, Adviser]:
        from lanista.insight.opinions import Adviser

        if look.policy == NONE:
            return {}
        if look.policy != AUTO:
            adviser = Adviser(word_of(self.context, look.policy), spec, look.policy)
            return dict.fromkeys(range(spec.seats), adviser)
        files = [self._policy_of(digest, take.header.game, path) for digest in take.digests]
        names = dict(zip(files, take.names, strict=True))
        made = {file: Adviser(file, spec, names[file]) for file in files if file is not None}
        if not made:
            return _by_champion(take.header.game, spec)
        # Whoever is no policy is judged by the policy that it met.
        first = next(iter(made.values()))
        return {seat: made[file] if file else first for seat, file in enumerate(files)}

    def _policy_of(self, digest: str, game: str, path: Path) -> str | None:
        """Return the file of the policy that played under a digest; None: it is not at hand."""
        from lanista.runs.folder import policy_path

        own = digest.partition(":")[0]
        if path.is_dir():
            file = policy_path(path, own) if is_digest(own) else path
            return str(file) if file.is_file() else None
        if not is_digest(own):
            return None
        files = [self.context.path_of(place) for place in policies_for(self.context, game)]
        champions = [policy_file(name) for name in champion_names(game)]
        for file in [*champions, *files[:MOST_COMPARED]]:
            if digest_of(file) == own:
                return str(file)
        return None

    def _forget(self) -> None:
        while len(self._films) > MOST_FILMS or (
            len(self._films) > 1 and sum(one.size for one in self._films.values()) > MOST_BYTES
        ):
            self._films.popitem(last=False)


def _by_champion(game: str, spec: Spec) -> dict[int, Adviser]:
    """Return the game's champion for every seat; nobody where there is none that fits."""
    from lanista.insight.opinions import Adviser

    for name in champion_names(game):
        try:
            return dict.fromkeys(range(spec.seats), Adviser(name, spec))
        except LanistaError:
            continue  # It plays this game with other settings.
    return {}


def word_of(context: ViewContext, word: str) -> str:
    """Return a policy as a player is named: a champion's name, or the path of a file here."""
    return word if word.startswith("champion:") else str(context.path_of(word))


def eyes_of(word: str, spec: Spec) -> Eyes:
    """Return the eyes that an address names: a seat, `all` or `none`."""
    if word == ALL or not spec.facts.hidden:
        return everybody(spec)
    if word == PUBLIC:
        return frozenset()
    if word.isdecimal() and int(word) < spec.seats:
        return frozenset({int(word)})
    raise LanistaError(f"eyes is {word[:20]!r}; give a seat from 0 to {spec.seats - 1}, or all.")


def _changed(path: Path) -> int:
    return 0 if path.is_dir() else path.stat().st_mtime_ns
