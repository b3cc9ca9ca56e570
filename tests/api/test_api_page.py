"""docs/reference/api.md: everything that `import lanista` gives is in it."""

import re
from pathlib import Path

import lanista

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "api.md"


def test_the_page_has_every_name_of_the_package():
    shown = re.findall(r"^::: (\S+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    names = lanista._HOME_OF.items()
    assert len(names) > 25
    missing = [name for name, home in names if home not in shown and f"{home}.{name}" not in shown]
    assert missing == []
