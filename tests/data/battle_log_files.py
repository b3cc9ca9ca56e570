"""Battle logs of singles, made up line by line: as many as a test wants, no two alike."""

from __future__ import annotations

import json
from pathlib import Path

from lanista.games.streams import Stream

NAMES = ("Garchomp", "Rotom-Wash")
MOVES = (("Earthquake", "Dragon Claw", "Stone Edge", "Swords Dance"),
         ("Hydro Pump", "Volt Switch", "Will-O-Wisp", "Thunderbolt"))  # fmt: skip


def singles_log(number: int, turns: int = 6, rating: int = 1500) -> str:
    """Return a battle of turns in which both sides move; who is first wins."""
    stream, began = Stream.keyed(number, 0, 0, "chance"), 1_700_000_000 + 1000 * number
    lines = [
        *(f"|t:|{began}", "|gametype|singles", f"|player|p1|Ann|1|{rating}"),
        *("|player|p2|Bob|2|1300", "|teamsize|p1|6", "|teamsize|p2|6", "|gen|9"),
        *("|tier|[Gen 9] Random Battle", "|", f"|t:|{began + 1}", "|start"),
        *(f"|switch|p{at + 1}a: {name}|{name}, L80|100/100" for at, name in enumerate(NAMES)),
        "|turn|1",
    ]
    for turn in range(1, turns + 1):
        lines += ["|", f"|t:|{began + 1 + turn}"]
        for seat in (0, 1):
            # The second side always uses the same move, which is easy to imitate.
            move = MOVES[seat][stream.below(4) if seat == 0 else 0]
            lines.append(
                f"|move|p{seat + 1}a: {NAMES[seat]}|{move}|p{2 - seat}a: {NAMES[1 - seat]}"
            )
        lines += ["|", "|upkeep", f"|turn|{turn + 1}"]
    return "\n".join([*lines, "|", f"|c|Bob|game {number}", "|win|Ann"])


def write_logs(file: Path, count: int, **told: int) -> Path:
    """Write a `.jsonl` of battles."""
    rows = (
        {"id": f"battle-{number}", "log": singles_log(number, **told)} for number in range(count)
    )
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return file
