"""Calls that break exactly one of the registry's checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from registry.checks import Check, CheckKind
from registry.model import Function
from tests.driver.calls import PAGE, REGISTRY, Call, Calls
from tests.driver.support import handles


def garbage(calls: Calls, kind: str) -> Iterator[int]:
    """Bit patterns that are no handle of a type."""
    live = calls.handle(kind)
    yield from (1, 7, PAGE, 2**32 - 1, 2**63, 2**64 - 1, 0xDEAD_BEEF_DEAD_BEE0)
    yield from (live + 1, live + 8, live + 16, live ^ (1 << 46), live - 512 * 2**19)
    yield live + 512 * 2**20
    yield calls.memory
    other = calls.queue if kind != "ze_command_queue_handle_t" else calls.event
    yield other
    stale = calls.stale(kind)
    if stale is not None:
        yield stale


def spoilt(check: Check, function: Function, calls: Calls) -> Iterator[tuple[str, Call]]:
    """Calls that break exactly what a check looks at, each with a word on how."""
    for value in _bad_values(check, calls):
        call = calls.of(function)
        if check.kind is CheckKind.HANDLE_ARRAY:
            call.arguments[check.parameter] = handles(value)
            call.arguments[str(check.count)] = 1
        elif check.member:
            setattr(call.arguments[check.parameter], check.member, value)
        else:
            call.arguments[check.parameter] = value
        yield f"{check.subject}={value}", call
    if check.kind is CheckKind.CONDITION:
        call = calls.of(function)
        make_true(str(check.condition), call)
        yield str(check.condition), call


def _bad_values(check: Check, calls: Calls) -> Iterator[Any]:
    if check.kind is CheckKind.POINTER:
        yield None
    elif check.kind in (CheckKind.HANDLE, CheckKind.OPTIONAL_HANDLE, CheckKind.HANDLE_ARRAY):
        yield from garbage(calls, check.type)
        if check.kind is CheckKind.HANDLE:
            yield None
    elif check.kind is CheckKind.ENUM:
        yield from (0x7FFFFFFF, 0x7FFFFFFE, 0xFFFFFFFF)
    elif check.kind is CheckKind.FLAGS:
        enum = REGISTRY.enum_of(check.type)
        assert enum is not None
        yield from (1 << enum.mask.bit_length(), enum.mask | 0x80000000)


def make_true(condition: str, call: Call) -> None:
    """Changes the arguments so that one of the registry's conditions holds."""
    match condition.replace("(", "").replace(")", "").split():
        case ["nullptr", "==", pointer, "&&", "0", "<", count]:
            call.arguments[pointer] = None
            call.arguments[count] = 1
        case ["0", "==", name] if "->" in name:
            parameter, member = name.split("->")
            setattr(call.arguments[parameter], member, 0)
        case ["0", "==", name]:
            call.arguments[name] = 0
        case ["0", "!=", name, "&", *_]:
            call.arguments[name] = 24
        case [size, "%", _pattern, "!=", "0"]:
            call.arguments[size] = 4095
        case _:
            raise AssertionError(f"no example for the condition {condition!r}")
