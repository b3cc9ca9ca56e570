"""What a bot holds: the policy in service, its answers, and games on their way to disk."""

from lanista.live.agent.agent import Action, Agent, AgentError, Game, Report

__all__ = ["Action", "Agent", "AgentError", "Game", "Report"]
