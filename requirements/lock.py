"""Writes requirements/test.txt: the exact set with which `make test` is run, with hashes.

Run by `make lock`, with `uv` in the environment. Takes ranges and extras from pyproject.toml and
leaves out torch and what only torch's CUDA builds need, for reasons that the header gives.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
LOCK = HERE / "test.txt"
TORCH = HERE / "torch.txt"
EXTRAS = ("dev", "openspiel", "environments", "onnx", "showdown", "tune", "ray")
PYTHON = "3.11"
BUILDS = re.compile(r"(torch|triton|cuda-[a-z]+|nvidia-[a-z0-9-]+)==")
HEADER = f"""\
# The exact set with which `make test` is run, for Python {PYTHON}; pyproject.toml has the ranges.
# Renewed by `make lock`; not written by hand. Install it with
#
#     pip install --require-hashes --no-deps --requirement requirements/test.txt
#
# The hashes are those of all files of a release, for all platforms. torch is not among them and
# has no hash anywhere: the same version comes as several builds (for the CPU, for each CUDA), with
# other files and other needs, and pip takes hashes for all that it installs or for nothing.
# requirements/torch.txt names its version; what every build of it needs is in here.
"""
TORCH_HEADER = "# Written by `make lock`; requirements/test.txt says why torch stands apart.\n"


def main() -> int:
    """Write both files."""
    command = [*("uv", "pip", "compile", "--quiet", "--no-config", "pyproject.toml")]
    command += [part for extra in EXTRAS for part in ("--extra", extra)]
    command += ["--generate-hashes", "--universal", "--python-version", PYTHON]
    command += ["--no-header", "--no-annotate", "--upgrade", *sys.argv[1:]]
    compiled = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # A requirement is a line and those that are indented below it.
    blocks = [block for block in re.split(r"^(?=\S)", compiled, flags=re.MULTILINE) if block]
    kept = [block for block in blocks if not BUILDS.match(block)]
    (torch,) = (block.split()[0] for block in blocks if block.startswith("torch=="))
    LOCK.write_text(HEADER + "".join(kept), encoding="utf-8")
    TORCH.write_text(f"{TORCH_HEADER}{torch}\n", encoding="utf-8")
    print(f"{LOCK}: {len(kept)} packages; {TORCH}: {torch}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
