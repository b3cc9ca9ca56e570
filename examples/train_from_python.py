"""From nothing to a trained, evaluated and exploited Kuhn poker policy, without the command line.

    python examples/train_from_python.py

takes less than a minute on one core; --folder keeps what it makes. docs/guides/python.md explains
each step.
"""

import argparse
import tempfile
from pathlib import Path

import lanista


def progress(update, values):
    """Called after every update; returning True would end the run, with all saved."""
    if "exact/nash_conv" in values:
        print(f"update {update}: NashConv {values['exact/nash_conv']:.3f}")


def main(folder, iterations, train_steps):
    game = lanista.make("kuhn")
    print(f"{game.spec.name}: {game.spec.seats} seats, at most {game.spec.facts.longest} turns")

    trained = lanista.train(
        "kuhn-ppo",
        output=folder / "kuhn.safetensors",
        iterations=iterations,
        evaluation={"every": max(1, iterations // 6)},
        device="cpu",
        on_update=progress,
    )
    print(trained)

    print(lanista.evaluate(trained.policy_path, "random", games=4000))

    response = lanista.exploit(
        trained.policy_path,
        output=folder / "response.safetensors",
        train_steps=train_steps,
        unit="gain",
        threshold=0.0,
        device="cpu",
    )
    print(f"best response: gains {response.gain} per match, a {response.called}")
    if response.exact_gain is not None:
        print(f"exactly: {response.exact_gain:.4f}")

    policy = trained.load()
    game.start([0], [0])
    decision = game.decisions()
    observation, mask = decision.observation[0], decision.mask[0]
    print(f"first decision: {policy.probabilities(observation, mask)[0].round(3)}")
    print(f"the policy takes {policy.act(observation, mask, greedy=True)}")

    losses = trained.rows()
    print(f"value loss: {losses[0]['value/loss']:.3f} to {losses[-1]['value/loss']:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, help="where everything goes; nowhere unless given")
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--train-steps", type=int, default=60_000, help="of the best response")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        main(options.folder or Path(passing), options.iterations, options.train_steps)
