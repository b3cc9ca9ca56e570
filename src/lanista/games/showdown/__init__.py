"""Pokémon Showdown: the npm package `pokemon-showdown` as a simulator in Node workers of our own.

install.py brings the simulator, worker.mjs runs battles in Node (speedups.mjs makes it faster),
process.py talks to one worker, battles.py to several, views.py holds what they hand over,
formats.py names the formats, orders.py numbers what a player can choose, teams.py reads team files.
Nothing of Pokémon's rules is written here.

What a step hands over (views.py). `Battles.start` and `Battles.choose` return an `Update` for every
battle that moved on:

    slot      which battle
    views     one `View` a seat: what that player, and nobody else, has been told
    ended     the battle is over
    winner    the seat that won; -1 while the battle goes on and for a tie
    cut_off   the worker or the simulator broke down: the battle has no result
    reason    why it was cut off

    View.lines     the battle's protocol lines since the last update, as that player sees them:
                   `|split|` resolved, own HP exact and the opponent's in hundredths; no `|request|`
                   and no `|t:|` lines. They come before the request in time.
    View.request   the request JSON as a dict: `teamPreview`, `active` or `forceSwitch`, or
                   `wait`; always with `side`. None once the battle has ended.
    View.refused   "" or why the simulator could not take the last choice. That happens only where
                   the request said "maybe" (`maybeTrapped`, `maybeDisabled`, `maybeLocked`): the
                   player learns what was hidden and the new request asks again. The battle has not
                   moved on and lines are empty.

Seat 0 is p1 and seat 1 is p2. A battle is the same again for the same format, seed, teams and
choices: the views are equal, line for line.

A live player gets the same two things from a server: lines of a battle room and request JSON. So
an encoder fed with (lines, request) serves both.
"""
