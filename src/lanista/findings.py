"""What a finding is: a fault that keeps a policy from getting better, with its evidence.

Owns the words; who looks for what is elsewhere. Knows nothing of folders and files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Gravity = Literal["stops", "spoils", "doubt"]
GRAVITIES: tuple[Gravity, ...] = ("stops", "spoils", "doubt")


@dataclass(frozen=True)
class Finding:
    """Something that explains why nothing is learned."""

    name: str
    gravity: Gravity
    """stops: nothing can be learned; spoils: something wrong is learned, or less than could be;
    doubt: it may be as it should be."""
    sentence: str
    """What is the case, with its numbers."""
    meaning: str
    remedy: str
    evidence: Mapping[str, Any]
    """Numbers, file names and digests, plain values."""


@dataclass(frozen=True)
class Examination:
    """What was looked at, and what was found."""

    facts: tuple[str, ...]
    """What was looked at and what cannot be known, a sentence each."""
    findings: tuple[Finding, ...]
    """The gravest first."""

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return {
            "facts": list(self.facts),
            "findings": [asdict(finding) for finding in self.findings],
        }


def by_gravity(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings, the gravest first; those of one gravity stay in their order."""
    return tuple(sorted(findings, key=lambda finding: GRAVITIES.index(finding.gravity)))


def short(digest: str) -> str:
    """Return as much of a digest as people read."""
    return digest[:12]
