"""Print `native/capture/generated/`: what the capture library exports, and its recorders.

A recorder copies a call's arguments and the memory they lead to, calls on, and copies what was
answered; `native/capture/recorder/record.h` has the functions that do the copying.
"""

from __future__ import annotations

from collections.abc import Iterator

from registry.capture_counts import DEVICE_MEMORY, count_of
from registry.capture_hooks import hook_of
from registry.generators.functions import NOTICE, prototype
from registry.generators.tracer import noun
from registry.load import load
from registry.model import Direction, Function, Parameter, Registry

LOADER_FUNCTIONS = (
    "zeLoaderGetTracingHandle",
    "zeLoaderInit",
    "zelCheckIsLoaderInTearDown",
    "zelDisableTracingLayer",
    "zelEnableTracingLayer",
    "zelGetLoaderVersion",
    "zelGetTracerApiProcAddrTable",
    "zelGetTracingLayerState",
    "zelLoaderContextTeardown",
    "zelLoaderDriverCheck",
    "zelLoaderGetVersion",
    "zelLoaderGetVersions",
    "zelLoaderGetVersionsInternal",
    "zelLoaderTranslateHandle",
    "zelLoaderTranslateHandleInternal",
    "zelRegisterTeardownCallback",
    "zelSetDelayLoaderContextTeardown",
    "zelSetDriverTeardown",
    "zelTracerCreate",
    "zelTracerDestroy",
    "zelTracerResetAllCallbacks",
    "zelTracerSetEnabled",
    "zelTracerSetEpilogues",
    "zelTracerSetPrologues",
)


RECORDER_HEADERS = (
    "generated/structs",
    "recorder/hooks",
    "recorder/record",
    "recorder/slots",
    "timing/timing",
)


def loader_functions(registry: Registry) -> list[str]:
    """Every function of a loader that is none of the API, in order of appearance, each once."""
    traced = [noun(name) for name in registry.functions]
    registrations = [f"zelTracer{name}RegisterCallback" for name in traced if name is not None]
    return list(dict.fromkeys([*LOADER_FUNCTIONS, *registrations]))


def generate_exports() -> Iterator[str]:
    """The exported functions: each a jump through its slot."""
    registry = load()
    yield NOTICE
    yield '#include "capture/recorder/slots.h"\n'
    for function in registry.functions.values():
        yield f"GS_PUBLIC {prototype(function, function.name)}"
        slot = f"GC_SLOT(GS_FN_{function.name})"
        yield f"{{\n    return {_through(slot, function)};\n}}\n"
    yield "const enum gc_absence gc_absences[GS_FN_COUNT] = {"
    for function in registry.functions.values():
        if function.failure is not None:
            kind = "GC_ALL_ONES" if function.failure == "UINT32_MAX" else "GC_NOTHING"
            yield f"    [GS_FN_{function.name}] = {kind},"
    yield "};\n"
    yield "const char gc_namespaces[GS_FN_COUNT] = {"
    for function in registry.functions.values():
        letter = function.namespace[2:] or "e"
        yield f"    [GS_FN_{function.name}] = '{letter}',"
    yield "};\n"
    yield f'const char gc_api_version[] = "{registry.version}";'


def generate_loader() -> Iterator[str]:
    """The functions of a loader that are none of the API, each with a slot of its own."""
    names = loader_functions(load())
    yield NOTICE
    yield '#include "capture/recorder/slots.h"\n'
    for place, name in enumerate(names):
        yield f"GC_FORWARD({name}, {place})"
    yield "\nconst char *const gc_loader_names[] = {"
    for name in names:
        yield f'    "{name}",'
    yield "    NULL,\n};\n"
    yield f"gc_function gc_loader_slots[{len(names)}];"


def generate_recorders(namespace: str) -> Iterator[str]:
    """A recorder for each function of a namespace."""
    registry = load()
    yield NOTICE
    for header in RECORDER_HEADERS:
        yield f'#include "capture/{header}.h"'
    yield ""
    functions = [f for f in registry.functions.values() if f.namespace == namespace]
    for function in functions:
        yield from _recorder(function, registry)
    yield f"void gc_recorders_{namespace}(gc_function *recorders)\n{{"
    for function in functions:
        number = f"GS_FN_{function.name}"
        yield f"    recorders[{number}] = (gc_function)record_{function.name};"
    yield "}"


def _through(pointer: str, function: Function) -> str:
    names = ", ".join(p.name for p in function.parameters)
    return f"(({function.pointer_type}){pointer})({names})"


def _recorder(function: Function, registry: Registry) -> Iterator[str]:
    through = _through(f"gc_next[GS_FN_{function.name}]", function)
    yield f"static {prototype(function, 'record_' + function.name)}\n{{"
    yield f"    gc_call *call = gc_begin(GS_FN_{function.name});"
    yield "    if (call == NULL)"
    yield f"        return {through};"
    for parameter in function.parameters:
        yield f"    {_word(parameter, registry)};"
    before, after = [], []
    for parameter in function.parameters:
        copier = _Copier(function, parameter, registry)
        before += copier.before()
        after += copier.after()
    rooms = sorted({line for line in before if line.startswith("size_t room_")})
    yield from (f"    {line}" for line in rooms)
    yield from (f"    {line}" for line in before if line not in rooms)
    hook = hook_of(function)
    yield from (f"    {line};" for line in hook.before)
    yield "    gc_enter(call);"
    yield f"    {function.returns} result = {through};"
    yield "    gc_leave(call, (uint64_t)(uintptr_t)result);"
    yield from (f"    {line}" for line in after)
    yield "    gc_end(call);"
    yield from (f"    {line};" for line in hook.after)
    yield "    return result;\n}\n"


def _word(parameter: Parameter, registry: Registry) -> str:
    kind, name = parameter.type, parameter.name
    if not kind.is_pointer and registry.struct_of(kind.base) is not None:
        return f"gc_word(call, (uint64_t)(uintptr_t)&{name})"
    if not kind.is_pointer and kind.base in ("double", "float"):
        return f"gc_real(call, {name})"
    if kind.is_pointer or registry.kind_of(kind.base) or kind.base in registry.callbacks:
        return f"gc_word(call, (uint64_t)(uintptr_t){name})"
    return f"gc_word(call, (uint64_t){name})"


class _Copier:
    """The lines that copy what one parameter leads to."""

    def __init__(self, function: Function, parameter: Parameter, registry: Registry) -> None:
        self.parameter = parameter
        self.name = parameter.name
        self.namespace = function.namespace
        self.struct = registry.struct_of(parameter.type.base)
        self.count = count_of(function.name, parameter.name, parameter.count)
        self.skipped = (function.name, parameter.name) in DEVICE_MEMORY
        self.counts = {p.name for p in function.parameters}

    def before(self) -> list[str]:
        kind, name = self.parameter.type, self.name
        if not kind.is_pointer:
            return [f"gc_copy(call, &{name}, sizeof {name}, GC_BEFORE);"] if self.struct else []
        if self.skipped:
            return []
        if kind.base == "void" and kind.depth == 1:
            return self._untyped()
        written = self.parameter.direction is not Direction.IN
        if written and self.count is not None:
            return self._room() + (self._copies("BEFORE", self._limit()) if self.struct else [])
        if self.parameter.direction is Direction.OUT and not self.struct:
            return []
        return self._copies("BEFORE", self._elements())

    def after(self) -> list[str]:
        kind = self.parameter.type
        if not kind.is_pointer or self.skipped or self.parameter.direction is Direction.IN:
            return []
        if kind.base == "void" and kind.depth == 1:
            return []
        if self.count is None:
            return self._copies("AFTER", "1")
        return self._copies("AFTER", self._limit())

    def _untyped(self) -> list[str]:
        if self.name == "pNext":
            return [f"gc_chain(call, {self.name}, GC_BEFORE, gc_find_{self.namespace});"]
        if self.count is not None and self.parameter.direction is Direction.IN:
            if self.name.startswith("pScratch"):
                return []
            return [f"gc_copy(call, {self.name}, {self.count}, GC_BEFORE);"]
        return []

    def _elements(self) -> str:
        """How many elements there are to read, as an expression."""
        if self.count is None:
            return "1"
        return f"gc_at({self.count[1:]})" if self.count.startswith("*") else self.count

    def _room(self) -> list[str]:
        """Remembers how many elements the program has room for: the call may change that."""
        return [f"size_t room_{self.name} = {self._elements()};"]

    def _limit(self) -> str:
        """How many elements the call has written at most."""
        return f"gc_smaller(room_{self.name}, {self._elements()})"

    def _copies(self, phase: str, elements: str) -> list[str]:
        kind, name = self.parameter.type, self.name
        if self.struct is not None and kind.depth == 1:
            return [f"gc_structs_{self.struct.name}(call, {name}, {elements}, GC_{phase});"]
        if kind.base == "char" and kind.depth == 1 and self.count is None:
            return [f"gc_string(call, {name}, GC_{phase});"]
        if kind.base == "char" and kind.depth == 2 and kind.const:
            return [f"gc_strings(call, {name}, {elements}, GC_{phase});"]
        if kind.base == "void" and kind.depth == 2 and self.count is None and phase == "BEFORE":
            return []
        return [f"gc_copy(call, {name}, ({elements}) * sizeof *{name}, GC_{phase});"]
