"""Bots in the wild: what they play with, and what decides whether a new policy is better."""
