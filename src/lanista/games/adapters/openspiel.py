"""Plays OpenSpiel's games as ours: `openspiel:NAME`, NAME as `pyspiel.load_game` takes it.

OpenSpiel keeps the rules. Chance comes from our streams, seats see the information-state tensor
where there is one, and the observation tensor with their seat otherwise. What cannot be played so
is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanista.errors import nearest
from lanista.games.adapters import OPENSPIEL, lookahead, missing_extra
from lanista.games.adapters.openspiel_scene import BOARD
from lanista.games.adapters.openspiel_search import search_bots
from lanista.games.contract import Abilities, Facts, Field, GameError, Head, Spec
from lanista.games.python_game import PythonGame, Step, View
from lanista.games.registry import Entry, MakeBot, Setting
from lanista.games.streams import Stream

MOST_LABELS = 512
"""A head with more choices than this goes without labels."""

UNNAMED = "Action(id=0, player=0)"
"""What OpenSpiel calls the first action of a game that has no names for its actions."""

SMALLEST_BOARD = 3
"""Rows and columns from which on a tensor of three dimensions is taken for a board."""

SEED_PARAMETER = "rng_seed"
"""How OpenSpiel's games with dice of their own take a seed."""


@dataclass
class _Position:
    """One match: OpenSpiel's state, and what its seats have been paid."""

    state: Any
    paid: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        return str(self.state)


class OpenSpiel(PythonGame):
    """A game of OpenSpiel."""

    def __init__(self, name: str, slots: int = 1, seed: int = 0, **settings: int) -> None:
        self._name, self._lookahead = name, settings.get("lookahead", 0)
        self._game = _load(name)
        kind = self._game.get_type()
        self._sampled = kind.chance_mode == kind.ChanceMode.SAMPLED_STOCHASTIC
        self._pays_on_the_way = kind.reward_model == kind.RewardModel.REWARDS
        self._information_state = bool(kind.provides_information_state_tensor)
        self._take_description(kind)
        # Left out where nothing is looked at, so that policies from before play the same game.
        super().__init__(slots, seed, **(settings if self._lookahead else {}))

    def _take_description(self, kind: Any) -> None:
        game = self._game
        # An information state says whose it is; an observation may be the same for every seat.
        self._names_seat = not self._information_state and game.num_players() > 1
        hidden = kind.information == kind.Information.IMPERFECT_INFORMATION
        self.facts = Facts(
            seats=game.num_players(),
            longest=game.max_game_length(),
            observation_version=2 if self._names_seat else 1,
            hidden=hidden,
            chance=kind.chance_mode != kind.ChanceMode.DETERMINISTIC,
            zero_sum=kind.utility == kind.Utility.ZERO_SUM,
            simultaneous=kind.dynamics == kind.Dynamics.SIMULTANEOUS,
            paid_alike=kind.utility == kind.Utility.IDENTICAL and game.num_players() > 1,
        )
        self.largest_return = game.max_utility()
        shape = _tensor_shape(game, self._name)
        size = math.prod(shape)
        label = "information state" if self._information_state else "observation"
        self.observation = (Field(label, size, planes=shape if _is_board(shape) else ()),)
        if self._names_seat:
            self.observation += (Field("seat", self.facts.seats),)
            self._seat_flags = np.eye(self.facts.seats).tolist()
            size += self.facts.seats
        if self._lookahead:
            _refuse(self._name, lookahead.reason_against(game))
            self.observation += (Field("lookahead", game.num_distinct_actions()),)
        self._choices = game.num_distinct_actions()
        self.moves = (Head("move", self._choices, _labels(game)),)
        if hidden and self.facts.seats > 1:
            others = (Field(f"other {i}", size) for i in range(1, self.facts.seats))
            self.privileged_fields = (Field("own", size), *others)
        self.abilities = Abilities(simulator="open_spiel", simulator_version=version("open_spiel"))

    def _describe(self, settings: Mapping[str, Any]) -> Spec:
        return replace(super()._describe(settings), name=f"openspiel:{self._name}")

    def deal(self, rng: Stream) -> _Position:
        """Return a fresh match, chance drawn up to its first decision."""
        game = _reseeded(self._game, rng) if self._sampled else self._game
        position = _Position(game.new_initial_state(), [0.0] * self.facts.seats)
        _draw_chance(position.state, rng)
        return position

    def apply(self, state: _Position, moves: dict[int, int], rng: Stream) -> Step | None:
        """Play the moves, and chance up to the next decision."""
        inner = state.state
        if inner.is_simultaneous_node():
            # A seat without a choice is given OpenSpiel's sign for "no action".
            inner.apply_actions([moves.get(seat, -1) for seat in range(self.facts.seats)])
        else:
            inner.apply_action(moves[inner.current_player()])
        _draw_chance(inner, rng)
        if inner.is_terminal():
            return Step(returns=inner.returns())
        if not self._pays_on_the_way:
            return None
        total = inner.returns()
        rewards = [now - before for now, before in zip(total, state.paid, strict=True)]
        state.paid = total
        return Step(rewards=rewards)

    def view(self, state: _Position, seat: int) -> View | None:
        """Return a seat's tensor and legal actions, or None when it has nothing to choose."""
        inner = state.state
        if not inner.is_simultaneous_node() and inner.current_player() != seat:
            return None
        legal = inner.legal_actions(seat)
        if not legal:
            return None
        if not self._lookahead:
            return View(self._tensor(inner, seat), legal)
        row = np.zeros(self._observation_length, np.float32)
        row[: -self._choices] = self._tensor(inner, seat)
        lookahead.prove(inner, seat, legal, self._lookahead, row[-self._choices :])
        return View(row, legal)

    def copy(self, state: _Position) -> _Position:
        """Return the same position, to be played on."""
        return _Position(state.state.clone(), [*state.paid])

    def copy_matches(self, sources: Any, slots: Any) -> None:
        """Copy matches; where chance is inside the game, copies would draw from it together."""
        if self._sampled:
            self.load(slots, self.save(sources))
        else:
            super().copy_matches(sources, slots)

    def play_out(self, state: _Position, stream: Stream) -> float:
        """Return what seat 0 gets by uniformly random moves to the end, in a game of turns."""
        inner = state.state.clone()
        while not inner.is_terminal():
            legal = inner.legal_actions()
            inner.apply_action(legal[stream.below(len(legal))])
        return float(inner.player_return(0))

    def resample(self, state: _Position, seat: int, rng: Stream) -> None:
        """Redraw what `seat` cannot see, where OpenSpiel knows how to."""
        if not self.facts.hidden:
            return
        try:
            drawn = state.state.resample_from_infostate(seat, rng.uniform)
        except RuntimeError as error:
            raise GameError(
                f"{self.spec.name} does not say how to redraw what a seat cannot see: {error}"
            ) from error
        if not np.array_equal(self._tensor(drawn, seat), self._tensor(state.state, seat)):
            raise GameError(
                f"{self.spec.name} redraws what seat {seat} can see; its OpenSpiel version "
                "cannot be used where hidden parts are redrawn."
            )
        state.state = drawn

    def view_all(self, state: _Position, seat: int) -> NDArray[np.float32]:
        """Return the tensors of all seats, this one's first."""
        seats = [seat, *(other for other in range(self.facts.seats) if other != seat)]
        return np.concatenate([self._tensor(state.state, other) for other in seats])

    def _tensor(self, inner: Any, seat: int) -> NDArray[np.float32]:
        if self._information_state:
            return np.asarray(inner.information_state_tensor(seat), np.float32)
        numbers = inner.observation_tensor(seat)
        if self._names_seat:
            numbers += self._seat_flags[seat]
        return np.asarray(numbers, np.float32)


def _draw_chance(state: Any, rng: Stream) -> None:
    while state.is_chance_node():
        outcomes = [pair for pair in state.chance_outcomes() if pair[1] > 0]
        mark = rng.uniform() * sum(chance for _, chance in outcomes)
        drawn = outcomes[-1][0]  # Rounding can leave a trace of the mark: it belongs to the last.
        for action, chance in outcomes:
            mark -= chance
            if mark < 0:
                drawn = action
                break
        state.apply_action(drawn)


def _reseeded(game: Any, rng: Stream) -> Any:
    """Return the game with its own dice seeded from our stream: its chance is inside it."""
    import pyspiel

    parameters = {**game.get_parameters(), SEED_PARAMETER: rng.below(2**31 - 1)}
    return pyspiel.load_game(game.get_type().short_name, parameters)


def _labels(game: Any) -> tuple[str, ...]:
    """Return what each action is called; where seats call it differently, all names."""
    count, seats = game.num_distinct_actions(), range(game.num_players())
    if count > MOST_LABELS:
        return ()
    try:
        if game.action_to_string(0, 0) == UNNAMED:
            return ()
        names = [[game.action_to_string(seat, move) for seat in seats] for move in range(count)]
    except RuntimeError:
        return ()  # Some games can name an action in a position only.
    return tuple(" / ".join(dict.fromkeys(called)) for called in names)


def _load(name: str) -> Any:
    try:
        import pyspiel
    except ModuleNotFoundError as error:
        raise missing_extra("OpenSpiel", OPENSPIEL) from error
    short = name.partition("(")[0]
    if short not in pyspiel.registered_names():
        # Those written in Python are known to OpenSpiel once they are imported.
        import open_spiel.python.games  # noqa: F401
    kind_by_name = {kind.short_name: kind for kind in pyspiel.registered_games()}
    if short not in kind_by_name:
        raise GameError(f"OpenSpiel has no game {short!r}; {nearest(short, kind_by_name)}")
    _refuse(name, _reason_against(kind_by_name[short]))
    try:
        game = pyspiel.load_game(name)
    except RuntimeError as error:
        raise GameError(f"OpenSpiel cannot load {name!r}: {error}") from error
    _refuse(name, _reason_against(game.get_type()) or _reason_against_loaded(game, name))
    return game


def _refuse(name: str, reason: str) -> None:
    if reason:
        raise GameError(f"openspiel:{name} cannot be played here: {reason}.")


def _reason_against(kind: Any) -> str:
    """Return why a kind of game cannot be played, or nothing."""
    if kind.dynamics == kind.Dynamics.MEAN_FIELD:
        return "it is a mean-field game, whose chance depends on a population of players"
    if kind.dynamics not in (kind.Dynamics.SEQUENTIAL, kind.Dynamics.SIMULTANEOUS):
        return f"its dynamics are {kind.dynamics.name}, neither turn-based nor simultaneous"
    if kind.action_structs_only:
        return "its actions are structures, not numbers"
    # A wrapper's own entry claims every ability; the game it wraps is judged once it is loaded.
    if not (kind.provides_information_state_tensor or kind.provides_observation_tensor):
        return "it has neither an information-state tensor nor an observation tensor"
    return ""


def _reason_against_loaded(game: Any, name: str) -> str:
    kind = game.get_type()
    if kind.chance_mode == kind.ChanceMode.SAMPLED_STOCHASTIC:
        if SEED_PARAMETER not in game.get_parameters():
            return "its chance comes from dice of its own that take no seed"
        if SEED_PARAMETER in name:
            return f"its {SEED_PARAMETER} follows from seed and match; leave it out of the name"
    if game.num_distinct_actions() < 1:
        return "it has no numbered actions"
    return ""


def _is_board(shape: tuple[int, ...]) -> bool:
    """Whether a tensor is planes over rows and columns of some extent."""
    return len(shape) == 3 and min(shape[1:]) >= SMALLEST_BOARD


def _tensor_shape(game: Any, name: str) -> tuple[int, ...]:
    kind = game.get_type()
    try:
        if kind.provides_information_state_tensor:
            return tuple(game.information_state_tensor_shape())
        return tuple(game.observation_tensor_shape())
    except RuntimeError as error:
        raise GameError(
            f"openspiel:{name} cannot be played here: OpenSpiel says that it has a tensor, "
            f"but not how long it is ({error})"
        ) from error


@lru_cache
def bots_of(name: str) -> Mapping[str, MakeBot]:
    """Return the bots that search a game; none where it cannot be searched or is not there."""
    try:
        game = _load(name)
    except GameError:
        return {}  # Whoever makes the game is told.
    return search_bots(game)


ENTRY = Entry(
    "openspiel",
    OpenSpiel,
    about="Any game of OpenSpiel with a tensor to see: openspiel:tic_tac_toe, and so on.",
    settings={
        "lookahead": Setting(
            0,
            "Plies within which seats are shown what the rules prove of each move, in games for "
            "two without chance that hide nothing: 1 which win at once, 2 also which let the "
            "other win at once.",
            choices=tuple(range(lookahead.DEEPEST + 1)),
        )
    },
    takes_name=True,
    bots_of=bots_of,
    extra=OPENSPIEL,
    board=BOARD,
)
