"""Print `native/generated/shared.h` and `src/groundstate/native_layouts.py`: what both halves know.

The header asserts every offset and size, so that no compiler lays a struct out in another way; the
Python module asserts the sizes of its ctypes structs when it is imported.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from registry.generators.functions import NOTICE
from registry.generators.python import NOTICE as PYTHON_NOTICE
from registry.layout import Constant, Field, Function, Layouts, Numbers, Struct
from registry.shared_structs import CONSTANTS, LAYOUTS, NUMBERS, RUN_GROUPS, STRUCTS

CTYPES = {
    "uint8_t": "c_uint8",
    "uint16_t": "c_uint16",
    "uint32_t": "c_uint32",
    "int32_t": "c_int32",
    "uint64_t": "c_uint64",
    "int64_t": "c_int64",
}
INT_LIMIT = 1 << 31


def generate_header() -> Iterator[str]:
    """The C side."""
    yield NOTICE
    yield "#ifndef GS_SHARED_H\n#define GS_SHARED_H\n"
    yield "#include <stdatomic.h>\n#include <stddef.h>\n#include <stdint.h>\n"
    for constant in CONSTANTS:
        yield from c_constant(constant)
    for numbers in NUMBERS:
        yield from c_numbers(numbers)
    for struct in STRUCTS:
        yield from c_struct(struct, LAYOUTS)
        if struct.name == "gs_dispatch":
            yield from _c_function(RUN_GROUPS)
    yield "#endif"


def c_constant(constant: Constant) -> Iterator[str]:
    """A number with a name."""
    yield f"/* {constant.about[0].upper()}{constant.about[1:]}. */"
    if constant.value < INT_LIMIT:
        yield f"enum {{ {constant.name} = {constant.value} }};\n"
    else:
        yield f"#define {constant.name} UINT64_C({constant.value:#x})\n"


def c_numbers(numbers: Numbers) -> Iterator[str]:
    """An enumeration."""
    yield from c_comment(numbers.about)
    yield f"typedef enum {numbers.name} {{"
    for value, number in numbers.pairs():
        yield f"    {numbers.prefix}{value} = {number},"
    yield f"}} {numbers.name};\n"


def _c_function(function: Function) -> Iterator[str]:
    yield from c_comment(function.about)
    parameters = ", ".join(c_declaration(type_, name) for type_, name in function.parameters)
    yield f"typedef void (*{function.name})({parameters});\n"


def c_comment(text: str) -> Iterator[str]:
    """A comment in as many lines as it needs."""
    yield "/* " + "\n * ".join(textwrap.wrap(text, 110)) + " */"


def c_declaration(type_: str, name: str) -> str:
    """`char *name`, `uint32_t name`."""
    return f"{type_}{name}" if type_.endswith("*") else f"{type_} {name}"


def c_struct(struct: Struct, layouts: Layouts) -> Iterator[str]:
    """A struct, and the assertions that it lies as it should."""
    attribute = "__attribute__((packed)) " if struct.is_packed else ""
    yield from c_comment(struct.about)
    yield f"typedef struct {attribute}{struct.name} {{"
    for field, offset in layouts.offsets(struct):
        yield f"    {_c_field(field)} /* {offset}{': ' + field.about if field.about else ''} */"
    yield f"}} {struct.name};"
    size = layouts.size(struct)
    yield f'_Static_assert(sizeof({struct.name}) == {size}, "{struct.name} has {size} bytes");'
    for field, offset in layouts.offsets(struct):
        condition = f"offsetof({struct.name}, {field.name}) == {offset}"
        yield f'_Static_assert({condition}, "{struct.name}.{field.name} is at {offset}");'
    yield ""


def _c_field(field: Field) -> str:
    bounds = "" if field.count == 1 else f"[{field.count or ''}]"
    prefix = "_Atomic " if field.is_atomic else ""
    return f"{prefix}{c_declaration(field.type, field.name)}{bounds};"


def generate_python() -> Iterator[str]:
    """The Python side."""
    yield PYTHON_NOTICE
    yield '"""Structs and numbers that C, compiled kernels and Python share."""\n'
    yield "from __future__ import annotations\n"
    yield "import ctypes"
    yield ""
    yield "TYPE_CHECKING = False  # importing typing would cost a tenth of the driver's start"
    yield "if TYPE_CHECKING:"
    yield "    from typing import Any\n"
    for constant in CONSTANTS:
        shown = str(constant.value) if constant.value < INT_LIMIT else f"0x{constant.value:X}"
        yield f"{constant.name.removeprefix('GS_')} = {shown}"
        yield f'"""{constant.about[0].upper()}{constant.about[1:]}."""'
    yield ""
    for numbers in NUMBERS:
        name = numbers.name.removeprefix("gs_").upper()
        yield f"{name}S = ("
        for value in numbers.values:
            yield f'    "{value.lower()}",'
        yield ")"
        yield from _docstring(numbers.about, "")
    yield "\n"
    for struct in STRUCTS:
        yield from _python_struct(struct)
    parameters = ", ".join(_ctype(type_) for type_, _ in RUN_GROUPS.parameters)
    yield f"RunGroups: Any = ctypes.CFUNCTYPE(\n    None, {parameters}\n)"
    yield from _docstring(RUN_GROUPS.about, "")
    yield "\n\ndef offset_of(struct: type[ctypes.Structure], field: str) -> int:"
    yield '    """Where a field lies in a struct, in bytes."""'
    yield "    return int(getattr(struct, field).offset)"


def _docstring(text: str, indent: str) -> Iterator[str]:
    lines = textwrap.wrap(f'"""{text}', 100 - len(indent), drop_whitespace=True)
    if len(lines) == 1 and len(lines[0]) + len(indent) <= 96:
        yield f'{indent}{lines[0]}"""'
        return
    yield from (f"{indent}{line}" for line in lines)
    yield f'{indent}"""'


def python_name(struct: Struct) -> str:
    """`gs_image_view` is `ImageView`."""
    words = struct.name.split("_")[1:]
    return "".join(word.capitalize() for word in words)


def _ctype(type_: str) -> str:
    if type_ in LAYOUTS.structs:
        return python_name(LAYOUTS.structs[type_])
    return f"ctypes.{CTYPES.get(type_, 'c_void_p')}"


def _annotation(field: Field) -> str:
    if field.is_text:
        return "bytes"
    return "Any" if field.count != 1 or field.type in LAYOUTS.structs else "int"


def _python_struct(struct: Struct) -> Iterator[str]:
    yield f"class {python_name(struct)}(ctypes.Structure):"
    yield from _docstring(f"`{struct.name}`: {struct.about[0].lower()}{struct.about[1:]}", "    ")
    yield ""
    fields = [field for field in struct.fields if field.count > 0]
    for field in fields:
        yield f"    {field.name}: {_annotation(field)}"
    yield "    _fields_ = ("
    for field in fields:
        times = f" * {field.count}" if field.count > 1 else ""
        type_ = "ctypes.c_char_p" if field.is_text else _ctype(field.type)
        yield f'        ("{field.name}", {type_}{times}),'
    yield "    )\n\n"
    yield f"assert ctypes.sizeof({python_name(struct)}) == {LAYOUTS.size(struct)}\n\n"
