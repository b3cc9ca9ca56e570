"""A league: its players and learners, matchmaking, snapshots, resets and exploiters."""
