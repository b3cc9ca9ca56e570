"""The pages of `lanista view`: a local server over a folder of runs, which it only reads."""
