"""An address at which no cluster answers is refused in a sentence, after a bounded wait."""

import socket

import pytest

from lanista.cli.main import main
from lanista.cluster import reach, session
from lanista.cluster.reach import same_place
from lanista.errors import LanistaError


@pytest.fixture
def port():
    """Give a port of this machine at which nobody listens."""
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        yield line.getsockname()[1]


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch):
    monkeypatch.setattr(reach, "REACH_SECONDS", 0.0)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for name, value in (("RAY_AUTH_TOKEN", "0" * 64), ("RAY_AUTH_MODE", "token")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "-")  # Set back after the test.


def test_a_run_for_a_cluster_that_is_not_there_ends_in_one_sentence(port, capsys):
    pytest.importorskip("ray")
    words = ["roundrobin", "beastybar", "--matches", "2", "--cluster", f"127.0.0.1:{port}"]
    assert main(words) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line == (
        f"lanista: The cluster at 127.0.0.1:{port} cannot be reached (Connection refused); start "
        "one with `lanista cluster start`, or name its HOST:PORT."
    )


def test_joining_a_cluster_that_is_not_there_ends_in_one_sentence(port, capsys, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setattr(session, "on_loopback", lambda address: False)
    assert main(["cluster", "join", f"127.0.0.1:{port}"]) == 2
    assert "cannot be reached (Connection refused)" in capsys.readouterr().err


def test_auto_without_a_cluster_says_how_to_start_one(tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    with pytest.raises(LanistaError, match="no cluster of this machine is noted in"):
        reach.await_cluster("auto")


def test_a_cluster_that_is_about_to_start_is_waited_for(port, monkeypatch):
    monkeypatch.setattr(reach, "PAUSE", 0.001)
    reasons = ["Connection refused", "Connection refused", ""]
    monkeypatch.setattr(reach, "_attempt", lambda *_: reasons.pop(0))
    reach.await_cluster(f"127.0.0.1:{port}", 600.0)
    assert reasons == []


@pytest.mark.parametrize(
    ("one", "other", "may_be_one"),
    [
        ("127.0.0.1:6379", "localhost:6379", True),
        ("127.0.0.1:6379", "127.0.0.2:6379", True),  # Both are this machine.
        ("127.0.0.1:6379", "127.0.0.1:6380", False),
        ("192.0.2.1:6379", "192.0.2.2:6379", False),
        ("192.0.2.1:6379", "127.0.0.1:6379", False),
        ("192.0.2.1:6379", "no-such-name.invalid:6379", True),
    ],
)
def test_one_cluster_is_told_from_another_by_host_and_port(one, other, may_be_one):
    assert same_place(one, other) is may_be_one
    assert same_place(other, one) is may_be_one


def test_somebody_who_listens_is_reached():
    with socket.create_server(("127.0.0.1", 0)) as server:
        reach.await_cluster(f"127.0.0.1:{server.getsockname()[1]}")


@pytest.mark.parametrize("named", ["auto", "local", ""])
def test_what_names_no_address_is_as_if_it_were_not_set(tmp_path, monkeypatch, named):
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.setenv("RAY_ADDRESS", named)
    with pytest.raises(LanistaError, match="no cluster of this machine is noted"):
        reach.await_cluster("auto")


def test_an_address_of_the_environment_without_a_port_is_refused(monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "head")
    with pytest.raises(LanistaError, match="RAY_ADDRESS is 'head'; give HOST:PORT"):
        reach.await_cluster("auto")
