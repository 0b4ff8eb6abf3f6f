"""The functions of the library that owns a handle, called so that a failure is an exception.

Every object keeps the `Api` it came from. With two libraries in one process, ours and the system's
loader, a handle must go back to the one that made it.
"""

from __future__ import annotations

import ctypes
import math
import re
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

from groundstate import _raw, ze
from groundstate.core import built_in
from groundstate.core.errors import NOT_FAILURES, failure

SUCCESS = 0
NOT_READY = 1
WAIT_SLICE_NS = 100_000_000
"""A wait returns to Python this often, so that Ctrl-C works with drivers that do not know of it."""

_FUNCTION = re.compile(r"(ze[a-z]?[A-Z]\w*): ")
"""The function with which sentences of our own driver begin."""

_ANSWERS = frozenset(int(getattr(ze, name)) for name in NOT_FAILURES)

# --- Prepared arguments ---------------------------------------------------------------------------

address: Callable[[int | None], Any] = ctypes.c_void_p.from_param
"""A handle or an address as a prepared argument."""
number: Callable[[int], Any] = ctypes.c_uint32.from_param
"""A uint32_t as a prepared argument."""
size: Callable[[int], Any] = ctypes.c_size_t.from_param
"""A size_t or a uint64_t as a prepared argument."""

NULL, ZERO, ZERO_SIZE = address(None), number(0), size(0)
_A_SLICE = size(WAIT_SLICE_NS)

AnyStructure = TypeVar("AnyStructure", bound=_raw.Structure)


def check(result: int, function: str, api: Api | None = None) -> None:
    """Raises the exception of a result, with the driver's description if it has one."""
    if result not in _ANSWERS:
        raise failure(result, function, api.last_error(function) if api is not None else "")


class Direct:
    """The functions of a library for prepared arguments: `direct.zeEventHostSignal(handle)`.

    Where ctypes knows the parameters of a function it converts each argument in each call, which
    takes longer than most calls themselves. Here it takes them as they are, so they have to be made
    beforehand, by `address`, `number` and `size` above, or `ctypes.byref`. Never pass a plain
    integer: its upper half would be lost.
    """

    def __init__(self, library: _raw.Library) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Callable[..., int]:
        try:
            function: Callable[..., int] = self._library.find(name)
        except _raw.MissingFunctionError as problem:
            raise unsupported(name, problem) from problem
        setattr(self, name, function)
        return function


def unsupported(function: str, problem: Exception) -> Exception:
    """The exception for a function that a library does not have."""
    return failure(ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, function, str(problem))


class Api:
    """The functions of one library, for the handles of one of its drivers."""

    def __init__(self, library: _raw.Library, driver: int) -> None:
        self.library = library
        self.driver = driver
        self.direct = Direct(library)

    @cached_property
    def built_in(self) -> built_in.BuiltIn | None:
        """What this interpreter calls without ctypes; None if the library has nothing for it."""
        return built_in.find(self.library)

    def __repr__(self) -> str:
        return f"Api({self.library.path!r}, driver={self.driver:#x})"

    def raw(self, function: str, *arguments: Any) -> int:
        """The result code of a call; a function that the library lacks is not supported."""
        try:
            call: Callable[..., int] = getattr(self.library, function)
        except _raw.MissingFunctionError as problem:
            raise unsupported(function, problem) from problem
        return call(*arguments)

    def call(self, function: str, *arguments: object) -> None:
        """Makes a call that succeeds or raises."""
        result = self.raw(function, *arguments)
        if result != SUCCESS:
            check(result, function, self)

    def call_direct(self, function: str, *prepared: Any) -> None:
        """Makes a call, with prepared arguments, that succeeds or raises."""
        result = getattr(self.direct, function)(*prepared)
        if result != SUCCESS:
            check(result, function, self)

    def is_ready(self, function: str, *prepared: Any) -> bool:
        """Makes a call, with prepared arguments, that says whether something has happened."""
        result: int = getattr(self.direct, function)(*prepared)
        if result == NOT_READY:
            return False
        check(result, function, self)
        return True

    def create(self, function: str, *arguments: object) -> int:
        """Makes a call that writes a handle or an address to its last argument, and returns it."""
        created = ctypes.c_void_p()
        self.call(function, *arguments, ctypes.byref(created))
        return created.value or 0

    def handles(self, function: str, *arguments: object) -> list[int]:
        """Asks for a list of handles: how many there are, then for each."""
        count = ctypes.c_uint32(0)
        self.call(function, *arguments, ctypes.byref(count), None)
        found = (ctypes.c_void_p * count.value)()
        if count.value:
            self.call(function, *arguments, ctypes.byref(count), found)
        return [handle for handle in found[: count.value] if handle]

    def struct(self, kind: type[AnyStructure], function: str, *arguments: object) -> AnyStructure:
        """Makes a call that fills in a struct, and returns it."""
        filled = kind()
        self.call(function, *arguments, ctypes.byref(filled))
        return filled

    def structs(
        self, kind: type[AnyStructure], function: str, *arguments: object
    ) -> list[AnyStructure]:
        """Asks for a list of structs: how many there are, then for each."""
        count = ctypes.c_uint32(0)
        self.call(function, *arguments, ctypes.byref(count), None)
        filled = kind.array(count.value)
        if count.value:
            self.call(function, *arguments, ctypes.byref(count), filled)
        return list(filled[: count.value])

    def wait(self, function: str, handle: Any, timeout: float | None, what: str) -> None:
        """Waits until the call stops answering "not ready"; the handle is a prepared argument.

        The time is in seconds; None waits for ever. `TimeoutError` is raised when it has passed,
        and what a signal handler raises, such as KeyboardInterrupt, when a signal arrives.
        """
        call: Callable[..., int] = getattr(self.direct, function)
        deadline = None if timeout is None else deadline_of(timeout)
        if deadline is None:
            while (result := call(handle, _A_SLICE)) == NOT_READY:
                pass
        else:
            while (result := call(handle, size(left := _next_slice(deadline)))) == NOT_READY:
                if left == 0:
                    raise TimeoutError(f"{what} was not done after {timeout} s")
        if result != SUCCESS:
            check(result, function, self)

    def last_error(self, function: str) -> str:
        """The driver's sentence about a call that has just failed in this thread.

        It is empty if the driver has none, or one about an earlier call: a loader may fail by
        itself, and destroying an object that Python has just collected may fail in between.
        """
        text = ctypes.c_char_p()
        try:
            describe = self.library.zeDriverGetLastErrorDescription
        except _raw.MissingFunctionError:
            return ""
        if describe(self.driver, ctypes.byref(text)) != SUCCESS:
            return ""
        sentence = (text.value or b"").decode(errors="replace")
        named = _FUNCTION.match(sentence)
        return sentence if named is None or named[1] == function else ""


def deadline_of(timeout: float) -> int | None:
    """When a timeout that starts now is over, in monotonic nanoseconds; None if never."""
    if timeout == math.inf:
        return None
    if not timeout >= 0:
        raise ValueError(f"a timeout is a number of seconds, 0 or more, or None; not {timeout}")
    return time.monotonic_ns() + round(timeout * 1e9)


def _next_slice(deadline: int) -> int:
    """How long to wait now, in nanoseconds."""
    return min(max(0, deadline - time.monotonic_ns()), WAIT_SLICE_NS)


def handle_array(handles: Sequence[int]) -> ctypes.Array[ctypes.c_void_p] | None:
    """Handles as the API takes them; None for no handles."""
    return (ctypes.c_void_p * len(handles))(*handles) if handles else None
