"""What all processes on this machine do on the devices, read from the page of each.

A process that uses a device keeps its counters in a memory file (native/runtime/activity.c) and a
socket whose name says where that is: both go away with the process, however it ends. Pages are
opened once, through `/proc`, and then only looked at. A page of another user stays closed to all
but root; of such a process only its number is known.

A page says what its process likes. It is believed for that process alone, and no more than the
machine can have: a page has one size, a process one page, and memory an end. A name that leads to
no page that can be read counts only if the socket belongs to the process's user.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property

from groundstate.driver import native
from groundstate.driver.sysman.socket_owners import owners_of_sockets
from groundstate.native_layouts import (
    ACTIVITY_LINE,
    ACTIVITY_MAGIC,
    ActivityHead,
    DeviceActivity,
    offset_of,
)
from groundstate.native_layouts import ACTIVITY_RUNNING as RUNNING
from groundstate.native_layouts import Meter as _Meter

_MEMORY_USED = offset_of(DeviceActivity, "memory_used")
_MEMORY_SHARED = offset_of(DeviceActivity, "memory_shared")
_FIRST_WORD = ctypes.sizeof(_Meter)
"""The words of a meter begin where its head ends."""

PREFIX = "@groundstate/activity/1/"
SOCKETS = "/proc/net/unix"
FILE = "/memfd:groundstate (deleted)"

SCAN_NANOSECONDS = 20_000_000
"""Everything that is asked within this time is answered from one look at the processes."""

Place = tuple[int, int]
"""The number of a device and of its sub-device, or -1 for the device as a whole."""


class Record:
    """One device in one page."""

    def __init__(self, page: Page, offset: int) -> None:
        self._page = page
        said = DeviceActivity.from_buffer_copy(page.words.cast("B"), offset)
        self.size, self.workers = said.size, said.workers
        self.place: Place = (said.device, said.subdevice)
        self._used = (offset + _MEMORY_USED) // 8
        self._shared = (offset + _MEMORY_SHARED) // 8
        self._all = (offset + said.all_offset + _FIRST_WORD) // 8
        self._copies = (offset + said.copies_offset + _FIRST_WORD) // 8
        end = max(self._all, self._copies) + self.workers
        if (
            self.size < ACTIVITY_LINE
            or offset + self.size > page.words.nbytes
            or end > len(page.words)
        ):
            raise ValueError("this is no record of a device")

    @property
    def memory_bytes(self) -> int:
        """Bytes of the device's memory that the process holds."""
        return min(self._page.words[self._used], _most_bytes())

    @property
    def shared_bytes(self) -> int:
        """Bytes of it that other processes can map, or that come from them."""
        return min(self._page.words[self._shared], _most_bytes())

    def busy(self, worker: int) -> int:
        """Nanoseconds for which at least so many workers and one more had something to do."""
        return self._page.running_times(self._all + worker, 1)

    def copied(self, worker: int) -> int:
        """The same for queues that only copy."""
        return self._page.running_times(self._copies + worker, 1)

    def all_busy(self) -> int:
        """Nanoseconds of all workers together."""
        return self._page.running_times(self._all, self.workers)

    def all_copied(self) -> int:
        """The same for queues that only copy."""
        return self._page.running_times(self._copies, self.workers)


@cache
def _most_bytes() -> int:
    """All memory of the machine, with what it swaps: nobody has more."""
    total = 0
    with open("/proc/meminfo", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith(("MemTotal:", "SwapTotal:")):
                total += int(line.split()[1]) << 10
    return total


class Mapping:
    """A file in memory for as long as this object lives. Unlike `mmap`, it keeps no file open."""

    def __init__(self, fd: int) -> None:
        size = os.fstat(fd).st_size
        if size != native.activity_page()[1]:
            raise ValueError("this is no page of counters")
        self.address = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
        if self.address in (None, _MAP_FAILED):
            raise OSError(ctypes.get_errno(), "the counters of a process cannot be mapped")
        self.size = size

    def __del__(self) -> None:
        if hasattr(self, "size"):
            _libc.munmap(self.address, self.size)


_MAP_FAILED = 2**64 - 1
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


class Page:
    """The counters of one process."""

    def __init__(self, pid: int, address: int, size: int, keep: object = None) -> None:
        self.pid = pid
        self._keep = keep
        memory = (ctypes.c_uint8 * size).from_address(address)
        self.words = memoryview(memory).cast("B").cast("Q")
        self._signed = memoryview(memory).cast("B").cast("q")
        head = ActivityHead.from_buffer_copy(memory)
        if head.magic != ACTIVITY_MAGIC:
            raise ValueError("this is no page of counters")
        self.start_time, self.origin = head.start_time, head.origin
        self.records: dict[Place, Record] = {}
        self.shares: dict[object, list[tuple[Record, float]]] = {}
        """What concerns a device, kept for whoever asks for it again and again."""
        self._lock = threading.Lock()
        self._highest: dict[tuple[int, int], int] = {}
        """What was read last of words: what a thread has done does not become less."""
        offset, used = ACTIVITY_LINE, head.used
        while offset < used:
            record = Record(self, offset)
            self.records[record.place] = record
            offset += record.size

    def running_times(self, first: int, count: int) -> int:
        """For how long some words have run up to now, added up.

        Any state of a word counts for what it is: while a thread is held up between the level and
        its word, another may start a word a second time, or stop one that does not run.
        """
        words = self._signed[first : first + count].tolist()
        now = time.monotonic_ns() - self.origin
        running = sum((word + RUNNING // 2) // RUNNING for word in words)
        busy = min(max(0, sum(words) + running * (now - RUNNING)), count * now)
        with self._lock:
            highest = max(busy, self._highest.get((first, count), 0))
            self._highest[first, count] = highest
        return highest


@dataclass
class Seen:
    """A process that uses devices, and its page if this user may look into it."""

    pid: int
    page: Page | None


class Processes:
    """The processes of this machine that use the driver, looked for again from time to time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, Seen] = {}
        self._looked_at = -SCAN_NANOSECONDS
        self._own: Page | None = None
        self._pid = os.getpid()

    def all(self, at_once: bool = False) -> list[Seen]:
        """Them as of now, or as of a moment ago unless `at_once`. This process is always one."""
        with self._lock:
            self._forget_after_fork()
            now = time.monotonic_ns()
            if at_once or now - self._looked_at >= SCAN_NANOSECONDS:
                self._looked_at = now
                self._look()
            found = list(self._known.values())
        pid = os.getpid()
        return found if any(seen.pid == pid for seen in found) else [Seen(pid, self.own()), *found]

    def pages(self) -> list[Page]:
        """The pages that can be read."""
        return [seen.page for seen in self.all() if seen.page is not None]

    def own(self) -> Page:
        """The page of this process."""
        pid = os.getpid()
        if self._own is None or self._own.pid != pid:
            address, size = native.activity_page()
            self._own = Page(pid, address, size)
        return self._own

    def _forget_after_fork(self) -> None:
        """What the parent knew as its own page is the child's from then on."""
        if self._pid != os.getpid():
            self._pid, self._known, self._looked_at = os.getpid(), {}, -SCAN_NANOSECONDS

    def _look(self) -> None:
        names = dict.fromkeys(_names())
        # The list is no snapshot: sockets that come and go meanwhile can hide others.
        names |= {name: None for name in self._known if name not in names and _is_published(name)}
        owners = Owners()
        known: dict[str, Seen] = {}
        pids: set[int] = set()
        for name in names:
            seen = self._known.get(name) or self._meet(name, owners)
            if seen is not None and seen.pid not in pids:
                known[name] = seen
                pids.add(seen.pid)
        self._known = known

    def _meet(self, name: str, owners: Owners) -> Seen | None:
        """A process whose name is new; None if there is no such process any more."""
        try:
            pid, start_time, fd = _parts(name)
        except ValueError:
            return None
        if pid == os.getpid():
            return Seen(pid, self.own())
        if _start_time(pid) != start_time:
            return None
        page = _open_page(pid, start_time, fd)
        return Seen(pid, page) if page is not None or owners.agree(name, pid) else None


class Owners:
    """Who owns the sockets, asked once and only if somebody wants to know."""

    @cached_property
    def _of_name(self) -> dict[str, int]:
        return owners_of_sockets(PREFIX)

    def agree(self, name: str, pid: int) -> bool:
        """Whether a socket belongs to the user of a process."""
        try:
            return self._of_name.get(name) == os.stat(f"/proc/{pid}").st_uid
        except OSError:
            return False


def _names() -> Iterable[str]:
    """The names of sockets that belong to processes with counters."""
    try:
        with open(SOCKETS, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return
    at = text.find(PREFIX)
    while at >= 0:
        end = text.find("\n", at)
        yield text[at:end]
        at = text.find(PREFIX, end)


def _parts(name: str) -> tuple[int, int, int]:
    """The process of a socket, when that started, and the descriptor of its page."""
    pid, start_time, fd = (int(word) for word in name.removeprefix(PREFIX).split("/"))
    return pid, start_time, fd


def _is_published(name: str) -> bool:
    """Whether a process still has the page that it was known for, as far as this user may see."""
    pid, start_time, fd = _parts(name)
    try:
        return _start_time(pid) == start_time and os.readlink(f"/proc/{pid}/fd/{fd}") == FILE
    except OSError:
        return False


def _start_time(pid: int) -> int:
    """When a process started, in the kernel's ticks, or 0."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


def _open_page(pid: int, start_time: int, fd: int) -> Page | None:
    """The page of another process, or None if it cannot be read or is not one."""
    path = f"/proc/{pid}/fd/{fd}"
    try:
        if os.readlink(path) != FILE:
            return None
        opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if not fcntl.fcntl(opened, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
            return None  # somebody could take the memory away while it is read
        mapping = Mapping(opened)
        page = Page(pid, mapping.address, mapping.size, keep=mapping)
    except (OSError, ValueError, IndexError):
        return None
    finally:
        os.close(opened)
    return page if page.start_time == start_time and page.words[1] == pid else None


PROCESSES = Processes()


class Meter:
    """A counter over all processes that only goes up, at most as fast as `capacity` workers work.

    Two processes can keep the same CPUs busy: together they are no busier than the CPUs are. What a
    process did before it ended stays counted, as far as somebody had looked.
    """

    def __init__(self, capacity: int, sample: Callable[[Page], int]) -> None:
        self._lock = threading.Lock()
        self._capacity = capacity
        self._sample = sample
        self._seen: dict[Page, int] = {}
        self._total = 0
        self._read_at: int | None = None

    def read(self) -> tuple[int, int]:
        """Nanoseconds of all workers together, and the time at which that was so."""
        pages = PROCESSES.pages()
        with self._lock:
            now = time.monotonic_ns()
            samples = {page: max(self._sample(page), self._seen.get(page, 0)) for page in pages}
            worked = sum(count - self._seen.get(page, 0) for page, count in samples.items())
            since = self._read_at
            if since is None:
                since = min(page.origin for page in pages)
            self._total += min(worked, self._capacity * (now - since))
            self._seen, self._read_at = samples, now
            return self._total, now
