"""Regret learning: networks of regrets, and of the average strategy that comes of them."""
