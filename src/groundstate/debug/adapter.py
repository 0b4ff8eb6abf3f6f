"""The debugger for editors: a server of the Debug Adapter Protocol.

The editor's *threads* are the work-items of the group that is stopped. Besides the variables of
one, a scope shows each variable over all work-items.
"""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import subprocess
import sys
import threading
from typing import Any, BinaryIO

from groundstate import knobs
from groundstate.debug import messages
from groundstate.debug.program import NotStopped, Program

Message = dict[str, Any]

CAPABILITIES = {
    "supportsConfigurationDoneRequest": True,
    "supportsFunctionBreakpoints": True,
    "supportsConditionalBreakpoints": True,
    "supportsEvaluateForHovers": True,
    "supportsStepBack": True,
    "supportsDataBreakpoints": True,
    "supportsReadMemoryRequest": True,
    "supportsTerminateRequest": True,
    "supportsSingleThreadExecutionRequests": True,
    "exceptionBreakpointFilters": [
        {
            "filter": "findings",
            "label": "Mistakes of kernels",
            "description": "Accesses outside of buffers, and work-items that wait for ever",
            "default": True,
        }
    ],
}
REASONS = {
    "breakpoint": "breakpoint",
    "watchpoint": "data breakpoint",
    "finding": "exception",
    "pause": "pause",
    "entry": "entry",
}
SCOPES = {"item": "item", "sub-group": "sub-group", "group": "group"}
FIRST_REFERENCE = 1000


class Adapter:
    """One editor."""

    def __init__(self, source: BinaryIO, out: BinaryIO, environment: dict[str, str]) -> None:
        self.source = source
        self.out = out
        self.environment = environment
        self.program = Program()
        self.lock = threading.Lock()
        """While something is sent: events come from another thread."""
        self.asking = threading.Lock()
        """While the program is asked."""
        self.sequence = 0
        self.launch: Message = {}
        self.scope = "item"
        self.file_breakpoints: dict[str, list[Message]] = {}
        self.function_breakpoints: list[Message] = []
        self.numbers = 0
        self.stop: Message = {}
        self.references: dict[int, tuple[str, int, int, str]] = {}
        """Of variables with parts: what they are, the work-item, the frame, the expression."""
        self.frames: dict[int, tuple[int, int, Message]] = {}
        """By their ids: the work-item, the number among its frames, and the frame."""

    # --- Messages -------------------------------------------------------------------------------

    def serve(self) -> int:
        """Answers requests until the editor goes."""
        try:
            while (message := messages.read(self.source)) is not None:
                if message.get("type") == "request" and not self._answer(message):
                    break
        except (BrokenPipeError, ConnectionResetError):
            return 0  # the editor has gone
        except (messages.MessageError, OSError) as problem:
            print(f"groundstate debug: {problem}", file=sys.stderr)
            return 1
        finally:
            self.program.close()
        return 0

    def _send(self, message: Message) -> None:
        with self.lock:
            self.sequence += 1
            messages.write(self.out, {"seq": self.sequence, **message})

    def event(self, name: str, /, **body: Any) -> None:
        """Tells the editor something, if it is still there."""
        with contextlib.suppress(OSError, ValueError):
            self._send({"type": "event", "event": name, "body": body})

    def _answer(self, request: Message) -> bool:
        """Answers a request; False after the last one. What is wrong with one ends nothing."""
        command = str(request.get("command", ""))
        reply = {"type": "response", "request_seq": request.get("seq", 0), "command": command}
        handler = getattr(self, "on_" + command, None)
        try:
            if handler is None:
                raise ValueError(f"the request '{command}' is not supported")
            with self.asking:
                body = handler(request.get("arguments") or {})
        except Exception as problem:
            self._send({**reply, "success": False, "message": _refusal(command, problem)})
        else:
            self._send({**reply, "success": True, "body": body or {}})
        if command == "initialize":
            self.event("initialized")
        return command != "disconnect"

    def _watch_program(self) -> None:
        """Tells the editor what happens to the program, until it has ended."""
        while True:
            event = self.program.next_event()
            if event["event"] == "stopped":
                self._stopped(event)
            elif event["event"] == "exited":
                status = int(event["status"])
                self.event("exited", exitCode=status if status >= 0 else 128 - status)
                self.event("terminated")
                return

    def _stopped(self, event: Message) -> None:
        self.stop = event
        self.references.clear()
        self.frames.clear()
        body: Message = {
            "reason": REASONS.get(event["reason"], "step"),
            "threadId": event["item"] + 1,
            "allThreadsStopped": True,
            "preserveFocusHint": False,
        }
        if event["reason"] in ("finding", "watchpoint", "end"):
            body["text"] = body["description"] = event["text"]
        if event["reason"] in ("breakpoint", "watchpoint"):
            body["hitBreakpointIds"] = [event.get("breakpoint") or event.get("watch")]
        self.event("stopped", **body)

    # --- Life -----------------------------------------------------------------------------------

    def on_initialize(self, arguments: Message) -> Message:
        del arguments
        return CAPABILITIES

    def on_launch(self, arguments: Message) -> None:
        if not isinstance(arguments.get("program"), str):
            raise ValueError('launch needs "program", the path of the program to debug')
        self.launch = arguments
        self.program.options["entry"] = bool(arguments.get("stopOnEntry", False))
        self.scope = SCOPES.get(str(arguments.get("stepping", "item")), "item")

    def on_configurationDone(self, arguments: Message) -> None:  # noqa: N802 - the protocol's
        del arguments
        launch = self.launch
        if not launch or self.program.process is not None:
            raise ValueError("configurationDone comes once, after launch")
        command = [launch["program"], *map(str, launch.get("args", []))]
        given = {str(key): str(value) for key, value in (launch.get("env") or {}).items()}
        self.program.start(
            command,
            self.environment | given,
            knobs.DEBUG.name,
            cwd=launch.get("cwd") or None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        process = self.program.process
        assert process is not None
        readers = [
            threading.Thread(target=self._copy, args=(stream, name), daemon=True)
            for stream, name in ((process.stdout, "stdout"), (process.stderr, "stderr"))
        ]
        for each in (*readers, threading.Thread(target=self._watch_program, daemon=True)):
            each.start()
        self.event("process", name=command[0], systemProcessId=process.pid, startMethod="launch")

    def _copy(self, stream: Any, category: str) -> None:
        for line in stream:
            self.event("output", category=category, output=line.decode("utf-8", "replace"))

    def on_terminate(self, arguments: Message) -> None:
        del arguments
        if self.program.process is not None:
            self.program.process.kill()

    def on_disconnect(self, arguments: Message) -> None:
        if arguments.get("terminateDebuggee") is False:
            self.program.detach()
            if self.program.process is not None:
                self.program.process.wait()
            return
        self.program.close()

    # --- Where to stop --------------------------------------------------------------------------

    def _new(self, **facts: Any) -> Message:
        self.numbers += 1
        return {"id": self.numbers, **facts}

    def _tell(self) -> None:
        some = [each for others in self.file_breakpoints.values() for each in others]
        self.program.breakpoints = [*some, *self.function_breakpoints]
        self.program.changed()

    def on_setBreakpoints(self, arguments: Message) -> Message:  # noqa: N802
        source = arguments["source"]
        file = str(source.get("path") or source.get("name") or "")
        made = []
        for each in arguments.get("breakpoints", []):
            condition, item = _condition(str(each.get("condition") or ""))
            one = self._new(file=file, line=int(each["line"]), condition=condition)
            made.append(one | ({"item": item} if item else {}))
        self.file_breakpoints[file] = made
        self._tell()
        return {"breakpoints": [_verified(each) for each in made]}

    def on_setFunctionBreakpoints(self, arguments: Message) -> Message:  # noqa: N802
        made = []
        for each in arguments.get("breakpoints", []):
            condition, item = _condition(str(each.get("condition") or ""))
            one = self._new(function=str(each["name"]), condition=condition)
            made.append(one | ({"item": item} if item else {}))
        self.function_breakpoints = made
        self._tell()
        return {"breakpoints": [_verified(each) for each in made]}

    def on_setExceptionBreakpoints(self, arguments: Message) -> Message:  # noqa: N802
        self.program.options["findings"] = "findings" in arguments.get("filters", [])
        self.program.changed()
        return {}

    def on_dataBreakpointInfo(self, arguments: Message) -> Message:  # noqa: N802
        name = str(arguments["name"])
        reference = self.references.get(int(arguments.get("variablesReference") or 0))
        if reference is not None and reference[3]:
            part = name if name.startswith("[") else f".{name}"
            name = f"({reference[3]}){part}"
        return {"dataId": name, "description": f"writes to {name}", "accessTypes": ["write"]}

    def on_setDataBreakpoints(self, arguments: Message) -> Message:  # noqa: N802
        some = arguments.get("breakpoints", [])
        self.program.watches = [self._new(expression=str(each["dataId"])) for each in some]
        self.program.changed()
        return {"breakpoints": [_verified(each) for each in self.program.watches]}

    # --- Going on -------------------------------------------------------------------------------

    def _go(self, arguments: Message, command: str, **more: Any) -> Message:
        thread = int(arguments.get("threadId") or 0)
        item = thread - 1 if thread > 0 else None
        if "kind" in more and command == "step":
            more["scope"] = "item" if arguments.get("singleThread") else self.scope
        self.program.go(command, item=item, **more)
        return {"allThreadsContinued": True}

    def on_continue(self, arguments: Message) -> Message:
        return self._go({}, "continue") if arguments is not None else {}

    def on_next(self, arguments: Message) -> Message:
        return self._go(arguments, "step", kind="over")

    def on_stepIn(self, arguments: Message) -> Message:  # noqa: N802
        return self._go(arguments, "step", kind="in")

    def on_stepOut(self, arguments: Message) -> Message:  # noqa: N802
        return self._go(arguments, "step", kind="out")

    def on_stepBack(self, arguments: Message) -> Message:  # noqa: N802
        return self._go(arguments, "step_back", kind="over")

    def on_reverseContinue(self, arguments: Message) -> Message:  # noqa: N802
        del arguments
        return self._go({}, "reverse_continue")

    def on_pause(self, arguments: Message) -> None:
        del arguments
        self.program.pause()

    # --- Looking --------------------------------------------------------------------------------

    def _ask(self, command: str, **more: Any) -> Message:
        answer = self.program.ask(command, **more)
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer

    def on_threads(self, arguments: Message) -> Message:
        del arguments
        if not self.program.is_stopped:
            return {"threads": [{"id": 1, "name": "program"}]}
        return {
            "threads": [
                {
                    "id": each["item"] + 1,
                    "name": f"work-item ({', '.join(map(str, each['global_id']))})"
                    + ("" if each["state"] == "ready" else f" {each['state']}"),
                }
                for each in self._ask("items")["items"]
            ]
        }

    def on_stackTrace(self, arguments: Message) -> Message:  # noqa: N802
        item = int(arguments["threadId"]) - 1
        found = []
        for number, each in enumerate(self._ask("frames", item=item)["frames"]):
            identity = FIRST_REFERENCE + len(self.frames)
            self.frames[identity] = (item, number, each)
            found.append(
                {
                    "id": identity,
                    "name": each["function"],
                    "line": each["line"],
                    "column": each["column"],
                    "source": self._source(each["file"]),
                }
            )
        return {"stackFrames": found, "totalFrames": len(found)}

    def _source(self, file: str) -> Message:
        path = os.path.join(self.launch.get("cwd") or os.getcwd(), file)
        if os.path.isfile(path):
            return {"name": os.path.basename(file), "path": path}
        return {"name": file, "sourceReference": self._reference("source", 0, 0, file)}

    def on_source(self, arguments: Message) -> Message:
        number = arguments.get("sourceReference") or arguments["source"]["sourceReference"]
        file = self.references[int(number)][3]
        lines = self._ask("source", file=file, first=1, last=20_000)["lines"]
        return {"content": "".join(f"{text}\n" for _, text in lines), "mimeType": "text/x-opencl"}

    def on_scopes(self, arguments: Message) -> Message:
        item, frame, _ = self.frames[int(arguments["frameId"])]
        names = (("Variables", "locals"), ("Work-item", "ids"), ("All work-items", "all"))
        return {
            "scopes": [
                {
                    "name": name,
                    "variablesReference": self._reference(kind, item, frame, ""),
                    "expensive": kind == "all",
                }
                for name, kind in names
            ]
        }

    def _reference(self, kind: str, item: int, frame: int, expression: str) -> int:
        number = FIRST_REFERENCE + len(self.references)
        self.references[number] = (kind, item, frame, expression)
        return number

    def on_variables(self, arguments: Message) -> Message:
        number = int(arguments["variablesReference"])
        kind, item, frame, expression = self.references[number]
        where = {"item": item, "frame": frame}
        if kind == "ids":
            ids = self._ask("ids", **where)["ids"]
            shown = [_plain(name, ", ".join(map(str, values))) for name, values in ids.items()]
            return {"variables": shown}
        if kind == "table":
            rows = self._ask("table", expression=expression, **where)["rows"]
            names = (f"({', '.join(map(str, row['global_id']))})" for row in rows)
            return {"variables": [_plain(n, r["value"]) for n, r in zip(names, rows, strict=True)]}
        if kind == "parts":
            window = {key: int(arguments.get(key) or 0) for key in ("start", "count")}
            found = self._ask("children", expression=expression, **where, **window)["variables"]
        else:
            found = self._ask("locals", **where)["variables"]
        if kind == "all":
            tables = [self._reference("table", item, frame, each["name"]) for each in found]
            return {
                "variables": [
                    _plain(each["name"], each["type"]) | {"variablesReference": table}
                    for each, table in zip(found, tables, strict=True)
                ]
            }
        return {"variables": [self._variable(each, item, frame) for each in found]}

    def _variable(self, told: Message, item: int, frame: int) -> Message:
        shown: Message = _plain(told["name"], told["value"]) | {
            "type": told["type"],
            "evaluateName": told["expression"],
        }
        if told["children"]:
            reference = self._reference("parts", item, frame, told["expression"])
            shown["variablesReference"] = reference
            if told["indexed"]:
                shown["indexedVariables"] = told["children"]
        if told["address"]:
            shown["memoryReference"] = hex(told["address"])
        return shown

    def on_evaluate(self, arguments: Message) -> Message:
        text = str(arguments["expression"]).strip()
        item, frame, _ = self.frames.get(
            int(arguments.get("frameId") or 0), (self.stop.get("item"), 0, {})
        )
        word, _, rest = text.partition(" ")
        if word == "table" and rest:
            rows = self._ask("table", expression=rest, item=item)["rows"]
            lines = (f"({', '.join(map(str, r['global_id']))}) {r['value']}" for r in rows)
            reference = self._reference("table", item or 0, frame, rest)
            return {"result": "\n".join(lines), "variablesReference": reference}
        if word == "stepping" and rest in SCOPES:
            self.scope = rest
            return {"result": f"steps are taken by the {rest}", "variablesReference": 0}
        told = self._ask("evaluate", expression=text, item=item, frame=frame)
        shown = self._variable(told, item or 0, frame)
        return {"result": shown.pop("value"), **shown}

    def on_readMemory(self, arguments: Message) -> Message:  # noqa: N802
        address = int(str(arguments["memoryReference"]), 0) + int(arguments.get("offset") or 0)
        answer = self._ask("memory", address=address, count=int(arguments["count"]))
        data = bytes.fromhex(answer["data"])
        return {"address": hex(address), "data": base64.b64encode(data).decode()}


def _refusal(command: str, problem: Exception) -> str:
    """Why a request is not answered."""
    if isinstance(problem, KeyError):
        return f"the request '{command}' has no {problem}, or not one that there is"
    if isinstance(problem, OSError) and problem.filename is not None:
        return f"{problem.filename}: {problem.strerror}"
    if isinstance(problem, NotStopped | ValueError | OSError):
        return str(problem)
    return f"the request '{command}' makes no sense: {problem}"


def _condition(text: str) -> tuple[str, list[int]]:
    """A condition, and the work-item that it begins with: `item 3 0 0 if x > 1`."""
    if not text.startswith("item "):
        return text, []
    numbers, _, condition = text.removeprefix("item ").partition(" if ")
    words = numbers.replace(",", " ").split()
    if not words or not all(each.isdigit() for each in words):
        raise ValueError("a condition for one work-item is: item X Y Z, or item X Y Z if CONDITION")
    return condition.strip(), [int(each) for each in words]


def _verified(breakpoint: Message) -> Message:
    shown = {"id": breakpoint["id"], "verified": True}
    return shown | ({"line": breakpoint["line"]} if "line" in breakpoint else {})


def _plain(name: str, value: str) -> Message:
    return {"name": name, "value": value, "variablesReference": 0}


def serve_port(port: int, environment: dict[str, str]) -> int:
    """Serves one editor that connects to a port of this machine."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        address, port = listener.getsockname()
        print(f"waiting for an editor at {address}:{port}", file=sys.stderr, flush=True)
        connection, _ = listener.accept()
    with connection, connection.makefile("rb") as source, connection.makefile("wb") as out:
        return Adapter(source, out, environment).serve()
