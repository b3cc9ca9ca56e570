"""Builds the compiled games. Everything else about the package is in pyproject.toml."""

import sys
import sysconfig
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

# A seed must mean the same match on every machine: no contraction of multiply and add, no
# fast-math, nothing of the build machine's own instruction set.
FLAGS = (
    ["/O2", "/fp:precise"]
    if sys.platform == "win32"
    else ["-O3", "-ffp-contract=off", "-fno-fast-math", "-Wno-unused-const-variable"]
)

SOURCE = Path("src")
# One wheel for all of CPython from 3.11 on; docs/reference/release.md has what it costs. A build
# without the global lock has no stable ABI.
STABLE_ABI = not sysconfig.get_config_var("Py_GIL_DISABLED")
MACROS = [("Py_LIMITED_API", "0x030B0000")] if STABLE_ABI else []


def extension(path: Path) -> Extension:
    module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    return Extension(
        module,
        [path.as_posix()],
        extra_compile_args=FLAGS,
        define_macros=MACROS,
        py_limited_api=STABLE_ABI,
    )


setup(
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE_ABI else {},
    ext_modules=cythonize(
        [extension(path) for path in sorted(SOURCE.rglob("*.pyx"))],
        include_path=[SOURCE.as_posix()],
        compiler_directives={
            "language_level": 3,
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
            "embedsignature": True,
            "embedsignature.format": "python",
        },
    ),
)
