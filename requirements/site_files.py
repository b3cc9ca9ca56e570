"""Files of the repository that pages link to, as files of the site. A hook of `make docs`.

Pages lie two folders deep and link to `../../examples/NAME`; the site has its own copy of these.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "examples"
KINDS = (".py", ".ipynb", ".toml", ".yaml")


def on_files(files: Files, config: Any) -> Files:
    """Add the examples to the site."""
    for path in sorted((ROOT / FOLDER).rglob("*")):
        if path.suffix in KINDS:
            source = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, source, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Point links at the copies."""
    return markdown.replace(f"](../../{FOLDER}/", f"](../{FOLDER}/")
