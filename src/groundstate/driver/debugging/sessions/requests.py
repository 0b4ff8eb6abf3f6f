"""What a debugger asks of its session, and what it is answered."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from groundstate import ze, zet
from groundstate.driver.api import Failure
from groundstate.driver.debugging.connection import Message
from groundstate.driver.debugging.sessions import registers
from groundstate.driver.debugging.sessions.device_thread import DeviceThread
from groundstate.driver.debugging.sessions.places import ALL, place_of
from groundstate.driver.debugging.sessions.process import process
from groundstate.driver.debugging.sessions.session import Session

PIECE = 1 << 20
"""Bytes of memory that are asked for at once."""
SPACE_DEFAULT = int(zet.ZET_DEBUG_MEMORY_SPACE_TYPE_DEFAULT)
SPACE_LOCAL = int(zet.ZET_DEBUG_MEMORY_SPACE_TYPE_SLM)
SPACE_ELF = int(zet.ZET_DEBUG_MEMORY_SPACE_TYPE_ELF)


class Requests:
    """Answers the requests of one session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._answers: dict[str, Callable[[Message], Message]] = {
            "detach": self._detach,
            "acknowledge": self._acknowledge,
            "interrupt": self._interrupt,
            "resume": self._resume,
            "read_memory": self._read_memory,
            "write_memory": self._write_memory,
            "register_sets": self._register_sets,
            "read_registers": self._read_registers,
            "write_registers": self._write_registers,
        }

    def answer(self, message: Message) -> Message:
        """The answer, or the result and the sentence of a failure."""
        try:
            return {"result": 0, **self._answers[str(message.get("command"))](message)}
        except Failure as problem:
            return {"result": int(problem.result), "sentence": problem.sentence}
        except (KeyError, TypeError, ValueError, IndexError) as problem:
            result = int(ze.ZE_RESULT_ERROR_INVALID_ARGUMENT)
            return {"result": result, "sentence": f"the request is not understood: {problem}"}

    def _thread(self, message: Message) -> DeviceThread:
        return self.session.stopped_thread(place_of(message["thread"]))

    # --- Control --------------------------------------------------------------------------------

    def _detach(self, message: Message) -> Message:
        process.detach(self.session)
        return {}

    def _acknowledge(self, message: Message) -> Message:
        self.session.acknowledge(int(message["load"]))
        return {}

    def _interrupt(self, message: Message) -> Message:
        self.session.interrupt(place_of(message["thread"]))
        return {}

    def _resume(self, message: Message) -> Message:
        self.session.resume(place_of(message["thread"]))
        return {}

    # --- Memory ---------------------------------------------------------------------------------

    def _read_memory(self, message: Message) -> Message:
        size = int(message["size"])
        if not 0 <= size <= PIECE:
            raise ValueError(f"at most {PIECE} bytes are read at once")
        address, size = self._range(message, size)
        return {"data": _read(address, size).hex()}

    def _write_memory(self, message: Message) -> Message:
        data = bytes.fromhex(message["data"])
        if int(message["space"]) == SPACE_ELF:
            raise _inaccessible("the ELF file of a module cannot be written")
        address, _ = self._range(message, len(data))
        _write(address, data)
        return {}

    def _range(self, message: Message, size: int) -> tuple[int, int]:
        """The address in the process of a range of a memory space."""
        space, address = int(message["space"]), int(message["address"])
        place = place_of(message["thread"])
        thread = None
        if place != ALL:
            with self.session.changed:
                thread = self.session.stopped_thread(place)
        if space == SPACE_LOCAL:
            if thread is None:
                raise _inaccessible("local memory is that of one thread, not of all")
            return _local_range(thread, address, size)
        if space == SPACE_ELF:
            if not process.image_at(address, size):
                raise _inaccessible("this is not in the ELF file of a module")
        elif space != SPACE_DEFAULT:
            raise Failure(
                ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "the device has no memory for barriers"
            )
        return address, size

    # --- Registers ------------------------------------------------------------------------------

    def _register_sets(self, message: Message) -> Message:
        with self.session.changed:
            return {"sets": registers.sets_of(self._thread(message))}

    def _read_registers(self, message: Message) -> Message:
        with self.session.changed:
            thread = self._thread(message)
            first, count = int(message["start"]), int(message["count"])
            return {"data": registers.read(thread, int(message["type"]), first, count).hex()}

    def _write_registers(self, message: Message) -> Message:
        with self.session.changed:
            thread = self._thread(message)
            data = bytes.fromhex(message["data"])
            registers.write(thread, int(message["type"]), int(message["start"]), data)
        return {}


def _local_range(thread: DeviceThread, address: int, size: int) -> tuple[int, int]:
    """Local memory of a group, by the offset in it or by the address that its kernel uses."""
    start, length = thread.group.local, thread.group.local_bytes
    if address < length:
        address += start
    if address < start or address + size > start + length:
        raise _inaccessible(f"the work-group has {length} bytes of local memory")
    return address, size


def _inaccessible(sentence: str) -> Failure:
    return Failure(ze.ZE_RESULT_ERROR_NOT_AVAILABLE, sentence)


def _read(address: int, size: int) -> bytes:
    with _own_memory(address, os.O_RDONLY) as file:
        return _complete(os.pread(file, size, address), address, size)


def _write(address: int, data: bytes) -> None:
    with _own_memory(address, os.O_RDWR) as file:
        _complete(data[: os.pwrite(file, data, address)], address, len(data))


def _complete(data: bytes, address: int, size: int) -> bytes:
    if len(data) != size:
        raise _inaccessible(f"there are no {size} bytes of memory at {address:#x}")
    return data


@contextmanager
def _own_memory(address: int, flags: int) -> Iterator[int]:
    """The memory of this process as a file: a wrong address is an error there, and no fault."""
    file = os.open("/proc/self/mem", flags | os.O_CLOEXEC)
    try:
        yield file
    except (OSError, OverflowError) as problem:
        raise _inaccessible(f"there is no memory at {address:#x}") from problem
    finally:
        os.close(file)
