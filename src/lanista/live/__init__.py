"""Bots in the wild: what they play with, and what decides whether a new policy is better."""

from lanista.live.agent.agent import Action, Agent, Game, Report

__all__ = ["Action", "Agent", "Game", "Report"]
