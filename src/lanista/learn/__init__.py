"""How a policy improves: returns, losses, regularisers, schedules, and the learner.

Knows trajectories as tensors; never imports a game.
"""
