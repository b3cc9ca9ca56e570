"""OpenSpiel's CFR+ and NFSP on Leduc poker: exact NashConv against CPU seconds, as JSON lines.

    python -m bench.peers_leduc --seconds 300 --seeds 5 > peers-leduc.jsonl

The lines are what `beside` of an experiment reads. CPU seconds leave out measuring, as they do in
our own runs. CFR+ walks the whole tree, so it has no decisions and one seed. NFSP is the PyTorch
one with the settings of OpenSpiel's own Leduc example; it needs dm-tree, which OpenSpiel does not
bring: `pip install --target peers dm-tree` and PYTHONPATH=peers.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

LOOKS = 30
METRIC = "exact/nash_conv"
NFSP = {
    "hidden_layers_sizes": [128],
    "replay_buffer_capacity": int(2e5),
    "reservoir_buffer_capacity": int(2e6),
    "min_buffer_size_to_learn": 1000,
    "anticipatory_param": 0.1,
    "batch_size": 128,
    "learn_every": 64,
    "rl_learning_rate": 0.01,
    "sl_learning_rate": 0.01,
    "optimizer_str": "sgd",
    "loss_str": "mse",
    "update_target_network_every": 19200,
    "discount_factor": 1.0,
    "epsilon_decay_duration": int(20e6),
    "epsilon_start": 0.06,
    "epsilon_end": 0.001,
}
Line = dict[str, Any]


def looks(
    seconds: float, work: Callable[[], int], measure: Callable[[], float]
) -> Iterator[tuple[int, int, float, float]]:
    """Work for so many CPU seconds; give steps, decisions, seconds and NashConv now and then."""
    spent, steps, decisions = 0.0, 0, 0
    for number in range(1, LOOKS + 1):
        while spent < seconds * number / LOOKS:
            began = time.process_time()
            decisions += work()
            spent += time.process_time() - began
            steps += 1
        yield steps, decisions, spent, measure()


def cfr_plus(seconds: float) -> Iterator[Line]:
    """Run the compiled CFR+ and measure its average policy."""
    import pyspiel

    game = pyspiel.load_game("leduc_poker")
    solver = pyspiel.CFRPlusSolver(game)

    def work() -> int:
        solver.evaluate_and_update_policy()
        return 0

    def measure() -> float:
        return float(pyspiel.nash_conv(game, solver.average_policy()))

    for steps, _, spent, value in looks(seconds, work, measure):
        yield {"arm": "CFR+ (OpenSpiel)", "seed": 0, "update": steps, "decisions": None,
               "cpu_seconds": round(spent, 2), METRIC: value}  # fmt: skip


def nfsp(seconds: float, seed: int) -> Iterator[Line]:
    """Run NFSP in PyTorch on one thread and measure its average policy."""
    try:
        import torch
        from open_spiel.python import rl_environment
        from open_spiel.python.pytorch import nfsp as module
    except ImportError as error:
        yield {"arm": "NFSP (OpenSpiel)", "seed": seed, "skipped": str(error)}
        return
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    np.random.seed(seed)  # OpenSpiel draws from there.
    game = rl_environment.Environment("leduc_poker", players=2)
    game.seed(seed)
    size = game.observation_spec()["info_state"][0]
    choices = game.action_spec()["num_actions"]
    agents = [module.NFSP(seat, size, choices, **NFSP) for seat in range(2)]

    def work() -> int:
        step, decisions = game.reset(), 0
        while not step.last():
            answer = agents[step.observations["current_player"]].step(step)
            step = game.step([answer.action])
            decisions += 1
        for agent in agents:
            agent.step(step)
        return decisions

    average = module.MODE.AVERAGE_POLICY
    for steps, decisions, spent, value in looks(
        seconds, work, lambda: _nash_conv(game.game, agents, average, rl_environment.TimeStep)
    ):
        yield {"arm": "NFSP (OpenSpiel)", "seed": seed, "update": steps, "decisions": decisions,
               "cpu_seconds": round(spent, 2), METRIC: value}  # fmt: skip


def _nash_conv(game: Any, agents: list[Any], mode: Any, make_step: Callable[..., Any]) -> float:
    """Return NashConv of the agents' policies, asked once for every information state."""
    import pyspiel

    table: dict[str, list[tuple[int, float]]] = {}
    open_states = [game.new_initial_state()]
    while open_states:
        state = open_states.pop()
        if state.is_terminal():
            continue
        if not state.is_chance_node():
            seat, name = state.current_player(), state.information_state_string()
            if name not in table:
                observations = {"current_player": seat, "info_state": [None, None],
                        "legal_actions": [None, None]}  # fmt: skip
                observations["info_state"][seat] = state.information_state_tensor()
                observations["legal_actions"][seat] = state.legal_actions()
                step = make_step(
                    observations=observations, rewards=None, discounts=None, step_type=None
                )
                with agents[seat].temp_mode_as(mode):
                    chances = agents[seat].step(step, is_evaluation=True).probs
                legal = state.legal_actions()
                total = sum(float(chances[move]) for move in legal)
                table[name] = [(move, float(chances[move]) / total) for move in legal]
        open_states += [state.child(move) for move in state.legal_actions()]
    return float(pyspiel.nash_conv(game, table))


def main() -> None:
    """Print a line for every look."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=300.0, help="CPU seconds of each run")
    parser.add_argument("--seeds", type=int, default=5, help="seeds of NFSP, from 1")
    parser.add_argument("--only", choices=["cfr", "nfsp"], help="run only one of them")
    options = parser.parse_args()
    if options.only != "nfsp":
        for line in cfr_plus(options.seconds):
            print(json.dumps(line), flush=True)
    if options.only != "cfr":
        for seed in range(1, options.seeds + 1):
            for line in nfsp(options.seconds, seed):
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
