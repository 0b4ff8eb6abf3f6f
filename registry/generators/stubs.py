"""Print `native/generated/stubs_*.c`: the public function behind each name of the API."""

from __future__ import annotations

from collections.abc import Iterator

from registry.checks import MORE_VALUES, Check, CheckKind, checks_of, expression, losses_of
from registry.generators.functions import NOTICE, prototype
from registry.generators.tracer import noun
from registry.load import load
from registry.model import Function, Parameter, Registry
from registry.watches import watches_of

SIGNED = ("int8_t", "int16_t", "int32_t", "int64_t", "int")
FLOATING = ("float", "double")
LASTING = ("DRIVER", "DEVICE", "ZES_DEVICE")


def generate(namespace: str) -> Iterator[str]:
    registry = load()
    functions = [f for f in registry.functions.values() if f.namespace == namespace]
    yield NOTICE
    yield '#include "abi/abi.h"\n#include "check/host/host.h"\n#include "tracer.h"\n'
    yield from _enum_tests(functions, registry)
    for function in functions:
        yield from _stub(function, registry)


def _enum_tests(functions: list[Function], registry: Registry) -> Iterator[str]:
    """One test function for each enumeration that some check needs."""
    checks = [check for function in functions for check in checks_of(function)]
    needed = {check.type for check in checks if check.kind is CheckKind.ENUM}
    for type_name in sorted(needed):
        enum = registry.enum_of(type_name)
        assert enum is not None
        yield f"static bool is_{type_name}(uint32_t value)\n{{\n    switch (value) {{"
        known = {value for _, value in enum.known}
        for value in sorted({*known, *MORE_VALUES.get(type_name, ())}):
            yield f"    case 0x{value:x}:"
        yield "        return true;\n    default:\n        return false;\n    }\n}\n"


def _stub(function: Function, registry: Registry) -> Iterator[str]:
    yield f"GS_PUBLIC {prototype(function, function.name)}"
    yield "{"
    arguments = ", ".join(parameter.name for parameter in function.parameters)
    if noun(function.name) is not None:
        yield "    if (gs_is_traced())"
        yield f"        return gs_traced_{function.name}({arguments});"
    for check in checks_of(function):
        yield from _check(check, function, registry)
    yield from _loss(function, registry)
    before, after = watches_of(function)
    if before or after:
        yield from _watched_call(function, registry, arguments)
    else:
        yield f"    if (gs_{function.name})"
        yield f"        return gs_{function.name}({arguments});"
        yield f"    return {_python_call(function, registry)};"
    yield "}\n"


def _watched_call(function: Function, registry: Registry, arguments: str) -> Iterator[str]:
    """A call that the checker of the host hears of: native/check/host/host.h."""
    before, after = watches_of(function)
    yield "    const bool is_checked = gs_host_is_checked();"
    for watch in before:
        yield (
            f"    if (is_checked && {watch.condition})"
            if watch.condition
            else "    if (is_checked)"
        )
        yield f"        {watch.call};"
    yield f"    const ze_result_t result = gs_{function.name} ? gs_{function.name}({arguments})"
    yield f"                               : {_python_call(function, registry)};"
    for watch in after:
        yield (
            f"    if (is_checked && {watch.condition})"
            if watch.condition
            else "    if (is_checked)"
        )
        yield f"        {watch.call};"
    yield "    return result;"


def _check(check: Check, function: Function, registry: Registry) -> Iterator[str]:
    condition, failure = _test(check, function, registry)
    if _is_pinned(check, registry):
        kind = f"GS_KIND_{registry.kind_of(check.type)}"
        yield f"    GS_PIN void *pinned_{check.parameter} = gs_pin({check.parameter}, {kind});"
    if _are_pinned(check, registry):
        yield f"    GS_PINS gs_pins pinned_{check.parameter} = {{0}};"
    if check.kind is CheckKind.HANDLE_ARRAY:
        bound = f"NULL != {check.parameter} && i < {check.count}"
        yield f"    for (size_t i = 0; {bound}; i++)"
        indent = "        "
    else:
        indent = "    "
    if check.guard:
        condition = f"{check.guard} && ({condition})"
    yield from _refuse(condition, failure, function, indent)


def _loss(function: Function, registry: Registry) -> Iterator[str]:
    """After all else: the context that an object was made in may be lost."""
    for check in losses_of(function):
        subject, kind = check.parameter, f"GS_KIND_{registry.kind_of(check.type)}"
        failure = f"gs_fail_lost(GS_FN_{function.name}, {subject}, {kind})"
        yield from _refuse(f"gs_is_lost({subject}, {kind})", failure, function, "    ")


def _is_pinned(check: Check, registry: Registry) -> bool:
    """True for a handle that another thread may destroy while the call runs.

    Drivers and devices live as long as the process.
    """
    if check.kind not in (CheckKind.HANDLE, CheckKind.OPTIONAL_HANDLE):
        return False
    return registry.kind_of(check.type) not in LASTING


def _are_pinned(check: Check, registry: Registry) -> bool:
    """The same for an array of handles."""
    is_array = check.kind is CheckKind.HANDLE_ARRAY
    return is_array and registry.kind_of(check.type) not in LASTING


def _test(check: Check, function: Function, registry: Registry) -> tuple[str, str]:
    """The C expression that refuses, and the C call that says why."""
    fn, name, subject = f"GS_FN_{function.name}", f'"{check.subject}"', check.subject
    kind = f"GS_KIND_{registry.kind_of(check.type)}"
    dead = _is_dead(check, subject, kind)
    if _is_pinned(check, registry):
        dead = f"NULL == pinned_{check.parameter}"
    match check.kind:
        case CheckKind.INITIALISED:
            return f"!{_is_initialised(function)}()", f"gs_fail_uninitialised({fn})"
        case CheckKind.HANDLE:
            failure = f"gs_fail_handle({fn}, {name}, {subject}, {kind})"
            return dead, failure
        case CheckKind.OPTIONAL_HANDLE:
            condition = f"NULL != {subject} && {dead}"
            return condition, _dead_handle(check, fn, name, subject, kind)
        case CheckKind.HANDLE_ARRAY:
            element = f"{subject}[i]"
            failure = _dead_handle(check, fn, name, element, kind)
            if not _are_pinned(check, registry):
                return _is_dead(check, element, kind), failure
            pins = f"pinned_{check.parameter}"
            failure = f"{pins}.is_full ? gs_fail_memory({fn}) : {failure}"
            return f"!gs_pin_next(&{pins}, {element}, {kind})", failure
        case CheckKind.POINTER:
            return f"NULL == {subject}", f"gs_fail_pointer({fn}, {name})"
        case CheckKind.ENUM:
            return f"!is_{check.type}({subject})", f"gs_fail_enum({fn}, {name}, {subject})"
        case CheckKind.FLAGS:
            enum = registry.enum_of(check.type)
            assert enum is not None
            condition = f"0 != ({subject} & ~0x{enum.mask:x}u)"
            return condition, f"gs_fail_enum({fn}, {name}, {subject})"
        case CheckKind.CONDITION:
            assert check.condition is not None
            failure = f'gs_fail_condition({fn}, {check.result}, "{check.condition}")'
            return expression(check.condition), failure


def _is_dead(check: Check, subject: str, kind: str) -> str:
    """System management has devices that the core has not got."""
    if check.type == "zes_device_handle_t":
        return f"!gs_is_watched({subject})"
    return f"!gs_is_live({subject}, {kind})"


def _is_initialised(function: Function) -> str:
    """System management has an initialisation of its own, and needs no other."""
    return "gs_is_sysman_initialised" if function.namespace == "zes" else "gs_is_initialised"


def _dead_handle(check: Check, fn: str, name: str, subject: str, kind: str) -> str:
    handle = f"gs_fail_handle({fn}, {name}, {subject}, {kind})"
    if check.result == "ZE_RESULT_ERROR_INVALID_NULL_HANDLE":
        return handle
    event = f"gs_fail_event({fn}, {name}, {subject})"
    if check.kind is CheckKind.OPTIONAL_HANDLE:
        return event
    return f"NULL == {subject} ? {handle}\n                   : {event}"


def _refuse(condition: str, failure: str, function: Function, indent: str) -> Iterator[str]:
    if function.failure is None:
        yield f"{indent}if ({condition})"
        yield f"{indent}    return {failure};"
    else:
        yield f"{indent}if ({condition}) {{"
        yield f"{indent}    {failure};"
        yield f"{indent}    return {function.failure};"
        yield f"{indent}}}"


def _python_call(function: Function, registry: Registry) -> str:
    types = "".join(_letter(parameter) for parameter in function.parameters)
    words = ", ".join(_word(parameter, registry) for parameter in function.parameters)
    arguments = f"(const gs_word[]){{{words}}}" if words else "NULL"
    if function.failure is None:
        return f'gs_call_python(GS_FN_{function.name}, "{types}", {arguments})'
    call = f'gs_call_python_value(GS_FN_{function.name}, "{types}", {arguments})'
    number = "" if function.returns not in registry.handles else "(uintptr_t)"
    return f"({function.returns}){number}{call}"


def _letter(parameter: Parameter) -> str:
    if parameter.type.is_pointer:
        return "u"
    if parameter.type.base in FLOATING:
        return "d"
    return "i" if parameter.type.base in SIGNED else "u"


def _word(parameter: Parameter, registry: Registry) -> str:
    name, base = parameter.name, parameter.type.base
    if parameter.type.is_pointer or base in registry.handles:
        return f"{{.p = {name}}}"
    if base in registry.callbacks:
        return f"{{.u = (uintptr_t){name}}}"
    if registry.struct_of(base):
        return f"{{.p = &{name}}}"
    return f"{{.{_letter(parameter)} = {name}}}"
