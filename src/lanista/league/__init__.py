"""A league: its players and learners, who meets whom, snapshots, resets and exploiters."""
