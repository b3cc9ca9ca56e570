"""`lanista showdown encode`: what a policy sees of a battle, and what it would do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from lanista.cli.common.flags import number, optional, switch
from lanista.cli.common.outputs import Writes
from lanista.errors import LanistaError

if TYPE_CHECKING:
    from lanista.cli.showdown.judging import Judge
    from lanista.files import Kind
    from lanista.games.contract import Spec
    from lanista.games.showdown.formats import Format
    from lanista.games.showdown.protocol.belief import Belief
    from lanista.games.showdown.spectating.rows import Battle, Row
    from lanista.live.showdown.casting import Who

_LINE = 100


def _page_kind(command: Any) -> Kind:
    from lanista.report.exports import PAGE_KIND

    return PAGE_KIND


@dataclass(frozen=True)
class Encode:
    """Show what a policy sees of a battle log, field by field, and its probabilities in words.

    A log shows what spectators saw: decisions that cannot be read off it are left out, and exact HP
    and PP of the player's own Pokémon are missing.
    """

    log: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="LOG")]
    """A battle log: replay JSON, saved HTML or text."""
    policy: Annotated[str | None, optional("POLICY")] = None
    """A policy file: its observation is shown, and its probabilities for each choice."""
    belief_pool: Annotated[str | None, optional("DIR")] = None
    """The teams that the policy takes others' to come from; unless given, those that it learnt
    with. Without a policy no team is known."""
    usage: Annotated[Path | None, optional("FILE")] = None
    """Usage statistics to take others' teams from instead: a chaos JSON file, or what `lanista
    showdown usage` wrote."""
    seat: Annotated[int, number(1)] = 1
    """Whose view: 1 for p1, 2 for p2."""
    decision: Annotated[int | None, optional("N")] = None
    """Show this decision alone, counted from 1; all that can be read unless given."""
    observation: Annotated[int, number(2)] = 2
    """The version of the observation, where no policy says which."""
    top: Annotated[int, number(8)] = 8
    """How many choices are listed, likeliest first."""
    choices_only: Annotated[bool, switch()] = False
    """Leave the observation out and list the choices."""
    page: Annotated[Path | None, optional("FILE"), Writes(_page_kind)] = None
    """Write the battle turn by turn to this HTML file instead, with bars for the probabilities of
    both players' choices, also of those that did not show."""

    def run(self) -> int:
        """Print every decision, or write the page, and return 0."""
        from lanista.cli.showdown.judging import Judge

        if self.seat not in (1, 2):
            raise LanistaError(f"--seat is {self.seat}; give 1 or 2.")
        if self.choices_only and self.policy is None:
            raise LanistaError("--choices-only lists a policy's choices; name one with --policy.")
        if self.page is not None:
            return self._write_page(self.page)
        spec, battle = self._read((self.seat - 1,))
        rows = battle.rows
        shown = [row for row in rows if self.decision in (None, row.step + 1)]
        if not shown:
            raise LanistaError(self._nothing([row.step + 1 for row in rows]))
        judge = Judge(self.policy, spec) if self.policy else None
        for row in shown:
            self._show(spec, row, judge)
        return 0

    def _nothing(self, numbers: list[int]) -> str:
        """Return the sentence about a log without the decision that is to be shown."""
        if not numbers:
            return (
                f"{self.log} shows no decision of p{self.seat} that can be read; give another log, "
                f"or --seat {3 - self.seat}."
            )
        return (
            f"{self.log} shows no decision {self.decision} of p{self.seat} that can be read; it "
            f"shows {', '.join(map(str, numbers))}."
        )

    def _write_page(self, path: Path) -> int:
        from lanista.cli.common.paths import refuse_unwritable
        from lanista.cli.showdown.judging import Judge, page_of
        from lanista.files import write_text

        if self.policy is None:
            raise LanistaError("--page shows a policy's probabilities; name one with --policy.")
        refuse_unwritable("--page", path)
        spec, battle = self._read((0, 1), every=True)
        page = page_of(battle, spec, Judge(self.policy, spec), self.policy, self.top)
        write_text(path, page, _page_kind(self))
        print(f"{path}: {len(battle.rows)} decisions")
        return 0

    def _read(self, seats: tuple[int, ...], every: bool = False) -> tuple[Spec, Battle]:
        from lanista.games.showdown.formats import FORMATS, format_of_log
        from lanista.games.showdown.observation.description import OBSERVATIONS, describe
        from lanista.games.showdown.spectating.logs import LogError, find_logs, read_logs
        from lanista.games.showdown.spectating.rows import read_battle

        who = self._who()
        version = who.observation if who is not None else self.observation
        if version not in OBSERVATIONS:
            raise LanistaError(f"--observation is {version}; give 1 or 2.")
        files = find_logs([self.log])
        if len(files) != 1:
            raise LanistaError(f"{self.log} holds {len(files)} battle logs; give one of them.")
        _, log = next(read_logs(files[0]))
        if isinstance(log, LogError):
            raise LanistaError(f"{self.log} {log}")
        format = format_of_log(log.format)
        if format is None:
            raise LanistaError(
                f"{self.log} is of {log.format}, which is not played here; give a log of "
                f"{', '.join(FORMATS)}."
            )
        spec = describe(format, "mirror", "", "any", version)
        belief = self._belief(who, format)
        try:
            return spec, read_battle(log, format, spec, belief, seats, every=every)
        except LogError as problem:
            raise LanistaError(f"{self.log} {problem}") from problem

    def _who(self) -> Who | None:
        """Return whose view it is, where a policy is named."""
        if self.policy is None:
            for flag, value in (("--belief-pool", self.belief_pool), ("--usage", self.usage)):
                if value is not None:
                    raise LanistaError(f"{flag} is a policy's; name one with --policy.")
            return None
        from lanista.live.showdown.casting import who_is

        who = who_is(self.policy)
        who.refuse_usage(self.usage, self.belief_pool)
        return who

    def _belief(self, who: Who | None, format: Format) -> Belief | None:
        """Return what the policy takes for likely of others' teams, as when it plays."""
        if who is None or not format.brings_team:
            return None
        from lanista.games.showdown.sim.battles import Battles
        from lanista.live.showdown.casting import read_belief

        with Battles(1) as battles:
            pool = "" if self.usage else who.belief_pool(self.belief_pool)
            return read_belief(format, pool, battles, self.usage)

    def _show(self, spec: Spec, row: Row, judge: Judge | None) -> None:
        from lanista.cli.showdown.judging import chosen_of, foes_of
        from lanista.games.showdown.actions.order_words import choice_words
        from lanista.games.showdown.observation.words import observation_words

        print(f"decision {row.step + 1} of p{self.seat}")
        if not self.choices_only:
            for token in observation_words(spec.observation, row.observation):
                text = ", ".join(f"{name} {value}" for name, value in token.values)
                print(_wrapped(f"  {token.name}: ", text))
        chosen, foes = chosen_of(spec, row), foes_of(spec, row)
        if judge is None:
            if chosen is not None:
                print(f"  chosen: {choice_words(row.request, chosen, foes)}")
            return
        chances = judge.chances(row)
        for choice in sorted(chances, key=lambda one: -chances[one])[: self.top]:
            mark = "  <- chosen" if choice == chosen else ""
            print(f"  {chances[choice]:.3f}  {choice_words(row.request, choice, foes)}{mark}")
        rest = len(chances) - self.top
        if rest > 0 and chosen is not None:
            print(f"  {rest} more; the one chosen has {chances.get(chosen, 0.0):.3f}")


def _wrapped(head: str, text: str) -> str:
    import textwrap

    return textwrap.fill(text, _LINE, initial_indent=head, subsequent_indent="    ")
