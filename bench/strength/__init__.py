"""How long it takes to become strong: ours beside the PPO of others, on the same CPU seconds.

`rows` says what is measured, `curves` what a mark and a ratio are, `judge` how strong a policy is;
`ours` and `sb3` are the arms, each a process of its own; `command` runs them, `page` prints them.
"""
