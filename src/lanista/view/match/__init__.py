"""Matches to look into: lists of them, one as steps, and what a policy thinks of each.

`walk` says what lies in the folder, `takes` gets a match, `film_cache` keeps films of those
that are looked at, `routes` answers.
"""

from lanista.view.match.routes import routes

__all__ = ["routes"]
