"""A run from its settings to its policy: folder, metrics, checkpoints, resuming."""
