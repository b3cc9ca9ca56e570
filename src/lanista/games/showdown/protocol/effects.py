"""Which effects are followed, by the names that protocol lines give them.

An effect that is followed has a name here and a place in the observation; one that is passed over
on purpose is in `PASSED_OVER`. Whatever is in neither is counted as strange.
"""

from __future__ import annotations

VOLATILES = (
    *("confusion", "substitute", "taunt", "encore", "disable", "torment", "leechseed", "yawn"),
    *("perish", "attract", "curse", "saltcure", "syrupbomb", "healblock", "throatchop"),
    *("partiallytrapped", "trapped", "imprison", "focusenergy", "charge", "magnetrise"),
    *("smackdown", "aquaring", "ingrain", "stockpile", "boosted", "flashfire", "slowstart"),
    *("destinybond", "glaiverush", "mustrecharge", "prepare", "transform", "tarshot", "embargo"),
    *("gastroacid", "commanding", "commanded", "uproar", "lockedmove", "laserfocus", "fallen"),
    *("nightmare", "powertrick"),
)
COUNTED = frozenset(("perish", "stockpile", "boosted", "fallen"))
"""These hold a number of their own; the others the turn they began."""
SAME_AS = {
    **{"dragoncheer": "focusenergy", "telekinesis": "magnetrise", "noretreat": "trapped"},
    **{"octolock": "trapped", "protosynthesis": "boosted", "quarkdrive": "boosted"},
    **{"powershift": "powertrick"},
}
BEST_STATS = ("atk", "def", "spa", "spd", "spe")
"""What `boosted` counts: one more than the place here of the stat that is raised."""
PARTIAL_TRAPS = frozenset(
    (
        *("bind", "wrap", "firespin", "clamp", "whirlpool", "sandtomb", "magmastorm"),
        *("infestation", "snaptrap", "thundercage"),
    )
)
UNTIL_NEXT_MOVE = ("destinybond", "glaiverush", "prepare")
"""These end, without a line, when the Pokémon moves again."""

PROTECTS = frozenset(("protect", "endure", "maxguard"))
GUARDS = frozenset(("wideguard", "quickguard", "matblock", "craftyshield"))
REDIRECTS = frozenset(("followme", "ragepowder", "spotlight"))
SINGLE = ("protect", "guard", "redirect", "helpinghand")
"""What holds for one turn and is followed."""

SIDE_CONDITIONS = (
    *("tailwind", "reflect", "lightscreen", "auroraveil", "safeguard", "mist", "stealthrock"),
    *("spikes", "toxicspikes", "stickyweb", "waterpledge", "firepledge", "grasspledge"),
    "futuresight",
)
LAYERED = frozenset(("spikes", "toxicspikes"))
WEATHERS = (
    *("raindance", "sunnyday", "sandstorm", "snowscape", "hail"),
    *("primordialsea", "desolateland", "deltastream"),
)
TERRAINS = ("electricterrain", "grassyterrain", "mistyterrain", "psychicterrain")
ROOMS = ("trickroom", "gravity", "magicroom", "wonderroom")

PASSED_OVER = frozenset(
    (
        # Effects that leave no mark on what a player would do.
        *("mimic", "foresight", "miracleeye", "autotomize", "bide", "rage", "grudge", "illusion"),
        *("skydrop",),
        # Effects of one turn that its own event shows.
        *("roost", "instruct", "electrify", "powder", "magiccoat", "snatch", "focuspunch"),
        *("beakblast", "shelltrap"),
        # Of formats that are not played here.
        *("luckychant", "mudsport", "watersport", "dynamax"),
    )
)


def plain(name: str) -> str:
    """Return an effect's name without what it is: "move: Taunt" is "Taunt"."""
    return name.partition(": ")[2] or name
