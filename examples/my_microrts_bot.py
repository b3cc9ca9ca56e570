"""A live bot that plays MicroRTS against a bot of the engine, and leaves its games for a learner.

Start several in the background with the learner beside them; a policy folder begins with a policy
of MicroRTS (docs/guides/microrts.md):

    lanista policy publish rts/policy imitation.safetensors
    python my_microrts_bot.py --folder rts --opponent worker_rush --seconds 900
    lanista learn --spool rts/spool --policy rts/policy

See docs/guides/live.md for the calls and docs/guides/learner.md for the learner.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from lanista.games import make, make_bot
from lanista.live import Agent


def play(game, bot, seat, match, live):
    """Play one match to its end; the policy sits in `seat`, the bot in the other one."""
    game.start([0], [match])
    while len(decisions := game.decisions()):
        actions = np.zeros((len(decisions), len(game.spec.heads)), np.int32)
        for row, asked in enumerate(decisions.seat.tolist()):
            if asked == seat:
                # What has come since the last action belongs to it.
                live.reward(float(game.shaping[0, seat]))
                actions[row] = live.act(decisions.observation[row], decisions.mask[row])
            else:
                actions[row] = bot.act(decisions, np.array([row]))[0]
        game.act(np.arange(len(decisions)), actions)
    live.reward(float(game.shaping[0, seat]))
    live.end(float(game.returns[0, seat]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("rts"))
    parser.add_argument("--opponent", default="worker_rush")
    parser.add_argument("--longest", type=int, default=1000, help="ticks of a match")
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--session", default=time.strftime("%Y%m%d-%H%M%S"))
    options = parser.parse_args()
    game = make("microrts", slots=1, seed=0, longest=options.longest)
    bot = make_bot("microrts", options.opponent, game.spec, 0)
    folder, until, scores = options.folder, time.monotonic() + options.seconds, []
    with Agent(folder / "policy", folder / "spool", spec=game.spec) as agent:
        while not scores or time.monotonic() < until:
            number = len(scores)
            with agent.game(f"{options.session}-{number}", opponent=options.opponent) as live:
                play(game, bot, number % 2, number, live)
            scores.append((1 + float(game.returns[0, number % 2])) / 2)
        report = agent.close()
    print(f"{len(scores)} matches, score {np.mean(scores):.3f}")
    print(f"{report.games.written} games written; {report.games.problem or 'no problem'}")


if __name__ == "__main__":
    main()
