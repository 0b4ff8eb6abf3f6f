"""Print `native/generated/tracer.c` and `tracer.h`: each call of the API as tracers see it.

For each function of the core and runtime API there is a traced call, which runs the callbacks
around it, and a function with which a tracer registers a callback, as a loader exports it.
"""

from __future__ import annotations

from collections.abc import Iterator

from registry.generators.functions import NOTICE, prototype
from registry.load import load
from registry.model import Function, Parameter, Registry

TRACED = ("zer", "ze")
UNTRACED = ("zes", "zet")

REGISTER = """\
#define REGISTER(noun, function)                                                              \\
    GS_EXPORT ze_result_t zelTracer##noun##RegisterCallback(void *, uint32_t,                 \\
                                                            gs_tracer_callback);              \\
    ze_result_t zelTracer##noun##RegisterCallback(void *tracer, uint32_t when,                \\
                                                  gs_tracer_callback callback)                \\
    {                                                                                         \\
        const char *name = "zelTracer" #noun "RegisterCallback";                              \\
        return gs_tracer_register(name, tracer, when, function, callback);                    \\
    }
"""


def noun(function: str) -> str | None:
    """What follows the prefix of a traced function: `zeInit` gives `Init`, `zesInit` nothing."""
    if function.startswith(UNTRACED):
        return None
    prefix = next(prefix for prefix in TRACED if function.startswith(prefix))
    return function.removeprefix(prefix)


def traced_functions(registry: Registry) -> list[Function]:
    return [each for each in registry.functions.values() if noun(each.name) is not None]


def generate_header() -> Iterator[str]:
    yield NOTICE
    yield "#ifndef GROUNDSTATE_TRACER_H"
    yield "#define GROUNDSTATE_TRACER_H\n"
    yield '#include "abi/tracer.h"\n'
    for function in traced_functions(load()):
        yield f"{prototype(function, 'gs_traced_' + function.name)};"
    yield "\n#endif"


def generate_source() -> Iterator[str]:
    registry = load()
    yield NOTICE
    yield '#include "tracer.h"\n'
    yield REGISTER
    for function in traced_functions(registry):
        yield f"REGISTER({noun(function.name)}, GS_FN_{function.name})"
    yield ""
    for function in traced_functions(registry):
        yield from _traced_call(function)
    yield from _core_callbacks(registry)


def _traced_call(function: Function) -> Iterator[str]:
    """The call with callbacks before and after, which may change the parameters."""
    parameters = ", ".join(_variable(p) for p in function.parameters) or "void"
    addresses = ", ".join(f"(void *)&{p.name}" for p in function.parameters) or "NULL"
    arguments = ", ".join(p.name for p in function.parameters)
    yield f"{function.returns} gs_traced_{function.name}({parameters})"
    yield "{"
    yield f"    void *params[] = {{{addresses}}};"
    yield "    gs_traced_call call;"
    yield f"    gs_traced_call_begin(&call, GS_FN_{function.name}, params);"
    yield f"    {function.returns} result = {function.name}({arguments});"
    yield "    gs_traced_call_end(&call, params, (uintptr_t)result);"
    yield "    return result;"
    yield "}\n"


def _variable(parameter: Parameter) -> str:
    """A parameter that a callback may change: not a constant, even if what it leads to is one."""
    declared = parameter.type.declare(parameter.name)
    return declared if parameter.type.is_pointer else declared.removeprefix("const ")


def _core_callbacks(registry: Registry) -> Iterator[str]:
    yield "const gs_core_callback gs_core_callbacks[] = {"
    for group in registry.structs["ze_callbacks_t"].fields:
        for field in registry.structs[group.type.base].fields:
            name = field.type.base.removeprefix("ze_pfn").removesuffix("Cb_t")
            yield f"    {{{group.offset + field.offset}, GS_FN_ze{name}}},"
    yield "    {-1, GS_FN_COUNT},\n};"
