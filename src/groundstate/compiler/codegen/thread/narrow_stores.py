"""Stores of a part of a register, in PTX: the part is cut out by an integer operation first.

LLVM's registers have no type but a size, and it stores the lowest byte of a number of 32 bits by
naming its register. If a floating-point operation wrote that one, the assembler in drivers of CUDA
13.0 converts the value to a whole number of 8 bits instead of taking its lowest byte: 20.0f leaves
0x14. So a narrow store names no register but one that an integer operation wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_DECLARED = re.compile(r"\.reg \.[bsuf](\d+)\s+(%[a-z]+)<")
_STORE = re.compile(r"(\s*)(st\.[\w.:]*?\.[bsu](8|16))(\s+\[[^\]]+\],\s*)(.+);\s*")
_REGISTER = re.compile(r"(%[a-z]+)\d+")
_INSTRUCTION = re.compile(r"\s*(?:@!?%\w+\s+)?([a-z][\w.:]*)\s+(\{[^}]*\}|[%\w|]+)\s*,?(.*);\s*")
_FLOATING = re.compile(r"\.(?:bf16|f16|f32|f64|tf32)(?:x2)?(?:\.|$)")
_INTEGER = frozenset(
    (
        *("add", "sub", "mul", "mad", "div", "rem", "min", "max", "abs", "neg", "sad"),
        *("and", "or", "xor", "not", "shl", "shr", "shf", "lop3", "prmt", "bfe", "bfi", "bfind"),
        *("popc", "clz", "brev", "cnot", "szext", "bmsk", "dp4a", "dp2a", "vote", "match", "redux"),
    )
)
"""Operations that leave a whole number, unless their type is a floating-point one."""
_CONVERTED = re.compile(r"cvt\.[\w.]*?\.[us]\d+\.(?:bf16|f16|f32|f64)$")


def cut(ptx: str) -> str:
    """The PTX of a module, in which narrow stores take what an integer operation wrote."""
    lines = ptx.split("\n")
    starts = [at for at, line in enumerate(lines) if line.startswith("{")]
    for start in reversed(starts):
        end = next(at for at in range(start, len(lines)) if lines[at].startswith("}"))
        lines[start:end] = _cut_function(lines[start:end])
    return "\n".join(lines)


def narrow_stores(function: list[str]) -> Iterator[tuple[int, re.Match[str], list[str]]]:
    """The stores that name registers wider than what they store: line, store, registers."""
    sizes = {found[2]: int(found[1]) for line in function for found in _DECLARED.finditer(line)}
    for at, line in enumerate(function):
        store = _STORE.fullmatch(line)
        if store is not None:
            wide = [
                each[0]
                for each in _REGISTER.finditer(store[5])
                if sizes.get(each[1], 0) > int(store[3])
            ]
            if wide:
                yield at, store, list(dict.fromkeys(wide))


def _cut_function(lines: list[str]) -> list[str]:
    found = list(narrow_stores(lines))
    if not found:
        return lines
    sizes = {each[2]: each[1] for line in lines for each in _DECLARED.finditer(line)}
    numbers = whole_numbers(lines)
    result, done = [], 0
    for at, store, wide in found:
        result += lines[done:at]
        done = at + 1
        unsure = [each for each in wide if each not in numbers]
        if not unsure:
            result.append(lines[at])
            continue
        indent, operation, width, place, value = store.groups()
        result.append(f"{indent}{{")
        for index, register in enumerate(unsure):
            size = sizes[register.rstrip("0123456789")]
            part = f"%part{index}"
            result.append(f"{indent}.reg .b{size} {part};")
            result.append(f"{indent}and.b{size} {part}, {register}, {(1 << int(width)) - 1};")
            value = re.sub(rf"{register}\b", part, value)
        result += [f"{indent}{operation}{place}{value};", f"{indent}}}"]
    return result + lines[done:]


def whole_numbers(lines: list[str]) -> set[str]:
    """The registers that nothing but operations on whole numbers write."""
    sure: set[str] = set()
    others: set[str] = set()
    for line in lines:
        found = _INSTRUCTION.fullmatch(line)
        if found is None:
            continue
        operation, written = found[1], {each[0] for each in _REGISTER.finditer(found[2])}
        if operation.split(".")[0] in ("st", "red", "bra", "bar", "ret"):
            continue
        (sure if _leaves_number(operation) else others).update(written)
    return sure - others


def _leaves_number(operation: str) -> bool:
    kind = operation.split(".")[0]
    if kind == "ld":
        return operation.endswith(("8", ".u16", ".s16")) and not _FLOATING.search(operation)
    if kind == "cvt":
        return _CONVERTED.fullmatch(operation) is not None
    return kind in _INTEGER and not _FLOATING.search(operation)
