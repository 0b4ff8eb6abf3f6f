"""Print `native/generated/tracer.c`: the tracing registrations that a loader exports.

A loader has one registration function for each function of the core and runtime API. Ours all
answer that there is no tracing layer; they exist so that a program which links against them can
start.
"""

from __future__ import annotations

from collections.abc import Iterator

from registry.generators.functions import NOTICE
from registry.load import load

TRACED = ("zer", "ze")
UNTRACED = ("zes", "zet")


def noun(function: str) -> str | None:
    """What follows the prefix of a traced function: `zeInit` gives `Init`, `zesInit` nothing."""
    if function.startswith(UNTRACED):
        return None
    prefix = next(prefix for prefix in TRACED if function.startswith(prefix))
    return function.removeprefix(prefix)


def generate() -> Iterator[str]:
    registry = load()
    yield NOTICE
    yield '#include "abi/loader.h"\n'
    yield "#define NO_TRACING(noun)                                                            \\"
    yield "    GS_EXPORT ze_result_t zelTracer##noun##RegisterCallback(                        \\"
    yield "        void *tracer, uint32_t when, void (*callback)(void));                       \\"
    yield "    ze_result_t zelTracer##noun##RegisterCallback(                                  \\"
    yield "        void *tracer, uint32_t when, void (*callback)(void))                        \\"
    yield "    {                                                                               \\"
    yield "        (void)tracer;                                                               \\"
    yield "        (void)when;                                                                 \\"
    yield "        (void)callback;                                                             \\"
    yield '        return gs_no_tracing("zelTracer" #noun "RegisterCallback");                 \\'
    yield "    }\n"
    for name in registry.functions:
        traced = noun(name)
        if traced is not None:
            yield f"NO_TRACING({traced})"
