#!/usr/bin/env bash
# The guide to R-NaD for Pokémon: its own commands in their own order, by the names that they have here,
# with sizes for minutes. A test runs it. There are fast_test.yaml, the guide's minimal configuration, and
# data/models/bc_action_model.pt, a policy of ours in the place of its cloned model. Its servers
# (lanista showdown serve --num-servers 6) are not needed to train; tests/cli/test_showdown_serve.py runs them.
set -eu

# A default configuration to edit, and all of the training by it: cloning, then finetuning.
lanista config new showdown-vgc my_config.yaml
lanista run my_config.yaml --output-dir runs/vgc --cpu --set "stages.record.seats=[\"heuristic,random\"]" stages.record.matches=8 "stages.imitate.network={kind: transformer, width: 16, layers: 1, attention_heads: 2}" stages.imitate.imitation.epochs=1 stages.imitate.evaluation_matches=0 stages.league.iterations=1 stages.league.learning.minibatches=1 stages.league.rollouts.unrolls=4 stages.league.rollouts.slots=2 stages.league.rollouts.workers=1 stages.league.rollouts.launcher=serial "stages.league.rollouts.opponents=[self, random]" stages.league.league.round=1 stages.league.league.main.snapshot_decisions=10 stages.league.league.exploiter_check_interval=0 "stages.league.evaluation.bots=[random]" stages.league.evaluation.matches=2 stages.league.checkpoints.save_every=1 "stages.evaluate.opponents=[random]" stages.evaluate.games=2

# The guide's own file: train, resume from the newest checkpoint, go back to a certain one.
lanista config import fast_test.yaml --output fast.yaml
lanista rl --config fast.yaml --output artifacts/main.safetensors --cpu --set iterations=2 rollouts.matches=2 rollouts.slots=2 rollouts.workers=1 rollouts.launcher=serial league.round=1 league.main.snapshot_decisions=10 learning.reference_every=1 checkpoints.save_every=1
lanista rl --resume --output artifacts/main.safetensors --iterations 3
lanista rl --checkpoint artifacts/main.safetensors.run/checkpoints/000002 --output artifacts/main.safetensors

# The profiler. With --sweep it takes minutes on this game; tests/cli/test_profile.py sweeps on a small one.
lanista profile fast.yaml --output results.json --seconds 0.05 --repeats 1 --set rollouts.matches=2 rollouts.slots=2 rollouts.workers=1 rollouts.launcher=serial

# Against what it is judged: bots, and poke-env's players on a real server.
lanista evaluate artifacts/main.safetensors --opponents random --games 2
lanista showdown evaluate artifacts/main.safetensors --opponents random --battles 2
