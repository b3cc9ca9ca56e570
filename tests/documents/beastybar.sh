#!/usr/bin/env bash
# The plan "iter600 to iter1000" for Beasty Bar, step by step, with sizes for minutes. A test runs it.
# There are configs/iter600_to_1000.yaml, the plan as written; checkpoints/v4/final.pt, a training state
# as another program saves it; map.yaml, which of its tensors is which; greedy.py, a bot of one's own.
set -eu

# The baseline: what the checkpoint holds, and a policy of it.
lanista policy import checkpoints/v4/final.pt
lanista policy import checkpoints/v4/final.pt --mapping map.yaml --output iter600.safetensors
lanista export iter600.safetensors --to numpy --output model_inference.policy

# Its win rates against all ten opponents.
lanista evaluate iter600.safetensors --opponents random,heuristic,aggressive,defensive,queue,skunk,noisy,online,outcome,distilled_outcome --games 4

# The configuration for the iterations from 600 to 1000.
lanista config import configs/iter600_to_1000.yaml --output plan.yaml --done 600

# Resume training from iter600: asynchronous workers, schedules, adaptive weights, exploiters.
lanista rl --config plan.yaml --supervised-checkpoint iter600.safetensors --output runs/iter1000.safetensors --set iterations=3 network.width=16 network.layers=1 network.attention_heads=2 network.embedding=4 rollouts.matches=24 rollouts.workers=2 learning.minibatches=2 learning.epochs=1 evaluation.every=1 evaluation.matches=4 league.round=1 league.main.snapshot_decisions=300 league.exploiter_check_interval=2 league.exploiter_train_steps=600 league.exploiter_games=10 checkpoints.save_every=1

# Go on, as after a machine that was taken away.
lanista rl --config plan.yaml --supervised-checkpoint iter600.safetensors --output runs/iter1000.safetensors --resume --set iterations=4 network.width=16 network.layers=1 network.attention_heads=2 network.embedding=4 rollouts.matches=24 rollouts.workers=2 learning.minibatches=2 learning.epochs=1 evaluation.every=1 evaluation.matches=4 league.round=1 league.main.snapshot_decisions=300 league.exploiter_check_interval=2 league.exploiter_train_steps=600 league.exploiter_games=10 checkpoints.save_every=1

# Evaluation and validation, against a heuristic of one's own too.
lanista report runs/iter1000.safetensors.run
lanista evaluate runs/iter1000.safetensors --opponents all,greedy.py --games 4 --greedy
