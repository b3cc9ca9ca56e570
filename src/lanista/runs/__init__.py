"""A run on disk: its settings, its folder, run.db, checkpoints, resuming and slimming."""
