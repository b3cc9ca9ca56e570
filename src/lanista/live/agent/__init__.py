"""What a bot holds: the policy in service, its answers, and games on their way to disk."""
