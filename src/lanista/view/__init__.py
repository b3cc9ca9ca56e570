"""The pages of `lanista view`: a local server over a folder of runs. Towards a run it only reads."""
