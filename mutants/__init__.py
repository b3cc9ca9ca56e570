"""`make mutants`: plants faults in the source one at a time and counts those that tests notice."""
