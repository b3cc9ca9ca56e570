"""The names of what a run's folder holds. Knows nothing of what is in it."""

from __future__ import annotations

CONFIG, DATABASE, CHECKPOINTS, POLICIES = "config.yaml", "run.db", "checkpoints", "policies"
EXPLOITERS = "exploiters"
"""Runs of a league's exploiters, where there are any."""
