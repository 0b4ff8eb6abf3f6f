"""printf: each active lane writes a record into the print buffer.

docs/internals/compiler.md, "printf", has the format.
"""

from __future__ import annotations

from groundstate.compiler.codegen.arithmetic.opencl import SPECIAL
from groundstate.compiler.codegen.emitter import Emitter
from groundstate.compiler.codegen.values import Lanes
from groundstate.compiler.ir import Node
from groundstate.compiler.ir.lowered_checks import printed_format
from groundstate.compiler.program.initial_values import initial_bytes

HEADER_BYTES = 16
WORD = 8


def _printf(emitter: Emitter, node: Node, name: str) -> None:
    del name
    number = _format_number(emitter, node)
    parts = [part for each in node.operands[1:] for part in _flat(emitter, each)]
    text = emitter.text
    kind = "i32" if emitter.width == 1 else text.vector_type("i32")
    results = emitter.new_slot(kind, "s")
    text.do(f"store {kind} zeroinitializer, ptr {results}")

    def write(lane: int) -> None:
        result = text.emit(f"getelementptr i32, ptr {results}, i64 {lane}")
        _record(emitter, number, [(part.type, text.lane(part, lane)) for part in parts], result)

    emitter.each_lane(write)
    stride = 0 if emitter.width == 1 else None
    emitter.define(node, Lanes("i32", text.emit(f"load {kind}, ptr {results}"), stride))


def _flat(emitter: Emitter, node: Node) -> list[Lanes]:
    value = emitter.get(node)
    if isinstance(value, Lanes):
        return [value]
    return [part for part in value if isinstance(part, Lanes)]


def _format_number(emitter: Emitter, node: Node) -> int:
    """The format string, which must be a constant, entered in the kernel's table."""
    variable = printed_format(node)
    assert variable is not None
    assert variable.type.pointee is not None
    text = initial_bytes(variable, variable.type.pointee).split(b"\0")[0]
    formats = emitter.context.formats
    if text not in formats:
        formats.append(text)
    return formats.index(text)


def _record(emitter: Emitter, number: int, arguments: list[tuple[str, str]], result: str) -> None:
    """Takes room in the buffer and fills it; if there is none, the result becomes -1."""
    text = emitter.text
    buffer = emitter.context.print_buffer
    size = WORD * (1 + len(arguments))
    has, full, write, after = (text.label(stem) for stem in ("print", "full", "record", "printed"))
    exists = text.emit(f"icmp ne ptr {buffer}, null")
    text.do(f"br i1 {exists}, label %{has}, label %{full}")
    text.start(has)
    limit = text.emit(f"getelementptr i8, ptr {buffer}, i64 8")
    capacity = text.emit(f"load i64, ptr {limit}")
    before = text.emit(f"atomicrmw add ptr {buffer}, i64 {size} monotonic")
    end = text.emit(f"add i64 {before}, {size}")
    fits = text.emit(f"icmp ule i64 {end}, {capacity}")
    text.do(f"br i1 {fits}, label %{write}, label %{full}")
    text.start(write)
    offset = text.emit(f"add i64 {before}, {HEADER_BYTES}")
    place = text.emit(f"getelementptr i8, ptr {buffer}, i64 {offset}")
    text.do(f"store i32 {size}, ptr {place}")
    second = text.emit(f"getelementptr i8, ptr {place}, i64 4")
    text.do(f"store i32 {number}, ptr {second}")
    for index, (type_, value) in enumerate(arguments):
        word = text.emit(f"getelementptr i8, ptr {place}, i64 {WORD * (index + 1)}")
        text.do(f"store i64 {_word(emitter, type_, value)}, ptr {word}")
    text.do(f"br label %{after}")
    text.start(full)
    text.do(f"store i32 -1, ptr {result}")
    text.do(f"br label %{after}")
    text.start(after)


def _word(emitter: Emitter, type_: str, value: str) -> str:
    text = emitter.text
    if type_ == "ptr":
        return text.emit(f"ptrtoint ptr {value} to i64")
    if type_ in ("half", "float"):
        value = text.emit(f"fpext {type_} {value} to double")
    if type_ in ("half", "float", "double"):
        return text.emit(f"bitcast double {value} to i64")
    return value if type_ == "i64" else text.emit(f"sext {type_} {value} to i64")


SPECIAL["printf"] = _printf
