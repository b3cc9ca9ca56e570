"""`lanista live serve`: who may send what, each game once, policies byte for byte."""

from __future__ import annotations

import errno
import hashlib
import hmac
import os
import shutil
import socket
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from served import TOKEN, Served, file_of, numbered, served, until
from toy import game_of, policy_bytes, spec_of

from lanista.errors import LanistaError, RefusedError
from lanista.live.files.game_file import encode, read
from lanista.live.files.game_header import Layout
from lanista.live.server import reception
from lanista.live.server.limits import Limits
from lanista.live.server.running import allow_connections, kept_token, serving
from lanista.nets.files.policy_format import PolicyHeader
from lanista.nets.settings import Network

ADDRESSES = [
    ("GET", "/v1/pointer"), ("GET", "/v1/policy"), ("GET", f"/v1/policies/{'0' * 64}"),
    ("PUT", f"/v1/games/{'0' * 64}"), ("GET", "/v1/status"), ("GET", "/"), ("GET", "/docs"),
]  # fmt: skip


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as running:
        yield running


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Games.


def test_a_game_is_in_the_spool_as_it_was_sent_when_it_is_confirmed(server: Served) -> None:
    data, content = file_of(1), numbered(1).content
    answer = server.put(data)
    assert answer.status == 201
    assert answer.json == {
        "content": content, "repeated": False, "sha256": hashlib.sha256(data).hexdigest()
    }  # fmt: skip
    (path,) = server.spool.waiting()
    assert path.read_bytes() == data
    assert read(path).content == content


def test_a_game_sent_again_is_confirmed_and_not_written_again(server: Served) -> None:
    data = file_of(1)
    server.put(data)
    (path,) = server.spool.waiting()
    os.utime(path, (1, 1))
    for place in ("new", "work", "archive"):
        if place == "work":
            (path,) = server.spool.take([path])
        elif place == "archive":
            path = server.spool.put_away(path, numbered(1).content)
        answer = server.put(data)
        assert (answer.status, answer.json["repeated"]) == (200, True), place
        assert path.stat().st_mtime == 1
        assert len(server.spool.waiting()) == (place == "new")
    assert server.status()["repeated"] == 3


def test_games_sent_in_any_order_and_some_of_them_twice_are_all_there_once(
    server: Served,
) -> None:
    numbers = [3, 0, 3, 2, 1, 0, 4, 3]
    statuses = [server.put(file_of(number)).status for number in numbers]
    assert statuses == [201, 201, 200, 201, 201, 200, 201, 200]
    contents = sorted(read(path).content for path in server.spool.waiting())
    assert contents == sorted(numbered(number).content for number in range(5))


def test_a_game_packed_in_another_way_is_the_same_game(server: Served) -> None:
    server.put(file_of(1))
    packed = BytesIO()
    with zipfile.ZipFile(BytesIO(file_of(1))) as old, zipfile.ZipFile(packed, "w") as new:
        for entry in old.infolist():
            new.writestr(zipfile.ZipInfo(entry.filename), old.read(entry))
    assert server.put(packed.getvalue()).json["repeated"] is True
    assert len(server.spool.waiting()) == 1


def test_many_copies_at_once_become_one_file_and_one_of_them_is_new(server: Served) -> None:
    data = file_of(1)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(server.put, [data] * 16))
    assert sorted(answer.status for answer in answers) == [200] * 15 + [201]
    assert len(server.spool.waiting()) == 1
    assert server.status()["received"] == 1


def test_what_is_no_game_is_refused_with_a_sentence_and_leaves_nothing(server: Served) -> None:
    good = file_of(1)
    flipped = bytearray(good)
    flipped[len(good) // 3] ^= 0xFF
    for bad in (b"", b"no game at all", good[:-30], bytes(flipped)):
        answer = server.put(bad)
        assert answer.status == 422
        assert answer.json["error"].startswith("The game file is refused: ")
        assert answer.json["error"].endswith(".")
    assert all(names(server.spool.folder / part) == [] for part in ("new", "bad", "work", "open"))
    assert server.status()["refused"] == 4


def test_a_game_of_another_layout_is_refused(server: Served) -> None:
    other = replace(numbered(1).header.layout, observation_version=2)
    answer = server.put(encode(game_of(layout=other)))
    assert (answer.status, "observation" in answer.json["error"]) == (422, True)


def test_what_was_damaged_on_its_way_is_to_be_sent_again(server: Served) -> None:
    answer = server.put(file_of(1)[:-1], hashlib.sha256(file_of(1)).hexdigest())
    assert (answer.status, "send it again" in answer.json["error"]) == (400, True)
    assert server.spool.waiting() == []
    assert server.put(file_of(1)).status == 201


def test_a_game_cut_off_in_the_middle_leaves_nothing(server: Served) -> None:
    data, parts = file_of(1), urlsplit(server.address)
    start = (
        f"PUT /v1/games/{hashlib.sha256(data).hexdigest()} HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(data)}\r\n\r\n"
    ).encode()
    for sent in (0, 1, len(data) // 2, len(data) - 1):
        with socket.create_connection((str(parts.hostname), parts.port or 0)) as line:
            line.sendall(start + data[:sent])
    assert server.put(data).status == 201
    assert len(names(server.spool.new)) == 1
    assert server.status()["received"] == 1


# Limits.


def test_a_game_over_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with served(tmp_path, limits=Limits(game_bytes=100, free_bytes=0)) as server:
        answer = server.put(file_of(1))
        assert (answer.status, "100 bytes" in answer.json["error"]) == (413, True)
        chunked = server.ask("PUT", f"/v1/games/{'0' * 64}", iter([b"x" * 300]))
        assert chunked.status == 411
        assert server.spool.waiting() == []


def test_uploads_beyond_the_number_at_once_are_put_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, go = threading.Event(), threading.Event()
    usual = reception.write_bytes

    def waiting(*arguments: object) -> None:
        held.set()
        go.wait(60)
        usual(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(reception, "write_bytes", waiting)
    with served(tmp_path, limits=Limits(uploads=1, free_bytes=0)) as server:
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(server.put, file_of(1))
            held.wait(60)
            answer = server.put(file_of(2))
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            go.set()
            assert first.result().status == 201
        assert server.put(file_of(2)).status == 201


def test_the_bytes_of_all_uploads_at_once_are_bounded(tmp_path: Path) -> None:
    with served(tmp_path, limits=Limits(upload_bytes=10, free_bytes=0)) as server:
        assert server.put(file_of(1)).status == 503


@pytest.mark.parametrize("limit", ["waiting_games", "waiting_bytes"])
def test_a_full_spool_puts_games_off_until_the_learner_has_made_room(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reception, "RECOUNT_SECONDS", 0.0)
    most = {"waiting_games": 2, "waiting_bytes": 2 * len(file_of(1)) + 20}
    with served(tmp_path, limits=Limits(**{limit: most[limit]}, free_bytes=0)) as server:
        assert [server.put(file_of(number)).status for number in range(3)] == [201, 201, 507]
        assert server.put(file_of(1)).status == 200  # One that is there takes no room.
        server.spool.take(server.spool.waiting()[:1])
        assert server.put(file_of(2)).status == 201
        assert server.status()["without_room"] == 1


def test_room_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    with served(tmp_path, limits=Limits(free_bytes=1000)) as server:
        answer = server.put(file_of(1))
        assert (answer.status, "no room" in answer.json["error"]) == (507, True)


def test_a_disk_that_is_full_is_said_so_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with served(tmp_path) as server:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            assert server.put(file_of(1)).status == 507
        assert names(server.spool.new) == []
        assert server.put(file_of(1)).status == 201


def test_a_bot_that_sends_nothing_is_let_go(tmp_path: Path) -> None:
    with served(tmp_path, limits=Limits(patience=0.2, free_bytes=0)) as server:
        parts = urlsplit(server.address)
        with socket.create_connection((str(parts.hostname), parts.port or 0)) as line:
            line.settimeout(60)
            assert line.recv(100) == b""
            # And the server goes on.
        assert server.put(file_of(1)).status == 201


# The token.


def test_nothing_is_answered_without_the_token(server: Served) -> None:
    for token in (None, "", "wrong", TOKEN[:-1], TOKEN + "x", "ä"):
        for method, path in ADDRESSES:
            answer = server.ask(method, path, token=token)
            assert (answer.status, answer.json) == (
                401,
                {"error": "This needs the server's token."},
            )


def test_the_token_is_compared_in_constant_time(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = []
    usual = hmac.compare_digest

    def noted(one: bytes, other: bytes) -> bool:
        compared.append(one)
        return usual(one, other)

    monkeypatch.setattr(hmac, "compare_digest", noted)
    server.ask("GET", "/v1/status", token="wrong")
    assert compared == [b"wrong"]


def test_the_token_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "server" / "token"
    token = kept_token(path)
    assert kept_token(path) == token
    assert len(token) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    with pytest.raises(LanistaError, match="chmod 600"):
        kept_token(path)
    path.chmod(0o600)
    path.write_text("short")
    with pytest.raises(LanistaError, match="16 or more"):
        kept_token(path)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LanistaError, match="no file with a token"):
        kept_token(path)
    with pytest.raises(LanistaError, match="There is no token"):
        kept_token(tmp_path / "nowhere", make=False)


# Policies.


def test_the_policy_in_service_is_handed_out_byte_for_byte_under_its_digest(
    server: Served,
) -> None:
    stable = server.folder.pointer().stable
    for path in ("/v1/policy", f"/v1/policies/{stable}"):
        answer = server.ask("GET", path)
        assert answer.headers["etag"] == f'"{stable}"'
        assert hashlib.sha256(answer.body).hexdigest() == stable
        again = server.ask("GET", path, headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status, again.body) == (304, b"")
    second = server.folder.publish(server.folder.add(policy_bytes(1))).stable
    fresh = server.ask("GET", "/v1/policy", headers={"If-None-Match": f'"{stable}"'})
    assert (fresh.status, fresh.headers["etag"]) == (200, f'"{second}"')


def test_the_pointer_is_handed_out_byte_for_byte_and_changes_with_every_change(
    server: Served,
) -> None:
    first = server.ask("GET", "/v1/pointer")
    assert first.body == (server.folder.folder / "current.json").read_bytes()
    tag = {"If-None-Match": f'"other", {first.headers["etag"]}'}
    assert server.ask("GET", "/v1/pointer", headers=tag).status == 304
    server.folder.publish(server.folder.pointer().stable, "again")
    assert server.ask("GET", "/v1/pointer", headers=tag).status == 200


def test_no_other_file_is_handed_out(server: Served) -> None:
    odd = ["0" * 64, "0" * 63, "..", "..%2f..%2fserver%2ftoken", "A" * 64, "%00" * 64, "x" * 5000]
    for name in odd:
        answer = server.ask("GET", f"/v1/policies/{name}")
        assert answer.status == 404
        assert set(answer.json) == {"error"}


def test_a_link_among_the_policies_is_not_followed(server: Served, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    server.folder.path_of("0" * 64).symlink_to(tmp_path / "secret")
    assert server.ask("GET", f"/v1/policies/{'0' * 64}").status == 404


def test_a_damaged_pointer_is_said_so_and_games_are_kept_by_the_bots(server: Served) -> None:
    (server.folder.folder / "current.json").write_text("{}")
    for answer in (server.ask("GET", "/v1/pointer"), server.put(file_of(1))):
        assert answer.status == 503
        assert "current.json is refused" in answer.json["error"]


def test_other_addresses_and_methods_are_one_sentence(server: Served) -> None:
    for method, path, status in (
        ("GET", "/", 404), ("POST", "/v1/pointer", 405), ("DELETE", "/v1/policy", 405),
        ("GET", f"/v1/games/{'0' * 64}", 405), ("PUT", "/v1/games/none", 404),
    ):  # fmt: skip
        answer = server.ask(method, path)
        assert (answer.status, list(answer.json)) == (status, ["error"])
        assert answer.headers["cache-control"] == "no-store"


# The folder.


def test_a_second_server_of_a_folder_is_refused(server: Served, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="Another process"), serving(tmp_path, TOKEN):
        pass


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
def test_as_many_connections_are_allowed_as_the_system_lets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import resource

    given: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: given.append(limits))
    for hard, wanted in ((1_000_000, 4352), (2000, 2000)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, hard=hard: (1024, hard))
        allow_connections(Limits())
        assert given.pop() == (wanted, hard)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (8192, 8192))
    allow_connections(Limits())
    assert given == []


def test_a_folder_without_a_policy_is_refused(tmp_path: Path) -> None:
    (tmp_path / "policy").mkdir()
    with pytest.raises(LanistaError, match="publish a policy"), serving(tmp_path, TOKEN):
        pass


def test_what_a_killed_server_half_wrote_is_removed_and_whole_games_stay(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.put(file_of(1))
    left = server.spool.new / ".tmp-999999999-0123456789abcdef.part"
    left.write_bytes(file_of(2)[:100])
    with served(tmp_path) as server:
        until(lambda: not left.exists())
        assert len(names(server.spool.new)) == 1
        assert server.put(file_of(1)).json["repeated"] is True


def test_bots_of_another_game_are_told_which_is_played(server: Served) -> None:
    layout = Layout.of(PolicyHeader.of(spec_of("other"), Network()))
    assert "game" in server.put(encode(game_of(layout=layout))).json["error"]
