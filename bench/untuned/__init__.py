"""What `lanista rl --game GAME` comes to in games that nobody tuned a setting for.

`rows` is the list of games, `games/` those of them that are written in Python, `judge` measures a
policy, `verdict` says what went wrong, `arm` makes one run, `command` many, `page` prints them.
"""
