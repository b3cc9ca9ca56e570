"""`lanista games`: what can be played, with its facts, settings and bots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from lanista.cli.common.flags import GAMES, optional

if TYPE_CHECKING:
    from lanista.games.contract import Spec
    from lanista.games.registry import Entry


@dataclass(frozen=True)
class Games:
    """List the games with their facts, settings and bots."""

    game: Annotated[tyro.conf.Positional[str], optional("[GAME]"), GAMES] = ""
    """Only this one: a name, family:NAME, or a Python file."""

    def run(self) -> int:
        """Print a paragraph for each game."""
        from lanista.games import registry

        for name in [self.game] if self.game else registry.names():
            print("\n".join(paragraph(name, refuse=bool(self.game))), end="\n\n")
        return 0


def paragraph(name: str, *, refuse: bool = False) -> list[str]:
    """Return the lines about one game; one that cannot be used says why, or is refused."""
    from lanista.games import registry
    from lanista.nets.files.champions import champion_names

    try:
        entry, spec = _look_up(name)
    except Exception as error:
        # An installed package's game can fail in any way, and must not hide the others.
        if refuse:
            raise
        return [f"{name}", f"  unusable  {' '.join(str(error).split())}"]
    title = f"{name}:NAME" if spec is None and entry.takes_name else name
    lines = [f"{title}", f"  about     {entry.about}"] if entry.about else [title]
    if spec is not None:
        lines.append(f"  facts     {facts(spec)}")
        lines.append(
            f"  versions  rules {spec.facts.rules_version}, observation "
            f"{spec.facts.observation_version}, simulator {spec.abilities.simulator} "
            f"{spec.abilities.simulator_version}"
        )
    lines += _settings(entry)
    if spec is not None and spec.options:
        options = [f"{o.name}={o.default} ({o.low} to {o.high}): {o.about}" for o in spec.options]
        lines += _listed("options", options)
    lines.append(f"  bots      {', '.join(registry.bot_names(entry))}")
    lines += _listed("variants", list(entry.variants))
    lines += _listed("policies", champion_names(name))
    missing = [f"{bot}: {reason}" for bot, reason in entry.missing_bots.items()]
    return lines + _listed("missing", missing)


def facts(spec: Spec) -> str:
    """Return a game's facts in one line."""
    from lanista.nets.heads.cells import cells_role

    about = spec.facts
    words = [
        f"{about.seats} seats",
        "hidden information" if about.hidden else "all in the open",
        "chance" if about.chance else "no chance",
        "all seats paid alike"
        if about.paid_alike
        else "zero-sum"
        if about.zero_sum
        else "not zero-sum",
        "simultaneous" if about.simultaneous else "turn-based",
        f"at most {about.longest:,} turns",
        f"observation {spec.observation.length} x {spec.observation.dtype}",
        f"action {_heads(spec)}",
    ]
    if spec.symmetry is not None:
        words.append(f"symmetry {len(spec.symmetry)}")
    grids = {group.name: group.grid for group in spec.observation.groups if group.grid}
    words += [f"grid {rows} x {columns}" for rows, columns in sorted({*grids.values()})]
    if any(head.references for head in spec.heads):
        words.append("readout pointer")
    if any(cells_role(spec.observation, head) for head in spec.heads):
        words[-1] += " or cells"
    return " · ".join(words)


def _heads(spec: Spec) -> str:
    """Return the sizes of the heads; a game with a head for every cell has too many to list."""
    sizes = [head.size for head in spec.heads]
    if len(sizes) > 16 and len(set(sizes)) == 1:
        return f"{len(sizes)} heads of {sizes[0]}"
    return " x ".join(map(str, sizes))


def _look_up(name: str) -> tuple[Entry, Spec | None]:
    from lanista.games import registry
    from lanista.games.contract import GameError

    try:
        entry = registry.entry(name)
    except GameError:
        if name not in registry.names():
            raise
        # A family is looked up under any word. Making one tells whether its library is there:
        # only the error of a missing library says what to install.
        entry = registry.entry(f"{name}:-")
        try:
            registry.make(f"{name}:-")
        except GameError as error:
            if "pip install" in str(error):
                raise
        return entry, None
    return entry, registry.spec_of(name)


def _settings(entry: Entry) -> list[str]:
    lines = []
    for name, setting in entry.settings.items():
        choices = f" ({', '.join(map(str, setting.choices))})" if setting.choices else ""
        lines.append(f"{name}={setting.default}{choices}: {setting.about}")
    return _listed("settings", lines)


def _listed(title: str, lines: list[str]) -> list[str]:
    return [f"  {title if i == 0 else '':<9} {line}" for i, line in enumerate(lines)]
