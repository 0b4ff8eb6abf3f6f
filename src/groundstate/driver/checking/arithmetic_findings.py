"""What is said of arithmetic that went wrong: the kind, and a sentence with the numbers."""

from __future__ import annotations

import math
import struct

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from typing import Any

    from groundstate.compiler.program.signature import Signature

IS_NAN = 1 << 8  # codegen/arithmetic/checks.py
SYMBOLS = {
    "IAdd": "+",
    "ISub": "-",
    "IMul": "*",
    "SDiv": "/",
    "UDiv": "/",
    "SRem": "%",
    "SMod": "%",
    "UMod": "%",
    "FAdd": "+",
    "FSub": "-",
    "FMul": "*",
    "VectorTimesScalar": "*",
    "FDiv": "/",
    "FRem": "%",
    "FMod": "%",
    "ShiftLeftLogical": "<<",
    "ShiftRightLogical": ">>",
    "ShiftRightArithmetic": ">>",
}
NAMES = {"FmaKHR": "fma", "Dot": "dot"}
INTEGERS = {8: "char", 16: "short", 32: "int", 64: "long"}
FLOATS = {16: "half", 32: "float", 64: "double"}
FORMATS = {16: "e", 32: "f"}
LETTERS = "xyzw"


def words(
    site: dict[str, Any], given: list[int], signature: Signature
) -> tuple[str, str, str, list[str]]:
    """The kind and title of a report, what its place is labelled with, and notes."""
    del signature
    kind, title = _SENTENCES[site["rule"]](site, given)
    component, count = given[0] & (IS_NAN - 1), site["components"]
    if count > 1:
        letter = f" (.{LETTERS[component]})" if component < len(LETTERS) else ""
        title += f", in component {component}{letter}"
    return kind, title, "", []


def _divided(site: dict[str, Any], given: list[int]) -> tuple[str, str]:
    if given[2] == 0:
        what = "remainder of a division" if SYMBOLS[site["name"]] == "%" else "integer division"
        return "division-by-zero", f"{what} by zero: {_expression(site, given)}"
    return _overflowed(site, given)


def _overflowed(site: dict[str, Any], given: list[int]) -> tuple[str, str]:
    name = _integer(site["bits"], is_signed=True)
    return "signed-overflow", f"signed overflow: {_expression(site, given)} does not fit in {name}"


def _shifted(site: dict[str, Any], given: list[int]) -> tuple[str, str]:
    amount, bits = _shown(site, 1, given[2]), site["bits"]
    title = f"shift of {bits} bits by {amount}: {_expression(site, given)}"
    return "excessive-shift", title


def _converted(site: dict[str, Any], given: list[int]) -> tuple[str, str]:
    name = _integer(site["bits"], is_signed=site["name"] == "ConvertFToS")
    source = FLOATS.get(site["given_bits"], "number")
    value = _float(given[1], site["given_bits"])
    fits = "which is not a number" if value == "nan" else f"which does not fit in {name}"
    return "out-of-range-conversion", f"conversion of {source} {value} to {name}, {fits}"


def _became_infinite(site: dict[str, Any], given: list[int]) -> tuple[str, str]:
    is_nan = given[0] & IS_NAN
    kind, what = ("nan-result", "NaN") if is_nan else ("infinite-result", "infinity")
    return kind, f"{what} made of finite numbers: {_expression(site, given)}"


_SENTENCES = {
    "divide": _divided,
    "overflow": _overflowed,
    "shift": _shifted,
    "convert": _converted,
    "float": _became_infinite,
}


def _expression(site: dict[str, Any], given: list[int]) -> str:
    """An operation with its operands, as in C."""
    name, count = site["name"], site["operands"]
    if name in ("FConvert", "ConvertSToF", "ConvertUToF"):
        return f"({FLOATS.get(site['bits'], 'half')}) {_shown(site, 0, given[1])}"
    if site["is_mixed"]:
        return f"{NAMES.get(name, name)}(...)"
    values = [_shown(site, each, given[1 + each]) for each in range(min(count, len(given) - 1))]
    if name == "SNegate":
        return f"-({values[0]})"
    if name == "ISub" and values[0] == "0":
        return f"-({values[1]})"
    if name in SYMBOLS:
        return f"{values[0]} {SYMBOLS[name]} {values[1]}"
    rest = ", ..." if count > len(values) else ""
    return f"{NAMES.get(name, name)}({', '.join(values)}{rest})"


def _shown(site: dict[str, Any], number: int, word: int) -> str:
    """An operand, from the word that it is told in."""
    kind, bits = site["kinds"][number]
    if kind == "float":
        return _float(word, bits)
    is_unsigned = site["name"][0] == "U" or site["name"] in ("ShiftRightLogical", "ConvertUToF")
    if is_unsigned or (site["name"] in SYMBOLS and SYMBOLS[site["name"]] == "<<" and number == 1):
        return str(word & ((1 << bits) - 1))
    return str(word - (1 << 64) if word >> 63 else word)


def _float(word: int, bits: int) -> str:
    """The fewest digits that tell a number from its neighbours."""
    value = float(struct.unpack("<d", struct.pack("<Q", word))[0])
    if not math.isfinite(value) or bits not in FORMATS:
        return repr(value)
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        try:
            again = struct.unpack(FORMATS[bits], struct.pack(FORMATS[bits], float(text)))[0]
        except OverflowError:  # rounded up, beyond the largest
            continue
        if again == value:
            return repr(float(text))
    return repr(value)


def _integer(bits: int, is_signed: bool) -> str:
    name = INTEGERS.get(bits, f"{bits}-bit integer")
    return name if is_signed else f"u{name}" if bits in INTEGERS else f"unsigned {name}"
