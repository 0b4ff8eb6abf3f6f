"""What monitors believe of processes that publish what they like."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from groundstate.driver.sysman import activity as pages
from groundstate.driver.sysman.socket_owners import owners_of_sockets

FORGE = """
import fcntl, os, socket, struct, sys
user, pid, size, sockets, memory = map(int, sys.argv[1:6])
if user:
    os.setgid(user)
    os.setuid(user)
pid = pid or os.getpid()
start = int(open(f"/proc/{pid}/stat", "rb").read().rpartition(b")")[2].split()[19])
page = os.memfd_create("groundstate", os.MFD_ALLOW_SEALING)
os.ftruncate(page, size)
record = struct.pack("<IIIiQQQII", 1024, 1, 0, -1, 1 << 40, memory, memory, 64, 80)
os.pwrite(page, struct.pack("<QQQQQ", 0x3154434147535A, pid, start, 0, 64 + 1024), 0)
os.pwrite(page, record, 64)
fcntl.fcntl(page, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
kept = []
for number in range(sockets):
    kept.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    where = os.dup(page) if number else page
    kept[-1].bind(f"\\0groundstate/activity/1/{pid}/{start}/{where}")
print(os.getpid(), flush=True)
sys.stdin.read()
"""
PAGE_BYTES = 1 << 20
NOBODY = 65534


@contextmanager
def forged(
    user: int = 0, pid: int = 0, size: int = PAGE_BYTES, sockets: int = 1, memory: int = 0
) -> Iterator[int]:
    """A process that publishes a page of its own making."""
    words = [str(each) for each in (user, pid, size, sockets, memory)]
    with subprocess.Popen(
        [sys.executable, "-c", FORGE, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.communicate("")


def seen() -> list[pages.Seen]:
    return pages.PROCESSES.all(at_once=True)


def test_a_page_of_the_right_shape_is_read() -> None:
    """Without this, the refusals below would prove nothing."""
    with forged(memory=5 << 20) as pid:
        (found,) = [each for each in seen() if each.pid == pid]
        assert found.page is not None
        assert found.page.records[0, -1].memory_bytes == 5 << 20
    assert pid not in [each.pid for each in seen()]


def test_process_memory_is_capped_by_machine() -> None:
    with forged(memory=(1 << 64) - 1) as pid:
        (found,) = [each for each in seen() if each.pid == pid]
        assert found.page is not None
        record = found.page.records[0, -1]
        most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        assert 0 < record.memory_bytes < 4 * most
        assert record.shared_bytes == record.memory_bytes


@pytest.mark.parametrize("size", [4096, 64 << 20])
def test_a_page_of_another_size_is_not_mapped(size: int) -> None:
    with forged(size=size) as pid:
        assert [each.page for each in seen() if each.pid == pid] in ([], [None])


def test_process_with_many_pages_counts_once() -> None:
    with forged(sockets=200) as pid:
        assert len([each for each in seen() if each.pid == pid]) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_forged_pid_of_another_user_is_ignored() -> None:
    """The name that a socket claims is that of a process of root, and the socket is not root's."""
    with forged(user=NOBODY, pid=1) as own:
        names = [name for name in pages._names() if name.startswith(f"{pages.PREFIX}1/")]
        assert names
        assert owners_of_sockets(pages.PREFIX)[names[0]] == NOBODY
        assert 1 not in [each.pid for each in seen()]
        assert own not in [each.pid for each in seen()]
