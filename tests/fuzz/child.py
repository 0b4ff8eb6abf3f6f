"""A process that runs cases of one target, one after the other: `python -m tests.fuzz.child NAME`.

A case comes as its length and its bytes; the answer is a line of JSON. What the driver prints goes
nowhere.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import struct
import sys
import traceback

from tests.fuzz.targets import TARGETS
from tests.fuzz.targets.target import Target, Verdict

SET_PARENT_DEATH_SIGNAL = 1
LENGTH = struct.Struct("<Q")


def limit_memory(more: int) -> None:
    """Keeps a case that allocates without end from the rest of the machine."""
    with open("/proc/self/statm", encoding="ascii") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    limit = mapped + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def verdict_of(target: Target, case: bytes) -> Verdict:
    try:
        return target.run(case)
    except BaseException:
        return Verdict(traceback.format_exc(limit=-8), is_spent=True)


def serve(target: Target, answers: int) -> None:
    target.prepare()
    if not os.environ.get("ASAN_OPTIONS"):
        limit_memory(target.memory_bytes)
    os.write(answers, b"{}\n")
    while header := sys.stdin.buffer.read(LENGTH.size):
        verdict = verdict_of(target, sys.stdin.buffer.read(LENGTH.unpack(header)[0]))
        line = {"wrong": verdict.wrong, "is_spent": verdict.is_spent}
        os.write(answers, json.dumps(line).encode() + b"\n")


def die_with_parent() -> None:
    """However the fuzzer ends, nothing of it goes on."""
    ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def main() -> None:
    die_with_parent()
    answers = os.dup(1)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.close(quiet)
    serve(TARGETS[sys.argv[1]], answers)
    os._exit(0)


if __name__ == "__main__":
    main()
