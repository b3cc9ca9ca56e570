"""What came of runs, for people: curves, tables, plots. Knows nothing of how runs are made."""
