"""Teams that a server takes and in whose battles rare things happen.

Revivals, a commander, trappers that a request does not name, imitators, locks, explosions.
"""

from __future__ import annotations

FORMAT = "gen9vgc2025regi"

_REVIVERS = """
Rabsca @ Leftovers
Ability: Synchronize
Level: 50
EVs: 252 HP
- Revival Blessing
- Protect

Pawmot @ Focus Sash
Ability: Volt Absorb
Level: 50
EVs: 252 Spe
- Revival Blessing
- Close Combat
- Nuzzle

Dondozo @ Sitrus Berry
Ability: Unaware
Level: 50
EVs: 252 Atk
- Wave Crash
- Order Up
- Earthquake

Tatsugiri @ Choice Scarf
Ability: Commander
Level: 50
EVs: 252 SpA
- Draco Meteor
- Muddy Water
- Icy Wind

Gothitelle @ Lum Berry
Ability: Shadow Tag
Level: 50
EVs: 252 HP
- Psychic
- Fake Out
- Helping Hand

Ditto @ Iron Plate
Ability: Imposter
Level: 50
EVs: 252 HP
- Transform
"""

_TRAPPERS = """
Dugtrio @ Focus Sash
Ability: Arena Trap
Level: 50
EVs: 252 Atk
- Earthquake
- Rock Slide
- Sucker Punch

Zoroark-Hisui @ Life Orb
Ability: Illusion
Level: 50
EVs: 252 SpA
- Bitter Malice
- Hyper Voice
- U-turn

Electrode @ Air Balloon
Ability: Soundproof
Level: 50
EVs: 252 Spe
- Explosion
- Thunderbolt

Whimsicott @ Mental Herb
Ability: Prankster
Level: 50
EVs: 252 Spe
- Encore
- Moonblast
- Tailwind

Dragonite @ Choice Band
Ability: Inner Focus
Level: 50
EVs: 252 Atk
- Outrage
- Extreme Speed

Gothitelle @ Leftovers
Ability: Shadow Tag
Level: 50
EVs: 252 HP
- Psychic
- Helping Hand
- Taunt
"""

TEAMS = (_REVIVERS, _TRAPPERS)
