"""How long it may take to make LLVM IR of a kernel: GROUNDSTATE_COMPILE_LIMIT, as for LLVM itself.

A kernel within all limits of size may still be one that an algorithm takes very long for. So the
pass manager, and loops that go over many things, look at the clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from groundstate import knobs
from groundstate.compiler.errors import BuildError


class _Clock(threading.local):
    """What the thread compiles."""

    end: float | None = None
    kernel = ""
    is_unwanted: Callable[[], bool] | None = None


_clock = _Clock()


@contextmanager
def limited(kernel: str) -> Iterator[None]:
    """Sets the clock for a kernel; inside of another one, that one's time goes on."""
    limit = knobs.COMPILE_LIMIT.get()
    if _clock.end is not None or not limit:
        yield
        return
    _clock.end, _clock.kernel = time.monotonic() + limit / 1e9, kernel
    try:
        yield
    finally:
        _clock.end = None


@contextmanager
def abandoned_when(is_unwanted: Callable[[], bool]) -> Iterator[None]:
    """Asks now and then whether what this thread compiles has become unwanted."""
    _clock.is_unwanted = is_unwanted
    try:
        yield
    finally:
        _clock.is_unwanted = None


def may_be_abandoned() -> bool:
    """Whether anybody asks if what this thread compiles is still wanted."""
    return _clock.is_unwanted is not None


def check() -> None:
    """Raises BuildError if the time is over, or nobody wants the kernel any more."""
    if _clock.is_unwanted is not None and _clock.is_unwanted():
        raise BuildError(f"'{_clock.kernel}' is no longer wanted")
    if _clock.end is not None and time.monotonic() > _clock.end:
        limit = (knobs.COMPILE_LIMIT.get() or 0) / 1e9
        raise BuildError(
            f"in function '{_clock.kernel}': it takes more than {limit:g} s to make LLVM IR of it; "
            "GROUNDSTATE_COMPILE_LIMIT allows more"
        )
