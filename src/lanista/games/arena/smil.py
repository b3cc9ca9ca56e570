"""Changes over time in SMIL, the animation language of SVG.

All changes of a picture share a clock: they begin together, last as long and begin again. Knows
nothing of what changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


class Clock:
    """Writes how something changes over the frames, and stays while the end is shown."""

    def __init__(self, frames: int, step: float, hold: float) -> None:
        """`step` seconds lie between two frames; the last one is shown for `hold` seconds."""
        self.seconds = (frames - 1) * step + hold
        self.times = [number * step / self.seconds for number in range(frames)]
        self.repeat = f'dur="{self.seconds:g}s" repeatCount="indefinite"'

    def ramp(self, attribute: str, values: Sequence[float]) -> str:
        """Return a change that is even between frames."""
        return self._animate(attribute, *self._corners([(value,) for value in values]))

    def steps(self, attribute: str, values: Sequence[float]) -> str:
        """Return a change that happens at once, at the frame where the value is another one."""
        changes = [0, *(i for i, (was, now) in enumerate(pairwise(values), 1) if was != now)]
        texts = [f"{values[i]:.4g}" for i in changes]
        return self._animate(attribute, texts, [self.times[i] for i in changes], "discrete")

    def move(self, places: Sequence[tuple[float, float]]) -> str:
        """Return a way from place to place."""
        return self._transform("translate", *self._corners(places))

    def turn(self, degrees: Sequence[float]) -> str:
        """Return turns from one heading to the next."""
        return self._transform("rotate", *self._corners([(angle,) for angle in degrees]))

    def flight(self, start: tuple[float, float, float], end: tuple[float, float, float]) -> str:
        """Return a straight flight between two moments (second, x, y); unseen before and after."""
        begin, over = (max(0.0, min(1.0, moment[0] / self.seconds)) for moment in (start, end))
        there, gone = (f"{moment[1]:.2f} {moment[2]:.2f}" for moment in (start, end))
        seen = self._animate("opacity", ["0", "1", "0"], [0.0, begin, over], "discrete")
        way = self._transform("translate", [there, there, gone, gone], [0.0, begin, over, 1.0])
        return seen + way

    def _corners(self, values: Sequence[tuple[float, ...]]) -> tuple[list[str], list[float]]:
        """Return the values and their times, without those that lie on a straight line."""
        texts, times = [], []
        for number, value in enumerate(values):
            if 0 < number < len(values) - 1 and _between(values, number):
                continue
            texts.append(" ".join(f"{part:.2f}".rstrip("0").rstrip(".") for part in value))
            times.append(self.times[number])
        return [*texts, texts[-1]], [*times, 1.0]

    def _animate(
        self, attribute: str, texts: Sequence[str], times: Sequence[float], how: str = "linear"
    ) -> str:
        return f'<animate attributeName="{attribute}" {self._course(texts, times, how)}/>'

    def _transform(self, kind: str, texts: Sequence[str], times: Sequence[float]) -> str:
        course = self._course(texts, times, "linear")
        return f'<animateTransform attributeName="transform" type="{kind}" {course}/>'

    def _course(self, texts: Sequence[str], times: Sequence[float], how: str) -> str:
        moments = ";".join(f"{time:.5f}".rstrip("0").rstrip(".") for time in times)
        mode = f' calcMode="{how}"' if how != "linear" else ""
        return f'values="{";".join(texts)}" keyTimes="{moments}"{mode} {self.repeat}'


def _between(values: Sequence[tuple[float, ...]], number: int) -> bool:
    """Whether a value is halfway between its neighbours, up to rounding."""
    before, value, after = values[number - 1 : number + 2]
    return all(abs((b + a) / 2 - v) < 1e-6 for b, v, a in zip(before, value, after, strict=True))
