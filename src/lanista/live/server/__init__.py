"""Bots here, learner there: takes games of bots on other machines, serves policies."""
