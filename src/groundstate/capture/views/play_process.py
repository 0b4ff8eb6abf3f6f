"""Plays recordings in a process of their own.

There the driver reads its own environment, two of them can run side by side, and whatever a
recording does to its process, it does not do to ours.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from groundstate import _raw, ze
from groundstate.capture.play import Options, Player, PlayError
from groundstate.capture.stream import StreamError, StreamReader
from groundstate.capture.stream.compression import CompressionMissing
from groundstate.closing import Closing

Told = tuple[str, Any]
"""What processes say to each other: a word, and plain data."""


class PlayEnded(RuntimeError):  # noqa: N818 (named for what happened)
    """The process that played did not come to its end, and why."""


@dataclass(frozen=True)
class Side:
    """What is played, on which library, with which variables set."""

    stream: Path
    library: str
    environment: dict[str, str] = field(default_factory=dict)
    build_options: str = ""  # for all modules, beside their own
    options: Options = field(default_factory=Options)


Work = Callable[[Player, Connection, Any], Any]
"""What is done with a player in the other process; it may talk, and its result is handed back."""


class PlayProcess(Closing):
    """A process that plays; use it with `with`."""

    def __init__(self, side: Side, work: Work, data: Any = None) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self.side = side
        self._process = context.Process(target=_main, args=(theirs, side, work, data), daemon=True)
        self._process.start()
        theirs.close()

    def receive(self) -> Told:
        """What the other process says next; raises `PlayEnded` with the reason if it is gone."""
        try:
            told: Told = self._ours.recv()
        except (EOFError, OSError):
            self._process.join()
            raise PlayEnded(self._why()) from None
        if told[0] == "problem":
            raise PlayEnded(str(told[1]))
        return told

    def send(self, answer: Any) -> None:
        """Answers the other process."""
        try:
            self._ours.send(answer)
        except OSError:
            raise PlayEnded(self._why()) from None

    def result(self) -> Any:
        """What the work came to; what it says before is passed over."""
        while True:
            word, data = self.receive()
            if word == "result":
                return data

    def _why(self) -> str:
        self._process.join(5)
        code = self._process.exitcode
        if code is not None and code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
            return f"playing {self.side.stream.name} ended the process with {name}"
        return f"playing {self.side.stream.name} ended the process with status {code}"

    def close(self) -> None:
        """Ends the process, whatever it does."""
        self._ours.close()
        self._process.join(0.2)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


def add_build_options(library: _raw.Library, options: str) -> None:
    """Gives options to every module that is built from now on, behind its own."""
    create = library.zeModuleCreate

    def create_with(context: int, device: int, described: int, module: int, log: int) -> int:
        if not described:
            return int(create(context, device, described, module, log))
        changed = ze.ze_module_desc_t.from_buffer_copy(
            ctypes.string_at(described, ctypes.sizeof(ze.ze_module_desc_t))
        )
        own = changed.pBuildFlags or b""
        changed.pBuildFlags = own + b" " + options.encode()
        return int(create(context, device, ctypes.byref(changed), module, log))

    setattr(library, "zeModuleCreate", create_with)  # noqa: B010 (a function of the library)


def _main(connection: Connection, side: Side, work: Work, data: Any) -> None:
    """The other process: opens the stream and the library, works, and says what came of it."""
    os.environ.update(side.environment)
    try:
        with StreamReader(side.stream) as reader:
            player = Player(reader, side.library, side.options)
            if side.build_options:
                add_build_options(player.library, side.build_options)
            try:
                told: Told = ("result", work(player, connection, data))
            finally:
                player.close()
    except EOFError:
        os._exit(0)  # whoever wanted this is gone
    except (StreamError, CompressionMissing) as problem:
        told = ("problem", f"{side.stream}: {problem}")
    except (PlayError, OSError, ValueError) as problem:
        told = ("problem", str(problem))
    with contextlib.suppress(OSError):  # perhaps nobody listens any more
        connection.send(told)
    # What the play left to the driver, threads that never end among it, ends with the process.
    connection.close()
    os._exit(0)
