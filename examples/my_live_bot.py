"""A live bot for a small game of its own: from nothing to games that a learner ingests.

Rock, paper, scissors over nine rounds, against somebody whose face shows the next throw three times
out of four. Play, and then learn from what was played, again and again or at the same time:

    python my_live_bot.py --folder my-bot --games 400
    lanista learn --spool my-bot/spool --policy my-bot/policy --once
    lanista policy list my-bot/policy

See docs/guides/live.md for the calls and docs/guides/learner.md for the learner.
"""

import argparse
import random
import time
from pathlib import Path

from lanista.games.contract import Facts, Field, Head, Observation, Spec
from lanista.live import Agent
from lanista.live.files.policy_folder import PolicyFolder

THROWS = ("rock", "paper", "scissors")
ROUNDS = 9
SPEC = Spec(
    name="rock-paper-scissors",
    facts=Facts(seats=2, longest=ROUNDS),
    observation=Observation(
        (Field("face", classes=3), Field("lead", scale=ROUNDS), Field("left", scale=ROUNDS))
    ),
    heads=(Head("throw", 3, labels=THROWS),),
)
"""What the policy sees, number by number, and what it chooses."""


class Match:
    """One match against the somebody; in your bot this is the game that it plays."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lead = 0
        self.rounds_left = ROUNDS
        self.deal()

    def deal(self):
        self.coming = self.random.randrange(3)
        honest = self.random.random() < 0.75
        self.face = self.coming if honest else self.random.randrange(3)

    def observation(self):
        """Return the numbers that SPEC describes, in its order."""
        return [self.face, self.lead, self.rounds_left]

    def play(self, throw):
        """Play a round; return 1 if it was won, 0 if drawn, -1 if lost."""
        won = (0, 1, -1)[(throw - self.coming) % 3]
        self.lead += won
        self.rounds_left -= 1
        self.deal()
        return won

    def result(self):
        return (self.lead > 0) - (self.lead < 0)


def first_policy(folder):
    """Put a policy that knows nothing yet into a folder without one."""
    policies = PolicyFolder(folder)
    if policies.found() is not None:
        return
    import torch

    from lanista.nets.files.policy_file import policy_bytes
    from lanista.nets.policy import Policy
    from lanista.nets.settings import Network

    torch.manual_seed(0)
    policy = Policy(SPEC, Network("mlp", width=32, layers=2))
    policies.publish(policies.add(policy_bytes(policy, SPEC)), "the first policy")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("my-bot"))
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--session", default=time.strftime("%Y%m%d-%H%M%S"))
    options = parser.parse_args()
    first_policy(options.folder / "policy")
    agent = Agent(options.folder / "policy", options.folder / "spool", spec=SPEC)
    results = []
    for number in range(options.games):
        game_id = f"{options.session}-{number}"
        match = Match(game_id)  # A game's id says all about it, so it can be played again.
        with agent.game(game_id, opponent="somebody") as game:
            while match.rounds_left:
                won = match.play(game.act(match.observation()))
                game.reward(won / ROUNDS)  # A hint, small beside the result.
            game.end(match.result())
        results.append(match.result())
    report = agent.close()
    print(f"{results.count(1)} won, {results.count(0)} drawn, {results.count(-1)} lost")
    print(f"{report.games.written} games written; {report.games.problem or 'no problem'}")


if __name__ == "__main__":
    main()
