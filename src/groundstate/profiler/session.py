"""Profiles of a part of this program, and where a program that is started writes its own."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import weakref
from pathlib import Path
from typing import Any, Self, TextIO

from groundstate import knobs
from groundstate.closing import Closing
from groundstate.profiler import html, report, roof, screen, trace
from groundstate.profiler.recorded import Recorded, read_folder

_RUNS_ALREADY = "another one of this process runs, and there is one at a time"


class Collected(Closing):
    """A folder into which processes write profiles."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="groundstate-profile-")
        self.path = Path(self._folder.name)

    def close(self) -> None:
        """Removes the folder."""
        self._folder.cleanup()

    def environment(self, counters: bool) -> dict[str, str]:
        """What a program needs to write into the folder."""
        return {
            knobs.PROFILE.name: str(self.path),
            knobs.PROFILE_COUNTERS.name: str(int(counters)),
        }

    def read(self) -> list[Recorded]:
        """What they have written."""
        return read_folder(self.path)


class Profile(Closing):
    """What a program does on its devices while a `with` block runs: `groundstate.profile`.

    >>> import groundstate as gs
    >>> source = "kernel void twice(global float *a) { a[get_global_id(0)] *= 2; }"
    >>> x = gs.array([1, 2, 3, 4], "float32")
    >>> with gs.profile(roof=False) as profile:
    ...     gs.Module(opencl=source)["twice"].launch(x, global_size=4)
    >>> [kernel["name"] for kernel in profile.report["kernels"]]
    ['twice']
    """

    def __init__(self, *, counters: bool = True, roof: bool = True, show: bool = False) -> None:
        from groundstate.core import libraries

        self._wants_roof = roof
        self._shows = show
        self._library = libraries.own()
        self._collected = Collected()
        self._is_running = False
        self.processes: list[Recorded] = []
        self.report: dict[str, Any] = {}
        """What `groundstate profile --json` prints; complete after the block."""
        path = os.fsencode(self._collected.path / f"{os.getpid()}.profile")
        problem = self._library.find("gs_profile_begin")(path, bool(counters))
        if problem:
            self._collected.close()
            why = _RUNS_ALREADY if problem == errno.EBUSY else os.strerror(problem)
            raise OSError(problem, f"no profile can be begun: {why}")
        self._is_running = True
        self._end = weakref.finalize(self, self._library.find("gs_profile_stop"))
        self._end.atexit = False  # the file of a program that ends is complete as it is

    def __repr__(self) -> str:
        if self._is_running:
            return "<Profile running>"
        kernels = len(self.report["kernels"])
        return f"<Profile of {kernels} kernel{'s' * (kernels != 1)}>"

    def __enter__(self) -> Self:
        if not self._is_running:
            from groundstate.core.errors import ClosedError

            raise ClosedError("this Profile was closed; gs.profile() begins another")
        return self

    def close(self) -> None:
        """Ends the profile and reads it. What runs on is not in it."""
        if not self._is_running:
            return
        self._is_running = False
        self._end()
        self.processes = self._collected.read()
        self._collected.close()
        found = roof.roof(os.environ, _workers(self.processes)) if self._wants_roof else None
        self.report = report.document(self.processes, found, sys.argv)
        if self._shows:
            self.show()

    def show(self, to: TextIO | None = None) -> None:
        """Prints it as `groundstate profile` does."""
        screen.show(self._complete(), to or sys.stdout)

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Writes it as a page for a browser."""
        Path(path).write_text(html.page(self._complete()), encoding="utf-8")

    def write_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes it for Perfetto and Chrome's about:tracing."""
        self._complete()
        with open(path, "w", encoding="utf-8") as file:
            trace.write(self.processes, file)

    def _complete(self) -> dict[str, Any]:
        if self._is_running:
            raise ValueError("the profile is complete when its with block has ended")
        return self.report


def _workers(processes: list[Recorded]) -> int:
    return max((each.workers for each in processes), default=0)


def profile(*, counters: bool = True, roof: bool = True, show: bool = False) -> Profile:
    """Profiles this process on Groundstate's devices until the `with` block ends.

    `counters`: the first launch of each kernel counts what it does. `roof`: compares with what the
    machine can do, which is measured once. `show`: prints the profile at the end.
    """
    return Profile(counters=counters, roof=roof, show=show)
