"""Names flags as the user typed them where a run that is resumed refuses its settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from lanista.errors import ChangedSettingError, FewerIterationsError


@contextmanager
def naming_flags(
    flags: Mapping[str, str],
    *,
    words: Sequence[str] = (),
    config: object = None,
    output: str = "--output",
    earlier: str = "leave it out",
) -> Iterator[None]:
    """Name the flag where the block refuses a changed setting, or fewer iterations than are done.

    `flags` has the flag for a setting, or for all that begin with it; `words` are what `--set` was
    given, which counts more, and `config` is the file that has the rest. `earlier` is what else to
    do where the run has done more.
    """
    file = "" if config is None else f"--config {config}"
    try:
        yield
    except ChangedSettingError as error:
        raise error.named(flag_of(error.key, flags, words) or file, output) from error
    except FewerIterationsError as error:
        flag = flag_of("iterations", flags, words) or file or "iterations"
        raise error.named(flag, earlier) from error


def flag_of(key: str, flags: Mapping[str, str], words: Sequence[str]) -> str:
    """Return the flag that a setting, or what it is part of, was given with; "" where none was."""
    keys = {word.partition("=")[0] for word in words}
    names = {**flags, **{key: f"--set {key}" for key in keys}}
    # The longest is the nearest: `network.size` before `network`.
    matching = [name for name in names if f"{key}.".startswith(f"{name}.")]
    return names[max(matching, key=len)] if matching else ""
