"""Stands in for `lanista rl`: counts instead of learning, and saves after every update.

Ends well, fails (seed 13), or goes on until it is stopped (seed 99); an interrupt ends it with
130. Takes `--config`, `--output` and `--resume` as the real one does.
"""

import os
import signal
import sqlite3
import sys
import time
from pathlib import Path

import yaml

if "--attended" in sys.argv:
    from lanista.pipeline.experiment import leave_with_parent

    leave_with_parent()

words = sys.argv[sys.argv.index("rl") :]
settings = yaml.safe_load(Path(words[words.index("--config") + 1]).read_text())
output = Path(words[words.index("--output") + 1])
folder = output.parent / f"{output.name}.run"
if folder.exists() != ("--resume" in words):
    sys.exit("a run that is there must be resumed, and no other")
folder.mkdir(exist_ok=True)
with (folder / "starts").open("a") as starts:
    starts.write(f"{os.getpid()} {time.monotonic()}\n")

stopped: list[int] = []
signal.signal(signal.SIGINT, lambda number, frame: stopped.append(number))
database = sqlite3.connect(folder / "run.db", isolation_level=None)
database.execute("PRAGMA journal_mode=WAL")
database.execute(
    "CREATE TABLE IF NOT EXISTS metrics (update_number INTEGER, name TEXT, value REAL)"
)
(done,) = database.execute("SELECT coalesce(max(update_number), 0) FROM metrics").fetchone()
print(f"begins after update {done}", flush=True)
while done < settings["iterations"] or settings["seed"] == 99:
    done += 1
    values = {"decisions": 10.0 * done, "cpu_seconds": 0.1 * done}
    values["exact/nash_conv"] = settings["learning"]["lr"] + settings["seed"] / done
    rows = [(done, name, value) for name, value in values.items()]
    database.execute("BEGIN")
    database.executemany("INSERT INTO metrics VALUES (?, ?, ?)", rows)
    database.execute("COMMIT")
    if settings["seed"] == 13 and done == 2 and "--resume" not in words:
        print("The deck is not shuffled.\n\n", flush=True)
        sys.exit(1)
    if stopped:
        sys.exit(130)
    time.sleep(0.01 if settings["seed"] != 99 else 0.05)
output.write_text(f"{time.monotonic()}")
