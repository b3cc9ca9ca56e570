"""What goes wrong while a policy is trained, as findings from a run's own numbers."""
