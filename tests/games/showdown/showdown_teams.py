"""Teams that bring about what rarely happens: revivals, commanders, locks, traps, Struggle."""

from __future__ import annotations

ODD_TEAMS = {
    "revival": """
Rabsca @ Leftovers
Ability: Synchronize
Level: 50
Tera Type: Bug
EVs: 4 HP
- Revival Blessing
- Protect

Pawmot @ Focus Sash
Ability: Volt Absorb
Level: 50
Tera Type: Fire
EVs: 252 Spe
- Revival Blessing
- Close Combat
- Nuzzle

Flutter Mane @ Life Orb
Ability: Protosynthesis
Level: 50
Tera Type: Fairy
- Moonblast
- Shadow Ball
- Curse
- Perish Song

Gengar @ Choice Scarf
Ability: Cursed Body
Level: 50
Tera Type: Ghost
- Destiny Bond
- Shadow Ball
- Imprison
- Memento

Electrode @ Air Balloon
Ability: Aftermath
Level: 50
Tera Type: Electric
- Explosion
- Volt Switch
""",
    "commander": """
Dondozo @ Choice Band
Ability: Oblivious
Level: 50
Tera Type: Grass
- Wave Crash
- Outrage
- Earthquake
- Order Up

Tatsugiri @ Focus Sash
Ability: Commander
Level: 50
Tera Type: Fire
- Muddy Water
- Helping Hand
- Taunt
- Protect

Gothitelle @ Sitrus Berry
Ability: Shadow Tag
Level: 50
Tera Type: Dark
- Imprison
- Protect
- Psychic
- Torment

Sableye @ Leftovers
Ability: Prankster
Level: 50
Tera Type: Normal
- Encore
- Disable
- Taunt
- Foul Play

Iron Hands @ Assault Vest
Ability: Quark Drive
Level: 50
Tera Type: Water
- Protect
- Swords Dance

Golisopod @ Choice Scarf
Ability: Emergency Exit
Level: 50
Tera Type: Bug
- Leech Life
- Liquidation
""",
    "locks": """
Dragonite @ Choice Band
Ability: Multiscale
Level: 50
Tera Type: Normal
- Outrage
- Hyper Beam
- Fly
- Roost

Ditto @ Choice Scarf
Ability: Imposter
Level: 50
Tera Type: Ghost
- Transform

Blissey @ Leftovers
Ability: Natural Cure
Level: 50
Tera Type: Steel
- Imprison
- Protect
- Heal Pulse
- Shadow Ball

Comfey @ Eject Button
Ability: Triage
Level: 50
Tera Type: Fairy
- Floral Healing
- U-turn
- Helping Hand
- Aromatic Mist

Wobbuffet @ Custap Berry
Ability: Shadow Tag
Level: 50
Tera Type: Fire
- Counter
- Mirror Coat
- Encore
- Destiny Bond

Gengar @ Red Card
Ability: Cursed Body
Level: 50
Tera Type: Ghost
- Imprison
- Protect
- Curse
- Mean Look
""",
}
"""PokePaste texts; not all of them legal, for what is tested is choices, not team building."""
