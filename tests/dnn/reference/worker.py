"""The process in which the reference library lives: it brings a runtime that ours must not share.

The reference is a SYCL program that looks for devices and loads drivers, and it may crash on what
it does not check. So it gets a process of its own, which answers one question after the other.
"""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, BinaryIO

from benchmarks.peers import alone
from tests.dnn.reference.client import Outcome, Session, shared_library
from tests.dnn.reference.problem import Problem

LIBRARY = Path(sys.prefix) / "sycl" / "lib" / "libdnnl.so.3"
"""The package `onednn`, beside the runtime that it needs."""


class ReferenceMissing(Exception):  # noqa: N818 - says what is missing
    """The reference library is not installed."""


class ReferenceCrashed(Exception):  # noqa: N818 - says what happened
    """The reference library ended its process."""


OLDER_INSTRUCTIONS = {"ONEDNN_MAX_CPU_ISA": "AVX2"}
"""Lets oneDNN take other code: what it has for AVX-512 crashes on some problems."""


class Reference:
    """The reference library, asked from another process.

    A problem on which it crashes is asked again with code for older CPUs.
    """

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        if not LIBRARY.exists():
            raise ReferenceMissing("oneDNN is not installed: make .venv/sycl/.installed")
        self.library = LIBRARY.resolve()
        self.settings = settings or {}
        self.process: subprocess.Popen[bytes] | None = None
        self.older: Reference | None = None

    def start(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            environment = {
                **os.environ,
                **alone(self.library.with_name("libintelocl.so")),
                "ONEAPI_DEVICE_SELECTOR": "opencl:cpu",
                "ONEDNN_VERBOSE": "none",
                **self.settings,
                "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            }
            self.process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(self.library)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                cwd=Path(__file__).parents[3],
            )
        return self.process

    def ask(self, function: str, *arguments: Any) -> Any:
        """What a function, `module:name`, answers there; its first argument is the session."""
        process = self.start()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump((function, arguments), process.stdin)
            process.stdin.flush()
            worked, answer = pickle.load(process.stdout)
        except (EOFError, BrokenPipeError):
            self.process = None
            raise ReferenceCrashed(f"exit code {process.wait()} in {function}") from None
        if not worked:
            raise RuntimeError(answer)
        return answer

    def run(self, problem: Problem) -> Outcome:
        """Solves a problem; in the other process."""
        return self.ask_twice("tests.dnn.reference.worker:solve", problem)

    def ask_twice(self, function: str, *arguments: Any) -> Any:
        """What a function answers there, or with code for older CPUs if that crashes."""
        try:
            return self.ask(function, *arguments)
        except ReferenceCrashed:
            if self.settings:
                raise
        if self.older is None:
            self.older = Reference(OLDER_INSTRUCTIONS)
        return self.older.ask(function, *arguments)

    def close(self) -> None:
        if self.older is not None:
            self.older.close()
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process = None


def solve(session: Session, problem: Problem) -> Outcome:
    """Solves a problem in this process."""
    return session.run(problem)


def serve(library: str, questions: BinaryIO, answers: BinaryIO) -> None:
    """Answers questions until there are no more."""
    session = Session(shared_library(library), "cpu")
    while True:
        try:
            function, arguments = pickle.load(questions)
        except EOFError:
            return
        module, name = function.split(":")
        try:
            reply = True, getattr(importlib.import_module(module), name)(session, *arguments)
        except Exception as problem:
            reply = False, repr(problem)
        pickle.dump(reply, answers)
        answers.flush()


if __name__ == "__main__":
    # What the libraries print must not get between the answers.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.argv[1], sys.stdin.buffer, replies)
