from typing import Any

from numpy.typing import NDArray

from lanista.games.contract import Decisions, Ints, Spec

VERSIONS: dict[str, int]

class ArenaBot:
    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def version(self) -> int: ...
    def __init__(self, name: str, spec: Spec, seed: int) -> None: ...
    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints: ...
