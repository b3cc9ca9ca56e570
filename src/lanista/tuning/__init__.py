"""Searches a run's settings by time to strength, and proves the winner on fresh seeds.

`space` says what may vary, `plan` what a search is; `study` keeps it with Optuna, `search` and
`confirm` run it. Trials are plain `lanista rl` runs, timed by `pipeline.timed_run`.
"""
