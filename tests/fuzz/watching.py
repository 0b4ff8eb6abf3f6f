"""Runs cases in a child process, so that a crash or a hang is a finding like any other."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from tests.fuzz.child import LENGTH
from tests.fuzz.targets.target import Target

ROOT = Path(__file__).parents[2]
START_S = 120.0
SANITIZED = ROOT / "build" / "asan"
CASES_OF_A_CHILD = 2000
"""Then it is replaced, for what it has collected would slow it down."""

SHOWN = 6000
"""Characters of what a child said."""

CHILD = ["-m", "tests.fuzz.child"]

HANG = "it did not return"


class Watched:
    """A child for one target, started when it is needed and again when it has died."""

    def __init__(self, target: Target, sanitize: bool = False) -> None:
        self.target = target
        self.sanitize = sanitize
        self.executions = 0
        self._child: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._cases = 0

    def close(self) -> None:
        self._end()
        self._errors.close()

    def check(self, case: bytes) -> str:
        """Runs a case; what is wrong with it, or nothing."""
        child = self._ready()
        self.executions += 1
        self._cases += 1
        assert child.stdin is not None
        try:
            child.stdin.write(LENGTH.pack(len(case)) + case)
            child.stdin.flush()
        except BrokenPipeError:
            return self._death()
        answer = self._answer(self.target.deadline_s)
        if answer is None:
            return self._death()
        if answer["is_spent"] or self._cases >= CASES_OF_A_CHILD:
            self._end()
        return str(answer["wrong"])

    def _ready(self) -> subprocess.Popen[bytes]:
        if self._child is not None:
            return self._child
        self._errors.seek(0)
        self._errors.truncate()
        self._cases = 0
        command = [sys.executable, "-X", "faulthandler", *CHILD, self.target.name]
        self._child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=self._environment(),
            cwd=ROOT,
            start_new_session=True,
        )
        if self._answer(START_S) is None:
            raise RuntimeError(f"{self.target.name}: the child did not start: {self._death()}")
        return self._child

    def _environment(self) -> dict[str, str]:
        made = os.environ | {"GROUNDSTATE_NVIDIA": "0"} | self.target.environment
        if self.sanitize:
            runtime = subprocess.run(
                ["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
            )
            made |= {
                "PYTHONPATH": f"{SANITIZED}:{ROOT}",
                "LD_PRELOAD": runtime.stdout.strip(),
                # Copies through garbage addresses are the driver's own to survive: they are not
                # looked at (replace_intrin).
                "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0"
                ":handle_sigill=0:allocator_may_return_null=1:halt_on_error=1:abort_on_error=1"
                ":replace_intrin=0",
                "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
            }
        return made

    def _answer(self, patience: float) -> dict[str, object] | None:
        """The next line of the child; None if it died or does not answer."""
        assert self._child is not None
        assert self._child.stdout is not None
        end, line = time.monotonic() + patience, b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select(
                [self._child.stdout], [], [], max(end - time.monotonic(), 0)
            )
            part = os.read(self._child.stdout.fileno(), 1 << 20) if ready else b""
            if not part:
                return None
            line += part
        answer: dict[str, object] = json.loads(line)
        return answer

    def _death(self) -> str:
        """How the child ended, and what it said."""
        child = self._child
        assert child is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(1)
        if child.poll() is None:
            how = HANG
            child.send_signal(signal.SIGABRT)  # has the stacks of all threads printed
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(5)
        else:
            code = child.returncode
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"status {code}"
        self._errors.seek(0)
        said = interesting(self._errors.read().decode("utf-8", "replace"))
        self._end()
        return f"{how}\n{said}"

    def _end(self) -> None:
        if self._child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()
            for pipe in (self._child.stdin, self._child.stdout):
                with contextlib.suppress(BrokenPipeError):
                    if pipe is not None:
                        pipe.close()
            self._child = None


def interesting(said: str) -> str:
    """The part of what a process said that tells why it died: a sanitizer's report, or the end."""
    report = re.search(r"^.*(?:ERROR: \w+Sanitizer|runtime error:)", said, re.M)
    return said[report.start() :][:SHOWN] if report else said[-SHOWN:]


def signature(wrong: str) -> str:
    """What stays the same of a message when the same thing goes wrong again.

    >>> signature("signal SIGSEGV\\nThread 0x7f12")
    'signal SIGSEGV'
    >>> signature("zeMemFree: TypeError: 3 is odd")
    'zeMemFree: TypeError: # is odd'
    """
    lines = wrong.strip().splitlines() or [""]
    shown = lines[-1] if lines[0].startswith("Traceback") else lines[0]
    place = re.search(r"#\d+ 0x\w+ in (\w+) \S+/native/", wrong)
    if place:
        shown += f" in {place[1]}"
    return re.sub(r"0x[0-9a-f]+|\d+", "#", shown)[:120]
