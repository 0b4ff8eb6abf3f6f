"""A process in which LLVM runs for another: `process` starts it.

It takes requests from the socket that is its standard input, one after the other, and answers each.
It ends when nobody can ask any more or nobody has asked for a while, and whenever LLVM ends it.
It is nobody's child, so that a program that waits for all of its children does not wait for it; it
gives up what it does not need, for what it compiles may come from a stranger. A program waits until
it has started, so it imports little: what half of the standard library imports is left out.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
from _socket import MSG_NOSIGNAL, socket
from _struct import Struct
from _thread import start_new_thread

TYPE_CHECKING = False  # as in library.py
if TYPE_CHECKING:
    from collections.abc import Sequence

IDLE_S = 120.0
"""How long it waits for another request."""
LEAST_MEMORY = 4 << 30
"""Of addresses; more on a machine with more memory: half of that."""
MOST_SAID = 1 << 20
"""Bytes of what LLVM says before it ends the process."""
PR_SET_NO_NEW_PRIVS = 38
M_TRIM_THRESHOLD, M_TOP_PAD = -1, -2
KEPT_BYTES = 64 << 20
"""Of memory that the C library takes at a time, and does not give back between two kernels."""
HEAD = Struct("<II")
"""Before each message: how many bytes of words, and of what is behind them."""

FACTS, PROBLEM, CODE = "facts", "problem", "code"
"""The first words of answers."""


def send(to: socket, words: Sequence[str], content: bytes = b"") -> None:
    """Sends a message."""
    text = "\0".join(word.replace("\0", "") for word in words).encode("utf-8", "replace")
    rest = memoryview(HEAD.pack(len(text), len(content)) + text + content)
    while rest:
        rest = rest[to.send(rest, MSG_NOSIGNAL) :]


def receive(source: socket) -> tuple[list[str], bytes]:
    """Waits for a message."""
    size, more = HEAD.unpack(_exactly(source, HEAD.size))
    words = _exactly(source, size).decode().split("\0")
    return words, _exactly(source, more)


def _exactly(source: socket, size: int) -> bytes:
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
    system = ctypes.CDLL(None)
    system.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if hasattr(system, "mallopt"):
        system.mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
        system.mallopt(M_TOP_PAD, KEPT_BYTES // 16)


def _watch(link: socket, parent: int) -> None:
    """Ends the process when the program that it works for does, or turns away from it."""
    poll = select.poll()
    poll.register(link, select.POLLHUP | select.POLLRDHUP)
    try:  # noqa: SIM105 (contextlib takes as long to import as the rest of this file)
        poll.register(os.pidfd_open(parent), select.POLLIN)
    except OSError:
        pass  # on an old system, the end of the socket will do
    poll.poll()
    os._exit(0)


def _serve(link: socket) -> None:
    from groundstate.compiler.errors import BuildError
    from groundstate.compiler.llvm import backend

    send(link, (FACTS, *backend.native_machine().facts, str(os.getpid())))
    backend.warm_up(is_idle=lambda: not select.select([link], [], [], 0)[0])
    while select.select([link], [], [], IDLE_S)[0]:
        (lanes, optimised, *machine), text = receive(link)
        try:
            if machine:
                code = backend.other_assembly(text.decode(), machine[0], optimised == "1")
            else:
                code = backend.object_code(text.decode(), int(lanes), optimised == "1")
        except (BuildError, MemoryError) as problem:
            send(link, (PROBLEM, type(problem).__name__, str(problem)))
        else:
            send(link, (CODE,), code)


def main(parent: int) -> None:
    """The life of the process."""
    if os.fork():
        os._exit(0)
    link = socket(fileno=0)
    start_new_thread(_watch, (link, parent))
    _give_up_rights()
    try:
        _serve(link)
    except (EOFError, OSError, MemoryError):
        return
