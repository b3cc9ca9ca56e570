from typing import Any

from lanista.games.compiled import CompiledGame

NAMES: tuple[str, ...]

class CardRps(CompiledGame):
    def __init__(self, slots: int = 1, seed: int = 0) -> None: ...
    def state(self, slot: int) -> dict[str, Any]: ...
