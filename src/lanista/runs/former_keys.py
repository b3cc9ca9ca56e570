"""Settings that had another name: read under the present one, with a notice.

Digests of settings are compared in every spelling, so that what was begun under a former name goes
on. Knows nothing of what the settings mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from lanista.errors import LanistaError

FORMER = {"exploit_patch_interval": "exploiter_check_interval"}
"""By former key: the present one. Both are numbers, and 0 says that there is none."""


def present_key(key: str) -> str:
    """Return the present name of a key, with a notice where it is another."""
    if key not in FORMER:
        return key
    warnings.warn(
        f"The setting {key} is called {FORMER[key]} now, and is read as that.",
        FutureWarning,
        stacklevel=2,
    )
    return FORMER[key]


def with_present_keys(values: Any) -> Any:
    """Return plain values in which every key has its present name."""
    if not isinstance(values, Mapping):
        return values
    renamed = {key: with_present_keys(value) for key, value in values.items()}
    for former, present in FORMER.items():
        value = renamed.pop(former, 0)
        if not value:  # Earlier versions wrote it down beside the other.
            continue
        if renamed.get(present) not in (0, None, value):
            raise LanistaError(
                f"{former} is {value!r} and {present} {renamed[present]!r}, and they are one "
                f"setting; leave out {former}."
            )
        renamed[present_key(former)] = value
    return renamed


def spellings(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give plain values as each version would have written them, the newest first.

    Keys may be dotted. Earlier versions had both names, one of them 0.
    """
    for former, present in FORMER.items():
        yield _spelt(values, present, former, former_name=False)
        yield _spelt(values, present, former, former_name=True)


def _spelt(values: Any, present: str, former: str, *, former_name: bool) -> Any:
    if not isinstance(values, Mapping):
        return values
    spelt = {}
    for key, value in values.items():
        head, dot, last = str(key).rpartition(".")
        if last != present:
            spelt[key] = _spelt(value, present, former, former_name=former_name)
            continue
        spelt[key] = 0 if former_name else value
        spelt[f"{head}{dot}{former}"] = value if former_name else 0
    return spelt
