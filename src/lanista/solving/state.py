"""The state of a solve in a file, so that one that was killed goes on.

Safetensors, written whole or not at all; a file of another game, method or version is refused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from lanista.errors import LanistaError, RefusedError
from lanista.files import Kind, write_bytes
from lanista.games.trees.tree import InformationTree
from lanista.solving.tabular import Method, TabularSolver, tree_digest

STATE = Kind("the state of `lanista solve`", rb'"lanista_solve":', 65536)
_KEY = "lanista_solve"
_MOST_ITERATIONS = 1 << 48
"""Beyond lies a damaged file."""


def state_path(output: Path) -> Path:
    """Return where the state of a solve lies."""
    return output.with_name(f"{output.name}.state")


def save_state(path: Path, solver: TabularSolver) -> None:
    """Write what a solver needs to go on."""
    about = {"iterations": solver.iterations, "method": solver.method, **_tree_of(solver.tree)}
    text = json.dumps(about, sort_keys=True)
    write_bytes(path, save(dict(solver.arrays), {_KEY: text}), STATE)


def load_state(path: Path, tree: InformationTree, method: Method) -> TabularSolver:
    """Return a solver as it was saved; refuse the state of another game or method."""
    try:
        data = path.read_bytes()
        arrays, about = load(data), _about(data)
        iterations, sizes = _count(about), [int(seat.first[-1]) for seat in tree.seats]
        fits = {name: array.shape for name, array in arrays.items()} == {
            f"{kind}_{seat}": (size,)
            for seat, size in enumerate(sizes)
            for kind in ("regret", "average")
        }
        finite = all(
            array.dtype == np.float64 and np.isfinite(array).all() for array in arrays.values()
        )
    except FileNotFoundError:
        raise LanistaError(
            f"There is no {str(path)!r} to go on from; leave out --resume."
        ) from None
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RefusedError(
            f"{str(path)!r} is not the state of a solve, or is damaged; leave out --resume, and "
            "name another output."
        ) from error
    if about.get("method") != method:
        raise RefusedError(
            f"{str(path)!r} was solved with the method {about.get('method')!r:.20}; give --method "
            "as before."
        )
    if (
        not fits
        or not finite
        or {name: about.get(name) for name in _tree_of(tree)} != _tree_of(tree)
    ):
        raise RefusedError(
            f"{str(path)!r} is the state of another game, other settings or another version; name "
            "another output."
        )
    solver = TabularSolver(tree, method, arrays)
    solver.iterations = iterations
    return solver


def _tree_of(tree: InformationTree) -> dict[str, str]:
    return {"game": tree.game, "tree": tree_digest(tree)}


def _count(about: dict[str, Any]) -> int:
    """Return how many iterations were done; weights of the average grow with their number."""
    iterations = about["iterations"]
    if type(iterations) is not int or not 0 <= iterations <= _MOST_ITERATIONS:
        raise ValueError(f"{iterations!r:.20} is no number of iterations")
    return iterations


def _about(data: bytes) -> dict[str, Any]:
    """Return the remark in a file's header, which the library gives for files alone."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    about: dict[str, Any] = json.loads(header["__metadata__"][_KEY])
    return about
