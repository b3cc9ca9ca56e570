"""What a policy makes of the decisions of a battle log: probabilities, choices in words, a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lanista.errors import LanistaError

if TYPE_CHECKING:
    from lanista.games.contract import Spec
    from lanista.games.showdown.spectating.rows import Battle, Row
    from lanista.report.pages.battle_page import Judged


PREVIEW = "Team preview"


class Judge:
    """A policy that is asked for its probabilities."""

    def __init__(self, path: str, spec: Spec) -> None:
        from lanista.nets.files.policy_file import load_policy

        self.spec, self.policy = spec, load_policy(path, spec).policy
        if self.policy.state_size:
            raise LanistaError(
                f"{path} remembers earlier decisions, of which a log lacks some; leave --policy "
                f"out and give --observation {spec.facts.observation_version}."
            )

    def chances(self, row: Row) -> dict[int, float]:
        """Return the probability of every legal choice of the head that is asked."""
        import torch

        head = asked_head(self.spec, row)
        mask = torch.from_numpy(row.mask[None])
        with torch.no_grad():
            logits = self.policy(torch.from_numpy(row.observation[None]))
            log_probs: Any = self.policy.heads.log_probs(logits, mask)
        sizes = [one.size for one in self.spec.heads]
        start = 0 if head == 0 else sum(sizes[:-1])
        legal = row.mask[start : start + sizes[head]].nonzero()[0].tolist()
        return {choice: float(log_probs[0, start + choice].exp()) for choice in legal}


def asked_head(spec: Spec, row: Row) -> int:
    """Return which head a decision asks: the first at team preview, otherwise the last."""
    return 0 if row.request.get("teamPreview") and len(spec.heads) > 1 else -1


def chosen_of(spec: Spec, row: Row) -> int | None:
    """Return what was chosen in the head that is asked; None where it did not show."""
    return row.action[asked_head(spec, row)] if row.action else None


def foes_of(spec: Spec, row: Row) -> list[str]:
    """Return the opponent's Pokémon on the field, by place."""
    from lanista.games.showdown.observation.words import value_words

    first, places = ("foe.species", 0), 2 if spec.heads[-1].parts else 1
    if spec.facts.observation_version == 1:
        first = ("place.species", places)
    field = next(one for one in spec.observation.fields if one.name == first[0])
    numbers = row.observation[spec.observation.slice_of(first[0])].tolist()
    return [value_words(field, number) for number in numbers[first[1] : first[1] + places]]


def page_of(battle: Battle, spec: Spec, judge: Judge, policy: str, top: int) -> str:
    """Return a battle with the policy's probabilities as a page."""
    from lanista.games.showdown.log_words import SIDE_NAMES, line_words
    from lanista.games.showdown.spectating.logs import TIE
    from lanista.report.pages.battle_page import Step, battle_page

    log = battle.log
    steps, turn = [], ""
    for number, lines in enumerate(battle.segments):
        begun = _turn(lines)
        title = f"Before turn {begun}" if begun else f"Within turn {turn}"
        turn = begun or turn
        rows = [row for row in battle.rows if row.decision.segment == number]
        decisions = [_judged(spec, judge, row, log.players[row.seat]) for row in rows]
        sentences = [line_words(line, SIDE_NAMES) for line in lines]
        words = [sentence for sentence in sentences if sentence]
        if decisions or words:
            steps.append(Step(f"{number + 1}. {title if turn else PREVIEW}", words, decisions))
    facts = [
        ("format", log.format),
        ("p1", log.players[0]),
        ("p2", log.players[1]),
        ("winner", "nobody" if log.winner == TIE else log.players[log.winner]),
        ("policy", policy),
        ("team sheets", "open" if battle.open_sheets else "closed"),
    ]
    return battle_page(f"{log.players[0]} – {log.players[1]}: {log.name}", facts, steps, top)


def _turn(lines: Sequence[str]) -> str:
    """Return the turn whose choices come after these lines; "" where none begins."""
    numbers = [line.split("|")[2] for line in lines if line.startswith("|turn|")]
    return numbers[-1] if numbers else ""


def _judged(spec: Spec, judge: Judge, row: Row, player: str) -> Judged:
    from lanista.games.showdown.actions.order_words import choice_words
    from lanista.report.pages.battle_page import Choice, Judged

    chances, chosen, foes = judge.chances(row), chosen_of(spec, row), foes_of(spec, row)
    choices = [
        Choice(choice_words(row.request, choice, foes), chances[choice], choice == chosen)
        for choice in sorted(chances, key=lambda one: -chances[one])
    ]
    return Judged(f"{player} (p{row.seat + 1})", row.step + 1, choices)
