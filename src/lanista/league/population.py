"""The learners of a run and the players they meet: roster, payoff, and the rules of a round.

Everything but the learners themselves is a fold over the run's tables, so a resumed run has the
same roster and the same payoff. A run without a league is one main that meets fixed opponents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanista.errors import RefusedError
from lanista.evaluation.evaluator import EVALUATION, POOL
from lanista.games.bot_files import is_bot_file
from lanista.games.bots import Player
from lanista.league.matchmaking import Meeting, meetings
from lanista.league.meta_game import META_GAME, PSRO, MetaGame, meta_game
from lanista.league.payoff import Payoff
from lanista.league.roles import (
    candidates,
    lowest_bound,
    meant_to_beat,
    reset_target,
    snapshot_due,
)
from lanista.league.roster import Frozen, LivePlayer, outcomes
from lanista.nets.files.policy_file import load_policy, policy_bytes
from lanista.nets.files.policy_format import IMITATES, read_header
from lanista.runs.database import Values
from lanista.runs.folder import policy_path
from lanista.runs.league_settings import MAIN, League
from lanista.runs.players import is_bot, make_player
from lanista.runs.reader import RunTables
from lanista.runs.schema import (
    EventRow,
    LineupRow,
    MatchmakingRow,
    MatchRow,
    PlayerRow,
    R,
    TrainingGamesRow,
)
from lanista.runs.settings import SELF, Opponent, RunSettings

if TYPE_CHECKING:
    from lanista.training.loops import AnyLoop

IMITATION = "imitation"
"""What a learner is reset to that goes back to the policy which the run began from."""
EXPLOITER = "exploiter"
"""What the numbers of exploiters in runs of their own begin with."""
SPENT = ("decisions", "matches", "cpu_seconds", "wall_seconds")
"""What is counted over all learners of a run, and its exploiters."""


class Population:
    """All that a run carries on, besides its folder."""

    def __init__(
        self, settings: RunSettings, folder: Path, learner_loop: Callable[..., AnyLoop]
    ) -> None:
        self.settings, self.folder, self.league = settings, folder, settings.league
        self.roles = self.league.learners if self.league else {MAIN: "main"}
        self.trainings = {
            name: learner_loop(settings, folder, self.find, name=name, number=number)
            for number, name in enumerate(self.roles)
        }
        self.spec = self.main.spec
        self.roster: dict[str, PlayerRow] = {}
        self.snapshot_at = dict.fromkeys(self.roles, 0)
        """By learner: its decisions at its last snapshot."""
        self.snapshot_iteration = dict.fromkeys(self.roles, 0)
        """By learner: the iterations before its last snapshot."""
        self.resets = dict.fromkeys(self.roles, 0)
        self.parents: dict[str, tuple[str, ...]] = {}
        """By learner: what it comes from, its last snapshot or what it was reset to."""
        self.payoffs = {life: Payoff(life) for life in {self._half_life(r) for r in self.roles}}
        self.evaluated = Payoff()
        """Of each learner, its last evaluation alone."""
        self.pool_pairs: set[frozenset[str]] = set()
        """Frozen players who were played against each other for a payoff matrix."""
        self.exploited = 0
        """Exploiters that were tested, in runs of their own."""
        self.spent = dict.fromkeys(SPENT, 0.0) if self.league else {}
        """On exploiters in runs of their own, and on matches among frozen players."""
        self.in_force: dict[str, list[MatchmakingRow]] = {}
        """By learner: the rows of the record that its opponents are drawn from."""

    def close(self) -> None:
        """End whatever the learners' games started outside this process."""
        for training in self.trainings.values():
            training.close()

    @property
    def main(self) -> AnyLoop:
        return next(iter(self.trainings.values()))

    @property
    def mains(self) -> list[AnyLoop]:
        return [self.trainings[name] for name, role in self.roles.items() if role == "main"]

    @property
    def next_victim(self) -> AnyLoop:
        """The main that the next exploiter is trained against: each has its turn."""
        return self.mains[self.exploited % len(self.mains)]

    @property
    def iteration(self) -> int:
        return self.main.iteration

    @property
    def update(self) -> int:
        """Updates of each learner so far, those before a reset included."""
        return self.iteration * self.settings.learner_updates

    def _half_life(self, learner: str) -> float:
        if self.league is None:
            return float("inf")
        return self.league.rules(self.roles[learner]).matchmaking.half_life or float("inf")

    # The roster.

    def first_rows(self) -> list[PlayerRow]:
        """Return the players that a run begins with."""
        settings, rows = self.settings, []
        weights = {opponent.player: opponent.weight for opponent in settings.rollouts.opponents}
        own = weights.get(SELF, 1.0 if self.league else 0.0)
        for name, role in self.roles.items():
            rows.append(PlayerRow(0, name, "", "learner", "self", role, weight=own))
        start = settings.supervised_digest
        for opponent in settings.rollouts.opponents:
            if opponent.player == SELF:
                continue
            rows.append(self._opponent(opponent))
        if self.league and start and start not in [row.digest for row in rows]:
            category = self._file_category(start)
            rows.append(PlayerRow(0, category, start, "policy", category))
        return rows

    def _opponent(self, opponent: Opponent) -> PlayerRow:
        word, digest = opponent.player, opponent.digest
        if not digest:
            digest = self._make(word, "").digest
            return PlayerRow(0, word, digest, "bot", "bot", weight=opponent.weight)
        if is_bot_file(word):
            return PlayerRow(0, word, digest, "bot", "bot", weight=opponent.weight)
        return PlayerRow(
            0, word, digest, "policy", self._file_category(digest), weight=opponent.weight
        )

    def _file_category(self, digest: str) -> str:
        """Return the category of a policy from a file: a clone, what the run begins from, or past.

        That is its name too, where it stands in the pool for what the run begins from.
        """
        if IMITATES in read_header(policy_path(self.folder, digest)).extra:
            return "imitation"
        return "start" if digest == self.settings.supervised_digest else "past"

    def _make(self, word: str, digest: str, device: str = "cpu") -> Player:
        arguments = (self.settings, word, digest, self.spec, self.folder, self.settings.seed)
        return make_player(*arguments, device=device)

    def enter(self, rows: Iterable[PlayerRow]) -> None:
        """Take players that stand in the record into the roster."""
        for row in rows:
            self.roster[row.name] = row
            if "learner" in row.body:
                self.snapshot_at[row.body["learner"]] = int(row.body["decisions"])
                self.snapshot_iteration[row.body["learner"]] = int(row.body["iteration"])
                self.parents[row.body["learner"]] = (row.name,)

    def find(self, name: str, device: str = "cpu") -> Player:
        """Return a player of the roster, ready to sit down.

        Those that others are measured by stay on the CPU, where matches can be played again.
        """
        row = self.roster[name]
        if row.kind == "learner":
            return LivePlayer(self.trainings[name])
        if not is_bot(self.settings.game, name):
            return self._make(name, row.digest, device)
        bot = self._make(name, "")
        if bot.digest != row.digest:
            raise RefusedError(
                f"The bot {name} that the run met has the digest {row.digest[:12]}, and the one "
                f"here {bot.digest[:12]}; use the program that the run was begun with."
            )
        return bot

    def pool(self, most: int) -> list[tuple[str, Player]]:
        """Return frozen players of the league to measure by: exploiters first, then the newest."""
        if self.league is None:
            return []
        rows = [row for row in self.roster.values() if row.kind == "policy"]
        rows.sort(key=lambda row: (row.category != "exploiter", -row.update))
        return [(row.name, self.find(row.name)) for row in rows[:most]]

    # Matchmaking.

    @property
    def newly_evaluated(self) -> bool:
        """Whether mains were just evaluated, and some opponent mix goes by that."""
        every, iteration = self.settings.evaluation.every, self.iteration
        if self.league is None or not every or not iteration or iteration % every:
            return False
        return any(self._follows_evaluations(learner) for learner in self.roles)

    def _follows_evaluations(self, learner: str) -> bool:
        assert self.league is not None
        return self.league.rules(self.roles[learner]).matchmaking.follows_evaluations

    def matchmake(self, *, evaluated: bool = False) -> list[MatchmakingRow]:
        """Return each learner's opponent mix from the coming update on, for the record.

        `evaluated`: only those change that go by evaluations; the others stay as they are.
        """
        rows: list[MatchmakingRow] = []
        for learner in self.roles:
            if evaluated and not self._follows_evaluations(learner):
                old = self.in_force[learner]
                chosen = [(row.opponent, row.reason, row.weight) for row in old]
            elif self.league is None:
                chosen = self._fixed()
            else:
                chosen = self._chosen(self.league, learner)
            rows += [MatchmakingRow(self.update + 1, learner, *meeting) for meeting in chosen]
        # As the table has them: draws depend on the order.
        return sorted(rows, key=lambda row: row.key)

    def _fixed(self) -> list[tuple[str, str, float]]:
        weights = {
            MAIN if opponent.player == SELF else opponent.player: opponent.weight
            for opponent in self.settings.rollouts.opponents
        }
        return [(name, "fixed", weight / sum(weights.values())) for name, weight in weights.items()]

    def _chosen(self, league: League, learner: str) -> list[tuple[str, str, float]]:
        role = self.roles[learner]
        rules = league.rules(role).matchmaking
        opponents = candidates(role, learner, list(self.roster.values()), league.past_members)
        previous: dict[str, float] = {}
        for row in self.in_force.get(learner, []):
            category = self.roster[row.opponent].category
            previous[category] = previous.get(category, 0.0) + row.weight
        payoff = self.payoffs[self._half_life(learner)]
        if rules.follows_evaluations:
            payoff = payoff.preferring(self.evaluated)
        return [
            (meeting.opponent, meeting.reason, meeting.weight)
            for meeting in meetings(rules, learner, opponents, payoff, previous)
        ]

    def _frozen(self, league: League, learner: str) -> list[str]:
        """Return the frozen players that a learner may meet."""
        role, roster = self.roles[learner], list(self.roster.values())
        opponents = candidates(role, learner, roster, league.past_members)
        return [one.name for one in opponents if one.category != "self"]

    def missing_pairs(self) -> list[tuple[str, list[str], int]]:
        """Return frozen players who must play others before a payoff matrix is solved.

        Each comes with those it has not met, and with how many games each pair plays.
        """
        missing: list[tuple[str, list[str], int]] = []
        planned = set(self.pool_pairs)
        for learner, role in self.roles.items():
            rules = self.league.rules(role).matchmaking if self.league else None
            if rules is None or rules.kind != PSRO or not rules.pair_games:
                continue
            assert self.league is not None
            frozen = self._frozen(self.league, learner)
            for number, name in enumerate(frozen):
                others = [one for one in frozen[:number] if frozenset((one, name)) not in planned]
                planned |= {frozenset((one, name)) for one in others}
                if others:
                    missing.append((name, others, rules.pair_games))
        return missing

    def meta_game(self) -> MetaGame | None:
        """Return the payoff matrix of those that the main may meet, where it goes by that."""
        learner = self.main.name
        if self.league is None:
            return None
        rules = self.league.rules(self.roles[learner]).matchmaking
        frozen = self._frozen(self.league, learner)
        if rules.kind != PSRO or not frozen:
            return None
        return meta_game(rules, frozen, self.payoffs[self._half_life(learner)])

    def meet(self, rows: Sequence[MatchmakingRow]) -> None:
        """Let every learner draw its opponents from these rows of the record."""
        for learner, training in self.trainings.items():
            self.in_force[learner] = [row for row in rows if row.learner == learner]
            training.meet(
                [
                    Meeting(
                        row.opponent, row.weight, row.reason, self._category(learner, row.opponent)
                    )
                    for row in self.in_force[learner]
                ]
            )

    def _category(self, learner: str, opponent: str) -> str:
        """Return what an opponent counts as in a learner's numbers: another learner is a main."""
        row = self.roster[opponent]
        return "main" if row.kind == "learner" and opponent != learner else row.category

    # An iteration.

    def iterate(self) -> Iterator[tuple[int, Values]]:
        """Let every learner make experience and learn; give the number and log of each update.

        Names of the first main stand alone, others' begin with the learner. What was spent is
        counted over all of them, and for a league by learner too.
        """
        first = self.update
        logs: dict[int, Values] = {}
        resting = {learner for learner in self.roles if self._rests(learner)}
        for learner, training in self.trainings.items():
            updates = training.rest() if learner in resting else training.iterate()
            for number, (_, values) in enumerate(updates, start=first + 1):
                log = logs.setdefault(number, dict(self.spent))
                for name, value in values.items():
                    if name in SPENT:
                        log[name] = log.get(name, 0.0) + value
                    if training is not self.main or (name in SPENT and self.league is not None):
                        log[f"{learner}/{name}"] = value
                    elif name not in SPENT:
                        log[name] = value
        yield from logs.items()

    def _rests(self, learner: str) -> bool:
        """Return whether a learner leaves the coming iteration to the others."""
        if self.league is None:
            return False
        return bool(self.iteration % (self.league.rules(self.roles[learner]).every or 1))

    def games(self) -> list[TrainingGamesRow]:
        """Return this iteration's training games, in the order of the record."""
        trainings = self.trainings.values()
        rows = [row for training in trainings for row in training.games(self.update)]
        return sorted(rows, key=lambda row: row.key)

    def notices(self) -> list[str]:
        """Return what the user should know of those who play, each sentence once."""
        return [sentence for training in self.trainings.values() for sentence in training.notices()]

    def spend(self, values: Mapping[str, float]) -> None:
        """Count what an exploiter took, or matches among frozen players."""
        for name in SPENT:
            for whose in (EXPLOITER, META_GAME):
                self.spent[name] += values.get(f"{whose}/{name}", 0.0)

    def weights(self) -> Values:
        """Return how often each learner meets each category, as it stands in the record."""
        values: Values = {}
        for learner, rows in self.in_force.items():
            prefix = "" if self.trainings[learner] is self.main else f"{learner}/"
            for row in rows:
                name = f"{prefix}matchmaking/{self._category(learner, row.opponent)}"
                values[name] = values.get(name, 0.0) + row.weight
        return values

    def count(
        self,
        games: Sequence[TrainingGamesRow],
        lineups: Sequence[LineupRow],
        matches: Sequence[MatchRow],
    ) -> None:
        """Add the outcomes of an iteration's games."""
        judged = [row for row in lineups if row.reason in (EVALUATION, POOL)]
        for learner in {name for row in judged for name in row.names if name in self.roles}:
            self.evaluated.forget(learner)
        for outcome in outcomes([], judged, matches):
            self.evaluated.add(outcome)
        self.pool_pairs |= {frozenset(row.names) for row in lineups if row.reason == META_GAME}
        for outcome in outcomes(games, lineups, matches):
            for payoff in self.payoffs.values():
                payoff.add(outcome)

    # The end of a round.

    def snapshots(self) -> list[tuple[Frozen, str]]:
        """Return the policies that are to join the roster now, each with the reason."""
        due: list[tuple[Frozen, str]] = []
        if self.league is None:
            return due
        for learner, training in self.trainings.items():
            rules = self.league.rules(self.roles[learner])
            since = training.decisions - self.snapshot_at[learner]
            share = (self.iteration - self.snapshot_iteration[learner]) / self.settings.iterations
            low = self._score_low(self.league, learner)
            reason = snapshot_due(rules, since, low, share)
            if reason:
                due.append((self.frozen(training), reason))
        return due

    def frozen(self, training: AnyLoop) -> Frozen:
        """Return a learner as it now is, to be kept from the coming update on."""
        learner, role = training.name, self.roles[training.name]
        name = f"{learner}/{self.iteration:06d}"
        data, digest = self.file_of(training)
        category = "past" if role == "main" else "exploiter"
        parents = self.parents.get(learner, self._start())
        body = {"learner": learner, "decisions": training.decisions, "iteration": self.iteration}
        row = PlayerRow(self.update + 1, name, digest, "policy", category, role, parents, body=body)
        return Frozen(row, data)

    def file_of(self, training: AnyLoop) -> tuple[bytes, str]:
        """Return the policy file of a learner as it is evaluated, and its digest."""
        data = policy_bytes(training.learner.best, self.spec, step=self.update)
        return data, hashlib.sha256(data).hexdigest()

    def _start(self) -> tuple[str, ...]:
        """Return the name of the policy that the run began from, where it has one."""
        digest = self.settings.supervised_digest
        names = [row.name for row in self.roster.values() if digest and row.digest == digest]
        return tuple(names[:1])

    def _score_low(self, league: League, learner: str) -> float | None:
        role = self.roles[learner]
        opponents = candidates(role, learner, list(self.roster.values()), league.past_members)
        payoff = self.payoffs[self._half_life(learner)]
        return lowest_bound(learner, meant_to_beat(role, opponents), payoff)

    def reset_after(self, learner: str) -> str | None:
        """Return what a learner is reset to after its snapshot; None: no reset."""
        assert self.league is not None
        past = [
            row.name
            for row in self.roster.values()
            if row.category == "past" and row.role == "main"
        ]
        return reset_target(
            self.league.rules(self.roles[learner]), self.settings.seed, self.update, learner, past,
            bool(self.settings.supervised_digest),
        )  # fmt: skip

    def reset(self, learner: str, target: str) -> None:
        """Reset a learner, as the record has it."""
        training = self.trainings[learner]
        self._begun_anew(learner, target)
        self._forget(learner)
        start = None
        if target == IMITATION:
            start = training.anchor
        elif target != "scratch":
            start = load_policy(policy_path(self.folder, self.roster[target].digest)).policy
        training.reset(start, self.resets[learner])

    def _begun_anew(self, learner: str, target: str) -> None:
        self.resets[learner] += 1
        self.parents[learner] = (target,) if target in self.roster else ()
        if target == IMITATION:
            self.parents[learner] = self._start()

    def _forget(self, learner: str) -> None:
        """Drop what was counted of a learner, whose results say nothing of what it is now."""
        for payoff in (*self.payoffs.values(), self.evaluated):
            payoff.forget(learner)

    # What a checkpoint holds, and what the tables do.

    def state(self) -> dict[str, Any]:
        """Return everything the run depends on that its tables do not hold."""
        return {name: training.state() for name, training in self.trainings.items()}

    def rested_state(self) -> dict[str, Any] | None:
        """Return the state after the last complete iteration when the next one failed.

        None where a learner has learnt from what the next one brought.
        """
        if len({training.iteration for training in self.trainings.values()}) > 1:
            return None
        states = {name: training.rested_state() for name, training in self.trainings.items()}
        return None if None in states.values() else states

    def load(self, state: Mapping[str, Any], metrics: RunTables) -> None:
        """Restore what `state` gave, and the rest from the tables."""
        events = metrics.rows(EventRow)
        resets = _by_update([row for row in events if row.kind == "reset"])
        self.exploited = sum(row.kind.startswith(f"{EXPLOITER}_") for row in events)
        for row in metrics.rows(PlayerRow):
            self.enter([row])
            # A learner is reset right after a snapshot of it.
            for reset in resets.get(row.update, ()):
                if row.name.startswith(f"{reset.player}/"):
                    self._begun_anew(reset.player, reset.body["to"])
        self._fold(metrics, resets)
        if self.league:
            names = [f"{whose}/{name}" for whose in (EXPLOITER, META_GAME) for name in SPENT]
            for number in metrics.metric(*names):
                self.spend({number.name: number.value or 0.0})
        recorded = metrics.newest_matchmaking()
        if recorded:
            self.meet(recorded)  # Whoever remembers a match in flight must sit before it is loaded.
        for name, training in self.trainings.items():
            training.load_state(state[name])
        if recorded:
            self.meet(recorded)

    def _fold(self, metrics: RunTables, resets: Mapping[int, Sequence[EventRow]]) -> None:
        games = _by_update(metrics.rows(TrainingGamesRow))
        lineups = _by_update(metrics.rows(LineupRow))
        matches = _by_update(metrics.rows(MatchRow))
        for update in sorted({*games, *lineups, *resets}):
            # Learners are reset, exploiters tested and frozen players played before the iteration
            # whose update their rows carry.
            for reset in resets.get(update, ()):
                self._forget(reset.player)
            before = (EXPLOITER, META_GAME)
            tests = [row for row in lineups.get(update, []) if row.reason in before]
            rest = [row for row in lineups.get(update, []) if row.reason not in before]
            self.count([], tests, matches.get(update, []))
            self.count(games.get(update, []), rest, matches.get(update, []))


def _by_update(rows: Iterable[R]) -> dict[int, list[R]]:
    rows_by_update: dict[int, list[R]] = {}
    for row in rows:
        rows_by_update.setdefault(row.update, []).append(row)
    return rows_by_update
