"""`lanista showdown encode`: what a policy sees of a battle, and what it would do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from lanista.cli.common.flags import number, optional, switch
from lanista.errors import LanistaError

if TYPE_CHECKING:
    from lanista.games.contract import Spec
    from lanista.games.showdown.formats import Format
    from lanista.games.showdown.protocol.belief import Belief
    from lanista.games.showdown.spectating.rows import Row
    from lanista.live.showdown.casting import Who

_LINE = 100


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

    def run(self) -> int:
        """Print every decision, and return 0."""
        if self.seat not in (1, 2):
            raise LanistaError(f"--seat is {self.seat}; give 1 or 2.")
        if self.choices_only and self.policy is None:
            raise LanistaError("--choices-only lists a policy's choices; name one with --policy.")
        spec, rows = self._read()
        shown = [row for row in rows if self.decision in (None, row.step + 1)]
        if not shown:
            raise LanistaError(self._nothing([row.step + 1 for row in rows]))
        judge = _Judge(self.policy, spec) if self.policy else None
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

    def _read(self) -> tuple[Spec, list[Row]]:
        from lanista.games.showdown.formats import FORMATS
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
        if log.format not in FORMATS:
            raise LanistaError(
                f"{self.log} is of {log.format}, which is not played here; give a log of "
                f"{', '.join(FORMATS)}."
            )
        format = FORMATS[log.format]
        spec = describe(format, "mirror", "", "any", version)
        belief = self._belief(who, format)
        try:
            return spec, read_battle(log, format, spec, belief, (self.seat - 1,)).rows
        except LogError as problem:
            raise LanistaError(f"{self.log} {problem}") from problem

    def _who(self) -> Who | None:
        """Return whose view it is, where a policy is named."""
        if self.policy is None:
            if self.belief_pool is not None:
                raise LanistaError("--belief-pool is a policy's; name one with --policy.")
            return None
        from lanista.live.showdown.casting import who_is

        return who_is(self.policy)

    def _belief(self, who: Who | None, format: Format) -> Belief | None:
        """Return what the policy takes for likely of others' teams, as when it plays."""
        if who is None or not format.brings_team:
            return None
        from lanista.games.showdown.sim.battles import Battles
        from lanista.live.showdown.casting import read_belief

        with Battles(1) as battles:
            return read_belief(format, who.belief_pool(self.belief_pool), battles)

    def _show(self, spec: Spec, row: Row, judge: _Judge | None) -> None:
        from lanista.games.showdown.actions.order_words import choice_words
        from lanista.games.showdown.observation.words import observation_words

        print(f"decision {row.step + 1} of p{self.seat}")
        if not self.choices_only:
            for token in observation_words(spec.observation, row.observation):
                text = ", ".join(f"{name} {value}" for name, value in token.values)
                print(_wrapped(f"  {token.name}: ", text))
        head = 0 if row.request.get("teamPreview") and len(spec.heads) > 1 else -1
        chosen, foes = row.action[head], _foes(spec, row)
        if judge is None:
            print(f"  chosen: {choice_words(row.request, chosen, foes)}")
            return
        chances = judge.chances(row, head)
        for choice in sorted(chances, key=lambda one: -chances[one])[: self.top]:
            mark = "  <- chosen" if choice == chosen else ""
            print(f"  {chances[choice]:.3f}  {choice_words(row.request, choice, foes)}{mark}")
        rest = len(chances) - self.top
        if rest > 0:
            print(f"  {rest} more; the one chosen has {chances.get(chosen, 0.0):.3f}")


class _Judge:
    """A policy that is asked for its probabilities."""

    def __init__(self, path: str, spec: Spec) -> None:
        from lanista.nets.policy_file import load_policy

        self.spec, self.policy = spec, load_policy(path, spec).policy
        if self.policy.state_size:
            raise LanistaError(
                f"{path} remembers earlier decisions, of which a log lacks some; leave --policy "
                f"out and give --observation {spec.facts.observation_version}."
            )

    def chances(self, row: Row, head: int) -> dict[int, float]:
        """Return the probability of every legal choice of the head that is asked."""
        import torch

        mask = torch.from_numpy(row.mask[None])
        with torch.no_grad():
            logits = self.policy(torch.from_numpy(row.observation[None]))
            log_probs: Any = self.policy.heads.log_probs(logits, mask)
        sizes = [one.size for one in self.spec.heads]
        start = 0 if head == 0 else sum(sizes[:-1])
        legal = row.mask[start : start + sizes[head]].nonzero()[0].tolist()
        return {choice: float(log_probs[0, start + choice].exp()) for choice in legal}


def _foes(spec: Spec, row: Row) -> list[str]:
    from lanista.games.showdown.observation.words import value_words

    first, places = ("foe.species", 0), 2 if spec.heads[-1].parts else 1
    if spec.facts.observation_version == 1:
        first = ("place.species", places)
    field = next(one for one in spec.observation.fields if one.name == first[0])
    numbers = row.observation[spec.observation.slice_of(first[0])].tolist()
    return [value_words(field, number) for number in numbers[first[1] : first[1] + places]]


def _wrapped(head: str, text: str) -> str:
    import textwrap

    return textwrap.fill(text, _LINE, initial_indent=head, subsequent_indent="    ")
