from lanista.games.compiled import CompiledGame

class Arena(CompiledGame):
    def __init__(
        self,
        slots: int = 1,
        seed: int = 0,
        *,
        seats: int = 2,
        duration: float = 60.0,
        ticks_per_decision: int = 3,
        observation: str = "rich",
    ) -> None: ...
