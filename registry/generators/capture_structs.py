"""Print `native/capture/generated/structs.*`: how to copy each struct and what it leads to."""

from __future__ import annotations

from collections.abc import Iterator

from registry.capture_counts import DEVICE_MEMORY, count_of
from registry.generators.functions import NOTICE
from registry.load import load
from registry.model import NAMESPACES, Field, Registry, Struct

BY_HAND = frozenset(
    {
        "ze_module_program_exp_desc_t",
        "ze_module_constants_t",
        "ze_rtas_builder_build_op_ext_desc_t",
        "ze_rtas_builder_build_op_exp_desc_t",
    }
)
"""Structs whose arrays of arrays `record.c` and `geometries.c` of the recorder follow."""


def copied(registry: Registry) -> list[Struct]:
    """The structs that calls can lead to; the parameter structs of tracing are none."""
    return [s for s in registry.structs.values() if s.kind == "struct" and not of_tracing(s)]


def of_tracing(struct: Struct) -> bool:
    """Whether a struct holds the parameters of a function for a tracer."""
    return struct.since is None and struct.name.endswith("_params_t")


def generate_header() -> Iterator[str]:
    registry = load()
    yield NOTICE
    yield "#ifndef GC_STRUCTS_H\n#define GC_STRUCTS_H\n"
    yield '#include "capture/recorder/record.h"\n'
    for struct in [*copied(registry), *_unions(registry)]:
        yield f"void gc_structs_{struct.name}(gc_call *, const {struct.name} *, size_t, gc_phase);"
    yield ""
    for namespace in NAMESPACES:
        yield f"gc_struct gc_find_{namespace}(uint32_t stype);"
    yield "\n#endif"


def generate_source() -> Iterator[str]:
    registry = load()
    yield NOTICE
    yield '#include "capture/generated/structs.h"\n'
    structs = [*copied(registry), *_unions(registry)]
    for struct in structs:
        yield from _leads(struct, registry)
    for struct in structs:
        yield from _array(struct, registry)
    for namespace in NAMESPACES:
        yield from _finder(namespace, structs)


def _unions(registry: Registry) -> list[Struct]:
    return [s for s in registry.structs.values() if s.kind == "union"]


def _has_leads(struct: Struct, registry: Registry) -> bool:
    return struct.name in BY_HAND or bool(list(_lines(struct, registry)))


def _leads(struct: Struct, registry: Registry) -> Iterator[str]:
    """The function that follows the pointers in one struct, if it has any to follow."""
    if struct.name in BY_HAND or not _has_leads(struct, registry):
        return
    yield f"static void lead_{struct.name}(gc_call *call, const void *at, gc_phase phase)\n{{"
    yield f"    const {struct.name} *from = at;"
    yield from (f"    {line}" for line in _lines(struct, registry))
    yield "}\n"


def _lines(struct: Struct, registry: Registry) -> Iterator[str]:
    for field in struct.fields:
        if field.name == "pNext" and field.type.is_pointer:
            # Chains are followed by whoever copies the struct: they may be long, not deep.
            continue
        line = _follow(struct, field, registry)
        if line is not None:
            yield line


def _follow(struct: Struct, field: Field, registry: Registry) -> str | None:
    kind, name = field.type, field.name
    if not kind.is_pointer or (struct.name, name) in DEVICE_MEMORY:
        return None
    count = count_of(struct.name, name, field.count)
    if count is not None and count.lstrip("*") not in {f.name for f in struct.fields}:
        return None
    elements = "1" if count is None else f"from->{count}"
    if count is not None and count.startswith("*"):
        elements = f"gc_at(from->{count[1:]})"
    target = registry.struct_of(kind.base)
    if kind.depth == 1 and target is not None and not of_tracing(target):
        return f"gc_structs_{target.name}(call, from->{name}, {elements}, phase);"
    if kind.depth == 1 and kind.base == "char" and count is None:
        return f"gc_string(call, from->{name}, phase);"
    if kind.base == "void" and count is None:
        return None
    if kind.base == "void" and kind.depth == 1:
        return f"gc_copy(call, from->{name}, {elements}, phase);"
    return f"gc_copy(call, from->{name}, ({elements}) * sizeof *from->{name}, phase);"


def _array(struct: Struct, registry: Registry) -> Iterator[str]:
    """The function that copies structs in a row and what each of them leads to."""
    lead = "NULL"
    if struct.name in BY_HAND:
        lead = f"gc_lead_{struct.name}"
    elif _has_leads(struct, registry):
        lead = f"lead_{struct.name}"
    find = "NULL"
    if any(f.name == "pNext" for f in struct.fields) and struct.fields[0].name == "stype":
        find = f"gc_find_{struct.namespace}"
    yield (
        f"void gc_structs_{struct.name}"
        f"(gc_call *call, const {struct.name} *from, size_t count, gc_phase phase)\n{{"
    )
    description = f"(gc_struct){{sizeof *from, {lead}}}"
    yield f"    gc_structs(call, from, count, phase, {description}, {find});\n}}\n"


def _finder(namespace: str, structs: list[Struct]) -> Iterator[str]:
    registry = load()
    yield f"gc_struct gc_find_{namespace}(uint32_t stype)\n{{"
    seen: set[str] = set()
    chained = [s for s in structs if s.namespace == namespace and s.stype is not None]
    if chained:
        yield "    switch (stype) {"
    for struct in chained:
        assert struct.stype is not None
        if struct.stype in seen:
            continue
        seen.add(struct.stype)
        lead = "NULL"
        if struct.name in BY_HAND:
            lead = f"gc_lead_{struct.name}"
        elif _has_leads(struct, registry):
            lead = f"lead_{struct.name}"
        yield f"    case {struct.stype}:"
        yield f"        return (gc_struct){{sizeof({struct.name}), {lead}}};"
    if chained:
        yield "    default:\n        break;\n    }"
    else:
        yield "    (void)stype;"
    yield "    return (gc_struct){0, NULL};\n}\n"
