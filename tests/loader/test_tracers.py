"""Tracers of the driver itself: every function is traced, and nothing that is passed does harm.
What callbacks see is checked in C, by the real loader's headers (programs/tracers.c)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from groundstate import ze, zer
from groundstate.ze import (
    ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
    ZE_RESULT_ERROR_INVALID_ARGUMENT,
    ZE_RESULT_ERROR_INVALID_ENUMERATION,
    ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
    ZE_RESULT_ERROR_INVALID_NULL_POINTER,
    ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
)
from registry.generators.tracer import noun, traced_functions
from registry.load import load
from tests.conftest import check, last_error

PROLOGUE, EPILOGUE = 0, 1
CALLBACK = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_uint64,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_void_p),
)


class Description(ctypes.Structure):
    _fields_ = (
        ("stype", ctypes.c_uint32),
        ("pNext", ctypes.c_void_p),
        ("pUserData", ctypes.c_void_p),
    )


@pytest.fixture
def loader(library: Path, driver: int) -> ctypes.CDLL:
    loader = ctypes.CDLL(str(library))
    for name in ("Destroy", "SetEnabled", "SetPrologues", "SetEpilogues", "ResetAllCallbacks"):
        getattr(loader, f"zelTracer{name}").argtypes = [ctypes.c_void_p]
    return loader


def register(loader: ctypes.CDLL, tracer: int, function: str, when: int, callback: Any) -> int:
    entry = getattr(loader, f"zelTracer{noun(function)}RegisterCallback")
    entry.argtypes = [ctypes.c_void_p, ctypes.c_uint32, CALLBACK]
    return int(entry(tracer, when, callback))


def create(loader: ctypes.CDLL) -> int:
    handle = ctypes.c_void_p()
    check(loader.zelTracerCreate(ctypes.byref(Description(1, None, None)), ctypes.byref(handle)))
    assert handle.value is not None
    return handle.value


@pytest.fixture
def tracer(loader: ctypes.CDLL) -> Iterator[int]:
    handle = create(loader)
    yield handle
    loader.zelTracerSetEnabled(handle, 0)
    check(loader.zelTracerDestroy(handle))


def zeros(name: str) -> Any:
    """Calls a function with zeros and null pointers."""
    function = getattr(ze if name.startswith("ze") and not name.startswith("zer") else zer, name)
    arguments = [kind() for kind in function.argtypes]
    return function(*arguments)


def test_each_call_is_traced_once_with_its_result(loader: ctypes.CDLL, tracer: int) -> None:
    seen: list[tuple[str, int, int]] = []
    kept = []
    functions = [each.name for each in traced_functions(load())]
    for number, name in enumerate(functions):
        for when in (PROLOGUE, EPILOGUE):

            def note(params: Any, result: int, *_: Any, when: int = when, n: int = number) -> None:
                seen.append((functions[n], when, result & 0xFFFFFFFF))

            kept.append(CALLBACK(note))
            assert register(loader, tracer, name, when, kept[-1]) == 0
    check(loader.zelTracerSetEnabled(tracer, 1))
    results = {name: zeros(name) for name in functions}
    check(loader.zelTracerSetEnabled(tracer, 0))
    expected = []
    for name in functions:
        answer = results[name]
        number = 0 if answer is None else int(answer) & 0xFFFFFFFF
        expected += [(name, PROLOGUE, 0), (name, EPILOGUE, number)]
    assert seen == expected


def test_reset_removes_all_callbacks(loader: ctypes.CDLL, tracer: int) -> None:
    calls: list[int] = []
    callback = CALLBACK(lambda *_: calls.append(1))
    for when in (PROLOGUE, EPILOGUE):
        assert register(loader, tracer, "zeDriverGet", when, callback) == 0
    check(loader.zelTracerResetAllCallbacks(tracer))
    check(loader.zelTracerSetEnabled(tracer, 1))
    zeros("zeDriverGet")
    assert calls == []


def test_enabled_tracer_keeps_its_callbacks(loader: ctypes.CDLL, tracer: int) -> None:
    check(loader.zelTracerSetEnabled(tracer, 1))
    table = (ctypes.c_void_p * 120)()
    refused = [
        register(loader, tracer, "zeDriverGet", PROLOGUE, CALLBACK()),
        loader.zelTracerSetPrologues(tracer, table),
        loader.zelTracerSetEpilogues(tracer, table),
        loader.zelTracerResetAllCallbacks(tracer),
    ]
    assert refused == [ZE_RESULT_ERROR_INVALID_ARGUMENT] * 4
    assert "disable it" in last_error()
    assert loader.zelTracerDestroy(tracer) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE


def test_callback_may_not_destroy_its_tracer(loader: ctypes.CDLL, tracer: int) -> None:
    results: list[int] = []

    def destroy(*_: Any) -> None:
        loader.zelTracerSetEnabled(tracer, 0)
        results.append(loader.zelTracerDestroy(tracer))

    callback = CALLBACK(destroy)
    assert register(loader, tracer, "zeDriverGet", PROLOGUE, callback) == 0
    check(loader.zelTracerSetEnabled(tracer, 1))
    zeros("zeDriverGet")
    assert results == [ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE]


@pytest.mark.parametrize("handle", [None, 1, 0xDEADBEEF0, 2**64 - 8])
def test_what_is_no_tracer_is_refused(loader: ctypes.CDLL, handle: int | None) -> None:
    results = {
        loader.zelTracerDestroy(handle),
        loader.zelTracerSetEnabled(handle, 1),
        loader.zelTracerSetPrologues(handle, None),
        loader.zelTracerResetAllCallbacks(handle),
        register(loader, handle or 0, "zeInit", PROLOGUE, CALLBACK()),
    }
    assert results == {ZE_RESULT_ERROR_INVALID_NULL_HANDLE}


def test_bad_arguments_of_tracers_are_refused(loader: ctypes.CDLL, tracer: int) -> None:
    assert loader.zelTracerCreate(None, None) == ZE_RESULT_ERROR_INVALID_NULL_POINTER
    assert loader.zelTracerSetPrologues(tracer, None) == ZE_RESULT_ERROR_INVALID_NULL_POINTER
    bad = register(loader, tracer, "zeInit", 2, CALLBACK())
    assert bad == ZE_RESULT_ERROR_INVALID_ENUMERATION


def test_more_tracers_than_may_be_enabled(loader: ctypes.CDLL) -> None:
    tracers = [create(loader) for _ in range(17)]
    results = [loader.zelTracerSetEnabled(tracer, 1) for tracer in tracers]
    assert results == [0] * 16 + [ZE_RESULT_ERROR_UNSUPPORTED_FEATURE]
    for tracer in tracers:
        check(loader.zelTracerSetEnabled(tracer, 0))
        check(loader.zelTracerDestroy(tracer))
