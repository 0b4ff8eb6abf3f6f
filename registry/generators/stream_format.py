"""Print the layout of recordings: for C in `native/capture/generated/stream_format.h`, and for
Python in `src/groundstate/capture/stream/formats.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from registry.generators.functions import NOTICE
from registry.generators.python import NOTICE as PYTHON_NOTICE
from registry.generators.shared_structs import c_constant, c_numbers, c_struct
from registry.layout import Numbers, Struct
from registry.stream_format import CONSTANTS, LAYOUTS, MAGICS, NUMBERS, STRUCTS

CODES = {"uint8_t": "B", "uint16_t": "H", "uint32_t": "I", "uint64_t": "Q"}


def generate_header() -> Iterator[str]:
    """The C side."""
    yield NOTICE
    yield "#ifndef GC_STREAM_FORMAT_H\n#define GC_STREAM_FORMAT_H\n"
    yield "#include <stddef.h>\n#include <stdint.h>\n"
    for name, text in MAGICS.items():
        yield f'#define GC_{name} "{text}"'
    yield ""
    for constant in CONSTANTS:
        yield from c_constant(constant)
    for numbers in NUMBERS:
        yield from c_numbers(numbers)
    for struct in STRUCTS:
        yield from c_struct(struct, LAYOUTS)
    yield "#endif"


def generate_python() -> Iterator[str]:
    """The Python side: a checksum at the end of a struct is left out, as it is computed."""
    yield PYTHON_NOTICE
    yield '"""Numbers and fixed parts of recordings: docs/reference/stream-format.md."""\n'
    yield "from __future__ import annotations\n"
    yield "import struct"
    yield "from enum import IntEnum\n"
    for name, text in MAGICS.items():
        yield f'{name} = b"{text}"'
    yield ""
    for constant in CONSTANTS:
        yield f"{constant.name.removeprefix('GC_')} = {constant.value}"
        yield f'"""{constant.about[0].upper()}{constant.about[1:]}."""'
    yield ""
    for each in STRUCTS:
        yield f'{_short_name(each).upper()} = struct.Struct("{python_format(each)}")'
    for each in STRUCTS:
        if each.fields[-1].name == "crc":
            yield f"{_short_name(each).upper()}_SIZE = {LAYOUTS.size(each)}"
            yield '"""With its checksum."""'
    for numbers in NUMBERS:
        yield from _enumeration(numbers)


def _short_name(layout: Struct) -> str:
    return layout.name.removeprefix("gc_layout_")


def python_format(layout: Struct) -> str:
    """`<8sHHIQI`."""
    codes = [
        f"{field.count}s" if field.count > 1 else CODES[field.type]
        for field in layout.fields
        if field.name != "crc"
    ]
    return "<" + "".join(codes)


def grammar(layout: Struct) -> str:
    """The fields as the documentation writes them: `u32:function u32:thread u64:began`."""
    names = {"uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64"}
    fields = (
        f"bytes[{field.count}]:{field.name}"
        if field.count > 1
        else f"{names[field.type]}:{'0' if field.name == 'zero' else field.name}"
        for field in layout.fields
        if field.name != "magic"
    )
    return " ".join(fields)


def _enumeration(numbers: Numbers) -> Iterator[str]:
    words = numbers.name.split("_")[1:]
    name = numbers.python or "".join(word.capitalize() for word in words)
    yield f'\n\nclass {name}(IntEnum):\n    """{numbers.about}"""\n'
    for value, number in numbers.pairs():
        yield f"    {value} = {number}"
