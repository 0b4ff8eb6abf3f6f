"""Has LLVM work in a process of its own, started when it is first needed and kept.

When LLVM ends that process, or takes longer than GROUNDSTATE_COMPILE_LIMIT, that is a failed build
and nothing else; the next build gets another process. `server` is what runs there.
"""

from __future__ import annotations

import importlib.util
import os
import select
import sys
from _socket import SHUT_RDWR, socket, socketpair  # importing socket takes a millisecond
from _thread import allocate_lock
from contextlib import suppress
from typing import TYPE_CHECKING

import groundstate
from groundstate import knobs
from groundstate.compiler.errors import EXHAUSTED, BuildError, WrongIrError

if TYPE_CHECKING:  # imported when a process is started
    import subprocess

START_S = 60.0
"""How long the process may take to start, on a machine that is very busy."""
LOOK_MS = 10
"""How often it is asked whether what LLVM does for nobody who waits is still wanted."""
MOST_SHOWN = 300
"""Characters of what LLVM said before it ended its process."""

_CODE = """\
import sys
sys.path[:0] = {path!r}
from groundstate.compiler.llvm.server import main
main({parent})
"""

_PROBLEMS: dict[str, type[Exception]] = {
    each.__name__: each for each in (BuildError, WrongIrError, MemoryError)
}
"""What the process says was wrong."""

_lock = allocate_lock()
_current: LlvmProcess | None = None
_cannot_start = False


class GaveUpError(BuildError):
    """LLVM ended its process instead of compiling."""


class LlvmProcess:
    """One process, and the socket to talk to it."""

    def __init__(self) -> None:
        import subprocess

        self.owner = os.getpid()
        """Who started it: after a fork, the copy needs one of its own."""
        self.starter: subprocess.Popen[bytes] | None = None
        self.said = os.memfd_create("groundstate-llvm", os.MFD_CLOEXEC)
        """What LLVM says on its standard error."""
        try:
            self.link, theirs = socketpair()
        except OSError:
            os.close(self.said)
            raise
        self.inodes = _inode(self.link.fileno()), _inode(self.said)
        code = _CODE.format(path=_import_path(), parent=os.getpid())
        try:
            self.starter = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", code],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=self.said,
                cwd="/",
                env=knobs.environment_of_children(),
                start_new_session=True,
            )
        except BaseException:
            self.close()
            raise
        finally:
            theirs.close()
        self.pid = 0
        """Known when it has started."""
        self._facts: tuple[str, str, str] | None = None

    def has_ended(self) -> bool:
        """Whether it has gone meanwhile, for want of requests, say."""
        if not self._is_open():
            return True
        poll = select.poll()
        poll.register(self.link, select.POLLIN)
        # It never speaks first: whatever is to be read is its end.
        return self._facts is not None and bool(poll.poll(0))

    def _is_open(self) -> bool:
        """Whether the descriptors are still those that were opened: some programs close all that
        there are, and open others in their place."""
        return self.inodes == (_inode(self.link.fileno()), _inode(self.said))

    def close(self) -> None:
        """Turns away from the process, which then ends."""
        is_own = self.owner == os.getpid()
        if is_own:
            self._reap()
        if not self._is_open():
            self.link.detach()
            return
        if is_own:  # copies of the socket may live in forks of this process
            with suppress(OSError):
                self.link.shutdown(SHUT_RDWR)
        self.link.close()
        os.close(self.said)

    def facts(self) -> tuple[str, str, str]:
        """What it says of the machine when it has started."""
        if self._facts is None:
            self.link.settimeout(START_S)
            words, _ = _receive(self.link)
            _, cpu, features, triple, pid = words
            self._facts = (cpu, features, triple)
            self.pid = int(pid)
            self._reap()
        return self._facts

    def _reap(self) -> None:
        """Lets go of the process that started the other one, and ended."""
        if self.starter is not None:
            self.starter.kill()
            self.starter.wait()
            self.starter = None

    def ask(
        self, lanes: int, optimised: bool, text: str, machine: tuple[str, ...] = ()
    ) -> tuple[list[str], bytes]:
        """What it answers to a request."""
        from groundstate.compiler.llvm.server import send

        self.facts()
        limit = knobs.COMPILE_LIMIT.get()
        self.link.settimeout(limit / 1e9 if limit else None)
        send(self.link, (str(lanes), str(int(optimised)), *machine), text.encode())
        self._wait_while_wanted()
        return _receive(self.link)

    def _wait_while_wanted(self) -> None:
        """Waits for an answer, and looks now and then whether anybody still wants it."""
        from groundstate.compiler.ir import deadline

        poll = select.poll()
        poll.register(self.link, select.POLLIN)
        while deadline.may_be_abandoned() and not poll.poll(LOOK_MS):
            deadline.check()

    def last_words(self) -> str:
        """What LLVM said before it ended the process."""
        said = os.pread(self.said, 1 << 16, 0).decode("utf-8", "replace")
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        for line in lines:
            for word in ("LLVM ERROR", "Assertion"):
                if word in line:
                    return line[line.index(word) :][:MOST_SHOWN]
        return lines[0][:MOST_SHOWN] if lines else ""


def _inode(descriptor: int) -> int:
    """What tells an open file from any other; -1 if it is not open."""
    try:
        return os.fstat(descriptor).st_ino
    except OSError:
        return -1


def _receive(link: socket) -> tuple[list[str], bytes]:
    from groundstate.compiler.llvm.server import receive

    return receive(link)


def _import_path() -> list[str]:
    """Where the process finds this package and llvmlite."""
    package = importlib.util.find_spec("llvmlite")
    origin = package.origin if package is not None else None
    paths = [os.path.dirname(os.path.dirname(os.path.abspath(groundstate.__file__)))]
    return [*paths, os.path.dirname(os.path.dirname(os.path.abspath(origin)))] if origin else paths


def can_start() -> bool:
    """Whether processes can be started, as far as is known."""
    return not _cannot_start and bool(sys.executable)


def _process() -> LlvmProcess | None:
    """The process that works for this one; None if it cannot be started. The lock is held."""
    global _current, _cannot_start
    if _current is not None and (_current.owner != os.getpid() or _current.has_ended()):
        _current.close()
        _current = None
    if _current is None:
        try:
            _current = LlvmProcess()
        except OSError as problem:
            _cannot_start = problem.errno not in EXHAUSTED
    return _current


def _end() -> None:
    global _current
    if _current is not None:
        _current.close()
        _current = None


def start() -> None:
    """Starts the process, without waiting for it. If there is no room, who needs it is told so."""
    with _lock, suppress(MemoryError, ImportError):
        _process()


def facts() -> tuple[str, str, str] | None:
    """The CPU, its features and LLVM's triple for it; None if no process can be started."""
    global _cannot_start
    with _lock:
        process = _process()
        try:
            return process.facts() if process is not None else None
        except (OSError, EOFError, ValueError):
            _cannot_start = True
            _end()
            return None


def object_code(
    text: str, lanes: int, optimised: bool, machine: tuple[str, ...] = ()
) -> bytes | None:
    """Machine code of LLVM IR; None if no process can be started. Raises BuildError.

    For another machine, which is named, it is assembly."""
    from groundstate.compiler.llvm.server import PROBLEM

    with _lock:
        for is_last in (False, True):
            process = _process()
            if process is None:
                return None
            try:
                said, code = process.ask(lanes, optimised, text, machine)
                break
            except TimeoutError:
                _end()
                raise BuildError(_too_long()) from None
            except BuildError:  # nobody wants the answer, which is still to come
                _end()
                raise
            except (OSError, EOFError):
                words = process.last_words()
                _end()
                if words or is_last:  # it may just have ended for want of requests
                    raise GaveUpError(_gave_up(words)) from None
    if said[0] == PROBLEM:
        raise _PROBLEMS[said[1]](said[2])
    return code


def _too_long() -> str:
    limit = (knobs.COMPILE_LIMIT.get() or 0) / 1e9
    return f"LLVM took more than {limit:g} s for it; GROUNDSTATE_COMPILE_LIMIT allows more"


def _gave_up(words: str) -> str:
    return f"LLVM gave up on it: {words}" if words else "LLVM gave up on it, without a word"


def descriptors() -> tuple[int, ...]:
    """The descriptors that this process keeps open to talk to the other."""
    return () if _current is None else (_current.link.fileno(), _current.said)
