"""Which addresses name a cluster that stays within this machine."""

import pytest

from lanista.cluster.session import on_loopback


@pytest.mark.parametrize(
    ("address", "within"),
    [("127.0.0.1:6379", True), ("localhost:1", True), ("[::1]:1", True), ("192.0.2.9:6379", False)],
)
def test_an_address_of_this_machine_alone_is_recognised(address, within):
    assert on_loopback(address) is within


@pytest.mark.parametrize(("latest", "within"), [("127.0.0.1:6379\n", True), ("192.0.2.9:1", False)])
@pytest.mark.parametrize("name", ["RAY_TMPDIR", "TMPDIR"])
def test_auto_goes_by_the_cluster_that_was_started_last(
    tmp_path, monkeypatch, latest, within, name
):
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert not on_loopback("auto")
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text(latest)
    assert on_loopback("auto") is within
