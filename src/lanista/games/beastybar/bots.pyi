from typing import Any

from numpy.typing import NDArray

from lanista.games.contract import Decisions, Ints, Spec

NAMES: tuple[str, ...]

class BeastyBot:
    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...
    def act(self, decisions: Decisions, rows: NDArray[Any]) -> Ints: ...

def make_bot(name: str, spec: Spec, seed: int) -> BeastyBot: ...
