"""A person against a player in the browser.

`choices` says what can be played and against whom, `setup` makes a match of what was chosen,
`sessions` keeps matches that are going on, `clock` drives those that do not wait, `live_player`
lets a live learner's policy play, `routes` answers.
"""

from lanista.view.play.routes import routes

__all__ = ["routes"]
