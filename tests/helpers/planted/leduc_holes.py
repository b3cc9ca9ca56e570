"""Players of Leduc poker with a hole each, who can also tell how they choose."""

import numpy as np

from lanista.games import PythonBot

FOLD, CALL, RAISE = 0, 1, 2


class Sound(PythonBot):
    """Raises a king or a pair four times in five, and anything else once in five; never folds."""

    name = "sound"

    def strong(self, observation):
        """Say of each row whether it holds a king or a pair."""
        rank = observation[:, self.spec.observation.slice_of("card")].argmax(1) // 2
        public = observation[:, self.spec.observation.slice_of("public card")]
        pair = public.any(1) & (public.argmax(1) // 2 == rank)
        return (rank == 2) | pair

    def probabilities(self, observation, mask):
        strong = self.strong(observation)[:, None]
        wanted = np.where(strong, [[0.0, 0.2, 0.8]], [[0.0, 0.8, 0.2]]) * mask
        return wanted / wanted.sum(1, keepdims=True)

    def act(self, decisions, rows):
        from lanista.games.streams import uniforms

        chance = self.probabilities(decisions.observation[rows], decisions.mask[rows])
        drawn = uniforms(
            self.seed, decisions.match[rows], decisions.seat[rows], decisions.turn[rows], 1
        )
        action = (chance.cumsum(1) <= drawn).sum(1)
        return np.minimum(action, RAISE)[:, None].astype(np.int32)


class Timid(Sound):
    """The hole: folds to every raise unless it is strong."""

    name = "timid"

    def probabilities(self, observation, mask):
        chance = super().probabilities(observation, mask)
        chance[mask[:, FOLD] & ~self.strong(observation)] = [1.0, 0.0, 0.0]
        return chance


class Reckless(Sound):
    """The hole: raises whenever it may."""

    name = "reckless"

    def probabilities(self, observation, mask):
        chance = super().probabilities(observation, mask)
        chance[mask[:, RAISE]] = [0.0, 0.0, 1.0]
        return chance
