"""The generated stubs and dispatch tables, built with a stand-in for the hand-written half.

The stand-in knows one live handle of each kind (its address is the number of the kind), has no
Python behind it, and answers each refusal with the result that the specification names.
"""

import ctypes
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from groundstate import ze
from groundstate._raw import Library, c_type, namespace_of
from registry.checks import Check, CheckKind, checks_of
from registry.generators.functions import own_kinds
from registry.load import load
from registry.model import Function, Parameter, Table

NATIVE = Path(__file__).parents[3] / "native"
REGISTRY = load()
KINDS = [kind for kind, _ in own_kinds(REGISTRY)]
RESULTS = dict(REGISTRY.enums["ze_result_t"].values)
GARBAGE = 0x7FFF_0000_0123

STAND_IN = r"""
#include "abi/abi.h"
static bool initialised = true;
__attribute__((visibility("default"))) void set_initialised(bool value) { initialised = value; }
__attribute__((visibility("default"))) const char *last_types;
__attribute__((visibility("default"))) gs_word last_words[16];
static void record(const char *types, const gs_word *arguments)
{
    last_types = types;
    for (size_t i = 0; types[i]; i++)
        last_words[i] = arguments[i];
}
ze_result_t gs_call_python(enum gs_function function, const char *types, const gs_word *arguments)
{
    (void)function;
    record(types, arguments);
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}
uint64_t gs_call_python_value(enum gs_function function, const char *types,
                              const gs_word *arguments)
{
    (void)function;
    record(types, arguments);
    return 77;
}
bool gs_is_live(const void *handle, enum gs_kind kind) { return (uintptr_t)handle == kind; }
void *gs_pin(const void *handle, enum gs_kind kind)
{
    return gs_is_live(handle, kind) ? (void *)handle : NULL;
}
void gs_unpin(void **pinned) { (void)pinned; }
bool gs_pin_next(gs_pins *pins, const void *handle, enum gs_kind kind)
{
    (void)pins;
    return gs_is_live(handle, kind);
}
void gs_unpin_all(gs_pins *pins) { (void)pins; }
ze_result_t gs_fail_memory(enum gs_function function)
{
    (void)function;
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}
bool gs_is_initialised(void) { return initialised; }
bool gs_is_sysman_initialised(void) { return initialised; }
#define ANSWER(name, result, ...) \
    ze_result_t name(enum gs_function function, __VA_ARGS__) { (void)function; return result; }
#pragma GCC diagnostic ignored "-Wunused-parameter"
ANSWER(gs_fail_handle, ZE_RESULT_ERROR_INVALID_NULL_HANDLE, const char *p, const void *h,
       enum gs_kind k)
ANSWER(gs_fail_event, ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT, const char *p, const void *h)
ANSWER(gs_fail_pointer, ZE_RESULT_ERROR_INVALID_NULL_POINTER, const char *p)
ANSWER(gs_fail_enum, ZE_RESULT_ERROR_INVALID_ENUMERATION, const char *p, uint64_t v)
ANSWER(gs_fail_condition, result, ze_result_t result, const char *c)
_Atomic bool gs_some_context_is_lost;
__attribute__((visibility("default"))) void set_lost(bool value)
{
    gs_some_context_is_lost = value;
}
bool gs_find_loss(const void *object, enum gs_kind kind) { return true; }
ANSWER(gs_fail_lost, ZE_RESULT_ERROR_DEVICE_LOST, const void *object, enum gs_kind kind)
ze_result_t gs_fail_uninitialised(enum gs_function f) { return ZE_RESULT_ERROR_UNINITIALIZED; }
ze_result_t gs_zeEventHostReset(ze_event_handle_t hEvent) { return ZE_RESULT_NOT_READY; }
#include "check/host/host.h"
_Atomic bool gs_host_checks;
void gs_host_made(enum gs_function f, enum gs_kind k, const void *handle, const void *parent) {}
void gs_host_made_memory(enum gs_function f, const void *s, uint64_t size, const void *context) {}
void gs_host_ending(enum gs_function f, enum gs_kind kind, void *handle) {}
void gs_host_ended(enum gs_function f, const void *handle, ze_result_t result) {}
void gs_host_freeing(enum gs_function f, const void *start) {}
void gs_host_freed(enum gs_function f, const void *start, ze_result_t result) {}
#include "abi/tracer.h"
_Atomic bool gs_some_tracer_is_enabled;
bool gs_is_inside_a_traced_call(void) { return true; }
void gs_traced_call_begin(gs_traced_call *call, enum gs_function f, void **params) {}
void gs_traced_call_end(gs_traced_call *call, void **params, uintptr_t result) {}
ze_result_t gs_tracer_register(const char *name, void *tracer, uint32_t when, enum gs_function f,
                               gs_tracer_callback callback)
{
    return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("stubs")
    stand_in, built = folder / "stand_in.c", folder / "libstubs.so"
    stand_in.write_text(STAND_IN)
    names = ("functions", "tables", "stubs_ze", "stubs_zes", "stubs_zet", "stubs_zer", "tracer")
    sources = [str(NATIVE / "generated" / f"{name}.c") for name in names]
    flags = "-std=gnu11 -O1 -fPIC -fvisibility=hidden -Wall -Wextra -Werror -shared -Wl,-z,defs"
    command = ["gcc", *flags.split(), f"-I{NATIVE}", str(stand_in), *sources, "-o", str(built)]
    subprocess.run(command, check=True)
    return Library(str(built))


class Call:
    """Arguments for one function that pass every check, to be spoilt one at a time."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.kept: list[Any] = []
        self.arguments = {p.name: self._argument(p) for p in function.parameters}

    def _argument(self, parameter: Parameter) -> Any:
        base, kind = parameter.type.base, REGISTRY.kind_of(parameter.type.base)
        if parameter.type.depth == 1 and kind and parameter.count:
            return self._keep((ctypes.c_void_p * 1)(live(kind)))
        if parameter.type.is_pointer:
            return self._keep(self._memory(parameter))
        if base in REGISTRY.callbacks:
            return GARBAGE
        if kind:
            return live(kind)
        enum = REGISTRY.enum_of(base)
        if enum:
            return enum.known[0][1]
        if REGISTRY.struct_of(base):
            return c_type(f"{base} _")()
        return {"alignment": 8, "pattern_size": 4, "size": 4096}.get(parameter.name, 1)

    def _memory(self, parameter: Parameter) -> Any:
        """Room for whatever the pointer leads to; an input struct has legal members."""
        struct = REGISTRY.struct_of(parameter.type.base)
        if struct is None or parameter.type.depth > 1:
            return (ctypes.c_uint64 * 64)()
        memory = c_type(f"{parameter.type.base} _")()
        for field in struct.fields:
            enum = REGISTRY.enum_of(field.type.base)
            if field.name in ("stype", "pNext") or field.type.length:
                continue
            if enum and not field.type.is_pointer:
                setattr(memory, field.name, enum.known[0][1])
            elif field.type.text == "const char *":
                setattr(memory, field.name, b"name")
            elif field.type.is_pointer:
                setattr(memory, field.name, GARBAGE)
            elif field.type.base in ("size_t", "uint32_t"):
                setattr(memory, field.name, 1)
        return memory

    def _keep(self, memory: Any) -> Any:
        self.kept.append(memory)
        return memory

    def run(self, library: Library) -> int:
        values = [
            ctypes.byref(value) if isinstance(value, ctypes.Structure) and pointer else value
            for value, pointer in zip(
                self.arguments.values(),
                (p.type.is_pointer for p in self.function.parameters),
                strict=True,
            )
        ]
        answer: int | None = getattr(library, self.function.name)(*values)
        return answer or 0


def live(kind: str) -> int:
    return KINDS.index(kind) + 1


def spoilt(check: Check, function: Function) -> Iterator[Call]:
    """Calls that break exactly what a check looks at."""
    values: list[Any] = [None]
    if check.kind in (CheckKind.HANDLE, CheckKind.OPTIONAL_HANDLE, CheckKind.HANDLE_ARRAY):
        other = live("SAMPLER") if REGISTRY.kind_of(check.type) != "SAMPLER" else live("FENCE")
        values = [other, GARBAGE, 2**64 - 1]
        if check.kind is CheckKind.HANDLE:
            values.append(None)
    elif check.kind is CheckKind.ENUM:
        values = [0x7FFFFFFF, 0x7FFFFFFE]
    elif check.kind is CheckKind.FLAGS:
        enum = REGISTRY.enum_of(check.type)
        assert enum is not None
        values = [1 << (enum.mask.bit_length()), enum.mask | 0x80000000]
    for value in values:
        call = Call(function)
        if check.kind is CheckKind.CONDITION:
            assert check.condition is not None
            make_true(check.condition, call)
        elif check.kind is CheckKind.HANDLE_ARRAY:
            call.arguments[check.parameter][0] = value
        elif check.member:
            setattr(call.arguments[check.parameter], check.member, value)
        else:
            call.arguments[check.parameter] = value
        yield call


def make_true(condition: str, call: Call) -> None:
    """Changes the arguments so that one of the registry's conditions holds."""
    match condition.replace("(", "").replace(")", "").split():
        case ["nullptr", "==", pointer, "&&", "0", "<", _count]:
            call.arguments[pointer] = None
        case ["nullptr", "!=", _pointer, "&&", "nullptr", "==", size]:
            call.arguments[size] = None
        case ["0", "==", name] if "->" in name:
            parameter, member = name.split("->")
            setattr(call.arguments[parameter], member, 0)
            if (call.function.name, member) == ("zeModuleCreate", "inputSize"):
                call.arguments[parameter].pNext = None
        case ["0", "==", name]:
            call.arguments[name] = 0
        case ["0", "!=", name, "&", *_]:
            call.arguments[name] = 24
        case [size, "%", _pattern, "!=", "0"]:
            call.arguments[size] = 4095
        case _:
            raise AssertionError(f"no example for the condition {condition!r}")


@pytest.mark.parametrize("function", REGISTRY.functions.values(), ids=lambda f: f.name)
def test_each_check(library: Library, function: Function) -> None:
    reached = 77 if function.failure else RESULTS["ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"]
    if function.name == "zeEventHostReset":
        reached = RESULTS["ZE_RESULT_NOT_READY"]
    assert Call(function).run(library) == reached
    refused = {None: None, "NULL": 0, "UINT32_MAX": 2**32 - 1}[function.failure]
    for check in checks_of(function):
        if check.kind is CheckKind.INITIALISED:
            continue
        expected = RESULTS[check.result] if refused is None else refused
        for call in spoilt(check, function):
            assert call.run(library) == expected, check


USES = [
    "zeContextGetStatus",
    "zeMemAllocHost",
    "zeMemGetAllocProperties",
    "zeCommandListAppendBarrier",
    "zeCommandListClose",
    "zeCommandListAppendLaunchKernel",
    "zeCommandQueueExecuteCommandLists",
    "zeCommandQueueSynchronize",
    "zeEventQueryStatus",
    "zeEventHostSignal",
    "zeFenceHostSynchronize",
    "zeKernelSetArgumentValue",
    "zeKernelCreate",
    "zeModuleGetNativeBinary",
    "zeEventCreate",
]
GIVES_BACK = [
    "zeContextDestroy",
    "zeMemFree",
    "zeMemFreeExt",
    "zeCommandListDestroy",
    "zeCommandQueueDestroy",
    "zeEventDestroy",
    "zeEventPoolDestroy",
    "zeFenceDestroy",
    "zeKernelDestroy",
    "zeModuleDestroy",
    "zeVirtualMemUnmap",
    "zeMemCloseIpcHandle",
    "zeEventPoolCloseIpcHandle",
]
NOT_OF_A_CONTEXT = ["zeDeviceGetStatus", "zeDeviceSynchronize", "zeDriverGetProperties"]


@pytest.mark.parametrize("name", USES + GIVES_BACK + NOT_OF_A_CONTEXT)
def test_a_lost_context_can_only_be_given_back(library: Library, name: str) -> None:
    call = Call(REGISTRY.functions[name])
    whole = call.run(library)
    library._library.set_lost(True)
    try:
        answer = call.run(library)
    finally:
        library._library.set_lost(False)
    assert whole != RESULTS["ZE_RESULT_ERROR_DEVICE_LOST"]
    assert answer == (RESULTS["ZE_RESULT_ERROR_DEVICE_LOST"] if name in USES else whole)


def test_uninitialised_driver(library: Library) -> None:
    set_initialised = library._library.set_initialised
    set_initialised(False)
    try:
        for name in ("zeDriverGet", "zesDriverGet", "zerGetLastErrorDescription"):
            call = Call(REGISTRY.functions[name])
            assert call.run(library) == RESULTS["ZE_RESULT_ERROR_UNINITIALIZED"]
        assert Call(REGISTRY.functions["zerGetDefaultContext"]).run(library) == 0
        assert Call(REGISTRY.functions["zeInit"]).run(library) == 0x78000003
    finally:
        set_initialised(True)


def test_a_native_function_comes_before_python(library: Library) -> None:
    assert library.zeEventHostReset(live("EVENT")) == RESULTS["ZE_RESULT_NOT_READY"]


def test_null_among_wait_events_is_a_null_handle(library: Library) -> None:
    call = Call(REGISTRY.functions["zeCommandListAppendBarrier"])
    call.arguments["phWaitEvents"][0] = None
    assert call.run(library) == RESULTS["ZE_RESULT_ERROR_INVALID_NULL_HANDLE"]


def test_a_pattern_of_no_bytes_is_refused(library: Library) -> None:
    call = Call(REGISTRY.functions["zeCommandListAppendMemoryFill"])
    call.arguments["pattern_size"] = 0
    assert call.run(library) == RESULTS["ZE_RESULT_ERROR_INVALID_SIZE"]


def test_leniencies(library: Library) -> None:
    """What real programs do is let through."""
    unsupported = RESULTS["ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"]
    every_driver = Call(REGISTRY.functions["zeInitDrivers"])
    every_driver.arguments["desc"].flags = 0xFFFFFFFF
    assert every_driver.run(library) == unsupported
    program = Call(REGISTRY.functions["zeModuleCreate"])
    program.arguments["desc"].pNext = GARBAGE
    program.arguments["desc"].pInputModule = None
    program.arguments["desc"].inputSize = 0
    assert program.run(library) == unsupported
    wrong_stype = Call(REGISTRY.functions["zeContextCreate"])
    wrong_stype.arguments["desc"].stype = 0x12345678
    assert wrong_stype.run(library) == unsupported


def test_arguments_reach_python(library: Library) -> None:
    types = ctypes.c_char_p.in_dll(library._library, "last_types")
    words = (ctypes.c_uint64 * 16).in_dll(library._library, "last_words")
    doubles = (ctypes.c_double * 16).in_dll(library._library, "last_words")
    assert library.zesFrequencyOcSetFrequencyTarget(live("ZES_FREQ"), 1.5) == 0x78000003
    assert types.value == b"ud"
    assert (words[0], doubles[1]) == (live("ZES_FREQ"), 1.5)
    handle = ze.ze_ipc_mem_handle_t()
    place = ctypes.c_void_p()
    library.zeMemOpenIpcHandle(
        live("CONTEXT"),
        live("DEVICE"),
        handle,
        ze.ZE_IPC_MEMORY_FLAG_BIAS_CACHED,
        ctypes.byref(place),
    )
    assert types.value == b"uuuuu"
    assert words[3] == ze.ZE_IPC_MEMORY_FLAG_BIAS_CACHED
    assert words[4] == ctypes.addressof(place)


TABLES = [table for table in REGISTRY.tables.values() if table.getter]
VERSIONS = [(1, minor) for minor in range(18)]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_table_fills_up_to_its_version(library: Library, table: Table) -> None:
    getter = getattr(library, str(table.getter))
    for version in (*VERSIONS, (1, 999)):
        words = (ctypes.c_uint64 * (len(table.fields) + 1))(*[GARBAGE] * (len(table.fields) + 1))
        assert getter(ze.ZE_MAKE_VERSION(*version), words) == 0
        for word, field in zip(words, table.fields, strict=False):
            assert field.since is not None
            expected = GARBAGE
            if field.since <= version:
                function = getattr(library, str(field.function))
                expected = ctypes.cast(function, ctypes.c_void_p).value or 0
            assert word == expected, (version, field.name)
        assert words[len(table.fields)] == GARBAGE


def test_table_of_other_major_or_null_is_refused(library: Library) -> None:
    words = (ctypes.c_uint64 * 64)()
    version = ze.ZE_MAKE_VERSION(2, 0)
    answer = library.zeGetGlobalProcAddrTable(version, words)
    assert answer == RESULTS["ZE_RESULT_ERROR_UNSUPPORTED_VERSION"]
    assert not any(words)
    answer = library.zeGetGlobalProcAddrTable(ze.ZE_API_VERSION_CURRENT, None)
    assert answer == RESULTS["ZE_RESULT_ERROR_INVALID_NULL_POINTER"]


def test_engine_activity_is_in_the_oldest_table(library: Library) -> None:
    """The specification dates it 1.7, and loaders of API 1.4 have it all the same."""
    words = (ctypes.c_uint64 * 3)()
    assert library.zesGetEngineProcAddrTable(ze.ZE_API_VERSION_1_4, words) == 0
    assert words[0]
    assert words[1]
    assert words[2] == 0


def test_names_resolve_in_their_own_namespace() -> None:
    assert "zesDeviceGet" in namespace_of("zesDeviceGet").functions
    assert "ze_event_handle_t" in namespace_of("ze_event_handle_t").types
