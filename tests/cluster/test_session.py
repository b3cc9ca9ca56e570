"""Which cluster is used, and who gets in."""

import importlib
import os
import stat
import sys
from types import SimpleNamespace

import pytest

from lanista.cluster import session
from lanista.errors import LanistaError


@pytest.mark.parametrize("good", ["local", "auto", "10.0.0.5:6379", "head:6379", "[::1]:6379"])
def test_a_cluster_is_local_auto_or_an_address(good):
    assert session.checked(good) == good


@pytest.mark.parametrize("bad", ["", "head", "6379", ":6379", "head:", "head:port"])
def test_what_is_no_address_is_refused_with_what_to_write(bad):
    with pytest.raises(LanistaError, match=r"give auto .*, HOST:PORT, or local"):
        session.checked(bad)


def test_ray_client_is_refused():
    with pytest.raises(LanistaError, match="must run on a machine of the cluster"):
        session.checked("ray://head:10001")


def test_a_cluster_is_used_as_long_as_it_is_named(monkeypatch):
    monkeypatch.delenv(session.CLUSTER, raising=False)
    assert session.address() is None
    with session.using("head:1234"):
        assert session.address() == "head:1234"
        with session.using(None):
            assert session.address() == "head:1234"
        with session.using("local"):
            assert session.address() is None
        assert session.address() == "head:1234"
    assert session.CLUSTER not in os.environ


@pytest.fixture
def joined(monkeypatch):
    """Ray, on a cluster already."""
    context = SimpleNamespace(gcs_address="10.0.0.5:6379")
    ray = SimpleNamespace(is_initialized=lambda: True, get_runtime_context=lambda: context)
    monkeypatch.setattr(session, "load", lambda: ray)
    monkeypatch.setattr(session, "require_token", lambda create: None)
    monkeypatch.setattr(session, "stay_within_machine", lambda within: None)
    return ray


@pytest.mark.parametrize("named", ["head:6379", "auto", None])
def test_a_process_stays_on_the_cluster_that_it_is_on(joined, named):
    with session.using(named or "local"):
        assert session.connect() is joined


@pytest.mark.parametrize("named", ["head:7000", "10.0.0.4:6379", "127.0.0.1:6379"])
def test_another_cluster_than_the_one_it_is_on_is_refused(joined, named):
    with (
        session.using(named),
        pytest.raises(LanistaError, match=rf"'{named}', and .* at 10\.0\.0\.5:6379 already"),
    ):
        session.connect()


@pytest.fixture
def ray_of_version(monkeypatch):
    """Let the Ray that is installed have another version."""
    monkeypatch.setattr(session, "refuse_missing", lambda: None)
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_DEDUP_LOGS", session._HEAD_GONE):
        monkeypatch.setenv(name, "0")  # Set back after the test.
    return lambda version: monkeypatch.setitem(
        sys.modules, "ray", SimpleNamespace(__version__=version)
    )


@pytest.mark.parametrize("version", ["2.53.1", "2.9.3", "1.13.0"])
def test_a_ray_whose_connections_do_not_all_want_the_token_is_refused(ray_of_version, version):
    ray_of_version(version)
    remedy = r"2\.54 or newer is needed: pip install --upgrade 'lanista\[ray\]'\."
    with pytest.raises(LanistaError, match=rf"^Ray is {version} here; {remedy}$"):
        session.load()


@pytest.mark.parametrize("version", ["2.54.0", "2.60.0", "3.0.0.dev0"])
def test_newer_ones_are_taken(ray_of_version, version):
    ray_of_version(version)
    assert session.load().__version__ == version


@pytest.fixture
def token(monkeypatch, tmp_path):
    path = tmp_path / "deep" / "token"
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(path))
    return path


def test_a_token_is_made_once_and_is_for_its_user_alone(token):
    session.require_token(create=True)
    written = token.read_text()
    assert len(written) == 64
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    session.require_token(create=True)
    assert token.read_text() == written
    assert os.environ.pop("RAY_AUTH_MODE") == "token"


def test_without_the_clusters_token_nobody_tries_to_join(token):
    with pytest.raises(LanistaError, match=r"no token at .*copy the file"):
        session.require_token(create=False)
    assert not token.exists()
    assert os.environ.pop("RAY_AUTH_MODE") == "token"


def test_who_switched_tokens_off_by_name_is_left_alone(token, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    session.require_token(create=False)
    assert not token.exists()


@pytest.mark.parametrize("within", [True, False])
def test_ray_looks_on_this_machine_alone_though_it_was_loaded_before(monkeypatch, within):
    constants = pytest.importorskip("ray._private.ray_constants")
    services = importlib.import_module("ray._private.services")
    monkeypatch.setattr(constants, "ENABLE_RAY_CLUSTER", not within)
    monkeypatch.setattr(services, "node_ip_address_from_perspective", lambda _: "192.0.2.9")
    monkeypatch.setattr("ray._private.worker._global_node", None)
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "-")  # Set back after the test.
    session.stay_within_machine(within)
    session.reread_environment()
    own = services.resolve_ip_for_localhost("127.0.0.1")
    assert own == ("127.0.0.1" if within else "192.0.2.9")
