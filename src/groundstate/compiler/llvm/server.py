"""A process in which LLVM runs for another: `process` starts it.

It takes requests from the socket that is its standard input, one after the other, and answers each.
It ends when nobody can ask any more or nobody has asked for a while, and whenever LLVM ends it.
It is nobody's child, so that a program that waits for all of its children does not wait for it; it
gives up what it does not need, for what it compiles may come from a stranger.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import socket
import struct
from _thread import start_new_thread
from contextlib import suppress
from typing import Any

IDLE_S = 120.0
"""How long it waits for another request."""
LEAST_MEMORY = 4 << 30
"""Of addresses; more on a machine with more memory: half of that."""
MOST_SAID = 1 << 20
"""Bytes of what LLVM says before it ends the process."""
PR_SET_NO_NEW_PRIVS = 38
HEAD = struct.Struct("<II")
"""Before each message: how many bytes of JSON, and of what is behind it."""


def send(to: socket.socket, said: dict[str, Any], content: bytes = b"") -> None:
    """Sends a message."""
    text = json.dumps(said).encode()
    rest = memoryview(HEAD.pack(len(text), len(content)) + text + content)
    while rest:
        rest = rest[to.send(rest, socket.MSG_NOSIGNAL) :]


def receive(source: socket.socket) -> tuple[dict[str, Any], bytes]:
    """Waits for a message."""
    size, more = HEAD.unpack(_exactly(source, HEAD.size))
    said = json.loads(_exactly(source, size))
    return said, _exactly(source, more)


def _exactly(source: socket.socket, size: int) -> bytes:
    content = bytearray()
    while len(content) < size:
        part = source.recv(min(size - len(content), 1 << 20))
        if not part:
            raise EOFError
        content += part
    return bytes(content)


def limit_memory() -> int:
    """Sets how much memory LLVM may take; returns it."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    most = max(LEAST_MEMORY, machine // 2)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    if soft == resource.RLIM_INFINITY or soft > most:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    return most


def _give_up_rights() -> None:
    """Limits what the process can do, and what is left behind when it ends."""
    limit_memory()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_SAID, MOST_SAID))
    ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _watch(link: socket.socket, parent: int) -> None:
    """Ends the process when the program that it works for does, or turns away from it."""
    poll = select.poll()
    poll.register(link, select.POLLHUP | select.POLLRDHUP)
    with suppress(OSError):  # on an old system, the end of the socket will do
        poll.register(os.pidfd_open(parent), select.POLLIN)
    poll.poll()
    os._exit(0)


def _serve(link: socket.socket) -> None:
    from groundstate.compiler.errors import BuildError
    from groundstate.compiler.llvm import backend

    send(link, {"facts": backend.native_machine().facts, "pid": os.getpid()})
    while select.select([link], [], [], IDLE_S)[0]:
        said, text = receive(link)
        try:
            code = backend.object_code(text.decode(), **said)
        except (BuildError, MemoryError) as problem:
            send(link, {"problem": str(problem), "kind": type(problem).__name__})
        else:
            send(link, {}, code)


def main(parent: int) -> None:
    """The life of the process."""
    if os.fork():
        os._exit(0)
    link = socket.socket(fileno=0)
    start_new_thread(_watch, (link, parent))
    _give_up_rights()
    try:
        _serve(link)
    except (EOFError, OSError, MemoryError):
        return
