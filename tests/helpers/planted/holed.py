"""Players of Beasty Bar with a hole: with three animals in the line they play their first legal
move.

Everywhere else they play as the policy file named here, which has to lie where the command is run.
"""

import numpy as np

from lanista.games import PythonBot
from lanista.games.streams import uniforms
from lanista.rollout.inference.policy_players import policy_player

POLICY = "twin.safetensors"


class Holed(PythonBot):
    name = "holed"
    doubt = 0.0
    """Share of the hole in which any legal move is played instead."""

    def __init__(self, spec, seed):
        super().__init__(spec, seed)
        self.twin = policy_player(POLICY, spec, seed)

    def hole(self, observation):
        """Say of each row whether its line holds three animals or more."""
        line = observation[:, self.spec.observation.slice_of("line species")]
        return (line > 0).sum(axis=1) >= 3

    def act(self, decisions, rows):
        actions = self.twin.act(decisions, rows)
        rows_in, mask = self.hole(decisions.observation[rows]), decisions.mask[rows]
        at = (decisions.match[rows], decisions.seat[rows], decisions.turn[rows])
        # The twin's own choice takes the first number of the stream.
        whether, which = uniforms(self.seed, *at, 3)[:, 1:].T
        nth = np.where(whether < self.doubt, which * mask.sum(axis=1), 0).astype(np.int64)
        first = (mask.cumsum(axis=1) > nth[:, None]).argmax(axis=1)
        actions[rows_in, 0] = first[rows_in]
        return actions


class Doubting(Holed):
    """One time in five anything: who imitates it can still learn otherwise."""

    name = "doubting"
    doubt = 0.2
