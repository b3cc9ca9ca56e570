"""Whether a candidate replaces the policy in service: gates, sequential tests, vetoes."""
