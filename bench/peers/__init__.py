"""Other people's learners on our games, each run by a virtual environment of its own.

`subject` is what all of them learn on and how they answer; every other module is one peer. The text
file beside a module is what `make peers` installs for it.
"""
