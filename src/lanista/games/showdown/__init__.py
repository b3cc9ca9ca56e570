"""Pokémon Showdown: the npm package `pokemon-showdown` as a simulator in Node workers of our own.

install.py brings the simulator, worker.mjs runs battles in Node (speedups.mjs makes it faster),
process.py talks to one worker, battles.py to several, views.py holds what they hand over,
formats.py names the formats, orders.py numbers what a player can choose, teams.py reads team files
and team_making.py writes new ones (generating.mjs makes them in the worker).
Nothing of Pokémon's rules is written here.

On top, game.py is the contract (entry.py its place in the registry, description.py its spec,
dealing.py what a deal fixes, match.py one battle in a slot, tables.py the arrays, saves.py and
redraw.py what is played again, draw.py a picture). bots.py and heuristic.py are our own bots; they
see through sight.py and options.py and reckon with damage.py. poke_env_bots.py drives poke-env's
players, whose choices words.py reads.

server.py is one real server (server_folder.py where it runs, serve.mjs and offline.mjs inside it),
servers.py several that are kept running. logs.py reads battle logs and the files spectator*.py what
they prove of each side's choices.

From lines to an observation: tracker.py follows a battle for one player, lines.py, minor_lines.py
and volatile_lines.py say what each kind of line tells (naming.py, effects.py: whom and what it
names), requests.py what a request tells; knowledge.py is what is known then, speeds.py and
belief.py what follows from it; vocabulary.py numbers names (dex.json, made by dex.mjs), fields.py
lays an observation out and encoding.py writes it. Of observation version 2: traits.py has what
moves, items and abilities do and what species bring (traits.json, made by traits.mjs), likely.py
what an opponent probably has, token_fields.py the layout, token_encoding.py the writer with
mon_traits.py, place_tokens.py, move_tokens.py and matchups.py (damage and threats), privileged.py
what a critic may see, and actions/references.py which tokens an order is about.

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

How to follow a battle, in a worker's battles and on a server alike: a `Tracker` for each seat, fed
after every update with that seat's `View` and nothing else.

    tracker = Tracker(format_named("gen9vgc2025regi"), seat, belief)
    tracker.hear(view.lines)          first the lines
    tracker.ask(view.request)         then the request, unless it is None; `wait` ones too
    tracker.encode(row)               `row` has observation_of(format).length entries of int16

A fourth argument of `Tracker`, and a second of `observation_of`, is the version of the observation.

`belief` is `Belief.of_teams(team.packed for team in pool.teams)`, made once and shared, or None.
`hear` and `ask` raise `GameError` where a message cannot be read. `tracker.strange` counts what was
ignored because nobody here knows it. A refused choice (`View.refused`) comes without lines: ask
with the new request and encode. Token i of the own party is position i + 1 of the simulator, so
orders.py's switches and the moves of place 0 and 1 are in the order of the tokens. A new
observation is a new version, and the old ones stay.
"""
