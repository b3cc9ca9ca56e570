from typing import Any

from lanista.games.compiled import CompiledGame

class BeastyBar(CompiledGame):
    def __init__(self, slots: int, seed: int, **settings: Any) -> None: ...
    def state(self, slot: int) -> dict[str, Any]: ...
