"""Debug sessions of Level Zero: attaching, and the events of queues and modules."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from groundstate import ze, zet
from groundstate.driver.debugging.sessions.listener import name_of
from tests.conftest import check
from tests.debug.attached import ALL, ELF, EVENTS, Debuggee, Debugger, attach
from tests.imports import IMPORT_PATH

Attach = Callable[[Debuggee], Debugger]
NOBODY = 65534
NEED_ACK = zet.ZET_DEBUG_EVENT_FLAG_NEED_ACK


def test_device_says_that_debuggers_can_attach(device: int) -> None:
    properties = zet.zet_device_debug_properties_t()
    check(zet.zetDeviceGetDebugProperties(device, ctypes.byref(properties)))
    assert properties.flags == zet.ZET_DEVICE_DEBUG_PROPERTY_FLAG_ATTACH


def test_events_follow_queues_and_modules(debuggee: Debuggee, debugger: Debugger) -> None:
    assert debugger.read(2) == ze.ZE_RESULT_NOT_READY
    debuggee.do("queue")
    assert debugger.next() == "PROCESS_ENTRY"
    debuggee.tell("module")
    assert debugger.next() == "MODULE_LOAD"
    assert debugger.event.flags == NEED_ACK
    about = debugger.event.info.module
    assert about.format == zet.ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF
    begin, load, size = about.moduleBegin, about.load, about.moduleEnd - about.moduleBegin
    image = debugger.memory(begin, size, ELF)
    assert isinstance(image, bytes)
    assert image.startswith(b"\x7fELF")
    assert debugger.acknowledge() == 0
    assert debugger.acknowledge() == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert debuggee.hear()[0] == "module"
    debuggee.do("unload")
    assert debugger.next() == "MODULE_UNLOAD"
    assert debugger.event.info.module.load == load
    assert debugger.event.flags == 0
    debuggee.do("close")
    assert debugger.next() == "PROCESS_EXIT"
    debuggee.end()
    assert debugger.next() == "DETACHED"
    assert debugger.event.info.detached.reason == zet.ZET_DEBUG_DETACH_REASON_HOST_EXIT
    assert debugger.read(0) == ze.ZE_RESULT_ERROR_DEVICE_LOST
    assert debugger.interrupt() == ze.ZE_RESULT_ERROR_DEVICE_LOST
    assert debugger.detach() == 0
    assert debugger.read(0) == ze.ZE_RESULT_ERROR_INVALID_NULL_HANDLE


def test_module_waits_for_its_acknowledgement(debuggee: Debuggee, debugger: Debugger) -> None:
    debuggee.tell("module")
    assert debugger.next() == "MODULE_LOAD"
    heard: list[list[str]] = []
    listener = threading.Thread(target=lambda: heard.append(debuggee.hear()))
    listener.start()
    listener.join(0.3)
    assert not heard
    check(debugger.acknowledge())
    listener.join(60)
    assert heard[0][0] == "module"


def test_detaching_releases_what_waits(debuggee: Debuggee, debugger: Debugger) -> None:
    debuggee.tell("module")
    assert debugger.next() == "MODULE_LOAD"
    check(debugger.detach())
    assert debuggee.hear()[0] == "module"
    debuggee.end()


def test_late_debugger_is_told_what_is_there(debuggee: Debuggee, attach: Attach) -> None:
    debuggee.do("queue")
    debuggee.do("module")
    debugger = attach(debuggee)
    assert [debugger.next(), debugger.next()] == ["PROCESS_ENTRY", "MODULE_LOAD"]
    check(debugger.acknowledge())
    debuggee.do("unload")
    assert debugger.next() == "MODULE_UNLOAD"
    check(debugger.detach())
    again = attach(debuggee)
    assert again.next() == "PROCESS_ENTRY"
    assert again.read(2) == ze.ZE_RESULT_NOT_READY


def test_second_debugger_is_refused_until_first_has_gone(
    debuggee: Debuggee, debugger: Debugger, attach: Attach
) -> None:
    assert attach(debuggee).result == ze.ZE_RESULT_ERROR_NOT_AVAILABLE
    check(debugger.detach())
    assert attach(debuggee).result == 0


KILLED = """
import sys, time
sys.path[:0] = {path!r}
from groundstate import ze
import ctypes, groundstate as gs
from tests.debug.attached import Debugger
debugger = Debugger(gs.devices()[0].handle, int(sys.argv[1]))
print(debugger.result, debugger.next(), debugger.next(), flush=True)
time.sleep(600)
"""


def test_debugger_that_dies_lets_program_go_on(debuggee: Debuggee, attach: Attach) -> None:
    debuggee.do("queue")
    code = KILLED.format(path=IMPORT_PATH)
    words = [sys.executable, "-c", code, str(debuggee.process.pid)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as other:
        debuggee.tell("module")
        assert other.stdout is not None
        assert other.stdout.readline().split() == ["0", "PROCESS_ENTRY", "MODULE_LOAD"]
        other.kill()
    assert debuggee.hear()[0] == "module"
    debugger = attach(debuggee)
    assert debugger.next() == "PROCESS_ENTRY"


def test_program_that_is_killed_is_an_event(debuggee: Debuggee, debugger: Debugger) -> None:
    debuggee.do("queue")
    assert debugger.next() == "PROCESS_ENTRY"
    debuggee.process.kill()
    debuggee.process.wait()
    check(debugger.interrupt())
    assert [debugger.next(), debugger.next()] == ["THREAD_UNAVAILABLE", "DETACHED"]
    usual = signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as in programs in C
    try:
        assert debugger.interrupt() == ze.ZE_RESULT_ERROR_DEVICE_LOST
        check(debugger.detach())
    finally:
        signal.signal(signal.SIGPIPE, usual)


def test_last_event_of_a_program_arrives(debuggee: Debuggee, debugger: Debugger) -> None:
    debuggee.do("queue")
    debuggee.tell("vanish")
    assert debuggee.process.wait(60) == 0
    events = [debugger.next() for _ in range(3)]
    assert events == ["PROCESS_ENTRY", "PROCESS_EXIT", "DETACHED"]


def test_detaching_wakes_who_waits_for_an_event(debuggee: Debuggee, debugger: Debugger) -> None:
    results: list[int] = []
    forever = 2**64 - 1
    waiting = threading.Thread(target=lambda: results.append(debugger.read(forever)))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    check(debugger.detach())
    waiting.join(60)
    assert results == [ze.ZE_RESULT_ERROR_DEVICE_LOST]
    assert EVENTS.get(debugger.event.type) is None


def test_attaching_fails_where_nothing_can_be_debugged(device: int, spin: Path) -> None:
    session = ctypes.c_void_p()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert attach(device, ended.pid, session) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert attach(device, os.getpid(), session) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    plain = Debuggee(spin, debuggable=False)
    try:
        plain.do("queue")
        result = attach(device, plain.process.pid, session)
        assert result == ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
    finally:
        plain.close()


def test_other_events_need_no_acknowledgement(debuggee: Debuggee, debugger: Debugger) -> None:
    for event in (0, 2, 5, 6, 99):
        debugger.event.type = event
        assert debugger.acknowledge() == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT


STRANGER = """
import ctypes, os, socket, sys
sys.path[:0] = {path!r}
from groundstate import ze
import groundstate as gs
from groundstate.driver.debugging.sessions import handlers  # which a stranger may not read
from tests.debug.attached import attach
pid, device = int(sys.argv[1]), gs.devices()[0].handle
os.setgid({nobody})
os.setuid({nobody})
print(attach(device, pid, ctypes.c_void_p()))
with socket.socket(socket.AF_UNIX) as line:
    line.connect(b"\\0groundstate/debug/1/%d" % pid)
    try:
        line.sendall(b'{{"command": "events"}}\\n')
        print(len(line.recv(1)))
    except ConnectionError:
        print(0)
"""


def test_another_user_cannot_attach(debuggee: Debuggee) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    debuggee.do("queue")
    code = STRANGER.format(path=IMPORT_PATH, nobody=NOBODY)
    words = [sys.executable, "-c", code, str(debuggee.process.pid)]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert said.split() == [str(int(ze.ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS)), "0"]


@pytest.mark.parametrize("words", [b"\xff\n", b"[]\n{}\n", b'{"command": "attach"}\n', b"x" * 99])
def test_nonsense_on_the_line_harms_nobody(
    debuggee: Debuggee, attach: Attach, words: bytes
) -> None:
    debuggee.do("queue")
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(name_of(debuggee.process.pid))
        line.sendall(words)
        line.shutdown(socket.SHUT_WR)
        while line.recv(4096):
            pass
    assert attach(debuggee).next() == "PROCESS_ENTRY"


def test_threads_that_do_not_run_are_unavailable(debuggee: Debuggee, debugger: Debugger) -> None:
    check(debugger.interrupt())
    assert debugger.next() == "THREAD_UNAVAILABLE"
    assert debugger.stopped() == (ALL.slice, ALL.subslice, ALL.eu, ALL.thread)
    assert debugger.resume() == ze.ZE_RESULT_ERROR_NOT_AVAILABLE
