"""A small league's run folder, made by hand: tables as a run writes them, results from a seed."""

import json
from contextlib import closing

import numpy as np

from lanista.runs.database import RunDatabase
from lanista.runs.schema import MatchmakingRow

DIGEST = {name: f"{number:064x}" for number, name in enumerate(
    ("random", "aggressive", "imitation", "main/000010", "main/000020", "main@30", "hunter"), 1
)}  # fmt: skip
STRENGTH = {
    "random": -300, "aggressive": 0, "imitation": -50, "main/000010": 40, "main/000020": 90,
    "main@30": 140, "hunter": 60,
}  # fmt: skip
HUNT = {
    "victim": "main/000020", "victim_digest": DIGEST["main/000020"], "budget_decisions": 5000,
    "score": 0.61, "low": 0.57, "high": 0.65, "games": 400,
}  # fmt: skip
PLAYERS = [
    (0, "main", "", "learner", "self", "main", [], 1.0, {}),
    (0, "main_exploiter_1", "", "learner", "self", "main_exploiter", [], 1.0, {}),
    (0, "random", "", "bot", "bot", "", [], 1.0, {}),
    (0, "imitation", DIGEST["imitation"], "policy", "imitation", "", [], 1.0, {}),
    (10, "main/000010", DIGEST["main/000010"], "policy", "past", "main", ["imitation"], 1.0,
     {"learner": "main", "decisions": 1000, "iteration": 10}),
    (20, "main/000020", DIGEST["main/000020"], "policy", "past", "main", ["main/000010"], 1.0,
     {"learner": "main", "decisions": 2000, "iteration": 20}),
    (25, "hunter", DIGEST["hunter"], "policy", "exploiter", "exploiter", ["main/000020"], 2.0,
     HUNT),
]  # fmt: skip
POOL = ("imitation", "main/000010", "main/000020", "hunter", "random", "aggressive")


def expected(a, b):
    """Hunter beats the snapshot it was made for; all else follows the strengths."""
    if {a, b} == {"hunter", "main/000020"}:
        return 0.7 if a == "hunter" else 0.3
    return 1 / (1 + 10 ** ((STRENGTH[b] - STRENGTH[a]) / 400))


class Record:
    """Collects rows and writes them as the tables have them."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.lineups, self.matches = [], []

    def meet(self, update, a, b, deals, reason="pool", names=None):
        """Let two meet on some deals, in both seats; a twentieth of the matches are draws."""
        names = names or {}
        for first, second in ((a, b), (b, a)):
            number = len(self.lineups)
            who = [names.get(first, first), names.get(second, second)]
            digests = [DIGEST[first], DIGEST[second]]
            self.lineups.append(
                (update, number, reason, json.dumps(who), json.dumps(digests), 5, 1, 2)
            )
            p = expected(first, second)
            results = self.rng.choice(3, size=deals, p=[p * 0.95, 0.05, (1 - p) * 0.95])
            for deal, result in enumerate(results):
                places = [[1, 2], [1, 1], [2, 1]][result]
                returns = [[1.0, -1.0], [0.0, 0.0], [-1.0, 1.0]][result]
                self.add(update, number, deal, returns, places)

    def add(self, update, lineup, deal, returns, places, cut_off=0):
        """Record one match."""
        self.matches.append(
            (update, len(self.matches), lineup, deal, json.dumps(returns), json.dumps(places),
             cut_off)
        )  # fmt: skip


def fill(database, table, rows):
    """Insert rows whose columns are given in order, at once."""
    database.execute("BEGIN")
    for row in rows:
        marks = ", ".join("?" * len(row))
        database.execute(f"INSERT INTO {table} VALUES ({marks})", row)
    database.execute("COMMIT")


def make_league(folder, deals=40):
    """Write a run folder and return it."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("game: beastybar\nseed: 5\n")
    record = Record()
    for number, a in enumerate(POOL):
        for b in POOL[number + 1 :]:
            record.meet(25, a, b, deals)
    for b in POOL:
        record.meet(30, "main@30", b, deals, "evaluation", {"main@30": "main"})
    # One match of a unit is broken off, so its partner does not count either.
    update, match, lineup, deal, returns, places, _ = record.matches[-1]
    record.matches[-1] = (update, match, lineup, deal, returns, places, 1)
    with closing(RunDatabase(folder / "run.db")) as metrics:
        database = metrics.connection
        fill(database, "players", [(*p[:6], json.dumps(p[6]), p[7], json.dumps(p[8]))
                                   for p in PLAYERS])  # fmt: skip
        fill(database, "lineups", record.lineups)
        fill(database, "matches", record.matches)
        fill(database, "training_games", training_games())
        fill(database, "events", events())
        fill(database, "notices", [(30, "A sentence.")])
        fill(database, "metrics", numbers())
        metrics.add_rows(
            [
                MatchmakingRow(0, "main", "main", "self", 1.0),
                MatchmakingRow(20, "main", "main", "self", 0.25),
                MatchmakingRow(20, "main", "main/000010", "pfsp", 0.75),
            ]
        )
        metrics.flush()
    return folder


def training_games():
    learner, past = "learner:main", DIGEST["main/000010"]
    rows = [
        (["main", "main"], "self", [learner, learner], 60, [[33, 3, 24]]),
        (["main", "main/000010"], "pfsp", [learner, past], 20, [[11, 1, 8]]),
        (["main/000010", "main"], "pfsp", [past, learner], 20, [[5, 2, 13]]),
    ]
    return [
        (20, "main", json.dumps(seating), reason, json.dumps(digests), matches, json.dumps(pairs),
         "[1.0, -1.0]", 0, 99, 19)
        for seating, reason, digests, matches, pairs in rows
    ]  # fmt: skip


def events():
    return [
        (10, "snapshot", "main/000010", "{}"),
        (25, "exploiter_admitted", "hunter", json.dumps(HUNT)),
        (26, "exploiter_refused", "hunter_2", json.dumps({**HUNT, "score": 0.5, "low": 0.45})),
    ]


def numbers():
    rows = [(10, "policy/loss", -0.1), (20, "policy/loss", None), (30, "policy/loss", -0.2)]
    for learner, seconds in (("", 47.0), ("main/", 30.0), ("main_exploiter_1/", 12.0)):
        rows += [(30, f"{learner}cpu_seconds", seconds), (30, f"{learner}decisions", 1000.0)]
    return [*rows, (30, "exact/nash_conv", 0.25), (30, "win_rate/past", 0.6)]
