#!/usr/bin/env bash
# Background training of a StarCraft II bot: its commands by the names that they have here, on the stand-in,
# with few games. A test runs it. (The suite of its own, test_background_training.py, is tests/live/.)
set -eu

# run_with_training.py: bot, game and learner in one command; stopped and started again it goes on.
lanista live run starcraft2 --output sc2 --opponent Rush --games 1
lanista live run starcraft2 --output sc2 --games 1

# The background learner by itself, on what a bot left behind: up to 10 files a batch, every 5 seconds.
lanista learn --spool sc2/spool --policy sc2/policy --once --max-batch-files 10 --poll 5 --report-every 5 --nice 0

# What came of it: the policies, what is wrong if anything, a page.
lanista policy list sc2/policy
lanista doctor sc2
lanista report sc2 --output-dir report
