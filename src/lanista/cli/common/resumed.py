"""Tells by its flag which setting of a resumed run is another than the run was begun with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from lanista.errors import ChangedSettingError


@contextmanager
def naming_flags(
    flags: Mapping[str, str],
    *,
    words: Sequence[str] = (),
    config: object = None,
    output: str = "--output",
) -> Iterator[None]:
    """Name the flag where the block refuses a changed setting.

    `flags` has the flag for a setting, or for all that begin with it; `words` are what `--set` was
    given, which counts more, and `config` is the file that has the rest.
    """
    try:
        yield
    except ChangedSettingError as error:
        keys = {word.partition("=")[0] for word in words}
        names = {**flags, **{key: f"--set {key}" for key in keys}}
        file = "" if config is None else f"--config {config}"
        # The longest is the nearest: `network.size` before `network`.
        matching = [key for key in names if f"{error.key}.".startswith(f"{key}.")]
        flag = names[max(matching, key=len)] if matching else file
        raise error.named(flag, output) from error
