"""The files of /sys and /proc, below a root that may be a recorded tree of another machine.

What is read once is read with `text` and `number`. What is read again and again is a `Gauge`, whose
file stays open, because opening one costs several times as much as reading it. Changes of several
files are made by `write_all`, all or none.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
from collections.abc import Sequence

from groundstate.driver.api import Unsupported

MAX_KEPT_OPEN = 96
"""How many gauges may keep a descriptor: a program has 1024, and most of them are not ours."""

_CHUNK_BYTES = 4096


class Gauge:
    """A file with one number that changes."""

    _lock = threading.Lock()
    _kept_open = 0

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor = -1
        self._identity: tuple[int, int] | None = None

    def text(self) -> str:
        """What the file says now; raises PermissionError, or Unsupported if it is gone."""
        try:
            return self._read().decode("ascii", "replace").strip()
        except PermissionError:
            raise
        except OSError as problem:
            sentence = f"{self.path} cannot be read: {problem.strerror}"
            raise Unsupported(sentence) from problem

    def number(self) -> int:
        """The number that the file holds now."""
        text = self.text()
        try:
            return int(text)
        except ValueError:
            raise Unsupported(f"{self.path} holds no number but {text[:40]!r}") from None

    def _read(self) -> bytes:
        descriptor = self._descriptor
        if descriptor >= 0:
            try:
                if _identity(descriptor) == self._identity:
                    return os.pread(descriptor, _CHUNK_BYTES, 0)
            except OSError as problem:
                if problem.errno not in (errno.EBADF, errno.ENODEV, errno.ESTALE):
                    raise
            self._forget()
        return self._open_and_read()

    def _open_and_read(self) -> bytes:
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            content = os.pread(descriptor, _CHUNK_BYTES, 0)
            with Gauge._lock:
                if self._descriptor < 0 and Gauge._kept_open < MAX_KEPT_OPEN:
                    Gauge._kept_open += 1
                    self._identity = _identity(descriptor)
                    self._descriptor, descriptor = descriptor, -1
            return content
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def _forget(self) -> None:
        """Gives up a descriptor that stands for another file, or for one that is gone.

        A program that closes all descriptors closes ours, too; then the number may be somebody
        else's by now, and is not to be closed again.
        """
        with Gauge._lock:
            descriptor, self._descriptor = self._descriptor, -1
            if descriptor < 0:
                return
            Gauge._kept_open -= 1
            try:
                if _identity(descriptor) == self._identity:
                    os.close(descriptor)
            except OSError:
                pass

    def __del__(self) -> None:
        self._forget()


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def readings(gauges: Sequence[Gauge]) -> list[int]:
    """What some gauges say now, without those that say nothing, as of a CPU that is switched off.

    If none of them says anything, the first tells why.
    """
    numbers = []
    problem: Exception | None = None
    for gauge in gauges:
        try:
            numbers.append(gauge.number())
        except (PermissionError, Unsupported) as raised:
            problem = problem or raised
    if not numbers and problem is not None:
        raise problem
    return numbers


class Files:
    """The files of a machine; paths are those below the root, such as "sys/class/hwmon"."""

    def __init__(self, root: str = "/") -> None:
        self.root = root

    def path(self, path: str) -> str:
        return os.path.join(self.root, path)

    def text(self, path: str) -> str | None:
        """What a file says, without the blanks around it; None if it cannot be read."""
        try:
            with open(self.path(path), encoding="utf-8", errors="replace") as file:
                return file.read(_CHUNK_BYTES).strip()
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """The whole number in a file; None if there is none."""
        try:
            return int(self.text(path) or "")
        except ValueError:
            return None

    def package_of(self, cpu: int) -> int:
        """The number of the package that a CPU is in."""
        # Where the kernel does not know, on some Arm machines, it says -1.
        path = f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"
        return max(0, self.number(path) or 0)

    def names(self, folder: str, pattern: str = ".*") -> list[str]:
        """What a folder holds and a pattern matches in full, numbers in their order."""
        try:
            found = os.listdir(self.path(folder))
        except OSError:
            return []
        return sorted((name for name in found if re.fullmatch(pattern, name)), key=_by_number)

    def exists(self, path: str) -> bool:
        """Whether a file is there, or in a folder that this user may not look into."""
        try:
            os.stat(self.path(path))
        except PermissionError:
            return True
        except OSError:
            return False
        return True

    def gauge(self, path: str) -> Gauge | None:
        """A reader of a file that changes; None if there is no such file."""
        return Gauge(self.path(path)) if self.exists(path) else None

    def is_writable_by_somebody(self, path: str) -> bool:
        """Whether the machine lets anybody change a file, if perhaps not this user."""
        try:
            return bool(os.stat(self.path(path)).st_mode & (stat.S_IWUSR | stat.S_IWGRP))
        except OSError:
            return False

    def write_all(self, changes: Sequence[tuple[str, str]]) -> None:
        """Writes texts to files in order; if one is refused, those before it are put back.

        Raises PermissionError, or ValueError if the system does not accept a value.
        """
        done: list[tuple[str, str]] = []
        for path, text in changes:
            before = self.text(path)
            try:
                self._write(path, text)
            except OSError as problem:
                for changed, old in reversed(done):
                    self._write(changed, old)
                raise _refusal(self.path(path), text, problem) from problem
            done.append((path, before or ""))

    def _write(self, path: str, text: str) -> None:
        descriptor = os.open(self.path(path), os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(descriptor, f"{text}\n".encode())
        finally:
            os.close(descriptor)


def _refusal(path: str, text: str, problem: OSError) -> Exception:
    if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return PermissionError(
            f"{path} may not be written by this user: run as root, or ask for the right"
        )
    if problem.errno in (errno.EINVAL, errno.ERANGE, errno.EOVERFLOW):
        return ValueError(f"the system does not accept {text} for {path}")
    return Unsupported(f"{path} cannot be changed: {problem.strerror}")


def _by_number(name: str) -> list[str | int]:
    return [int(word) if word.isdigit() else word for word in re.split(r"(\d+)", name)]
