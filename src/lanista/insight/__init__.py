"""A look into matches: what seats saw, what a policy thinks of it, and a person at the table."""
