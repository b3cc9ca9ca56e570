"""Settings files of other programs, read as ours."""
