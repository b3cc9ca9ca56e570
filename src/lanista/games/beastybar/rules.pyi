from collections.abc import Sequence

Cards = list[tuple[int, int]]

def resolve_line(
    line: Sequence[tuple[int, int]], species: int, seat: int, action: int
) -> tuple[Cards, Cards, Cards]: ...
