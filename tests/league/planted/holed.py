"""A player of Beasty Bar with a hole: three animals in the line, and it plays its first legal move.

Everywhere else it plays as the policy file named here, which has to lie where the command is run.
"""

from lanista.games import PythonBot
from lanista.rollout.players import policy_player

POLICY = "twin.safetensors"


class Holed(PythonBot):
    name = "holed"

    def __init__(self, spec, seed):
        super().__init__(spec, seed)
        self.twin = policy_player(POLICY, spec, seed)

    def act(self, decisions, rows):
        actions = self.twin.act(decisions, rows)
        line = decisions.observation[rows][:, self.spec.observation.slice_of("line species")]
        hole = (line > 0).sum(axis=1) >= 3
        actions[hole, 0] = decisions.mask[rows][hole].argmax(axis=1)
        return actions
