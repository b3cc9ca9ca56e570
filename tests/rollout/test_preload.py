"""Processes are forked from a server that has imported what builds their collectors."""

import os
import subprocess
import sys
from functools import partial

from ray_collectors import kuhn

from lanista.rollout.parallel_collector import _modules_of

PROGRAM = """
from multiprocessing import get_context
from lanista.rollout.launchers.processes import warm_up

def tell(pipe):
    import os, slow_to_import
    pipe.send(slow_to_import.server == os.getppid())

if __name__ == "__main__":
    warm_up(["slow_to_import"])
    here, there = get_context("forkserver").Pipe()
    process = get_context("forkserver").Process(target=tell, args=(there,))
    process.start()
    print(here.recv())
    process.join()
"""


class Build:
    def __call__(self, line):
        raise AssertionError


def local(line):
    raise AssertionError


def test_modules_of_functions_partial_functions_and_objects():
    assert _modules_of([partial(kuhn, 1), partial(kuhn, 2)]) == ("ray_collectors",)
    assert _modules_of([local, Build()]) == (__name__,)
    main = partial(local)
    main.func.__module__, before = "__main__", local.__module__
    try:
        assert _modules_of([main]) == ()
    finally:
        local.__module__ = before


def test_a_server_has_imported_what_processes_need_before_they_are_forked(tmp_path):
    (tmp_path / "slow_to_import.py").write_text("import os\nserver = os.getpid()\n")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    ran = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True)
    assert ran.stdout == "True\n", ran.stderr
