"""Simulated deployments: a stable policy and a candidate whose true scores are known.

`python tests/live/deployments.py 1000` prints the numbers of docs/explanation/gate.md.
"""

import heapq
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import product

import numpy as np

from lanista.live.promotion.gate import Decision, PairedTrial, Rule, Trial, Watch

SETTINGS = [
    (0.5, 0.0, 0.5), (0.5, 0.4, 0.5), (0.8, 0.1, 0.5), (0.9, 0.0, 0.5), (0.2, 0.0, 0.3),
    (0.5, 0.0, 0.1), (0.7, 0.2, 0.2), (0.05, 0.0, 0.5),
]  # fmt: skip
"""Score of the stable policy, share of draws, the candidate's share of the games."""
PAIRS = [("independent", 0.25, 0.0), ("luck of the deal", 0.1, 0.0), ("many draws", 0.1, 0.2)]
"""Equal policies: chances of both games won (as of both lost), and of one won and one drawn."""
GAINS = (0.0, 0.05, 0.1, 0.2, -0.05)


@dataclass(frozen=True)
class World:
    """What the two policies would score, in truth."""

    score: float = 0.5
    draws: float = 0.0
    share: float = 0.5
    gain: float = 0.0

    def games(self, rng, count):
        """Return who played and what came of it."""
        candidate = rng.random(count) < self.share
        luck, win = rng.random(count), self.score - self.draws / 2 + self.gain * candidate
        result = np.where(luck < win, 1.0, np.where(luck < win + self.draws, 0.5, 0.0))
        return candidate.tolist(), result.tolist()


def deploy(kind: type[Trial] | type[Watch], world: World, seed, rule: Rule) -> Decision:
    """Play until the test decides."""
    rng, test = np.random.default_rng(seed), kind(rule)
    while test.decision is None:
        test.extend(*world.games(rng, 256), world.share)
    return test.decision


def decisions(kind, world, count, rule=None, key=0):
    """Return the decisions of `count` deployments."""
    rule = rule or Rule()
    return [deploy(kind, world, [key, number], rule) for number in range(count)]


def paired_decisions(chances, count, rule=None, key=0):
    """Return the decisions of `count` paired trials; `chances` of the scores 0, ¼, ½, ¾, 1."""
    found = []
    for number in range(count):
        rng, test = np.random.default_rng([key, number]), PairedTrial(rule)
        while test.decision is None:
            test.extend(rng.choice([0, 0.25, 0.5, 0.75, 1], 256, p=chances).tolist())
        found.append(test.decision)
    return found


def table(count: int) -> None:
    """Print the numbers of docs/explanation/gate.md."""
    print("score draws share  gain | published  worse  given up   median    90 %")
    for score, draws, share in SETTINGS:
        for gain in GAINS:
            world = World(score, draws, share, gain)
            if not draws / 2 <= score + gain <= 1 - draws / 2:
                continue
            _print_row(f"{score:5} {draws:5} {share:5} {gain:5}", decisions(Trial, world, count))
        watched = decisions(Watch, World(score, draws, share), count, key=1)
        back = sum(decision.verdict == "roll_back" for decision in watched)
        print(f"{score:5} {draws:5} {share:5} watch | rolled back {back / count:.3f}", flush=True)


def paired_table(count: int) -> None:
    """Print the same for pairs of games on one deal."""
    for name, ends, middle in PAIRS:
        for gain in (0.0, 0.05, 0.1):
            if gain <= ends:
                level = 1 - 2 * ends - 2 * middle
                chances = [ends - gain, middle, level, middle, ends + gain]
                _print_row(f"{name:16} {gain:5}", paired_decisions(chances, count))


class Crowd:
    """Eight agents at once; equal policies, but the candidate loses fast and wins slowly."""

    def __init__(self, seed, by_end: bool) -> None:
        self.rng, self.by_end = np.random.default_rng(seed), by_end
        self.running, self.waiting = [], {}
        self.begun = self.handed_on = 0
        for _ in range(8):
            self._begin(0.0)

    def _begin(self, now):
        candidate, result = bool(self.rng.random() < 0.5), float(self.rng.random() < 0.5)
        length = (3 if result else 1) if candidate else 2
        end = now + length * self.rng.uniform(0.9, 1.1)
        heapq.heappush(self.running, (end, self.begun, candidate, result))
        self.begun += 1

    def games(self, count):
        """Return at least `count` more games in the order asked for."""
        found = []
        while len(found) < count:
            now, number, candidate, result = heapq.heappop(self.running)
            self._begin(now)
            self.waiting[self.handed_on if self.by_end else number] = (candidate, result)
            while self.handed_on in self.waiting:
                found.append(self.waiting.pop(self.handed_on))
                self.handed_on += 1
        return [candidate for candidate, _ in found], [result for _, result in found]


def crowd_table(count: int) -> None:
    """Print how often the order of ends misleads a trial and a watch."""
    for by_end, kind in product((True, False), (Trial, Watch)):
        wrong = 0
        for number in range(count):
            crowd, test = Crowd([5, number], by_end), kind()
            while test.decision is None:
                test.extend(*crowd.games(64), 0.5)
            wrong += test.decision.verdict in ("publish", "roll_back")
        order = "ends" if by_end else "beginnings"
        print(f"eight agents, order of {order}, {kind.kind}: wrong {wrong} of {count}", flush=True)


def _print_row(label, found):
    reasons = Counter(decision.reason for decision in found)
    rates = [reasons[name] / len(found) for name in ("better", "worse", "futile")]
    # Half of all deployments, and nine of ten, have ended by then, however they ended.
    median, late = np.quantile([decision.games for decision in found], [0.5, 0.9])
    numbers = "  ".join(f"{rate:8.3f}" for rate in rates)
    print(f"{label} | {numbers} {median:8.0f}{late:8.0f}", flush=True)


if __name__ == "__main__":
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    table(times)
    paired_table(times)
    crowd_table(times)
