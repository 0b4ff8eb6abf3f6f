"""The debugged program: starting it, hearing of stops, asking what it has.

Each process of the program that uses the driver connects to a Unix socket. One of them is the one
that is talked to: the last that stopped.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from typing import Any

Message = dict[str, Any]


class NotStopped(Exception):  # noqa: N818 - what was asked for needs a stopped program
    """The program runs, has ended, or has not been started."""


class _Line:
    """The connection of one process."""

    def __init__(self, connection: socket.socket, events: queue.Queue[Message]) -> None:
        self.connection = connection
        self.events = events
        self.replies: queue.Queue[Message] = queue.Queue()
        self.sent = 0
        self.pid = 0
        self.is_stopped = False

    def send(self, message: Message) -> None:
        with contextlib.suppress(OSError):
            self.connection.sendall(json.dumps(message).encode() + b"\n")

    def read(self) -> None:
        """Hands on what comes, to the end."""
        with contextlib.suppress(OSError, ValueError), self.connection.makefile("rb") as lines:
            for line in lines:
                message = json.loads(line)
                if "reply" in message:
                    self.replies.put(message)
                else:
                    self.is_stopped = message.get("event") == "stopped"
                    self.events.put({**message, "from": self})
        self.replies.put({"gone": True})
        self.events.put({"event": "gone", "from": self})


class Program:
    """The program, and what it is to stop at."""

    def __init__(self) -> None:
        self.events: queue.Queue[Message] = queue.Queue()
        """hello, stopped, gone and exited, in the order in which they came."""
        self.breakpoints: list[Message] = []
        self.watches: list[Message] = []
        self.options: Message = {"findings": True, "entry": False}
        self.process: subprocess.Popen[bytes] | None = None
        self._lines: list[_Line] = []
        self._line: _Line | None = None
        self._folder = ""
        self._listener: socket.socket | None = None

    # --- Life -----------------------------------------------------------------------------------

    def start(self, command: list[str], environment: dict[str, str], knob: str, **how: Any) -> None:
        """Starts the program; OSError if that is not possible."""
        self._folder = tempfile.mkdtemp(prefix="groundstate-debug-")
        path = os.path.join(self._folder, "socket")
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen()
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()
        try:
            self.process = subprocess.Popen(
                command, env=environment | {knob: path}, process_group=0, **how
            )
        except OSError:
            self.close()
            raise
        threading.Thread(target=self._wait, args=(self.process,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                line = _Line(listener.accept()[0], self.events)
                self._lines.append(line)
                threading.Thread(target=line.read, daemon=True).start()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        status = process.wait()
        self.events.put({"event": "exited", "status": status})

    def close(self) -> None:
        """Ends the program, if it still runs, and forgets the connections."""
        if self.process is not None and self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for line in self._lines:
            with contextlib.suppress(OSError):
                line.connection.shutdown(socket.SHUT_RDWR)
            line.connection.close()
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._lines, self._line, self._listener, self._folder = [], None, None, ""

    @property
    def is_stopped(self) -> bool:
        """Whether there is a group to look into."""
        return self._line is not None and self._line.is_stopped

    # --- Events ---------------------------------------------------------------------------------

    def take(self, event: Message) -> Message:
        """Does what an event asks for by itself, and gives it back for who shows it."""
        line = event.get("from")
        if event["event"] == "hello" and isinstance(line, _Line):
            line.pid = int(event["pid"])
            self._tell(line)
            line.send({"command": "go"})
        elif event["event"] == "stopped" and isinstance(line, _Line):
            self._line = line
        elif event["event"] == "gone" and line is self._line:
            self._line = None
        return event

    def next_event(self) -> Message:
        """What happens next."""
        return self.take(self.events.get())

    def _tell(self, line: _Line) -> None:
        line.send({"command": "set_breakpoints", "breakpoints": self.breakpoints})
        line.send({"command": "set_watches", "watches": self.watches})
        line.send({"command": "options", **self.options})

    def changed(self) -> None:
        """Tells all processes what the program is to stop at."""
        for line in self._lines:
            self._tell(line)

    # --- Asking ---------------------------------------------------------------------------------

    def ask(self, command: str, **more: Any) -> Message:
        """The answer of the stopped program."""
        return self._request(self._stopped(), command, more)

    def go(self, command: str, **more: Any) -> None:
        """Lets the stopped program go on; an event tells where it stops next."""
        line = self._stopped()
        line.is_stopped = False
        self._request(line, command, more)

    def _stopped(self) -> _Line:
        if self._line is None or not self._line.is_stopped:
            raise NotStopped("the program is not stopped in a kernel")
        return self._line

    def _request(self, line: _Line, command: str, more: Message) -> Message:
        line.sent += 1
        line.send({"command": command, "seq": line.sent, **more})
        while True:
            reply = line.replies.get()
            if reply.get("reply") == line.sent:
                return reply
            if "gone" in reply:
                raise NotStopped("the program has ended")

    def pause(self) -> None:
        """Stops the program in the next kernel, or the one that is stepped."""
        for line in self._lines:
            line.send({"command": "pause"})

    def detach(self) -> None:
        """Lets the program run on without a debugger."""
        for line in self._lines:
            line.send({"command": "detach"})
            line.is_stopped = False
