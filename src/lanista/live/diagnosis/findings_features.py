"""Findings about what policies saw: numbers that are empty, that died, or of another scale.

Holds recorded observations against earlier ones and against the policy's own description. That
other positions come up is no fault; only what no better play could explain is found. Pure on
arrays; knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanista.findings import Finding
from lanista.live.diagnosis.drift import Drift, drift
from lanista.nets.files.policy_format import PolicyHeader

Values = NDArray[np.float64]
LEAST_GAMES = 10
LEAST_DECISIONS = 100
EMPTY = 0.9
"""Share of an observation's numbers that never change in an empty one."""
RATIO = 10.0
"""Times that a number's size must have grown or shrunk to be of another scale."""
LARGE, SMALL = 20.0, 0.005
"""Sizes, divided by the field's scale, that are not "about -1 to 1"."""
_MOST_NAMED = 8


@dataclass(frozen=True)
class Seen:
    """What policies saw in some games."""

    values: Values
    """`[decisions, features]`."""
    game: NDArray[np.int64]
    """`[decisions]`: the number of each one's game."""

    @property
    def games(self) -> int:
        return len(np.unique(self.game))

    @property
    def enough(self) -> bool:
        return self.games >= LEAST_GAMES and len(self.values) >= LEAST_DECISIONS


def constant_columns(observed: Seen) -> NDArray[np.bool_]:
    """Return which numbers have one value throughout."""
    still: NDArray[np.bool_] = np.ptp(observed.values, axis=0) == 0
    return still


def features_empty(observed: Seen, names: Sequence[str]) -> Finding | None:
    """Observations say nothing."""
    still = constant_columns(observed)
    if not observed.enough or still.mean() < EMPTY:
        return None
    zero = int((still & (observed.values[0] == 0)).sum())
    moving = [name for name, dead in zip(names, still, strict=True) if not dead]
    return Finding(
        name="features_empty",
        gravity="stops",
        sentence=f"{int(still.sum())} of {len(still)} numbers of the observations never change in "
        f"{len(observed.values):,} decisions of {observed.games} games, {zero} of them are "
        "always 0.",
        meaning="The policy sees next to nothing, so it cannot tell one position from another.",
        remedy="Print what the bot gives to game.act() during a game, and fix where it is made.",
        evidence={
            "numbers": len(still),
            "constant": int(still.sum()),
            "zero": zero,
            "moving": moving[:_MOST_NAMED],
            "decisions": len(observed.values),
            "games": observed.games,
        },
    )


def against_earlier(
    earlier: Seen,
    recent: Seen,
    names: Sequence[str],
    earlier_name: str,
    categories: NDArray[np.bool_] | None = None,
) -> list[Finding]:
    """Numbers that died, or are of another scale than in `earlier`, called `earlier_name`.

    `categories` marks those that are no quantities and so have no scale.
    """
    if not (earlier.enough and recent.enough):
        return []
    comparison = drift(
        earlier.values, earlier.game, recent.values, recent.game, names=names, exchanges=199
    )
    sizes = np.stack([_sizes(earlier.values), _sizes(recent.values)])
    if categories is not None:
        sizes[:, categories] = np.nan
    dead, scaled = [], []
    for i, feature in enumerate(comparison.features):
        before, now = sizes[:, i]
        if feature.drifted and feature.constant:
            dead.append(i)
        elif feature.drifted and (now / before <= 1 / RATIO or now / before >= RATIO):
            scaled.append(i)
    findings = []
    if dead:
        findings.append(_died(comparison, recent, dead, earlier_name))
    if scaled:
        findings.append(_other_scale(comparison, sizes, scaled, earlier_name))
    return findings


def _died(comparison: Drift, recent: Seen, dead: Sequence[int], earlier_name: str) -> Finding:
    dead_features = [comparison.features[i] for i in dead]
    names = ", ".join(f"{f.name} (always {f.median[1]:g})" for f in dead_features[:_MOST_NAMED])
    return Finding(
        name="features_constant",
        gravity="spoils",
        sentence=f"{len(dead)} of {len(comparison.features)} numbers never change in the last "
        f"{comparison.games[1]} games and did in {earlier_name} ({comparison.games[0]}): {names}.",
        meaning="The policy was made with something that it no longer sees.",
        remedy="See what the bot puts there; a part of the game's interface may have changed or "
        "failed.",
        evidence={
            "games": list(comparison.games),
            "features": [
                {"name": f.name, "value": float(recent.values[0, i]), "distance": f.distance,
                 "chance": f.chance, "median_before": f.median[0]}
                for f, i in zip(dead_features, dead, strict=True)
            ],
        },
    )  # fmt: skip


def _other_scale(
    comparison: Drift, sizes: Values, scaled: Sequence[int], earlier_name: str
) -> Finding:
    scale_changes = [
        (comparison.features[i], float(sizes[0, i]), float(sizes[1, i])) for i in scaled
    ]
    names = ", ".join(
        f"{f.name} ({a:.3g} then, {b:.3g} now)" for f, a, b in scale_changes[:_MOST_NAMED]
    )
    return Finding(
        name="features_other_scale",
        gravity="spoils",
        sentence=f"{len(scale_changes)} of {len(comparison.features)} numbers are of another size "
        f"in the last {comparison.games[1]} games than in {earlier_name} ({comparison.games[0]}): "
        f"{names}.",
        meaning="The policy takes these numbers for something far larger or smaller than they "
        "are. The size is what 95 % of the values that are not 0 stay below.",
        remedy="Divide or multiply in the bot as it was done before; a unit may have changed.",
        evidence={
            "games": list(comparison.games),
            "features": [
                {"name": f.name, "size_before": a, "size_now": b, "distance": f.distance,
                 "chance": f.chance, "outside": f.outside}
                for f, a, b in scale_changes
            ],
        },
    )  # fmt: skip


def against_description(observed: Seen, policy: PolicyHeader) -> Finding | None:
    """Numbers that are far from what the policy's file says of them."""
    if not observed.enough or policy.observation.length != observed.values.shape[1]:
        return None
    wrong = []
    for field in policy.observation.fields:
        field_values = observed.values[:, policy.observation.slice_of(field.name)]
        size = float(_sizes(field_values.reshape(-1, 1))[0]) / abs(field.scale)
        if not field.classes and np.isfinite(size) and not SMALL <= size <= LARGE:
            wrong.append({"name": field.name, "scale": field.scale, "size_scaled": size})
    if not wrong:
        return None
    names = ", ".join(f"{one['name']} ({one['size_scaled']:.3g})" for one in wrong[:_MOST_NAMED])
    return Finding(
        name="features_off_scale",
        gravity="spoils",
        sentence=f"{len(wrong)} of {len(policy.observation.fields)} fields are far from -1 to 1 "
        f"after division by the scale that the policy's file gives them: {names}.",
        meaning="A network learns from such numbers slowly or not at all. The size is what 95 % "
        "of the values that are not 0 stay below.",
        remedy="Scale them in the bot as the policy's file says, or begin with a policy whose "
        "fields have the right scale.",
        evidence={"fields": wrong, "decisions": len(observed.values), "games": observed.games},
    )


def _sizes(values: Values) -> Values:
    """Return what 95 % of each column's values that are not 0 stay below; NaN without 30."""
    sizes = np.full(values.shape[1], np.nan)
    for i, column in enumerate(np.abs(values).T):
        some = column[column > 0]
        if len(some) >= 30:
            sizes[i] = np.quantile(some, 0.95)
    return sizes
