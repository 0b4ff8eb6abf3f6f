"""Print `native/capture/generated/script_*.c`: what hooks of scripts have to know of the API.

For each function a *trampoline*, which hands its arguments to a script as 64-bit words, and an
*invoker*, which calls a function with such words; for each parameter, field and struct its type;
and the constants.
"""

from __future__ import annotations

from collections.abc import Iterator

from registry.generators.functions import NOTICE, prototype
from registry.load import load
from registry.model import CType, Function, Parameter, Registry, Struct

SIZES = {
    "char": ("UNSIGNED", 1),
    "uint8_t": ("UNSIGNED", 1),
    "uint16_t": ("UNSIGNED", 2),
    "uint32_t": ("UNSIGNED", 4),
    "unsigned int": ("UNSIGNED", 4),
    "uint64_t": ("UNSIGNED", 8),
    "size_t": ("UNSIGNED", 8),
    "int": ("SIGNED", 4),
    "int32_t": ("SIGNED", 4),
    "int64_t": ("SIGNED", 8),
    "float": ("REAL", 4),
    "double": ("REAL", 8),
}
NO_LAYOUT = "GC_NO_LAYOUT"


def generate_hooks() -> Iterator[str]:
    """Trampolines and invokers."""
    registry = load()
    yield NOTICE
    yield '#include "capture/script/script.h"\n'
    for function in registry.functions.values():
        yield from _trampoline(function, registry)
        yield from _invoker(function, registry)
    yield "const gc_function gc_trampolines[GS_FN_COUNT] = {"
    for name in registry.functions:
        yield f"    [GS_FN_{name}] = (gc_function)hook_{name},"
    yield "};\n"
    yield "const gc_invoker gc_invokers[GS_FN_COUNT] = {"
    for name in registry.functions:
        yield f"    [GS_FN_{name}] = invoke_{name},"
    yield "};"


def generate_tables() -> Iterator[str]:
    """Types of parameters and fields, layouts of structs, and constants."""
    registry = load()
    layouts = {name: number for number, name in enumerate(registry.structs)}
    yield NOTICE
    yield '#include "capture/script/script.h"\n'
    yield from _signatures(registry, layouts)
    yield from _layouts(registry, layouts)
    yield from _constants(registry)


def _is_struct(kind: CType, registry: Registry) -> bool:
    return not kind.is_pointer and registry.struct_of(kind.base) is not None


def _word(parameter: Parameter, registry: Registry) -> str:
    """A parameter as 64 bits."""
    kind, name = parameter.type, parameter.name
    if _is_struct(kind, registry):
        return f"(uintptr_t)&{name}"
    if not kind.is_pointer and kind.base == "double":
        return f"gc_bits_of({name})"
    if kind.is_pointer or registry.kind_of(kind.base) or kind.base in registry.callbacks:
        return f"(uintptr_t){name}"
    return f"(uint64_t){name}"


def _argument(parameter: Parameter, place: int, registry: Registry) -> str:
    """What `_word` made 64 bits of, again."""
    kind, word = parameter.type, f"words[{place}]"
    if _is_struct(kind, registry):
        return f"*({kind.text} *)(uintptr_t){word}"
    if not kind.is_pointer and kind.base == "double":
        return f"gc_real_of({word})"
    if kind.is_pointer or registry.kind_of(kind.base) or kind.base in registry.callbacks:
        return f"({kind.text})(uintptr_t){word}"
    return f"({kind.text}){word}"


def _trampoline(function: Function, registry: Registry) -> Iterator[str]:
    words = ", ".join(_word(p, registry) for p in function.parameters) or "0"
    returned = f"gc_script_call(GS_FN_{function.name}, words)"
    if registry.kind_of(function.returns):
        returned = f"(uintptr_t){returned}"
    yield f"static {prototype(function, 'hook_' + function.name)}\n{{"
    yield f"    const uint64_t words[] = {{{words}}};"
    yield f"    return ({function.returns}){returned};\n}}\n"


def _invoker(function: Function, registry: Registry) -> Iterator[str]:
    arguments = ", ".join(_argument(p, n, registry) for n, p in enumerate(function.parameters))
    call = f"(({function.pointer_type})to)({arguments})"
    if registry.kind_of(function.returns):
        call = f"(uintptr_t){call}"
    yield f"static uint64_t invoke_{function.name}(gc_function to, const uint64_t *words)\n{{"
    if not function.parameters:
        yield "    (void)words;"
    yield f"    return (uint64_t){call};\n}}\n"


def _type(kind: CType, name: str, registry: Registry, layouts: dict[str, int]) -> str:
    """The initialiser of a gc_type: kind, size, layout, length."""
    struct = registry.struct_of(kind.base)
    layout = str(layouts[struct.name]) if struct is not None else NO_LAYOUT
    length = kind.length or 0
    if kind.depth == 1 and kind.base == "void" and name == "pNext":
        return f"{{GC_CHAIN, 8, {NO_LAYOUT}, {length}}}"
    if kind.depth == 1 and struct is not None:
        return f"{{GC_STRUCT_POINTER, 8, {layout}, {length}}}"
    if kind.is_pointer or registry.kind_of(kind.base) or kind.base in registry.callbacks:
        return f"{{GC_POINTER, 8, {NO_LAYOUT}, {length}}}"
    if struct is not None:
        return f"{{GC_STRUCT, {struct.size}, {layout}, {length}}}"
    what, size = _scalar(kind.base, registry)
    return f"{{GC_{what}, {size}, {NO_LAYOUT}, {length}}}"


def _scalar(name: str, registry: Registry) -> tuple[str, int]:
    if name in registry.enums:
        return "UNSIGNED", 4
    while name in registry.typedefs:
        name = registry.typedefs[name].type
    return SIZES[name]


def _signatures(registry: Registry, layouts: dict[str, int]) -> Iterator[str]:
    """The parameters of all functions in a row, and where those of each one begin."""
    yield "const gc_field gc_parameters[] = {"
    for function in registry.functions.values():
        for parameter in function.parameters:
            kind = _type(parameter.type, parameter.name, registry, layouts)
            yield f'    {{"{parameter.name}", 0, {kind}}},'
    yield "};\n"
    yield "const gc_signature gc_signatures[GS_FN_COUNT] = {"
    first = 0
    for function in registry.functions.values():
        count = len(function.parameters)
        answer = "{GC_UNSIGNED, 4, GC_NO_LAYOUT, 0}"
        if registry.kind_of(function.returns):
            answer = "{GC_POINTER, 8, GC_NO_LAYOUT, 0}"
        yield f"    [GS_FN_{function.name}] = {{{first}, {count}, {answer}}},"
        first += count
    yield "};\n"


def _layouts(registry: Registry, layouts: dict[str, int]) -> Iterator[str]:
    yield "const gc_field gc_fields[] = {"
    for struct in registry.structs.values():
        for field in struct.fields:
            kind = _type(field.type, field.name, registry, layouts)
            yield f'    {{"{field.name}", {field.offset}, {kind}}},'
    yield "};\n"
    yield "const gc_layout gc_layouts[] = {"
    first = 0
    for struct in registry.structs.values():
        stype = _stype(struct)
        count = len(struct.fields)
        letter = struct.namespace[2:] or "e"
        yield f"    {{\"{struct.name}\", {struct.size}, {stype}, {first}, {count}, '{letter}'}},"
        first += count
    yield "};\n"
    yield "const size_t gc_layout_count = sizeof gc_layouts / sizeof *gc_layouts;\n"


def _stype(struct: Struct) -> str:
    return f"(uint32_t){struct.stype}" if struct.stype is not None else "GC_NO_STYPE"


def _constants(registry: Registry) -> Iterator[str]:
    yield "const gc_constant gc_constants[] = {"
    for enum in registry.enums.values():
        for name, value in enum.values:
            yield f'    {{"{name}", {value}, NULL}},'
    for constant in registry.constants.values():
        if isinstance(constant.value, int):
            yield f'    {{"{constant.name}", {_signed(constant.value)}, NULL}},'
        else:
            yield f'    {{"{constant.name}", 0, "{constant.value}"}},'
    yield "};\n"
    yield "const size_t gc_constant_count = sizeof gc_constants / sizeof *gc_constants;"


def _signed(value: int) -> int:
    """The integer of Lua with the same 64 bits."""
    return value - (1 << 64) if value >= 1 << 63 else value
