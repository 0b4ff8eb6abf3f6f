"""Debug sessions of Level Zero: threads that are stopped, their memory, registers and faults."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from groundstate import ze, zet
from groundstate.compiler.program.object_loader import SYMBOL
from groundstate.survey import elf
from tests.conftest import check
from tests.debug.attached import (
    ACTIVE,
    ALL,
    ANY,
    BARRIER,
    CONTROL,
    ELF,
    HEADER,
    LOCAL,
    POINTERS,
    PRIVATE,
    VALUES,
    Debuggee,
    Debugger,
    thread,
)

NOT_AVAILABLE = ze.ZE_RESULT_ERROR_NOT_AVAILABLE
INVALID = ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
FIRST, SECOND = thread(0), thread(1)
SLOT = 16
RESULT = [3 * each + 1 for each in range(32)]
LANES = 8
INTERRUPTED, BREAKPOINT, STEPPED, FAULTED = 1, 2, 3, 4


class Spinning:
    """A program whose kernel waits until a word in memory is 0, and its debugger."""

    def __init__(self, debuggee: Debuggee, debugger: Debugger, kernel: str = "spin") -> None:
        self.debuggee, self.debugger = debuggee, debugger
        debuggee.do("queue")
        assert debugger.next() == "PROCESS_ENTRY"
        debuggee.tell("module")
        assert debugger.next() == "MODULE_LOAD"
        about = debugger.event.info.module
        self.load = about.load
        image = debugger.memory(about.moduleBegin, about.moduleEnd - about.moduleBegin)
        assert isinstance(image, bytes)
        self.image = image
        check(debugger.acknowledge())
        debuggee.hear()
        debuggee.tell("run", kernel)

    def hear_flag(self) -> int:
        """The address of the word, once the launch has been appended."""
        return int(self.debuggee.hear()[1])

    def finish(self, flag: int) -> None:
        """Lets the kernel end, and looks at what it has done."""
        check(self.debugger.write(flag, bytes(4)))
        check(self.debugger.resume())
        assert self.debuggee.result() == RESULT
        self.debuggee.end()

    def slots(self, kernel: str) -> dict[int, str]:
        """The operations of a kernel by their addresses."""
        found = {each.name: each for each in elf.sections(memoryview(self.image))}
        text, names = bytes(found[".text"].content), bytes(found[".strtab"].content)
        for name, _, _, _, start, size in SYMBOL.iter_unpack(bytes(found[".symtab"].content)):
            if names[name:].split(b"\0")[0] == kernel.encode():
                at = start - self.load
                return {
                    self.load + each: text[each + 4 : each + SLOT].rstrip(b"\0").decode()
                    for each in range(at, at + size, SLOT)
                }
        raise AssertionError(f"no symbol {kernel}")


@pytest.fixture
def spinning(debuggee: Debuggee, debugger: Debugger) -> Spinning:
    return Spinning(debuggee, debugger)


def numbers(debugger: Debugger) -> tuple[int, int, int, int]:
    assert debugger.next() == "THREAD_STOPPED"
    return debugger.stopped()


def test_all_threads_stop_and_go_on(spinning: Spinning) -> None:
    debugger, flag = spinning.debugger, spinning.hear_flag()
    for _ in range(2):
        debugger.stop_all()
        assert debugger.stopped() == (ANY, ANY, ANY, ANY)
        assert debugger.interrupt() == NOT_AVAILABLE
        assert debugger.interrupt(FIRST) == NOT_AVAILABLE
        check(debugger.resume())
        assert debugger.resume() == NOT_AVAILABLE
    debugger.stop_all()
    spinning.finish(flag)


def test_threads_stop_one_by_one(spinning: Spinning) -> None:
    debugger, flag = spinning.debugger, spinning.hear_flag()
    debugger.stop_all()
    check(debugger.resume(FIRST))
    assert debugger.resume(FIRST) == NOT_AVAILABLE
    assert debugger.memory(flag, 4, at=FIRST) == NOT_AVAILABLE
    assert debugger.memory(flag, 4, at=SECOND) == b"\1\0\0\0"
    check(debugger.interrupt(FIRST))
    assert numbers(debugger) == (0, 0, 0, 0)
    check(debugger.resume())
    units = thread(1, ANY, ANY, ANY)
    check(debugger.interrupt(units))
    assert numbers(debugger) == (ANY, ANY, 1, ANY)
    assert debugger.memory(flag, 4, at=FIRST) == NOT_AVAILABLE
    for nowhere in (thread(2), thread(0, 0, 0, 1), thread(0, 1, 0, 0)):
        check(debugger.interrupt(nowhere))
        assert debugger.next() == "THREAD_UNAVAILABLE"
        assert debugger.resume(nowhere) == NOT_AVAILABLE
    check(debugger.interrupt())
    assert numbers(debugger) == (ANY, ANY, ANY, ANY)
    spinning.finish(flag)


def test_memory_of_each_space(spinning: Spinning) -> None:
    debugger, flag = spinning.debugger, spinning.hear_flag()
    debugger.stop_all()
    assert debugger.memory(flag, 4) == b"\1\0\0\0"
    local = debugger.memory(0, 32, LOCAL, SECOND)
    assert isinstance(local, bytes)
    assert list(struct.unpack("<8i", local)) == [3 * each for each in range(8, 16)]
    assert debugger.write(4, struct.pack("<i", 1000), LOCAL, SECOND) == 0
    address = debugger.registers(SECOND, HEADER)[10]
    assert debugger.memory(address + 4, 4, LOCAL, SECOND) == struct.pack("<i", 1000)
    for bad in (
        debugger.memory(0, 4, LOCAL),
        debugger.memory(1 << 40, 4, LOCAL, FIRST),
        debugger.memory(8, 4),
        debugger.memory(2**64 - 2, 4),
        debugger.memory(flag, 4, ELF),
        debugger.memory(spinning.load, 4, ELF),
        debugger.write(8, b"1234"),
        debugger.write(2**64 - 1, b"1234"),
        debugger.write(flag, b"1234", ELF),
    ):
        assert bad == NOT_AVAILABLE
    assert debugger.memory(0, 4, BARRIER) == ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
    assert debugger.memory(flag, 4, at=thread(ANY)) == INVALID
    assert debugger.memory(0, 4, 77) == ze.ZE_RESULT_ERROR_INVALID_ENUMERATION
    assert debugger.memory(flag, 0) == b""
    check(debugger.write(flag, bytes(4)))
    check(debugger.resume())
    assert spinning.debuggee.result() == [*RESULT[:9], 1001, *RESULT[10:]]


def test_much_memory_goes_both_ways(spinning: Spinning) -> None:
    """More than one message holds, of memory that the program's library has."""
    debugger, flag = spinning.debugger, spinning.hear_flag()
    debugger.stop_all()
    begin, end = largest_mapping(spinning.debuggee.process.pid)
    data = debugger.memory(begin, end - begin)
    assert isinstance(data, bytes)
    assert len(data) == end - begin
    check(debugger.write(begin, data))
    spinning.finish(flag)


def largest_mapping(pid: int) -> tuple[int, int]:
    """Read-only data of more than 2 MiB."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        span, access = line.split()[:2]
        begin, end = (int(each, 16) for each in span.split("-"))
        if access in ("r--p", "r-xp") and end - begin > 2 << 20:
            return begin, begin + (2 << 20) + 5
    pytest.skip("the program has no large mapping")


def test_registers_describe_a_thread(spinning: Spinning) -> None:
    debugger, flag = spinning.debugger, spinning.hear_flag()
    debugger.stop_all()
    header = debugger.registers(SECOND, HEADER)
    pointer, start, lanes, subgroup = header[:4]
    assert start == spinning.load
    assert (lanes, header[4:10]) == (LANES, [1, 0, 0, LANES, 1, 1])
    assert subgroup in (8, 16, 32)
    assert header[11] >= 4 * LANES
    pointers = debugger.registers(SECOND, POINTERS)
    assert pointer == min(pointers)
    assert set(pointers) <= set(spinning.slots("spin"))
    mask = sum(1 << lane for lane, each in enumerate(pointers) if each == pointer)
    assert debugger.registers(SECOND, ACTIVE)[0] == mask
    reason = debugger.registers(SECOND, CONTROL)[0] >> 32
    assert reason == INTERRUPTED
    private = debugger.registers(SECOND, PRIVATE)
    assert len(set(private)) == LANES  # built with -O0, which keeps variables in memory
    spinning.finish(flag)


def test_values_of_lanes_can_be_changed(spinning: Spinning) -> None:
    debugger, flag = spinning.debugger, spinning.hear_flag()
    debugger.stop_all()
    count, size = debugger.sets(FIRST)[VALUES].count, debugger.sets(FIRST)[VALUES].byteSize
    assert size == 8 * LANES
    before = debugger.registers(FIRST, VALUES)
    changed = struct.pack("<8Q", *range(8))
    assert debugger.write_registers(FIRST, VALUES, count - 1, 1, changed) == 0
    after = debugger.registers(FIRST, VALUES)
    assert after[:-LANES] == before[:-LANES]
    assert after[-LANES:] in ([*range(8)], [each & 1 for each in range(8)])
    restored = struct.pack("<8Q", *before[-LANES:])
    assert debugger.write_registers(FIRST, VALUES, count - 1, 1, restored) == 0
    spinning.finish(flag)


def test_register_calls_that_make_no_sense_are_refused(spinning: Spinning) -> None:
    debugger, flag = spinning.debugger, spinning.hear_flag()
    assert debugger.read_registers(FIRST, CONTROL, 0, 4) in (0, NOT_AVAILABLE)
    debugger.stop_all()
    assert debugger.read_registers(FIRST, CONTROL, 0, 4) == 0
    for kind, first, count in ((CONTROL, 0, 5), (CONTROL, 4, 1), (CONTROL, 4, 0), (99, 0, 1)):
        assert debugger.read_registers(FIRST, kind, first, count) == INVALID
    assert debugger.read_registers(FIRST, CONTROL, ANY, ANY) == INVALID
    assert debugger.read_registers(ALL, CONTROL, 0, 1) == INVALID
    assert debugger.read_registers(thread(2), CONTROL, 0, 1) == NOT_AVAILABLE
    assert debugger.write_registers(FIRST, POINTERS, 0, 1, bytes(8)) == INVALID
    assert debugger.write_registers(FIRST, CONTROL, 3, 2, bytes(8)) == INVALID
    assert debugger.write_registers(FIRST, CONTROL, 0, ANY, bytes(8)) == INVALID
    assert debugger.write_registers(FIRST, VALUES, 0, ANY, bytes(8)) == INVALID
    assert debugger.write_registers(FIRST, CONTROL, 2, 2, bytes(range(8))) == 0
    assert debugger.registers(FIRST, CONTROL)[1] == 0x0706050403020100
    spinning.finish(flag)


def test_breakpoint_stops_all_lanes_before_an_instruction(spinning: Spinning) -> None:
    debugger, flag = spinning.debugger, spinning.hear_flag()
    debugger.stop_all()
    place = max(at for at, name in spinning.slots("spin").items() if name == "Store")
    check(debugger.write(place, b"\1"))
    check(debugger.write(flag, bytes(4)))
    check(debugger.resume())
    stopped = sorted([numbers(debugger), numbers(debugger)])
    assert stopped == [(0, 0, 0, 0), (0, 0, 1, 0)]
    assert debugger.registers(FIRST, POINTERS) == [place] * LANES
    assert debugger.registers(FIRST, ACTIVE)[0] == 0xFF
    assert debugger.registers(FIRST, CONTROL)[0] >> 32 == BREAKPOINT
    check(debugger.write_registers(FIRST, CONTROL, 0, 1, b"\1\0\0\0"))
    check(debugger.resume(FIRST))
    assert numbers(debugger) == (0, 0, 0, 0)
    assert debugger.registers(FIRST, POINTERS) == [place + SLOT] * LANES
    assert debugger.registers(FIRST, CONTROL)[0] >> 32 == STEPPED
    check(debugger.write(place, b"\0"))
    check(debugger.write_registers(FIRST, CONTROL, 0, 1, bytes(4)))
    spinning.finish(flag)


def test_wrong_access_is_a_page_fault(debuggee: Debuggee, debugger: Debugger) -> None:
    program = Spinning(debuggee, debugger, "stray")
    assert debugger.next() == "PAGE_FAULT"
    fault = debugger.event.info.page_fault
    assert (fault.address, fault.mask) == (4096 + 8, 2**64 - 4096)
    assert fault.reason == zet.ZET_DEBUG_PAGE_FAULT_REASON_MAPPING_ERROR
    assert numbers(debugger) == (0, 0, 0, 0)
    assert debugger.registers(FIRST, CONTROL)[0] >> 32 == FAULTED
    assert debugger.registers(FIRST, POINTERS)[3] == 0
    check(debugger.resume(FIRST))
    program.hear_flag()
    assert debuggee.result() == [each if each != 3 else 0 for each in range(32)]


def test_detaching_lets_stopped_threads_go_on(spinning: Spinning) -> None:
    debugger, flag = spinning.debugger, spinning.hear_flag()
    debugger.stop_all()
    for place in spinning.slots("spin"):
        check(debugger.write(place, b"\1"))
    check(debugger.write_registers(FIRST, CONTROL, 0, 1, b"\1\0\0\0"))
    check(debugger.write(flag, bytes(4)))
    check(debugger.detach())
    assert spinning.debuggee.result() == RESULT
    spinning.debuggee.end()


def test_image_says_which_line_an_instruction_is_of(spinning: Spinning, tmp_path: Path) -> None:
    debugger, flag = spinning.debugger, spinning.hear_flag()
    debugger.stop_all()
    file = tmp_path / "module.elf"
    file.write_bytes(spinning.image)
    tool = shutil.which("llvm-dwarfdump") or shutil.which("llvm-dwarfdump-15")
    if tool is None:
        pytest.skip("llvm-dwarfdump of the package llvm-15 is not installed")
    verified = subprocess.run([tool, "--verify", file], capture_output=True, text=True)
    assert verified.returncode == 0, verified.stdout
    pointer = debugger.registers(FIRST, HEADER)[0]
    found = subprocess.run([tool, f"--lookup={pointer:#x}", file], capture_output=True, text=True)
    assert 'DW_AT_name\t("spin")' in found.stdout
    assert re.search(r"file 'spin.cl', line [3-8],", found.stdout)
    spinning.finish(flag)
