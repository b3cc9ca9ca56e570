"""The other program's side: its own Python, its own packages, its own checkpoint.

It needs nothing of lanista. It reads a line of JSON and answers with one: first the game, then
decisions. Put your own network where `choose` is: load it once, with your own code, at the top.
examples/foreign_bot.py starts it.
"""

import json
import sys


def choose(observation, legal):
    """Return an action for each head; here the last one that is legal."""
    return [choices[-1] for choices in legal]


about = json.loads(sys.stdin.readline())
print(json.dumps({"ready": about["game"]}), flush=True)
for line in sys.stdin:
    decisions = json.loads(line)["decisions"]
    actions = [choose(one["observation"], one["legal"]) for one in decisions]
    print(json.dumps({"actions": actions}), flush=True)
