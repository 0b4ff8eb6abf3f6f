"""An editor, as far as tests need one: it speaks the Debug Adapter Protocol by a script."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from groundstate.debug import messages

Message = dict[str, Any]


class Editor:
    """Starts `groundstate debug --dap` and talks to it."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "groundstate", "debug", "--dap"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
        )
        self.events: list[Message] = []
        self.sent = 0

    def __enter__(self) -> Editor:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()  # it ends its program, too
        self.process.wait()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()

    def _read(self) -> Message:
        assert self.process.stdout is not None
        message = messages.read(self.process.stdout)
        assert message is not None, "the debugger has ended"
        return message

    def send(self, command: str, **arguments: Any) -> int:
        """Sends a request, and returns its number."""
        self.sent += 1
        request = {"type": "request", "seq": self.sent, "command": command}
        assert self.process.stdin is not None
        messages.write(self.process.stdin, {**request, "arguments": arguments})
        return self.sent

    def reply(self, number: int) -> Message:
        """The response to a request; events that come before it are kept."""
        while True:
            message = self._read()
            if message["type"] == "event":
                self.events.append(message)
            elif message["request_seq"] == number:
                return message

    def ask(self, command: str, **arguments: Any) -> Any:
        """The body of the response to a request that must succeed."""
        reply = self.reply(self.send(command, **arguments))
        assert reply["success"], reply
        return reply["body"]

    def refusal(self, command: str, **arguments: Any) -> str:
        """The sentence of a request that must fail."""
        reply = self.reply(self.send(command, **arguments))
        assert not reply["success"], reply
        return str(reply["message"])

    def event(self, name: str) -> Any:
        """The body of the next event of a name."""
        while True:
            for index, message in enumerate(self.events):
                if message["event"] == name:
                    del self.events[index]
                    return message["body"]
            message = self._read()
            assert message["type"] == "event"
            self.events.append(message)

    def begin(self, program: str, *arguments: str, **more: Any) -> None:
        """Initialises, and says what to launch. Breakpoints come next, then `run`."""
        self.ask("initialize", adapterID="groundstate")
        self.event("initialized")
        self.ask("launch", program=program, args=list(arguments), **more)

    def run(self) -> None:
        """Starts the program."""
        self.ask("configurationDone")

    def stopped(self, reason: str) -> int:
        """Waits for a stop; returns the thread."""
        body = self.event("stopped")
        assert body["reason"] == reason, body
        return int(body["threadId"])

    def place(self, thread: int) -> tuple[str, int, int]:
        """The function, the line and the frame that a thread is at."""
        frame = self.ask("stackTrace", threadId=thread)["stackFrames"][0]
        return frame["name"], frame["line"], frame["id"]

    def variables(self, reference: int, **window: int) -> dict[str, Message]:
        """Variables, by name."""
        found = self.ask("variables", variablesReference=reference, **window)["variables"]
        return {each["name"]: each for each in found}

    def scope(self, frame: int, name: str) -> dict[str, Message]:
        """The variables of a scope of a frame."""
        scopes = self.ask("scopes", frameId=frame)["scopes"]
        return self.variables(next(e for e in scopes if e["name"] == name)["variablesReference"])
