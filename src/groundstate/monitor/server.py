"""A small HTTP server for scrapes that no client can keep busy.

One thread looks after all clients. Each has a few seconds for its whole request and a few for
taking the answer, however slowly it sends or reads; of more clients than there is room for, the one
that came first is turned out. Every connection is closed after its answer.
"""

from __future__ import annotations

import contextlib
import re
import selectors
import socket
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from groundstate.printable import printable

MOST_CLIENTS = 64
MOST_REQUEST_BYTES = 16 << 10
REQUEST_SECONDS = 5.0
ANSWER_SECONDS = 10.0
PAUSE_SECONDS = 0.1
"""Before another attempt to take a client, where there are no files left for one."""
BACKLOG = 128
ROOM = 65536

_REQUEST_LINE = re.compile(rb"([A-Z]{1,16}) ([!-~]{1,8000}) HTTP/1\.[01]")
_HEADER = re.compile(rb"([!-9;-~]{1,200}):[ \t]*(.*?)[ \t]*")
_END = b"\r\n\r\n"

Application = Callable[
    [dict[str, Any], Callable[[str, list[tuple[str, str]]], Any]], Iterable[bytes]
]


class Client:
    """A connection: what it has said so far, what is left to be sent, and until when."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.request = b""
        self.answer = memoryview(b"")
        self.deadline = time.monotonic() + REQUEST_SECONDS

    @property
    def is_answered(self) -> bool:
        """Whether the request was read, so that only the answer is left to be sent."""
        return bool(self.answer)


class Server:
    """Serves one WSGI application until `stop` is called."""

    def __init__(self, address: str, port: int, application: Application) -> None:
        family, _, _, _, place = socket.getaddrinfo(
            address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        self._listener = socket.create_server(place[:2], family=family, backlog=BACKLOG)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._application = application
        self._clients: dict[socket.socket, Client] = {}
        """In the order in which they came."""
        self._waker, self._woken = socket.socketpair()
        self._woken.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)

    def run(self) -> None:
        """Serves; returns after `stop`, with everything closed."""
        try:
            while self._serve_once():
                pass
        finally:
            for client in list(self._clients.values()):
                self._end(client)
            self._selector.close()
            for each in (self._listener, self._woken, self._waker):
                each.close()

    def stop(self) -> None:
        """Ends `run`; may be called by any thread, and by a handler of signals."""
        with contextlib.suppress(OSError):  # it has ended
            self._waker.send(b"\0")

    def _serve_once(self) -> bool:
        ready = [key.fileobj for key, _ in self._selector.select(self._patience())]
        for each in ready:
            if isinstance(each, socket.socket) and each in self._clients:
                self._go_on(self._clients[each])
        if self._listener in ready:
            self._accept()
        self._expire()
        return self._woken not in ready

    def _patience(self) -> float | None:
        """Until the next client has taken too long; None if there is none."""
        deadlines = [client.deadline for client in self._clients.values()]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def _accept(self) -> None:
        if len(self._clients) >= MOST_CLIENTS:
            self._make_room()
        try:
            connection, _ = self._listener.accept()
        except OSError:  # it has gone again, or there is no file for it
            if not self._clients:
                time.sleep(PAUSE_SECONDS)
            self._make_room()
            return
        connection.setblocking(False)
        self._clients[connection] = Client(connection)
        self._selector.register(connection, selectors.EVENT_READ)

    def _make_room(self) -> None:
        """Turns out who came first, of those that have not said what they want if there are any."""
        silent = (client for client in self._clients.values() if not client.is_answered)
        oldest = next(silent, None) or next(iter(self._clients.values()), None)
        if oldest is not None:
            self._end(oldest)

    def _expire(self) -> None:
        now = time.monotonic()
        for client in [each for each in self._clients.values() if each.deadline <= now]:
            self._end(client)

    def _end(self, client: Client) -> None:
        del self._clients[client.connection]
        self._selector.unregister(client.connection)
        client.connection.close()

    def _go_on(self, client: Client) -> None:
        """Reads what there is to read, or sends what can be sent."""
        try:
            if client.is_answered:
                client.answer = client.answer[client.connection.send(client.answer) :]
                is_done = not client.answer
            else:
                is_done = not self._read(client)
        except BlockingIOError:
            return
        except OSError:
            is_done = True
        if is_done:
            self._end(client)

    def _read(self, client: Client) -> bool:
        """Takes a part of the request, and answers if that was all; False if there is no more."""
        part = client.connection.recv(ROOM)
        client.request += part
        if _END not in client.request and len(client.request) <= MOST_REQUEST_BYTES:
            return bool(part)
        client.answer = memoryview(self._answer(client.request.partition(_END)[0]))
        client.deadline = time.monotonic() + ANSWER_SECONDS
        self._selector.modify(client.connection, selectors.EVENT_WRITE)
        return True

    def _answer(self, head: bytes) -> bytes:
        environment = environment_of(head) if len(head) <= MOST_REQUEST_BYTES else None
        if environment is None:
            return _response("400 Bad Request", [], b"this is no request for metrics\n")
        started: list[tuple[str, list[tuple[str, str]]]] = []
        try:
            body = b"".join(
                self._application(
                    environment, lambda status, headers: started.append((status, headers))
                )
            )
        except Exception as problem:
            why = printable(f"{type(problem).__name__}: {problem}")
            print(f"groundstate: metrics: {why}", file=sys.stderr)
            return _response("500 Internal Server Error", [], b"the devices could not be read\n")
        return _response(*started[0], body)


def environment_of(head: bytes) -> dict[str, Any] | None:
    """What WSGI says about a request; None if it is none."""
    first, *lines = head.split(b"\r\n")
    match = _REQUEST_LINE.fullmatch(first)
    if match is None:
        return None
    path, _, query = match[2].decode().partition("?")
    environment = {"REQUEST_METHOD": match[1].decode(), "PATH_INFO": path, "QUERY_STRING": query}
    for line in lines:
        header = _HEADER.fullmatch(line)
        if header is None:
            return None
        name = "HTTP_" + header[1].decode().upper().replace("-", "_")
        environment[name] = header[2].decode("latin-1")
    return environment


def _response(status: str, headers: list[tuple[str, str]], body: bytes) -> bytes:
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers)]
    lines += [f"Content-Length: {len(body)}", "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body
