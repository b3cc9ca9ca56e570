"""Sections of a report as a page's script gets them: the same charts, tables and words, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from lanista.report.pages.html import Element, Section


def plain_section(section: Section) -> dict[str, Any]:
    """Return a section as plain values; every text is plain text."""
    return {
        "title": section.title,
        "anchor": section.anchor,
        "lead": section.lead,
        "elements": [plain_element(element) for element in section.elements],
    }


def plain_sections(sections: Sequence[Section | None]) -> list[dict[str, Any]]:
    """Return the sections that are there."""
    return [plain_section(section) for section in sections if section is not None]


def plain_element(element: Element) -> dict[str, Any]:
    """Return an element with the name of its kind."""
    values = {entry.name: getattr(element, entry.name) for entry in fields(element)}
    return {"kind": type(element).__name__.lower(), **values}
