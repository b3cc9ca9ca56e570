"""What a policy is made of: encoders, heads, distributions, sizes, and the policy file."""
