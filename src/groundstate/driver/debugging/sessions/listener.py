"""Waits for debuggers, on a socket that is named by the process, and answers them.

The name lies in no folder and goes away with the process. Only processes of the same user, and
root's, are listened to.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from _thread import start_new_thread
from contextlib import suppress

from groundstate import ze
from groundstate.driver.api import Failure
from groundstate.driver.debugging.connection import Connection, Gone, Message
from groundstate.driver.debugging.sessions import process as debugged
from groundstate.driver.debugging.sessions.requests import Requests
from groundstate.driver.debugging.sessions.session import Session

ROOT = 0
WAITING = 8
"""Debuggers that have connected and were not yet answered."""


def name_of(pid: int) -> bytes:
    """The socket of a process that can be debugged."""
    return b"\0groundstate/debug/1/%d" % pid


def start() -> None:
    """Listens from now on, on a thread of its own."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(name_of(os.getpid()))
        listening.listen(WAITING)
    except OSError as problem:
        sys.stderr.write(f"groundstate: no debugger can attach: {problem.strerror}\n")
        listening.close()
        return
    debugged.watch()
    start_new_thread(_listen, (listening,))


def _block_signals() -> None:
    """Leaves signals to the program's own threads."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


def _listen(listening: socket.socket) -> None:
    _block_signals()
    with suppress(OSError):
        while True:
            connected, _ = listening.accept()
            connection = Connection(connected)
            if connection.peer[1] in (ROOT, os.geteuid()):
                start_new_thread(_serve, (connection,))
            else:
                connection.close()


def _serve(connection: Connection) -> None:
    """One line: the requests of a session, or its events."""
    _block_signals()
    session: Session | None = None
    with suppress(Gone):
        first = connection.next()
        if first.get("command") == "events":
            _serve_events(connection, first)
        else:
            session = _attach(connection, first)
    try:
        with suppress(Gone):
            requests = Requests(session) if session is not None else None
            while requests is not None:
                connection.send(requests.answer(connection.next()))
    finally:
        if session is not None:
            debugged.process.detach(session)
        connection.close()


def _attach(connection: Connection, message: Message) -> Session | None:
    try:
        session = debugged.process.attach(bytes.fromhex(str(message.get("device"))))
    except Failure as problem:
        connection.send({"result": int(problem.result), "sentence": problem.sentence})
        return None
    except ValueError:
        result = int(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT)
        connection.send({"result": result, "sentence": "this names no device"})
        return None
    with suppress(Gone):
        connection.send({"result": 0, "session": id(session)})
    return session


def _serve_events(connection: Connection, message: Message) -> None:
    number = message.get("session")
    for each in list(debugged.process.sessions):
        if id(each) == number:
            each.send_events(connection)
