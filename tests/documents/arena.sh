#!/usr/bin/env bash
# The pipeline and the runbook for the arena: their own commands in their own order, by the names that
# they have here, with sizes for minutes. A test runs it. Nobody has made the folders of feedback.
set -eu

# Generate many game trajectories: 2 calls of 200.
lanista play arena --num_scripted_bots 2 --episode_duration 120 --record_replay --seed 1001
lanista play arena --num_scripted_bots 2 --episode_duration 120 --record_replay --seed 1002

# Dataset sanity.
lanista data --data-dir data/processed --feedback-dir reports/feedback_training

# Train the supervised start.
lanista imitate --data-dir data/processed --feedback-dir reports/feedback_training --reports-live-dir reports/live --output artifacts/alphastar/pi_sup.pt --epochs 1 --batch-size 128 --lr 3e-4 --size s --evaluation-matches 0

# Quick smoke test, as written.
lanista rl --supervised-checkpoint artifacts/alphastar/pi_sup.pt --output artifacts/alphastar/pi_rl_smoke_test.pt --iterations 1 --actor-rollouts 1 --learner-updates 1 --unroll-length 16 --batch-size 2 --replay-size 32 --min-replay-sequences 1 --save-every 1 --cpu --set evaluation.matches=2

# Fine-tune at scale.
lanista rl --supervised-checkpoint artifacts/alphastar/pi_sup.pt --output artifacts/alphastar/pi_rl.pt --iterations 2 --actor-rollouts 2 --learner-updates 2 --unroll-length 16 --batch-size 2 --replay-size 16 --min-replay-sequences 2 --save-every 1 --cpu --set evaluation.matches=2

# League-style continual training, as long as the pipeline's own example.
lanista league --supervised-checkpoint artifacts/alphastar/pi_sup.pt --output-dir reports/league --rounds 2 --rl-iterations-per-round 3 --actor-rollouts 2 --learner-updates 1 --cpu --set rollouts.unroll_length=16 replay.minimum=2 replay.batch=2 evaluation.matches=2 evaluation.bots=[random]

# Summarize league results.
lanista report --league-state reports/league/league_state.json --matches reports/league/matches.jsonl --output reports/league/summary.json
