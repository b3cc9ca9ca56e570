"""A link between two machines of a cluster is cut and healed; each has a network of its own.

The first is `lanista cluster start --host` here, the second `lanista cluster join` in a network
namespace, which needs the rights to make one.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from importlib.util import find_spec

import pytest
from pipeline_runs import same

if find_spec("ray") is None:
    pytest.skip("ray is not installed", allow_module_level=True)
if sys.platform != "linux":
    pytest.skip("needs network namespaces", allow_module_level=True)

from kill_clusters import FOREVER, Driver, alone, learner

from lanista.cluster.session import wait_for
from ray_machines import FAST_DEATH, STORE, environment_of, kill_marked

pytestmark = pytest.mark.slow


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(done.stderr)


class LinkedMachines:
    """A head here, and a machine behind a link that can be cut."""

    def __init__(self, folder, number):
        self.folder, self.name = folder, f"lr{number}"
        self.here, self.there = f"10.213.{number % 250}.1", f"10.213.{number % 250}.2"
        self.environment, self.mark = environment_of(folder)
        # Machines that reach each other need their real addresses.
        del self.environment["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"]
        self.environment |= {f"RAY_{name}": str(value) for name, value in FAST_DEATH.items()}
        self.address = f"{self.here}:6399"
        self.programs = []

    def open(self):
        ip("netns", "add", self.name)
        ip("link", "add", self.name, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("addr", "add", f"{self.here}/24", "dev", self.name)
        ip("link", "set", self.name, "up")
        inside = ("netns", "exec", self.name, "ip")
        ip(*inside, "addr", "add", f"{self.there}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            ip(*inside, "link", "set", device, "up")

    def start_head(self):
        self._cluster("start", "--host", self.here, "--port", "6399")

    def start_machine(self):
        within = ("ip", "netns", "exec", self.name)
        self._cluster("join", self.address, "--host", self.there, within=within)

    def cut(self):
        ip("link", "set", self.name, "down")

    def heal(self):
        ip("link", "set", self.name, "up")

    def close(self):
        for program in self.programs:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
        kill_marked(self.mark)
        with suppress(OSError):
            ip("link", "del", self.name)
        with suppress(OSError):
            ip("netns", "del", self.name)

    def _cluster(self, *words, within=()):
        program = (sys.executable, "-m", "lanista", "cluster")
        sizes = ("--cpus", "1", "--object-store", str(STORE >> 20))
        with (self.folder / "ray.log").open("ab") as log:
            started = subprocess.Popen(
                [*within, *program, *words, *sizes],
                env=self.environment, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.programs.append(started)


@contextmanager
def linked(folder):
    machines = LinkedMachines(folder, os.getpid() % 10_000)
    try:
        machines.open()
    except (OSError, FileNotFoundError) as error:
        machines.close()
        pytest.skip(f"network namespaces cannot be made here: {error}")
    try:
        machines.start_head()
        machines.start_machine()  # It waits for the head.
        yield machines
    finally:
        machines.close()


def machines_in_use(driver):
    return driver.number("cluster/machines")


def test_a_link_that_is_cut_and_healed_changes_nothing_in_a_run(tmp_path, short_folder):
    with linked(short_folder) as machines:
        driver = Driver(machines, tmp_path)
        assert wait_for(lambda: driver.ended() or machines_in_use(driver) == 2, FOREVER)
        driver.advances(4)
        # For a moment: nobody is taken for dead.
        machines.cut()
        time.sleep(0.5)
        machines.heal()
        driver.advances(4)
        # Until the machine is taken for dead: the other goes on alone.
        machines.cut()
        assert wait_for(lambda: driver.ended() or machines_in_use(driver) == 1, FOREVER)
        driver.advances(4)
        machines.heal()
        # It finds that it was given up, ends, and is started again.
        machines.programs[-1].wait()
        machines.start_machine()
        assert wait_for(lambda: driver.ended() or machines_in_use(driver) == 2, FOREVER)
        driver.advances(4)
        iterations = driver.stop()
    assert same(learner(driver.output), alone(tmp_path, iterations))
