"""The exporter's server: no client keeps it from answering the others, however it behaves."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from groundstate.monitor import server as serving
from groundstate.monitor.server import MOST_CLIENTS, Server, environment_of

HALF_OPEN = 500
PATIENCE = 60
GET = b"GET /metrics HTTP/1.1\r\n\r\n"


def application(environment: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
    if environment["PATH_INFO"] == "/fails":
        raise RuntimeError("no device today")
    size = 64 << 20 if environment["PATH_INFO"] == "/large" else 2
    start("200 OK", [("Content-Type", "text/plain")])
    return [b"ok".ljust(size)]


@contextmanager
def running() -> Iterator[Server]:
    server = Server("127.0.0.1", 0, application)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


def answer(port: int, request: bytes = GET) -> bytes:
    with connected(port) as client:
        client.sendall(request)
        return everything(client)


def everything(client: socket.socket) -> bytes:
    """All that comes until the other side closes, also if it does so in the middle."""
    found = b""
    try:
        while part := client.recv(1 << 16):
            found += part
    except ConnectionError:
        pass
    return found


def is_closed(client: socket.socket) -> bool:
    """Waits until the server has closed a connection that it sent nothing to."""
    return everything(client) == b""


def test_scrape_answer_closes_the_connection() -> None:
    with running() as server:
        got = answer(server.port, b"GET /metrics HTTP/1.1\r\nHost: here\r\nAccept: */*\r\n\r\n")
    head, _, body = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length: 2\r\nConnection: close" in head
    assert body == b"ok"


def test_a_request_may_come_in_parts() -> None:
    with running() as server, connected(server.port) as client:
        for each in range(len(GET)):
            client.sendall(GET[each : each + 1])
        assert everything(client).endswith(b"ok")


def test_half_open_clients_are_dropped_for_others() -> None:
    with running() as server, ExitStack() as opened:
        clients = [opened.enter_context(connected(server.port)) for _ in range(HALF_OPEN)]
        assert answer(server.port).endswith(b"ok")
        assert len(server._clients) <= MOST_CLIENTS
        assert all(is_closed(client) for client in clients[: HALF_OPEN - MOST_CLIENTS])


def test_client_sending_byte_by_byte_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each byte comes in time; the request as a whole does not."""
    monkeypatch.setattr(serving, "REQUEST_SECONDS", 0.5)
    with running() as server, connected(server.port) as client:
        ended = threading.Event()
        watching = threading.Thread(target=lambda: (is_closed(client), ended.set()))
        watching.start()
        client.sendall(b"GET /")
        while not ended.wait(0.05):
            try:
                client.sendall(b"x")
            except ConnectionError:
                break
        watching.join()


def test_client_not_reading_answer_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "ANSWER_SECONDS", 0.5)
    with running() as server, connected(server.port) as client:
        client.sendall(b"GET /large HTTP/1.1\r\n\r\n")
        assert answer(server.port).endswith(b"ok")
        while server._clients:
            threading.Event().wait(0.02)
        assert len(everything(client)) < 64 << 20


def test_a_silent_client_is_turned_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "REQUEST_SECONDS", 0.1)
    with running() as server, connected(server.port) as client:
        assert is_closed(client)


@pytest.mark.parametrize(
    "request_",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/2.0\r\n\r\n",
        b"get / HTTP/1.1\r\n\r\n",
        b"GET /\x1b[2J HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nno header\r\n\r\n",
        b"GET / HTTP/1.1\r\n: empty\r\n\r\n",
        b"GET / HTTP/1.1\nHost: here\r\n\r\n",
        b"GET / HTTP/1.1\r\nA: \n\x00\r\n\r\n",
        b"\xff" * 100 + b"\r\n\r\n",
        b"GET /" + b"x" * (17 << 10),
    ],
)
def test_what_is_no_request_is_refused(request_: bytes) -> None:
    with running() as server:
        assert answer(server.port, request_).startswith(b"HTTP/1.1 400")
        assert answer(server.port).endswith(b"ok")


def test_headers_become_variables() -> None:
    found = environment_of(b"GET /m?name[]=a%20b HTTP/1.0\r\nAccept-Encoding:gzip \r\nX:\xe4")
    assert found == {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": "/m",
        "QUERY_STRING": "name[]=a%20b",
        "HTTP_ACCEPT_ENCODING": "gzip",
        "HTTP_X": "\xe4",
    }


def test_failed_reading_fails_its_client_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with running() as server:
        assert answer(server.port, b"GET /fails HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 500")
        assert answer(server.port).endswith(b"ok")
    assert "no device today" in capsys.readouterr().err


def test_nothing_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with running() as server:
        clients = [connected(server.port) for _ in range(20)]
        answer(server.port)
    for client in clients:
        assert is_closed(client)
        client.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.usefixtures("library")
def test_metrics_answer_despite_half_open_clients() -> None:
    command = [sys.executable, "-m", "groundstate", "metrics", "--port", "0"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
        ExitStack() as all_,
    ):
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            port = int(address.rpartition(":")[2].removesuffix("/metrics"))
            for number in range(HALF_OPEN):
                client = all_.enter_context(connected(port))
                client.sendall(b"GET /metrics HTTP/1.1\r\n"[: number % 24])
            with urllib.request.urlopen(address, timeout=PATIENCE) as response:
                assert b"groundstate_device_info" in response.read()
            assert len(os.listdir(f"/proc/{process.pid}/fd")) < 2 * MOST_CLIENTS
            with pytest.raises(urllib.error.HTTPError, match="405"):
                urllib.request.urlopen(address, data=b"x", timeout=PATIENCE)
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
