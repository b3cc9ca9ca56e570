"""What the server refuses: other hosts, other sites, no token, paths out, too much, too slow."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import ask, opened
from made_runs import made_run, until

from lanista.view.context import Limits, ViewContext
from lanista.view.security import COOKIE, HEADER, Guard, is_own_host
from lanista.view.server import serving
from lanista.view.streams import TOO_MANY

Served = tuple[ViewContext, str]
CHANGE = "/api/live/change"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("served")
    made_run(place / "one")
    made_run(place / "inner" / "two")
    outside = tmp_path_factory.mktemp("outside")
    made_run(outside / "secret")
    (place / "link").symlink_to(outside / "secret")
    (place / "inner" / "up").symlink_to(outside)
    return place


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    with serving(folder, limits=Limits(streams=5)) as (context, address):
        yield context, address.split("/?")[0]


@pytest.fixture
def impatient(folder: Path) -> Iterator[Served]:
    with serving(folder, limits=Limits(patience=0.5)) as (context, address):
        yield context, address.split("/?")[0]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_page_under_another_name_is_refused(served: Served, host: str) -> None:
    answer = ask(served[1], "/api/runs", headers={"Host": host})
    assert answer.status == 421
    assert b"does not go by that name" in answer.body
    assert b"one" not in answer.body


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1:1", "LOCALHOST:9", "[::1]:5", socket.gethostname()]
)
def test_this_machines_own_names_are_served_whatever_the_port_of_a_tunnel(
    served: Served, host: str
) -> None:
    assert ask(served[1], "/api/runs", headers={"Host": host}).status == 200


def test_the_bound_name_is_an_own_host() -> None:
    assert is_own_host("box.lan:8787", "box.lan")
    assert not is_own_host("box.lan:8787", "127.0.0.1")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://127.0.0.1:1"},
    ],
)
def test_another_sites_page_changes_nothing_even_with_the_token(
    served: Served, headers: dict[str, str]
) -> None:
    context, address = served
    answer = ask(address, CHANGE, "POST", {**headers, HEADER: context.token}, b"{}")
    assert answer.status == 403
    assert answer.error == "Another site's page may not change anything here."


@pytest.mark.parametrize("given", [None, "", "wrong", "x" * 32])
def test_a_write_needs_the_token(served: Served, given: str | None) -> None:
    headers = {} if given is None else {HEADER: given, "Cookie": f"{COOKIE}={given}"}
    answer = ask(served[1], CHANGE, "POST", headers, b"{}")
    assert answer.status == 401
    assert "needs the token that `lanista view` printed" in answer.error


@pytest.mark.parametrize("way", ["header", "cookie"])
def test_with_the_token_a_write_is_looked_at(served: Served, way: str) -> None:
    context, address = served
    ways = {"header": {HEADER: context.token}, "cookie": {"Cookie": f"{COOKIE}={context.token}"}}
    answer = ask(address, CHANGE, "POST", ways[way], b'{"id": "one"}')
    assert answer.status == 404
    assert "no live bot at 'one'" in answer.error


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_every_method_that_is_no_read_counts_as_a_write(served: Served, method: str) -> None:
    assert ask(served[1], "/", method).status == 401


def test_the_printed_address_gives_a_cookie_that_no_script_reads(served: Served) -> None:
    context, address = served
    answer = ask(address, f"/run?id=one&token={context.token}")
    assert answer.status == 303
    assert answer.headers["location"] == "/run?id=one"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}={context.token};")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


def test_the_way_in_leads_to_no_other_server(served: Served) -> None:
    context, address = served
    answer = ask(address, f"//evil.example/?token={context.token}")
    assert answer.headers["location"] == "/evil.example/"


def test_a_wrong_token_in_an_address_is_refused(served: Served) -> None:
    assert ask(served[1], "/?token=wrong").status == 401


def test_a_token_can_be_typed_into_a_page(served: Served) -> None:
    context, address = served
    body = json.dumps({"token": context.token}).encode()
    assert ask(address, "/token", "POST", body=body).status == 200
    for wrong in (b'{"token": "wrong"}', b"[]", b"no json", b'{"token": 5}'):
        assert ask(address, "/token", "POST", body=wrong).status == 401


def test_bound_elsewhere_even_reading_needs_the_token() -> None:
    guard = Guard(None, ViewContext(Path(), "secret", "0.0.0.0"))  # type: ignore[arg-type]
    scope = {
        "type": "http", "method": "GET", "path": "/", "query_string": b"",
        "headers": [(b"host", b"192.168.0.7:8787")],
    }  # fmt: skip
    refusal = guard._refusal(scope)
    assert refusal is not None
    assert refusal.status_code == 401
    scope["headers"].append((HEADER.encode(), b"secret"))
    assert guard._refusal(scope) is None


def test_the_token_is_in_no_log(
    folder: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with serving(folder) as (context, address):
        bare = address.split("/?")[0]
        ask(bare, f"/?token={context.token}")
        ask(bare, "/nothing", headers={HEADER: context.token})
    captured = capfd.readouterr()
    assert context.token not in captured.out + captured.err + caplog.text
    assert context.token not in repr(context)


OUT = [
    "..", "../served", "one/../../outside", "/etc", "//etc", "one/%2e%2e/%2e%2e", "..%2f..",
    "link", "inner/up", "inner/up/secret", "one\\..\\..", "one%00", "%2Fetc%2Fpasswd", "",
    "nothing", "one/run.db", "x" * 3000,
]  # fmt: skip


@pytest.mark.parametrize("place", OUT)
@pytest.mark.parametrize(
    "path",
    ["/run?id=", "/api/run?id=", "/events/run?id=", "/api/events/run?id=", "/report?id=",
     "/api/compare?id=one&id=", "/live?id=", "/events/live?id=", "/api/live/health?id="],
)  # fmt: skip
def test_no_id_leads_out_of_the_folder(served: Served, path: str, place: str) -> None:
    answer = ask(served[1], path + place)
    assert answer.status == 404, answer.body[:200]


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/../../etc/passwd",
     "/static//etc/passwd", "/static/../../../../../../etc/passwd"],
)  # fmt: skip
def test_static_files_are_those_of_the_package_alone(served: Served, path: str) -> None:
    assert ask(served[1], path).status == 404


def test_a_folder_of_runs_stands_for_all_of_them(served: Served) -> None:
    answer = ask(served[1], "/api/compare?id=inner&id=one")
    assert answer.json()["arms"] == {"inner/two and 1 more": ["inner/two", "one"]}


def test_a_body_over_the_limit_is_refused_before_it_is_read(served: Served) -> None:
    context, address = served
    headers = {HEADER: context.token, "Content-Length": str(1 << 30)}
    answer = ask(address, CHANGE, "POST", headers, b"{")
    assert answer.status == 413
    assert answer.error == "A request may have 1,048,576 bytes; send less."


def test_a_body_that_does_not_say_its_length_is_counted(served: Served) -> None:
    context, address = served
    head = (
        f"POST {CHANGE} HTTP/1.1\r\nHost: localhost\r\n{HEADER}: {context.token}\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    ).encode()
    with opened(address, head) as client:
        with contextlib.suppress(OSError):  # It may hang up before it has heard everything.
            for _ in range(40):
                client.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
        assert b" 413 " in client.recv(4096)


def test_a_client_that_never_finishes_its_request_is_dropped(impatient: Served) -> None:
    context, address = impatient
    with opened(address, b"GET / HTTP/1.1\r\nHost: local") as head, opened(address) as silent:
        assert head.recv(100) == b""
        assert silent.recv(100) == b""
    start = f"POST {CHANGE} HTTP/1.1\r\nHost: localhost\r\n{HEADER}: {context.token}\r\n"
    with opened(address, f"{start}Content-Length: 10\r\n\r\n{{".encode()) as body:
        assert b" 408 " in body.recv(4096)


def test_a_client_that_does_not_read_is_dropped_and_holds_up_nobody(impatient: Served) -> None:
    """Plotly's script is larger than what the system keeps for a client."""
    text = b"GET /static/plotly.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with opened(impatient[1], text) as client:
        assert ask(impatient[1], "/api/runs").status == 200
        until(lambda: is_dropped(client))


def is_dropped(client: socket.socket) -> bool:
    """Whether the server has cut a connection of which nothing was read."""
    try:
        client.send(b"x")
    except OSError:
        return True
    return False


def test_of_1000_streams_a_few_are_served_and_the_others_are_told(served: Served) -> None:
    context, address = served
    text = b"GET /events/run?id=one HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with contextlib.ExitStack() as kept:
        clients = [kept.enter_context(opened(address, text)) for _ in range(5)]
        assert [client.recv(4096).split()[1] for client in clients] == [b"200"] * 5
        refusals = set()
        for _ in range(995):
            with opened(address, text) as client, client.makefile("rb") as answer:
                whole = answer.read()
                refusals.add((whole.split()[1], whole.splitlines()[-1]))
        assert refusals == {
            (b"503", json.dumps({"error": TOO_MANY}, separators=(",", ":")).encode())
        }
        assert ask(address, "/api/runs").status == 200
    until(lambda: context.hub.open == 0)  # Their places are free again.


def test_every_answer_has_the_headers_that_keep_a_page_to_itself(served: Served) -> None:
    for path in ("/", "/api/runs", "/static/view.css", "/nothing", "/api/nothing", "/run?id=one"):
        headers = ask(served[1], path).headers
        policy = headers["content-security-policy"]
        assert "script-src 'self';" in policy
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers


def test_no_page_holds_a_script_of_its_own(served: Served) -> None:
    for path in ("/", "/run?id=one", "/compare", "/live", "/nothing"):
        text = ask(served[1], path).body.decode()
        scripts = text.split("<script")[1:]
        assert scripts
        for script in scripts:
            assert 'src="/static/' in script or 'type="application/json"' in script
        assert " onclick=" not in text


def test_a_report_runs_its_own_scripts_by_their_hash_alone(served: Served) -> None:
    policy = ask(served[1], "/report?id=one").headers["content-security-policy"]
    (scripts,) = (part for part in policy.split(";") if "script-src" in part)
    assert "unsafe" not in scripts
    assert scripts.count("'sha256-") >= 1


def test_a_fault_of_the_server_is_one_sentence(
    served: Served, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from lanista.view.runs import overview

    def broken(folder: Path) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(overview, "survey", broken)
    answer = ask(served[1], "/api/runs")
    assert answer.status == 500
    assert (
        answer.error == "The server failed at this (ZeroDivisionError); its terminal has the trace."
    )
    assert "content-security-policy" in answer.headers
    assert "ZeroDivisionError" in capfd.readouterr().err
