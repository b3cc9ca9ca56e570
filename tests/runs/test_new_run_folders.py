"""Where a new run's folder may appear."""

import os
import subprocess
import sys

import pytest
from pipeline_runs import KUHN, settings_of

from lanista.errors import RefusedError
from lanista.runs.folder import Run, create, folder_of
from lanista.runs.layout import CONFIG


def made(output):
    create(output, folder_of(output), settings_of(KUHN), {"a.py": b"x"}, lambda unborn: {"n": 1})


def test_an_empty_folder_is_taken_and_one_that_holds_something_is_not(tmp_path):
    output = tmp_path / "p.pt"
    folder = folder_of(output)
    folder.mkdir()
    made(output)
    assert (folder / CONFIG).is_file()
    assert (folder / "policies" / "a.py").read_bytes() == b"x"
    with pytest.raises(RefusedError, match="There is a run or something else"):
        made(output)
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


def test_neither_a_file_in_the_folders_place_nor_an_output_is_overwritten(tmp_path):
    output = tmp_path / "p.pt"
    folder_of(output).write_text("mine")
    with pytest.raises(RefusedError, match="There is a run or something else"):
        made(output)
    assert folder_of(output).read_text() == "mine"
    other = tmp_path / "q.pt"
    other.write_text("mine")
    with pytest.raises(RefusedError, match="belongs to no run here"):
        made(other)
    assert other.read_text() == "mine"
    assert not folder_of(other).exists()


@pytest.mark.skipif(os.name == "nt", reason="no process is asked for there")
def test_what_killed_starts_left_is_removed_and_what_others_are_at_stays(tmp_path):
    """Beside the run's folder lie folders that name the process that fills them."""
    with subprocess.Popen([sys.executable, "-c", "pass"]) as ended:
        pass
    output = tmp_path / "p.pt"
    name = folder_of(output).name
    left = [f".{name}-{process}.part" for process in (ended.pid, os.getpid())]
    stays = [f".{name}-{os.getppid()}.part", f".q.pt.run-{ended.pid}.part", f".{name}-x.part"]
    for folder in (*left, *stays):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").write_text("half")
    made(output)
    Run(output).__exit__(None, None, None)
    assert {path.name for path in tmp_path.iterdir()} == {name, *stays}
