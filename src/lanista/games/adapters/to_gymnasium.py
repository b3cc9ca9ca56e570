"""Offers one seat of our games as a Gymnasium environment; bots play the other seats.

An episode is a whole match, also when the seat is out before its end. The legal mask is in
`info["action_mask"]` and in `action_masks()`, flat, one head after another, as sb3-contrib's
MaskablePPO takes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.games import registry
from lanista.games.adapters import ENVIRONMENTS, missing_extra, spaces
from lanista.games.bots import Player, legal_choices
from lanista.games.contract import Decisions, GameError
from lanista.games.streams import Stream

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise missing_extra("Gymnasium", ENVIRONMENTS) from error

ILLEGAL = ("random", "refuse")
MOST_SKIPPED = 1000
"""How many matches that end before the seat is asked are passed over at a reset."""


class SeatEnv(gymnasium.Env):  # type: ignore[misc]
    """One seat of a game against a bot in all other seats.

    `seat=None` takes the seats in turn, each on the same deals. `opponent` is a bot's name or a
    player. `reset(seed=...)` makes a new game and bot with that seed, `reset()` plays the next
    match.

    Gymnasium's action spaces cannot say what is legal, and its own checker plays anything. So an
    illegal choice is, unless `illegal="refuse"`, replaced by a legal one drawn evenly; it is
    counted in `illegal_choices` and told by `info["illegal"]`. Ending the match at a fixed penalty
    instead would let an agent buy itself out of a larger loss.
    """

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012 - as gymnasium.Env declares it

    def __init__(
        self,
        game: str,
        opponent: str | Player = "random",
        seat: int | None = 0,
        *,
        seed: int = 0,
        illegal: str = "random",
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        if illegal not in ILLEGAL:
            raise GameError(f"illegal is {illegal!r}; choose from {', '.join(ILLEGAL)}.")
        self._name, self._opponent, self._settings = game, opponent, settings
        self._fixed_seat, self._illegal, self.render_mode = seat, illegal, render_mode
        self._make(seed)
        spec = self.game.spec
        if seat is not None and not 0 <= seat < spec.seats:
            raise GameError(f"seat is {seat}; {spec.name} has seats 0 to {spec.seats - 1}.")
        self.observation_space = spaces.observation_space(spec.observation)
        self.action_space = spaces.action_space(spec.heads)
        self.seat = seat or 0
        self.illegal_choices = 0
        self._observation = np.zeros(spec.observation.length, spec.observation.dtype)
        self._mask = np.zeros(spec.choices, np.bool_)
        self._over = True

    def _make(self, seed: int) -> None:
        self.game = registry.make(self._name, slots=1, seed=seed, **self._settings)
        self._match = -1
        self._bot = self._opponent
        if isinstance(self._bot, str):
            self._bot = registry.make_bot(self._name, self._bot, self.game.spec, seed)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begin a match; return what the seat sees at its first decision.

        A match that ends before the seat is asked is passed over.
        """
        super().reset(seed=seed)
        if seed is not None:
            self.game.close()
            self._make(seed)
        for _ in range(MOST_SKIPPED):
            self._begin()
            if not self._over:
                return self._observation.copy(), self._info(False)
        raise GameError(f"Seat {self.seat} of {self._name} is never asked for a decision.")

    def _begin(self) -> None:
        self._match += 1
        deal = self._match
        if self._fixed_seat is None:
            deal, self.seat = divmod(self._match, self.game.spec.seats)
        self.game.start([0], [self._match], {"deal": deal} if self._seedable else None)
        self._observation = np.zeros_like(self._observation)
        self._over = False
        self._play_others()

    @property
    def _seedable(self) -> bool:
        return self.game.spec.abilities.seedable

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Play one decision of the seat, and the others up to its next."""
        if self._over:
            raise GameError(f"The match of {self._name} is over; reset the environment.")
        choice = np.asarray(action).reshape(-1).copy()
        fits = choice.dtype.kind in "iu" and len(choice) == len(self.game.spec.heads)
        illegal = fits and self._illegal == "random" and self._make_legal(choice)
        self.game.act([self._row], choice)
        self._play_others()
        reward = float(self.game.reward[0, self.seat])
        cut = self._over and bool(self.game.cut_off[0, self.seat])
        return self._observation.copy(), reward, self._over and not cut, cut, self._info(illegal)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which choices are legal now, all heads one after another."""
        return self._mask.copy()

    def render(self) -> str | None:
        """Return a picture of the match, if made with render_mode="ansi"."""
        return self.game.draw(0) if self.render_mode == "ansi" else None

    def close(self) -> None:
        """End whatever the game started outside this process."""
        self.game.close()

    def _play_others(self) -> None:
        """Let the bot answer until the seat is asked or the match is over."""
        while True:
            decisions = self.game.decisions()
            own = np.flatnonzero(decisions.seat == self.seat)
            if len(own) == 1 and len(decisions) == 1:
                self._look(decisions, int(own[0]))
                return
            if len(own) == 0 and len(decisions) == 0:
                self._over = True
                self._mask = np.zeros_like(self._mask)
                return
            others = np.flatnonzero(decisions.seat != self.seat)
            assert not isinstance(self._bot, str)
            self.game.act(others, self._bot.act(decisions, others))

    def _look(self, decisions: Decisions, row: int) -> None:
        self._row, self._turn = row, int(decisions.turn[row])
        self._observation = decisions.observation[row].copy()
        self._mask = decisions.mask[row].copy()

    def _make_legal(self, choice: NDArray[Any]) -> bool:
        """Replace what is illegal in `choice`, in place; say whether anything was."""
        legal = legal_choices(self.game.spec, self._mask)
        wrong = [head for head, allowed in enumerate(legal) if int(choice[head]) not in allowed]
        stream = Stream.keyed(self.game.seed, self._match, self.seat, "act", self._turn)
        for head in wrong:
            choice[head] = stream.choice(legal[head])
        self.illegal_choices += bool(wrong)
        return bool(wrong)

    def _info(self, illegal: bool) -> dict[str, Any]:
        info: dict[str, Any] = {
            spaces.MASK: self._mask.astype(np.int8),
            "seat": self.seat,
            "match": self._match,
            "illegal": illegal,
        }
        if self._over:
            info["returns"] = float(self.game.returns[0, self.seat])
            info["place"] = int(self.game.place[0, self.seat])
        return info
