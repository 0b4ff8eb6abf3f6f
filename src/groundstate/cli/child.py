"""Runs a program as a child that behaves as if it had been started without us."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

from groundstate.cli import run as running

FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
"""A terminal sends these to the program itself, too."""
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    started: bool
    status: int
    signal: int = 0  # that killed it

    def pass_on(self) -> int:
        """Our exit status: we are killed by the same signal as the program was."""
        if self.signal:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has left one already
            with contextlib.suppress(OSError):  # SIGKILL has no handler
                signal.signal(self.signal, signal.SIG_DFL)
            os.kill(os.getpid(), self.signal)
        return self.status


def run_child(
    command: list[str],
    environment: dict[str, str],
    name: str,
    started: Callable[[], None] = lambda: None,
) -> Ended:
    """Runs a program to its end. One that cannot be started is reported.

    `started` is called while it runs; threads must not be started before, as this forks.
    """
    told, tells = os.pipe()  # closed when the program has started, written to when it has not
    child = os.fork()
    if child == 0:
        _end_with_parent()
        status = running.become(command, environment, name)
        os.write(tells, b"!")
        os._exit(status)
    os.close(tells)
    for which in (*FORWARDED, *FROM_TERMINAL):
        if signal.getsignal(which) is not signal.SIG_IGN:
            signal.signal(which, _Forwarder(child) if which in FORWARDED else _ignore)
    started()
    _, waited = os.waitpid(child, 0)
    failed = os.read(told, 1)
    os.close(told)
    if os.WIFSIGNALED(waited):
        return Ended(True, 128 + os.WTERMSIG(waited), os.WTERMSIG(waited))
    return Ended(not failed, os.WEXITSTATUS(waited))


class _Forwarder:
    """Sends a signal on."""

    def __init__(self, child: int) -> None:
        self._child = child

    def __call__(self, number: int, frame: FrameType | None) -> None:
        os.kill(self._child, number)


def _ignore(number: int, frame: FrameType | None) -> None:
    """The program decides what becomes of it; a handler, as it would inherit SIG_IGN."""


def _end_with_parent() -> None:
    """The program is killed if we are."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
