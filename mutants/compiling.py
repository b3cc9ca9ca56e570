"""Compiles one Cython module in place, without optimisation: `python -m mutants.compiling FILE`."""

from __future__ import annotations

import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension
from setuptools.dist import Distribution

DIRECTIVES = {
    "language_level": 3, "boundscheck": False, "wraparound": False, "cdivision": True,
    "initializedcheck": False,
}  # fmt: skip


def main() -> None:
    """Compile the file named on the command line."""
    path = Path(sys.argv[1])
    module = ".".join(path.relative_to("src").with_suffix("").parts)
    extension = Extension(module, [str(path)], extra_compile_args=["-O1", "-ffp-contract=off"])
    modules = cythonize([extension], include_path=["src"], compiler_directives=DIRECTIVES,
                        force=True, quiet=True)  # fmt: skip
    distribution = Distribution({"ext_modules": modules, "package_dir": {"": "src"}})
    command = distribution.get_command_obj("build_ext")
    command.inplace, command.force = True, True
    distribution.run_command("build_ext")


if __name__ == "__main__":
    main()
