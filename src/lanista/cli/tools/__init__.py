"""Tools: check a game, settings files, replays, exports, profiles."""
