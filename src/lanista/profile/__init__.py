"""Where a recipe's time goes: measurements, the bottleneck, and a sweep of faster settings."""
