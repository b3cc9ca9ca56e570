"""An arena match as an animated picture: frames become one SVG file that any browser plays.

Its parts are moved by SMIL and not by a script, so it plays as a picture in a page too. What moves
does so evenly from one decision to the next. Knows nothing of the rules.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import accumulate, pairwise

from lanista.games.arena.frames import Fighter, Frame, Shot, frame_of
from lanista.games.arena.layout import HEADS, TICKS_A_SECOND, match_dtype, time_limit
from lanista.games.arena.smil import Clock
from lanista.games.contract import Game, Spec
from lanista.text import printable

FIELD, PANEL = 480, 220
"""The widths of the picture's two parts, in pixels; the field is as high as it is wide."""
HOLD_SECONDS = 2.0
"""How long the end is shown before the animation begins again."""
COLOURS = (
    "#4cc9f0", "#f9844a", "#90be6d", "#f9c74f", "#b388eb", "#f25f5c", "#43aa8b", "#e0e0e0",
)  # fmt: skip
_SMALLEST = 12.0
_NAMES = [head.name for head in HEADS]
_CENTRE = 5
"""The bin of an aim that means 0."""
_HIT = 5.0
"""A fighter that lost more hp than this between two decisions was struck, not hurt by the zone."""
_LEFT, _WIDTH = FIELD + 16, PANEL - 32
"""Where the panel's lines begin, and how long its bars are."""
_PALE, _TRACK = "#8795a6", "#2a3442"
_GRID = "".join(f"M{at} -50V50M-50 {at}H50" for at in range(-50, 51, 5))
_ITEMS = {"health": "#5ad469", "ammo": "#e8c547"}


class ArenaAnimation:
    """Looks on at a match, position by position, and draws it."""

    def __init__(self, spec: Spec, names: Sequence[str]) -> None:
        # Of a policy's path the file's name: a picture is shown to others.
        self.names = tuple(printable(name.rpartition("/")[2], 60) for name in names)
        self.seats = spec.seats
        self.shrink = time_limit(spec.settings["duration"]) * 2 // 3
        self.step = spec.settings["ticks_per_decision"] / TICKS_A_SECOND
        self.frames: list[Frame] = []
        self.aims: list[tuple[float | None, ...]] = []
        """Where each seat fires in each frame, in degrees; None: it does not."""

    def show(self, game: Game, actions: Mapping[int, Sequence[int]]) -> None:
        """See the match in slot 0, and what its seats are about to do there."""
        saved = game.save([0])["matches"].view(match_dtype(self.seats))[0, 0]
        self.frames.append(frame_of(saved, self.seats, self.shrink))
        self.aims.append(tuple(_aim(actions.get(seat)) for seat in range(self.seats)))

    def svg(self) -> str:
        """Return the whole match as an animation that begins again when it has ended."""
        clock = Clock(len(self.frames), self.step, HOLD_SECONDS)
        width = FIELD + PANEL
        title = f"Arena: {' against '.join(self.names)}; {' '.join(self._result())}"
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {FIELD}" '
                f'width="{width}" height="{FIELD}" font-family="sans-serif" font-size="13" '
                'fill="#dfe6ee" role="img">',
                f"<title>{escape(title)}</title>",
                *self._field(clock),
                # What reaches over the field's edge lies under the panel.
                f'<rect x="{FIELD}" width="{PANEL}" height="{FIELD}" fill="#10151c"/>',
                *(mark for seat in range(self.seats) for mark in self._row(clock, seat)),
                *self._foot(clock),
                "</svg>\n",
            ]
        )

    def _field(self, clock: Clock) -> list[str]:
        scale, middle = FIELD / 2 / self._half_side(), FIELD / 2
        zone = clock.ramp("r", [frame.zone for frame in self.frames])
        return [
            f'<rect width="{FIELD}" height="{FIELD}" fill="#4a2329"/>',
            f'<g transform="translate({middle:g} {middle:g}) scale({scale:.3f} {-scale:.3f})">',
            f'<circle fill="#1b2430" stroke="#6c8ebf" stroke-width=".15">{zone}</circle>',
            f'<path d="{_GRID}" stroke="#fff" stroke-opacity=".05" stroke-width=".08"/>',
            *self._items(clock),
            *self._shots(clock),
            *(mark for seat in range(self.seats) for mark in self._fighter(clock, seat)),
            "</g>",
        ]

    def _half_side(self) -> float:
        """Return how far the field reaches, so that everybody is always in it."""
        fighters = [fighter for frame in self.frames for fighter in frame.fighters]
        far = max(max(abs(fighter.x), abs(fighter.y)) for fighter in fighters)
        return max(far + 1.5, _SMALLEST)

    def _result(self) -> tuple[str, str]:
        """Return who won and when, in two lines."""
        living = [seat for seat, fighter in enumerate(self.frames[-1].fighters) if fighter.alive]
        seconds = f"after {self.frames[-1].seconds:.1f} s"
        if len(living) == 1:
            return _short(self.names[living[0]]), f"wins {seconds}"
        return "first place is shared", seconds

    def _fighter(self, clock: Clock, seat: int) -> list[str]:
        states = [frame.fighters[seat] for frame in self.frames]
        colour = COLOURS[seat]
        alive = clock.steps("opacity", [1.0 if state.alive else 0.15 for state in states])
        shield = clock.steps("opacity", [float(state.alive and state.shielded) for state in states])
        hits = clock.steps("opacity", _hits(states))
        turned = clock.turn(_headings([aims[seat] for aims in self.aims]))
        health = clock.ramp("width", [state.hp / 50 for state in states])
        return [
            f"<g>{clock.move([(state.x, state.y) for state in states])}",
            f"<g>{alive}"
            f'<g>{turned}<path d="M.5 0H1.7" stroke="{colour}" stroke-width=".35"/></g>'
            f'<circle r=".8" fill="{colour}"/>'
            f'<rect x="-1" y="1.3" height=".22" width="2" fill="{colour}">{health}</rect></g>',
            f'<circle r="1.15" fill="none" stroke="#fff" stroke-width=".14">{shield}</circle>',
            f'<circle r=".8" fill="#fff">{hits}</circle>',
            "</g>",
        ]

    def _shots(self, clock: Clock) -> list[str]:
        """Return a mark for each shot, from its first moment in the air to its last."""
        flights: dict[tuple[int, int], list[tuple[int, Shot]]] = {}
        for number, frame in enumerate(self.frames):
            for shot in frame.shots:
                flights.setdefault((shot.owner, shot.fired), []).append((number, shot))
        marks = []
        for (owner, fired), flight in flights.items():
            (first, start), (last, end) = flight[0], flight[-1]
            age = (self.frames[first].tick - fired) / TICKS_A_SECOND
            # Where between two decisions it struck is not known: it is shown for half of the time.
            more = self.step / 2 if last + 1 < len(self.frames) else 0.0
            moving = clock.flight(
                (first * self.step - age, start.x - start.vx * age, start.y - start.vy * age),
                (last * self.step + more, end.x + end.vx * more, end.y + end.vy * more),
            )
            marks.append(f'<circle r=".25" fill="{COLOURS[owner]}">{moving}</circle>')
        return marks

    def _items(self, clock: Clock) -> list[str]:
        places = {item: None for frame in self.frames for item in frame.items}
        marks = []
        for item in places:
            seen = clock.steps("opacity", [float(item in frame.items) for frame in self.frames])
            marks.append(_rect(item.x - 0.35, item.y - 0.35, 0.7, 0.7, _ITEMS[item.kind], seen))
        return marks

    def _row(self, clock: Clock, seat: int) -> list[str]:
        """Return a seat's lines in the panel: its name, its hp and its ammo."""
        states = [frame.fighters[seat] for frame in self.frames]
        top, name = 24 + 50 * seat, self.names[seat]
        health = clock.ramp("width", [state.hp / 100 * _WIDTH for state in states])
        ammo = clock.steps("width", [state.ammo / 30 * _WIDTH for state in states])
        return [
            _text(_LEFT, top, _short(name)),
            _rect(_LEFT, top + 7, _WIDTH, 9, _TRACK),
            _rect(_LEFT, top + 7, _WIDTH, 9, COLOURS[seat], health),
            _rect(_LEFT, top + 19, _WIDTH, 3, _TRACK),
            _rect(_LEFT, top + 19, _WIDTH, 3, _PALE, ammo),
        ]

    def _foot(self, clock: Clock) -> list[str]:
        """Return the panel's last lines: who won, how far the match is, and what is what."""
        low, count = FIELD - 16, len(self.frames) - 1
        part = clock.ramp("width", [_WIDTH * number / count for number in range(count + 1)])
        over = clock.steps("opacity", [0.0] * count + [1.0])
        small = f'font-size="11" fill="{_PALE}"'
        end = f"{self.frames[-1].seconds:.1f} s"
        return [
            *(
                _text(_LEFT, low - 62 + 18 * number, line, 'font-weight="bold"', over)
                for number, line in enumerate(self._result())
            ),
            _rect(_LEFT, low - 34, _WIDTH, 3, _TRACK),
            _rect(_LEFT, low - 34, _WIDTH, 3, "#dfe6ee", part),
            _text(_LEFT, low - 16, "0 s", small),
            _text(_LEFT + _WIDTH, low - 16, end, f'{small} text-anchor="end"'),
            _rect(_LEFT, low - 9, 9, 9, _ITEMS["health"]),
            _text(_LEFT + 14, low, "health", small),
            _rect(_LEFT + 70, low - 9, 9, 9, _ITEMS["ammo"]),
            _text(_LEFT + 84, low, "ammo", small),
        ]


def _short(name: str) -> str:
    return name if len(name) <= 24 else f"{name[:23]}…"


def _rect(x: float, y: float, width: float, height: float, fill: str, changes: str = "") -> str:
    place = f'x="{x:.4g}" y="{y:.4g}" width="{width:g}" height="{height:g}"'
    return f'<rect {place} fill="{fill}">{changes}</rect>'


def _text(x: float, y: float, words: str, style: str = "", changes: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" {style}>{escape(words)}{changes}</text>'


def _aim(action: Sequence[int] | None) -> float | None:
    """Return where an action fires, in degrees; None where it does not."""
    if action is None or not action[_NAMES.index("fire")]:
        return None
    x, y = (action[_NAMES.index(name)] - _CENTRE for name in ("aim_x", "aim_y"))
    return math.degrees(math.atan2(y, x)) if x or y else None


def _headings(aims: Sequence[float | None]) -> list[float]:
    """Return where a seat points at all times: where it fires next, and then where it fired last.

    Each turn is the shorter way round.
    """
    ahead = next((aim for aim in aims if aim is not None), 0.0)

    def turned(heading: float, aim: float | None) -> float:
        return heading if aim is None else heading + (aim - heading + 180) % 360 - 180

    return list(accumulate(aims, turned, initial=ahead))[1:]


def _hits(states: Sequence[Fighter]) -> list[float]:
    """Return 1 for each frame in which a fighter has just been struck."""
    return [0.0, *(float(was.hp - now.hp > _HIT) for was, now in pairwise(states))]
